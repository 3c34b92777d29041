//! What a ControllerRevision stores, and when a stored one describes a template (section 6).

use super::view::{DaemonSet, HASH_LABEL, Revision, Template};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

mod normal;

pub use normal::normal;

/// The data of the revision that describes a template, in canonical form.
///
/// Printed compactly it has sorted keys and no `creationTimestamp: null`; kubectl and upstream's tests
/// compare these bytes.
pub fn data(template: &Template) -> Value {
    let mut json = without_nulls(template.json());
    if let Some(map) = json.as_object_mut() {
        map.insert("$patch".into(), "replace".into());
    }
    json!({"spec": {"template": json}})
}

/// The template a revision describes.
pub fn template_of(revision: &Revision) -> Option<Value> {
    let mut template = revision.data.get("spec")?.get("template")?.clone();
    template.as_object_mut()?.remove("$patch");
    Some(template)
}

/// Whether a revision describes a template.
///
/// The comparison is about meaning: absent, `null` and default spellings are the same, and so are
/// numbers written differently. Otherwise taking over a cluster would restart every pod.
pub fn describes(revision: &Revision, template: &Template) -> bool {
    template_of(revision).is_some_and(|stored| {
        stored == *template.json() || normal(&stored) == normal(template.json())
    })
}

/// The hash of a template, an opaque text that is part of names and labels.
///
/// The collision count goes into it, so that a taken name can be avoided.
pub fn hash(template: &Template, collision_count: Option<i64>) -> String {
    let mut digest = Sha256::new();
    digest.update(normal(template.json()).to_string());
    if let Some(count) = collision_count {
        digest.update(count.to_le_bytes());
    }
    let bytes = digest.finalize();
    let number = bytes
        .iter()
        .take(8)
        .fold(0_u64, |n, byte| (n << 8) | u64::from(*byte));
    encode(number)
}

/// Ten characters from an alphabet without vowels and look-alikes, so that no word comes out.
fn encode(mut number: u64) -> String {
    const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut text = String::with_capacity(10);
    for _ in 0..10 {
        text.push(char::from(ALPHABET[(number % 27) as usize]));
        number /= 27;
    }
    text
}

/// The name of the revision of a hash: the DaemonSet's name, cut at 223 characters, and the hash.
pub fn name(set: &DaemonSet, hash: &str) -> String {
    let prefix: String = set.metadata.name.chars().take(223).collect();
    format!("{prefix}-{hash}")
}

/// The complete ControllerRevision for the current template, as it is sent to the API server.
pub fn body(set: &DaemonSet, hash: &str, revision: i64) -> Value {
    let mut labels = set.spec.template.metadata().labels.clone();
    labels.insert(HASH_LABEL.into(), hash.into());
    let mut metadata = Map::new();
    metadata.insert("name".into(), name(set, hash).into());
    metadata.insert("namespace".into(), set.metadata.namespace.clone().into());
    metadata.insert("labels".into(), json!(labels));
    if !set.metadata.annotations.is_empty() {
        metadata.insert("annotations".into(), json!(set.metadata.annotations));
    }
    metadata.insert("ownerReferences".into(), json!([set.owner_reference()]));
    json!({
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": metadata,
        "data": data(&set.spec.template),
        "revision": revision,
    })
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter(|(_, v)| !v.is_null());
            Value::Object(kept.map(|(k, v)| (k.clone(), without_nulls(v))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(without_nulls).collect::<Vec<_>>()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests;
