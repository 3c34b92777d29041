//! The annotation of client-side apply, which server-side apply by kubectl reads and keeps.

use super::atom::Atom;
use super::content::fields_of;
use super::diff::diff;
use super::field_set::FieldSet;
use crate::schema::Schema;
use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use serde_json::Value;

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Annotations that are bigger than this in sum are refused; then this one has to go.
const ANNOTATIONS_MAX: usize = 256 * 1024;

/// The fields that client-side apply has set and that are still as it has set them.
pub(super) fn unchanged(schema: &Schema, atom: Atom<'_>, live: &Value) -> Option<FieldSet> {
    let text = live["metadata"]["annotations"][ANNOTATION].as_str()?;
    let last: Value = serde_json::from_str(text).ok()?;
    let mut fields = fields_of(schema, atom, &last);
    let changes = diff(schema, atom, &last, live);
    fields.subtract(&changes.changed);
    fields.subtract(&changes.removed);
    Some(fields)
}

/// Keeps the annotation in step, if the object has it.
///
/// Whoever goes back to client-side apply then finds what was applied last.
pub(super) fn sync(object: &mut Value, applied: &Value) {
    let annotations = object
        .get_mut("metadata")
        .and_then(|metadata| metadata.get_mut("annotations"))
        .and_then(Value::as_object_mut);
    let Some(annotations) = annotations.filter(|map| map.contains_key(ANNOTATION)) else {
        return;
    };
    annotations.insert(ANNOTATION.to_owned(), configuration(applied).into());
    let size =
        |(key, value): (&String, &Value)| key.len() + value.as_str().unwrap_or_default().len();
    if annotations.iter().map(size).sum::<usize>() > ANNOTATIONS_MAX {
        annotations.remove(ANNOTATION);
    }
}

/// A configuration as Go's encoder writes it.
fn configuration(applied: &Value) -> String {
    let mut applied = applied.clone();
    if let Some(metadata) = applied.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        if let Some(annotations) = metadata
            .get_mut("annotations")
            .and_then(Value::as_object_mut)
        {
            annotations.remove(ANNOTATION);
        }
    }
    let text = applied.to_string();
    // Go escapes these three, and ends with a newline.
    let text = text.replace('<', "\\u003c").replace('>', "\\u003e");
    text.replace('&', "\\u0026") + "\n"
}
