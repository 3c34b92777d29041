//! Server-side apply.

use super::atom::Atom;
use super::conflict::{self, Conflict};
use super::content::{fields_of, without};
use super::diff::diff;
use super::entry::{self, BEFORE_FIRST_APPLY, Entry, Id, Operation};
use super::field_set::FieldSet;
use super::merge::merge;
use super::{
    Writer, api_version, changes_of, credit, last_applied, put_managed, reset, take_managed,
};
use crate::decode::check_value;
use crate::schema::{Schema, TypeId};
use crate::status::Status;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde_json::{Map, Value, json};

/// Why a configuration cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// The configuration does not fit the schema: 500, as upstream maps it to no reason.
    #[error("failed to create typed patch object ({object}): {why}")]
    Misfit {
        /// Namespace, name and kind.
        object: String,
        /// What does not fit.
        why: String,
    },
    /// The configuration is for another version of the API: 400.
    #[error(
        "Incorrect version specified in apply patch. Specified patch version: {0}, expected: {1}"
    )]
    Version(String, String),
    /// The configuration carries `managedFields`: 400.
    #[error("metadata.managedFields must be nil")]
    ManagedFields,
    /// The stored entries are damaged: 500.
    #[error("failed to decode managed fields")]
    Entries,
    /// The merged object cannot be read back: 500.
    #[error("{0}")]
    Merged(String),
    /// Others own fields that the configuration would change: 409.
    #[error("{}", conflict::message(.0))]
    Conflicts(Vec<Conflict>),
}

impl ApplyError {
    /// What the client gets.
    pub fn to_status(&self) -> Status {
        match self {
            Self::Misfit { .. } | Self::Entries | Self::Merged(_) => {
                Status::unmapped(self.to_string())
            }
            Self::Version(..) | Self::ManagedFields => Status::bad_request(self.to_string()),
            Self::Conflicts(conflicts) => conflict::status(conflicts),
        }
    }
}

/// Applies a configuration to an object, or to nothing.
///
/// The result has its entries and the form of a decoded object; it still has to be defaulted and
/// validated, and must not be credited again. Without a change of the object, entries keep their
/// times, and one that is new has none.
///
/// # Errors
/// See [`ApplyError`].
#[allow(
    clippy::too_many_arguments,
    reason = "each is one thing an apply depends on"
)]
pub fn apply(
    schema: &Schema,
    id: TypeId,
    live: Option<&Value>,
    applied: &Value,
    writer: &Writer<'_>,
    force: bool,
) -> Result<Value, ApplyError> {
    let job = Job::new(schema, id, live, applied, writer)?;
    let (object, entries) = match job.run(force) {
        Err(conflicts) => job.retry_over_client_side_apply(conflicts)?,
        Ok(done) => done,
    };
    let mut object = object;
    check_value(schema, id, &mut object).map_err(|error| ApplyError::Merged(error.to_string()))?;
    if job.is_kubectl() {
        last_applied::sync(&mut object, applied);
    }
    put_managed(&mut object, entry::write(entries));
    Ok(object)
}

/// One apply.
struct Job<'a> {
    schema: &'a Schema,
    id: TypeId,
    live: Value,
    entries: Vec<Entry>,
    applied: &'a Value,
    writer: &'a Writer<'a>,
}

type Done = (Value, Vec<Entry>);

/// What others own and the configuration would change.
type Contested = Vec<(Id, FieldSet)>;

impl<'a> Job<'a> {
    fn new(
        schema: &'a Schema,
        id: TypeId,
        live: Option<&Value>,
        applied: &'a Value,
        writer: &'a Writer<'a>,
    ) -> Result<Self, ApplyError> {
        check(schema, id, live, applied)?;
        let nothing = || json!({"apiVersion": applied["apiVersion"], "kind": applied["kind"]});
        let mut live = live.cloned().unwrap_or_else(nothing);
        let entries = match take_managed(&mut live) {
            None | Some(Value::Null) => Vec::new(),
            Some(list) => entry::read(&list, true).ok_or(ApplyError::Entries)?,
        };
        let mut job = Self {
            schema,
            id,
            live,
            entries,
            applied,
            writer,
        };
        if job.entries.is_empty() {
            job.own_what_was_there();
        }
        Ok(job)
    }

    /// What an object has that was kept without entries is owned by a manager of its own, so that
    /// the first apply meets it as a conflict rather than wiping it out.
    fn own_what_was_there(&mut self) {
        let writer = Writer {
            manager: BEFORE_FIRST_APPLY,
            ..*self.writer
        };
        let changes = changes_of(self.schema, self.id, None, &self.live, &writer);
        credit(&mut self.entries, changes, api_version(&self.live), &writer);
    }

