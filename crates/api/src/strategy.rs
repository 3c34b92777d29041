//! What the server keeps, resets and counts when an object is written.
//!
//! The order for a create is: decode, [`crate::defaults::check_conversion`],
//! [`crate::defaults::apply_defaults`], [`prepare_create`], [`fill_system_fields`], admission,
//! [`crate::validation::validate_create`]. For an update: decode, conversion, defaults,
//! [`prepare_update`] or [`prepare_status_update`], admission, validation; then
//! [`deletion::is_finished`] says whether the object goes instead of being stored.
//!
//! Sources: spec/apiserver.md 2.2 and 2.4, the cases of defaults.yaml and delete.yaml.

pub mod deletion;
pub mod pod;
pub mod service;
pub mod warning;

pub use deletion::{Deletion, Grace, Propagation, deletion_grace, plan_deletion};
pub use warning::warnings;

use crate::defaults::{TEMPLATE_GENERATION, parse_int};
use crate::object::{Object, Read, Write};
use crate::resource::Resource;
use crate::validation::equal;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::mem;
use jiff::Timestamp;
use serde_json::{Value, json};

/// Puts the server-owned fields of a new object in place: no status, generation 1.
///
/// Returns warnings for the client about what was dropped.
pub fn prepare_create(resource: &Resource, object: &mut Value) -> Vec<String> {
    let Some(root) = object.as_object_mut() else {
        return Vec::new();
    };
    let metadata = root.object_mut("metadata");
    for key in [
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
    ] {
        metadata.remove(key);
    }
    let warnings = drop_duplicate_owners(metadata);
    if resource.generation {
        metadata.insert("generation".into(), 1.into());
    }
    match (resource.group, resource.kind) {
        ("apps", "DaemonSet") => {
            let given = template_generation(metadata).unwrap_or(0).max(1);
            set_template_generation(metadata, given);
        }
        ("", "Namespace") => keep_for_content(root),
        ("", "Service") => service::prepare_create(root),
        _ => {}
    }
    if let Some(status) = first_status(resource, root) {
        root.insert("status".into(), status);
    }
    warnings
}

/// The status of a new object; `None` leaves what the client sent.
fn first_status(resource: &Resource, root: &Object) -> Option<Value> {
    match (resource.group, resource.kind) {
        // A kubelet registers its node together with the node's status.
        ("", "Node") => None,
        ("", "Pod") => Some(pod::first_status(root.at("spec").unwrap_or(&Value::Null))),
        ("", "Namespace") => Some(json!({"phase": "Active"})),
        ("", "Service") | ("networking.k8s.io", "Ingress") => Some(json!({"loadBalancer": {}})),
        ("", "PersistentVolume" | "PersistentVolumeClaim") => Some(json!({"phase": "Pending"})),
        ("apps", "DaemonSet") => Some(json!({
            "currentNumberScheduled": 0,
            "desiredNumberScheduled": 0,
            "numberMisscheduled": 0,
            "numberReady": 0,
        })),
        ("policy", "PodDisruptionBudget") => Some(json!({
            "currentHealthy": 0,
            "desiredHealthy": 0,
            "disruptionsAllowed": 0,
            "expectedPods": 0,
        })),
        ("storage.k8s.io", "VolumeAttachment") => Some(json!({"attached": false})),
        _ if resource.has_status() => Some(json!({})),
        _ => None,
    }
}

/// Gives a new object its uid and creation time, which only the server may say.
pub fn fill_system_fields(object: &mut Value, uid: &str, now: Timestamp) {
    if let Some(root) = object.as_object_mut() {
        let metadata = root.object_mut("metadata");
        metadata.insert("uid".into(), uid.into());
        metadata.insert("creationTimestamp".into(), format!("{now:.0}").into());
    }
}

/// Puts the server-owned fields of an update in place: the old status, the counted generation.
///
/// Returns warnings for the client about what was dropped.
pub fn prepare_update(resource: &Resource, new: &mut Value, old: &Value) -> Vec<String> {
    let Some(root) = new.as_object_mut() else {
        return Vec::new();
    };
    let metadata = root.object_mut("metadata");
    let warnings = drop_duplicate_owners(metadata);
    keep_metadata(metadata, &old["metadata"]);
    if resource.has_status() {
        root.put("status", old.at("status").cloned());
    }
    match (resource.group, resource.kind) {
        ("apps", "DaemonSet") => count_template_change(root, old),
        ("", "Namespace") => {
            let finalizers = old.path(&["spec", "finalizers"]).cloned();
            root.object_mut("spec").put("finalizers", finalizers);
        }
        ("", "Service") => service::prepare_update(root, old),
        // A request for a certificate is settled once it is made.
        ("certificates.k8s.io", _) => root.put("spec", old.at("spec").cloned()),
        _ => {}
    }
    if resource.generation && !equal(root.get("spec"), old.get("spec")) {
        count_generation(root.object_mut("metadata"), &old["metadata"]);
    }
    warnings
}

