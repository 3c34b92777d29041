//! Defaults of kinds that describe a cluster rather than what runs in it.

use super::container::{resources, round};
use crate::object::{Object, Read, Write, each, inner};
use alloc::borrow::ToOwned;
use serde_json::{Value, json};

const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

/// A limit range for containers completes itself: max → default → defaultRequest, min →
/// defaultRequest.
pub(super) fn limit_range(root: &mut Object) {
    for item in each(root.object_mut("spec"), "limits") {
        for key in [
            "max",
            "min",
            "default",
            "defaultRequest",
            "maxLimitRequestRatio",
        ] {
            if let Some(list) = inner(item, key) {
                round(list);
            }
        }
        if item.text("type") == "Container" {
            complete(item, "max", "default");
            complete(item, "default", "defaultRequest");
            complete(item, "min", "defaultRequest");
        }
    }
}

/// Copies the entries of one resource list that another one lacks.
fn complete(item: &mut Object, from: &str, to: &str) {
    let Some(source) = item.object(from).filter(|list| !list.is_empty()).cloned() else {
        return;
    };
    let target = item.object_mut(to);
    for (name, value) in source {
        target.entry(name).or_insert(value);
    }
}

/// Quantities of a quota are kept in canonical form.
pub(super) fn resource_quota(root: &mut Object) {
    for part in ["spec", "status"] {
        for key in ["hard", "used"] {
            if let Some(list) = inner(root.object_mut(part), key) {
                round(list);
            }
        }
    }
}

/// Defaults of a persistent volume.
pub(super) fn persistent_volume(root: &mut Object) {
    let spec = root.object_mut("spec");
    spec.set_text_default("persistentVolumeReclaimPolicy", "Retain");
    spec.set_default("volumeMode", "Filesystem");
    if let Some(capacity) = inner(spec, "capacity") {
        round(capacity);
    }
    root.object_mut("status")
        .set_text_default("phase", "Pending");
}

/// Defaults of a claim for a persistent volume.
pub(super) fn persistent_volume_claim(root: &mut Object) {
    let spec = root.object_mut("spec");
    spec.set_default("volumeMode", "Filesystem");
    if let Some(found) = inner(spec, "resources") {
        resources(found);
    }
    root.object_mut("status")
        .set_text_default("phase", "Pending");
}

/// Users and groups belong to the group of RBAC, and so do roles.
pub(super) fn role_binding(root: &mut Object) {
    root.object_mut("roleRef")
        .set_text_default("apiGroup", RBAC_GROUP);
    for subject in each(root, "subjects") {
        if matches!(subject.text("kind"), "User" | "Group") {
            subject.set_text_default("apiGroup", RBAC_GROUP);
        }
    }
}

/// Defaults of a storage driver.
pub(super) fn csi_driver(spec: &mut Object) {
    spec.set_default("attachRequired", true);
    for key in [
        "podInfoOnMount",
        "storageCapacity",
        "requiresRepublish",
        "seLinuxMount",
    ] {
        spec.set_default(key, false);
    }
    spec.set_default("fsGroupPolicy", "ReadWriteOnceWithFSType");
    if spec.list("volumeLifecycleModes").is_empty() {
        let modes: Value = json!(["Persistent"]);
        spec.insert("volumeLifecycleModes".to_owned(), modes);
    }
}