    fn atom(&self) -> Atom<'a> {
        Atom::of_type(self.schema, self.id)
    }

    fn is_kubectl(&self) -> bool {
        self.writer.manager == "kubectl"
    }

    fn drop_ignored(&self, fields: &mut FieldSet) {
        let def = self.schema.def(self.id);
        reset::drop_ignored(def, self.writer.subresource, fields);
    }

    fn run(&self, force: bool) -> Result<Done, Contested> {
        let (schema, atom) = (self.schema, self.atom());
        let mut entries = self.entries.clone();
        let own_id = Id::of(self.writer, Operation::Apply, api_version(self.applied));
        let own = entries.iter().position(|entry| entry.id.is_same(&own_id));
        let mut own = match own {
            Some(at) => entries.remove(at),
            None => Entry {
                id: own_id,
                time: None,
                fields: FieldSet::default(),
            },
        };
        let mut fields = fields_of(schema, atom, self.applied);
        self.drop_ignored(&mut fields);
        let last = core::mem::replace(&mut own.fields, fields);
        let merged = merge(schema, atom, Some(&self.live), Some(self.applied));
        let merged = merged.unwrap_or_default();
        let owned = entries.iter().chain([&own]).map(|entry| &entry.fields);
        let new = self.prune(merged, owned, &last);

        let mut changes = diff(schema, atom, &self.live, &new);
        self.drop_ignored(&mut changes.changed);
        self.drop_ignored(&mut changes.removed);
        let contested = contested(&entries, &changes.changed);
        if !force && !contested.is_empty() {
            return Err(contested);
        }
        for entry in &mut entries {
            entry.fields.subtract(&changes.changed);
            entry.fields.subtract(&changes.removed);
        }
        reset::strip_metadata(&mut own.fields);
        let is_same = changes.is_empty();
        if !is_same {
            own.time = Some(self.writer.time());
        }
        own.id.api_version = api_version(self.applied).into();
        entries.push(own);
        let object = if is_same { self.live.clone() } else { new };
        Ok((object, entries))
    }

    /// Removes what the manager owned before, asks for no longer, and nobody else owns.
    ///
    /// A struct goes along with the last of its fields that the manager owned, unless another
    /// manager owns something in it.
    fn prune<'e>(
        &self,
        merged: Value,
        owned: impl Iterator<Item = &'e FieldSet>,
        last: &FieldSet,
    ) -> Value {
        if last.is_empty() {
            return merged;
        }
        let named = |mut fields: FieldSet| {
            fields.name_structs(self.schema, self.atom());
            fields
        };
        let last = named(last.clone());
        let all = named(fields_of(self.schema, self.atom(), &merged));
        let mut kept = FieldSet::default();
        owned.for_each(|fields| kept.unite(fields));
        kept = named(kept);

        // What neither a manager owns nor is left without the last configuration …
        let without = |fields: &FieldSet| {
            without(self.schema, self.atom(), &merged, fields.branches())
                .unwrap_or_else(|| Value::Object(Map::new()))
        };
        let left = |value: &Value| named(fields_of(self.schema, self.atom(), value));
        let mut unowned = all.clone();
        unowned.subtract(&left(&without(&last)));
        unowned.subtract(&kept);
        // … goes, if the last configuration owned it.
        let mut gone = all;
        gone.subtract(&left(&without(&unowned)));
        gone.intersect(&last);
        without(&gone)
    }

    /// Over an object of client-side apply, kubectl may change what it has applied itself: fields
    /// that still are as the annotation says.
    fn retry_over_client_side_apply(&self, contested: Contested) -> Result<Done, ApplyError> {
        let allowed = if self.is_kubectl() {
            last_applied::unchanged(self.schema, self.atom(), &self.live)
        } else {
            None
        };
        let mut left = contested;
        if let Some(allowed) = &allowed {
            for (_, fields) in &mut left {
                fields.subtract(allowed);
            }
        }
        left.retain(|(_, fields)| !fields.is_empty());
        if left.is_empty() {
            return self
                .run(true)
                .map_err(|rest| ApplyError::Conflicts(list(rest)));
        }
        Err(ApplyError::Conflicts(list(left)))
    }
}

fn contested(entries: &[Entry], changed: &FieldSet) -> Contested {
    let shared = entries.iter().filter_map(|entry| {
        let mut fields = entry.fields.clone();
        fields.intersect(changed);
        (!fields.is_empty()).then(|| (entry.id.clone(), fields))
    });
    shared.collect()
}

fn list(mut contested: Contested) -> Vec<Conflict> {
    contested.sort_by(|(a, _), (b, _)| a.cmp(b));
    let of_one = |(id, fields): &(Id, FieldSet)| {
        let manager = conflict::shown(id);
        let conflict = |field| Conflict {
            manager: manager.clone(),
            field,
        };
        fields.paths().into_iter().map(conflict).collect::<Vec<_>>()
    };
    contested.iter().flat_map(of_one).collect()
}

/// What has to hold of a configuration before anything is looked at.
fn check(
    schema: &Schema,
    id: TypeId,
    live: Option<&Value>,
    applied: &Value,
) -> Result<(), ApplyError> {
    if let Some(live) = live
        && api_version(live) != api_version(applied)
    {
        let (wanted, found) = (api_version(live), api_version(applied));
        return Err(ApplyError::Version(found.into(), wanted.into()));
    }
    if !applied["metadata"]["managedFields"].is_null() {
        return Err(ApplyError::ManagedFields);
    }
    let misfits = super::check::misfits(schema, Atom::of_type(schema, id), applied);
    if misfits.is_empty() {
        return Ok(());
    }
    Err(ApplyError::Misfit {
        object: shown(applied),
        why: super::check::joined(&misfits),
    })
}

/// `namespace/name; group/version, Kind=Kind`.
fn shown(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let version = api_version(object);
    let slash = if version.contains('/') { "" } else { "/" };
    format!(
        "{}/{}; {slash}{version}, Kind={}",
        text(&object["metadata"]["namespace"]),
        text(&object["metadata"]["name"]),
        text(&object["kind"])
    )
}
