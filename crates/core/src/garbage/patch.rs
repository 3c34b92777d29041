//! The patches the collector writes.

use super::{Object, Patch, PatchFormat};
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use serde_json::{Value, json};

/// Takes references to some owners off.
pub(super) fn without_owners(object: &Object, owners: &BTreeSet<String>) -> Patch {
    let deleted: Vec<Value> = owners
        .iter()
        .map(|uid| json!({"$patch": "delete", "uid": uid}))
        .collect();
    of_owners(object, &deleted)
}

/// Lets the references block no owner; `None` when they do not.
pub(super) fn unblocked(object: &Object) -> Option<Patch> {
    let blocking = object
        .owners
        .iter()
        .filter(|owner| owner.block_owner_deletion == Some(true));
    let references: Vec<Value> = blocking
        .map(|owner| json!({"uid": owner.uid, "blockOwnerDeletion": false}))
        .collect();
    (!references.is_empty()).then(|| of_owners(object, &references))
}

fn of_owners(object: &Object, references: &[Value]) -> Patch {
    Patch {
        object: object.object.clone(),
        format: PatchFormat::StrategicMerge,
        body: json!({"metadata": {
            "uid": object.object.uid,
            "ownerReferences": references,
        }}),
    }
}

/// Takes a finalizer off, on condition of the revision the list was seen in.
pub(super) fn without_finalizer(object: &Object, finalizer: &str) -> Patch {
    let left: Vec<&String> = object
        .finalizers
        .iter()
        .filter(|f| *f != finalizer)
        .collect();
    Patch {
        object: object.object.clone(),
        format: PatchFormat::Merge,
        body: json!({"metadata": {
            "uid": object.object.uid,
            "resourceVersion": object.resource_version,
            "finalizers": left,
        }}),
    }
}
