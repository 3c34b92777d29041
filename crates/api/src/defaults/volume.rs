//! Defaults of volumes.

use super::{container, field_reference};
use crate::object::{Object, Write, each, inner};
use alloc::borrow::ToOwned;
use serde_json::Value;

/// Readable by all, writable by the owner: 0644.
const FILE_MODE: i64 = 0o644;

/// Defaults of a volume of a pod.
pub(super) fn volume(volume: &mut Object) {
    if !volume
        .iter()
        .any(|(key, value)| key != "name" && !value.is_null())
    {
        volume.insert("emptyDir".to_owned(), Value::Object(Object::new()));
    }
    for kind in ["configMap", "secret", "downwardAPI", "projected"] {
        if let Some(source) = inner(volume, kind) {
            source.set_default("defaultMode", FILE_MODE);
        }
    }
    if let Some(downward) = inner(volume, "downwardAPI") {
        each(downward, "items").for_each(field_reference);
    }
    if let Some(projected) = inner(volume, "projected") {
        each(projected, "sources").for_each(projection);
    }
    if let Some(path) = inner(volume, "hostPath") {
        path.set_default("type", "");
    }
    if let Some(image) = inner(volume, "image") {
        container::pull_policy(image, "reference", "pullPolicy");
    }
    if let Some(ephemeral) = inner(volume, "ephemeral")
        && let Some(claim) = inner(ephemeral, "volumeClaimTemplate")
    {
        claim
            .object_mut("spec")
            .set_text_default("volumeMode", "Filesystem");
    }
    legacy(volume);
}

fn projection(source: &mut Object) {
    if let Some(token) = inner(source, "serviceAccountToken") {
        token.set_default("expirationSeconds", 3600);
    }
    if let Some(downward) = inner(source, "downwardAPI") {
        each(downward, "items").for_each(field_reference);
    }
}

/// Kinds of volumes that drivers have replaced; their fields have defaults all the same.
fn legacy(volume: &mut Object) {
    const DEFAULTS: &[(&str, &str, &str)] = &[
        ("iscsi", "iscsiInterface", "default"),
        ("rbd", "pool", "rbd"),
        ("rbd", "user", "admin"),
        ("rbd", "keyring", "/etc/ceph/keyring"),
        ("azureDisk", "cachingMode", "ReadWrite"),
        ("azureDisk", "kind", "Shared"),
        ("azureDisk", "fsType", "ext4"),
        ("scaleIO", "storageMode", "ThinProvisioned"),
        ("scaleIO", "fsType", "xfs"),
    ];
    for (kind, key, value) in DEFAULTS {
        if let Some(source) = inner(volume, kind) {
            source.set_text_default(key, value);
        }
    }
    if let Some(disk) = inner(volume, "azureDisk") {
        disk.set_default("readOnly", false);
    }
}
