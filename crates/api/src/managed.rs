//! Who owns which field: `metadata.managedFields` and server-side apply.
//!
//! Two ways lead here. Every plain write is credited to its writer by [`track_update`]: fields
//! that changed become the writer's, fields that went are nobody's. [`apply`] merges a
//! configuration, refuses to take fields of others unless forced, and removes what the manager
//! owned and no longer asks for (spec/apiserver.md 2.7 and 2.8; upstream: managedfields of
//! apimachinery and structured-merge-diff).

mod apply;
mod atom;
mod check;
mod conflict;
mod content;
mod diff;
mod entry;
mod field_set;
mod last_applied;
mod merge;
mod reset;

use crate::schema::{Schema, TypeId};
use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use atom::Atom;
use diff::{Changes, diff};
use entry::{Entry, Id, Operation};
use jiff::Timestamp;
use serde_json::Value;

pub use apply::{ApplyError, apply};
pub use conflict::Conflict;
pub use field_set::FieldSet;

/// Who writes, through what, and when.
#[derive(Debug, Clone, Copy)]
pub struct Writer<'a> {
    /// Name of the field manager; an empty one is `unknown`.
    pub manager: &'a str,
    /// Subresource that is written through, or empty.
    pub subresource: &'a str,
    /// Now.
    pub now: Timestamp,
}

impl Writer<'_> {
    fn time(&self) -> String {
        self.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }
}

/// Credits the fields that a plain write has changed to its writer.
///
/// `new` is the object as it will be stored; its `managedFields` are those that the client sent.
/// A list of its own lets a client edit the entries, an empty list or one empty entry clears
/// them, and an absent one leaves them alone. Writes through subresources cannot edit them.
/// Objects whose entries were cleared stay without until the next apply.
pub fn track_update(
    schema: &Schema,
    id: TypeId,
    old: Option<&Value>,
    new: &mut Value,
    writer: &Writer<'_>,
) {
    let sent = take_managed(new);
    let stored = old.and_then(|old| old["metadata"].get("managedFields"));
    let Some((raw, trusted)) = choose(sent.as_ref(), stored, writer) else {
        // Only a creation begins to keep entries.
        if old.is_none() {
            let list = created(schema, id, new, writer);
            put_managed(new, list);
        }
        return;
    };
    let changes = changes_of(schema, id, old, new, writer);
    let list = if changes.is_empty() && trusted {
        Some(raw.clone())
    } else {
        let mut entries = entry::read(raw, trusted).unwrap_or_default();
        credit(&mut entries, changes, api_version(new), writer);
        entry::write(entries)
    };
    put_managed(new, list);
}

/// Whether two states differ in nothing but their version and the times of their entries.
///
/// Such a write is none: it gets no version and nobody hears of it.
pub fn is_same(old: &Value, new: &Value) -> bool {
    members_equal(old, new, &[], |key, old, new| match key {
        "metadata" => members_equal(old, new, &["resourceVersion"], |key, old, new| match key {
            "managedFields" => same_entries(old, new),
            _ => old == new,
        }),
        _ => old == new,
    })
}

fn same_entries(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            let mut pairs = old.iter().zip(new);
            pairs.all(|(old, new)| members_equal(old, new, &["time"], |_, old, new| old == new))
        }
        _ => old == new,
    }
}

/// Whether all members but some are equal by a measure.
fn members_equal(
    old: &Value,
    new: &Value,
    ignored: &[&str],
    equal: impl Fn(&str, &Value, &Value) -> bool,
) -> bool {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else {
        return old == new;
    };
    let counts = |key: &str| !ignored.contains(&key);
    let in_new = new.keys().filter(|key| counts(key)).count();
    let mut in_old = old.iter().filter(|(key, _)| counts(key));
    old.keys().filter(|key| counts(key)).count() == in_new
        && in_old.all(|(key, old)| new.get(key).is_some_and(|new| equal(key, old, new)))
}

/// The entries that hold before the write, and whether this server has written them. `None` if
/// there are none.
fn choose<'a>(
    sent: Option<&'a Value>,
    stored: Option<&'a Value>,
    writer: &Writer<'_>,
) -> Option<(&'a Value, bool)> {
    let stored = stored.filter(|list| list.as_array().is_some_and(|list| !list.is_empty()));
    let sent = sent.filter(|sent| writer.subresource.is_empty() && !sent.is_null());
    let Some(sent) = sent else {
        return Some((stored?, true));
    };
    if Some(sent) == stored {
        return Some((sent, true));
    }
    if is_reset(sent) {
        return None;
    }
    // Damaged entries do not fail the write: the stored ones hold.
    match entry::read(sent, false) {
        Some(entries) if !entries.is_empty() => Some((sent, false)),
        _ => Some((stored?, true)),
    }
}

/// Whether a client asks for the entries to be cleared.
fn is_reset(sent: &Value) -> bool {
    let is_empty = |entry: &Value| {
        entry
            .as_object()
            .is_some_and(|entry| entry.values().all(blank))
    };
    match sent.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([entry]) => is_empty(entry),
        _ => false,
    }
}

fn blank(value: &Value) -> bool {
    value.is_null() || value == ""
}

/// The entries of a new object.
fn created(schema: &Schema, id: TypeId, new: &Value, writer: &Writer<'_>) -> Option<Value> {
    let changes = changes_of(schema, id, None, new, writer);
    let mut entries = Vec::new();
    credit(&mut entries, changes, api_version(new), writer);
    entry::write(entries)
}

/// What a write has changed, without what the writer cannot own by it.
fn changes_of(
    schema: &Schema,
    id: TypeId,
    old: Option<&Value>,
    new: &Value,
    writer: &Writer<'_>,
) -> Changes {
    let nothing = Value::Object(serde_json::Map::new());
    let atom = Atom::of_type(schema, id);
    let mut changes = diff(schema, atom, old.unwrap_or(&nothing), new);
    // The entries themselves are out of `new` already.
    changes.removed.remove(&["f:metadata", "f:managedFields"]);
    reset::drop_ignored(schema.def(id), writer.subresource, &mut changes.changed);
    reset::drop_ignored(schema.def(id), writer.subresource, &mut changes.removed);
    changes
}

/// Gives changed fields to the writer and takes them, and removed ones, from all entries.
fn credit(entries: &mut Vec<Entry>, changes: Changes, api_version: &str, writer: &Writer<'_>) {
    for entry in entries.iter_mut() {
        entry.fields.subtract(&changes.changed);
        entry.fields.subtract(&changes.removed);
    }
    let mut taken = changes.changed;
    reset::strip_metadata(&mut taken);
    if !taken.is_empty() {
        let id = Id::of(writer, Operation::Update, api_version);
        let time = Some(writer.time());
        match entries.iter_mut().find(|entry| entry.id.is_same(&id)) {
            Some(entry) => {
                entry.fields.unite(&taken);
                entry.time = time;
            }
            None => entries.push(Entry {
                id,
                time,
                fields: taken,
            }),
        }
    }
    entries.retain(|entry| !entry.fields.is_empty());
    entry::cap(entries);
}

fn api_version(object: &Value) -> &str {
    object["apiVersion"].as_str().unwrap_or_default()
}

fn take_managed(object: &mut Value) -> Option<Value> {
    let metadata = object.get_mut("metadata")?.as_object_mut()?;
    metadata.remove("managedFields")
}

fn put_managed(object: &mut Value, list: Option<Value>) {
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    if let (Some(metadata), Some(list)) = (metadata, list) {
        metadata.insert("managedFields".to_owned(), list);
    }
}

#[cfg(test)]
mod tests;
