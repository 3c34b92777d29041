//! The entries of `metadata.managedFields`.

use super::Writer;
use super::field_set::FieldSet;
use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use serde_json::{Map, Value};

/// How many updaters keep an entry of their own (upstream: `DefaultMaxUpdateManagers`).
const UPDATERS_MAX: usize = 10;
/// Who owns what the oldest updaters owned.
const ANCIENT: &str = "ancient-changes";
/// Who owns what was there before the first apply of an object without entries.
pub(super) const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// What one manager owns through one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) id: Id,
    /// RFC 3339; absent when the manager has joined without changing anything.
    pub(super) time: Option<String>,
    pub(super) fields: FieldSet,
}

/// What tells entries apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id {
    pub(super) manager: String,
    pub(super) operation: Operation,
    /// Version of the API; an applier is the same in all versions.
    pub(super) api_version: String,
    pub(super) subresource: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    Apply,
    Update,
}

impl Id {
    /// The id of a writer's entry.
    pub(super) fn of(writer: &Writer<'_>, operation: Operation, api_version: &str) -> Self {
        let manager = match writer.manager {
            "" => "unknown",
            manager => manager,
        };
        Self {
            manager: manager.to_owned(),
            operation,
            api_version: api_version.to_owned(),
            subresource: writer.subresource.to_owned(),
        }
    }

    /// Whether two entries are of the same manager and operation.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.manager == other.manager
            && self.operation == other.operation
            && self.subresource == other.subresource
            && (self.operation == Operation::Apply || self.api_version == other.api_version)
    }
}

/// Reads entries; `None` if one is damaged. `trusted` ones were written by this server.
pub(super) fn read(list: &Value, trusted: bool) -> Option<Vec<Entry>> {
    let entries = list.as_array()?;
    entries
        .iter()
        .map(|entry| read_one(entry, trusted))
        .collect()
}

fn read_one(entry: &Value, trusted: bool) -> Option<Entry> {
    let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    let operation = match entry["operation"].as_str()? {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return None,
    };
    let api_version = text("apiVersion");
    if api_version.is_empty() || entry["fieldsType"] != "FieldsV1" {
        return None;
    }
    let fields = match entry.get("fieldsV1") {
        None | Some(Value::Null) => FieldSet::default(),
        Some(fields) if trusted => FieldSet::trusted(fields.clone()),
        Some(fields) => FieldSet::from_value(fields.clone())?,
    };
    Some(Entry {
        id: Id {
            manager: text("manager"),
            operation,
            api_version,
            subresource: text("subresource"),
        },
        time: entry["time"].as_str().map(str::to_owned),
        fields,
    })
}

/// Writes entries in their order: appliers first, then by time, then by manager. `None` if there
/// are none.
pub(super) fn write(mut entries: Vec<Entry>) -> Option<Value> {
    entries.retain(|entry| !entry.fields.is_empty());
    if entries.is_empty() {
        return None;
    }
    entries.sort_by(order);
    Some(entries.into_iter().map(write_one).collect())
}

fn order(a: &Entry, b: &Entry) -> Ordering {
    let key = |entry: &'_ Entry| (entry.id.operation, entry.time.clone());
    key(a).cmp(&key(b)).then_with(|| a.id.cmp(&b.id))
}

fn write_one(entry: Entry) -> Value {
    let operation = match entry.id.operation {
        Operation::Apply => "Apply",
        Operation::Update => "Update",
    };
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
    put("manager", entry.id.manager.into());
    put("operation", operation.into());
    put("apiVersion", entry.id.api_version.into());
    if let Some(time) = entry.time {
        put("time", time.into());
    }
    put("fieldsType", "FieldsV1".into());
    put("fieldsV1", entry.fields.into_value());
    if !entry.id.subresource.is_empty() {
        put("subresource", entry.id.subresource.into());
    }
    Value::Object(map)
}

/// Puts the oldest updaters of a version together when there are too many of them.
///
/// The first of a version only makes room once there is a second to be put together with it.
pub(super) fn cap(entries: &mut Vec<Entry>) {
    let is_updater = |entry: &Entry| entry.id.operation == Operation::Update;
    let mut left = entries.iter().filter(|entry| is_updater(entry)).count();
    if left <= UPDATERS_MAX {
        return;
    }
    let (mut updaters, others): (Vec<Entry>, Vec<Entry>) =
        entries.drain(..).partition(|entry| is_updater(entry));
    // What was put together before goes on being the place for it.
    updaters.sort_by(|a, b| {
        let is_other = |entry: &Entry| entry.id.manager != ANCIENT;
        is_other(a).cmp(&is_other(b)).then_with(|| order(a, b))
    });
    let mut first: BTreeMap<String, usize> = BTreeMap::new();
    let mut kept: Vec<Entry> = Vec::new();
    for entry in updaters {
        let version = entry.id.api_version.clone();
        match first.get(&version) {
            Some(&at) if left > UPDATERS_MAX => {
                let bucket = &mut kept[at];
                bucket.fields.unite(&entry.fields);
                bucket.time = entry.time;
                ANCIENT.clone_into(&mut bucket.id.manager);
                bucket.id.subresource.clear();
                left -= 1;
            }
            _ => {
                first.entry(version).or_insert(kept.len());
                kept.push(entry);
            }
        }
    }
    entries.extend(others);
    entries.extend(kept);
}