/// Puts the fields in place that an update through `/status` does not touch: all but the status
/// and most of the metadata.
pub fn prepare_status_update(resource: &Resource, new: &mut Value, old: &Value) {
    let Some(root) = new.as_object_mut() else {
        return;
    };
    let metadata = root.object_mut("metadata");
    let before = &old["metadata"];
    match (resource.group, resource.kind) {
        ("", "Pod") => {
            // Old kubelets would otherwise break ownership, and nothing but deletion deletes.
            metadata.put("ownerReferences", before.at("ownerReferences").cloned());
            metadata.remove("deletionTimestamp");
        }
        ("apps", "DaemonSet") => {
            let generation = template_generation_of(before);
            set_template_generation(metadata, generation);
        }
        ("storage.k8s.io", "VolumeAttachment") => {
            let fields = metadata.remove("managedFields");
            *metadata = before.as_object().cloned().unwrap_or_default();
            metadata.put("managedFields", fields);
        }
        _ => {}
    }
    keep_metadata(metadata, before);
    keep_all_but(root, old, &["status"]);
    if (resource.group, resource.kind) == ("", "Pod") {
        let class = old.path(&["status", "qosClass"]).cloned();
        root.object_mut("status").put("qosClass", class);
    }
}

/// Puts the fields in place that an update through a certificate request's `/approval` does not
/// touch: all but the conditions of its status.
pub fn prepare_approval_update(new: &mut Value, old: &Value) {
    let Some(root) = new.as_object_mut() else {
        return;
    };
    let conditions = root.remove("status").and_then(|mut status| {
        let conditions = status.get_mut("conditions").map(mem::take);
        conditions.filter(|value| !value.is_null())
    });
    keep_metadata(root.object_mut("metadata"), &old["metadata"]);
    keep_all_but(root, old, &[]);
    root.object_mut("status").put("conditions", conditions);
}

/// Restores every field but the metadata and some others.
fn keep_all_but(root: &mut Object, old: &Value, changing: &[&str]) {
    let stays = |key: &str| key == "metadata" || changing.contains(&key);
    root.retain(|key, _| stays(key));
    for (key, value) in old.as_object().into_iter().flatten() {
        if !stays(key) {
            root.insert(key.clone(), value.clone());
        }
    }
}

/// What an update cannot change in the metadata, whatever it says.
fn keep_metadata(new: &mut Object, old: &Value) {
    new.remove("selfLink");
    new.put("generation", old.at("generation").cloned());
    if let Some(created) = old.at("creationTimestamp") {
        new.insert("creationTimestamp".into(), created.clone());
    }
    if let Some(deleted) = old.at("deletionTimestamp") {
        new.insert("deletionTimestamp".into(), deleted.clone());
    }
    if let Some(grace) = old.at("deletionGracePeriodSeconds") {
        new.set_default("deletionGracePeriodSeconds", grace.clone());
    }
    for key in ["uid", "resourceVersion", "name", "namespace"] {
        new.set_text_default(key, old.text(key));
        if new.text(key).is_empty() {
            new.remove(key);
        }
    }
}

fn count_generation(metadata: &mut Object, old: &Value) {
    let next = old.int("generation").unwrap_or(0) + 1;
    metadata.insert("generation".into(), next.into());
}

/// A namespace stays until its content is gone.
fn keep_for_content(root: &mut Object) {
    let spec = root.object_mut("spec");
    let mut finalizers = spec.list("finalizers").to_vec();
    if !finalizers.iter().any(|name| name == "kubernetes") {
        finalizers.push("kubernetes".into());
    }
    spec.insert("finalizers".into(), Value::Array(finalizers));
}

/// Owner references that repeat another one say nothing. Returns a warning if there were any.
fn drop_duplicate_owners(metadata: &mut Object) -> Vec<String> {
    let owners = metadata.list("ownerReferences");
    let mut kept: Vec<Value> = Vec::with_capacity(owners.len());
    let mut uids: Vec<&str> = Vec::new();
    for owner in owners {
        if kept.contains(owner) {
            uids.push(owner.text("uid"));
        } else {
            kept.push(owner.clone());
        }
    }
    if uids.is_empty() {
        return Vec::new();
    }
    uids.sort_unstable();
    uids.dedup();
    let warning = warning::duplicate_owners(&uids);
    metadata.insert("ownerReferences".into(), Value::Array(kept));
    Vec::from([warning])
}

/// The number of template changes, which v1 keeps in an annotation.
fn template_generation(metadata: &Object) -> Option<i64> {
    let annotations = metadata.object("annotations")?;
    parse_int(annotations.text(TEMPLATE_GENERATION)).ok()
}

fn template_generation_of(metadata: &Value) -> i64 {
    let metadata = metadata.as_object();
    metadata.and_then(template_generation).unwrap_or(0)
}

fn set_template_generation(metadata: &mut Object, generation: i64) {
    let annotations = metadata.object_mut("annotations");
    annotations.insert(
        TEMPLATE_GENERATION.to_owned(),
        generation.to_string().into(),
    );
}

/// Nobody sets the number of template changes; a changed template raises it.
fn count_template_change(root: &mut Object, old: &Value) {
    let before = template_generation_of(&old["metadata"]);
    let changed = !equal(
        root.get("spec").and_then(|spec| spec.get("template")),
        old.path(&["spec", "template"]),
    );
    let next = if changed { before + 1 } else { before };
    set_template_generation(root.object_mut("metadata"), next);
}

#[cfg(test)]
mod tests;
