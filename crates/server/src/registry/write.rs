//! What all writes share: places, attributes, settling an update, committing.

use std::sync::Arc;

use bytes::Bytes;
use pernode_api::field_selector;
use pernode_api::managed::{self, Writer};
use pernode_api::resource::Resource;
use pernode_api::status::Status;
use pernode_api::strategy::deletion::is_finished;
use pernode_api::{defaults, strategy, validation};
use pernode_store::{Attrs, Committed, Error, Item, Op, Payload, Precondition};
use serde_json::Value;

use crate::admission;
use crate::call::Actor;
use crate::key;
use crate::object::{self, Encoded, Object as _};
use crate::options::WriteOptions;
use crate::reply::Failure;

/// How often a write that names no version is tried again when others get in between.
pub(crate) const TRIES_MAX: usize = 5;

/// Where an object is.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) resource: &'static Resource,
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
}

impl Place {
    pub(crate) fn new(resource: &'static Resource, namespace: Option<&str>, name: &str) -> Self {
        Self {
            resource,
            namespace: namespace.filter(|_| resource.namespaced).map(str::to_owned),
            name: name.to_owned(),
        }
    }

    pub(crate) fn key(&self) -> String {
        key::key(self.resource, self.namespace.as_deref(), &self.name)
    }

    pub(crate) fn not_found(&self) -> Status {
        Status::not_found(self.resource, &self.name)
    }

    pub(crate) fn read(&self, actor: &Actor) -> Result<Arc<Item>, Status> {
        actor
            .api
            .store
            .get(&self.key())
            .ok_or_else(|| self.not_found())
    }
}

/// The part of an object that a write is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Everything but the status.
    Main,
    /// The status, and metadata.
    Status,
    /// A part with its own rules, by the name of the subresource; the handler keeps them.
    Other(&'static str),
}

impl Part {
    pub(crate) fn subresource(self) -> &'static str {
        match self {
            Self::Main => "",
            Self::Status => "status",
            Self::Other(name) => name,
        }
    }
}

/// What a write led to.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    /// The object as it is now, or was last.
    pub(crate) object: Bytes,
    /// Whether this write created it.
    pub(crate) created: bool,
    /// What the client should know.
    pub(crate) warnings: Vec<String>,
}

/// What selectors need to know of an object in its stored form.
pub(crate) fn attrs_of(resource: &Resource, object: &Value) -> Attrs {
    let labels = object["metadata"]["labels"]
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.as_str().into(), value.as_str()?.into())))
        .collect();
    let fields = field_selector::fields_of(resource, object)
        .into_iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    Attrs { labels, fields }
}

fn payload(encoded: Encoded) -> Payload {
    Payload::new(encoded.bytes, encoded.revision_at)
}

/// What a failed commit means to the client. Conflicts are the caller's to explain.
pub(crate) fn commit_failed(error: &Error) -> Status {
    match error {
        // The reason, such as a full disk, is what somebody can do something about.
        Error::Io { source, .. } => {
            tracing::error!(%error, %source, "the store cannot write");
            Status::internal(format!("{error}: {source}"))
        }
        Error::Closed => Status::unavailable("the server is stopping"),
        error => Status::internal(error),
    }
}

/// The state that an update of an object leads to.
pub(crate) struct Settled {
    /// The new state.
    pub(crate) object: Value,
    /// What the client should know.
    pub(crate) warnings: Vec<String>,
}

/// Puts server-owned fields in place, admits, validates and credits fields to their writer.
///
/// `new` has the form in which the resource is stored, with defaults. An applied configuration
/// comes credited already, hence the option.
pub(crate) async fn settle(
    actor: &Actor,
    place: &Place,
    part: Part,
    (old, mut new): (&Value, Value),
    credited: Option<&WriteOptions>,
) -> Result<Settled, Failure> {
    let resource = place.resource;
    let stored = key::stored_as(resource);
    let mut warnings = Vec::new();
    match part {
        Part::Main => warnings = strategy::prepare_update(stored, &mut new, old),
        Part::Status => strategy::prepare_status_update(stored, &mut new, old),
        Part::Other("approval") => strategy::prepare_approval_update(&mut new, old),
        Part::Other(_) => {}
    }
    warnings.extend(admission::update(actor, place, part, (old, &mut new)).await?);
    // Before validation: what a client sends to clear the entries would not pass it.
    if let Some(options) = credited {
        credit(actor, place, part, (Some(old), &mut new), options);
    }
    let errors = match part {
        Part::Main => validation::validate_update(stored, &new, old),
        Part::Status => validation::validate_status_update(stored, &new, old),
        Part::Other(_) => Vec::new(),
    };
    if !errors.is_empty() {
        return Err(Status::invalid(resource, &place.name, &errors).into());
    }
    if part == Part::Main {
        warnings.extend(strategy::warnings(stored, &new));
    }
    Ok(Settled {
        object: new,
        warnings,
    })
}

/// Credits changed fields to their writer (`metadata.managedFields`).
pub(crate) fn credit(
    actor: &Actor,
    place: &Place,
    part: Part,
    (old, new): (Option<&Value>, &mut Value),
    options: &WriteOptions,
) {
    let schema = &actor.api.schema;
    let stored = key::stored_as(place.resource);
    managed::track_update(
        schema,
        schema.type_of(stored),
        old,
        new,
        &writer(actor, part, options),
    );
}

/// Who writes.
pub(crate) fn writer<'a>(actor: &Actor, part: Part, options: &'a WriteOptions) -> Writer<'a> {
    Writer {
        manager: &options.manager,
        subresource: part.subresource(),
        now: actor.now,
    }
}

/// Stores the state that an update led to: not at all if nothing changed, and by removing the
/// object if nothing keeps it any longer. `None` means that somebody else wrote in between.
pub(crate) async fn finish(
    actor: &Actor,
    place: &Place,
    (item, old): (&Arc<Item>, &Value),
    settled: Settled,
    options: &WriteOptions,
) -> Result<Option<Outcome>, Failure> {
    let outcome = |object, warnings| Outcome {
        object,
        created: false,
        warnings,
    };
    let Settled { object, warnings } = settled;
    if managed::is_same(old, &object) {
        return Ok(Some(outcome(item.bytes.clone(), warnings)));
    }
    if options.dry_run {
        let mut object = object;
        object.set_meta("resourceVersion", &item.revision.to_string());
        return Ok(Some(outcome(
            object::encode_as_is(&object).into(),
            warnings,
        )));
    }
    let attrs = attrs_of(key::stored_as(place.resource), &object);
    let payload = payload(object::encode(&object));
    let key = item.key.clone();
    let precondition = Precondition::Revision(item.revision);
    let op = if is_finished(&object) {
        Op::Delete {
            key,
            precondition,
            last: payload,
            attrs,
        }
    } else {
        Op::Put {
            key,
            payload,
            attrs,
            precondition,
        }
    };
    match actor.api.store.commit(op).await {
        Ok(Committed { item, .. }) => Ok(Some(outcome(item.bytes.clone(), warnings))),
        Err(Error::Conflict { .. }) => Ok(None),
        Err(error) => Err(commit_failed(&error).into()),
    }
}

/// Commits a new object. `None` means that the name is taken.
pub(crate) async fn commit_new(
    actor: &Actor,
    place: &Place,
    object: &Value,
) -> Result<Option<Arc<Item>>, Status> {
    let op = Op::Put {
        key: place.key().into(),
        payload: payload(object::encode(object)),
        attrs: attrs_of(key::stored_as(place.resource), object),
        precondition: Precondition::Absent,
    };
    match actor.api.store.commit(op).await {
        Ok(committed) => Ok(Some(committed.item)),
        Err(Error::Conflict { .. }) => Ok(None),
        Err(error) => Err(commit_failed(&error)),
    }
}

/// Stores a state in the place of another. `None` means that somebody else wrote in between.
pub(crate) async fn commit_change(
    actor: &Actor,
    place: &Place,
    item: &Arc<Item>,
    object: &Value,
) -> Result<Option<Arc<Item>>, Status> {
    let op = Op::Put {
        key: item.key.clone(),
        payload: payload(object::encode(object)),
        attrs: attrs_of(key::stored_as(place.resource), object),
        precondition: Precondition::Revision(item.revision),
    };
    match actor.api.store.commit(op).await {
        Ok(committed) => Ok(Some(committed.item)),
        Err(Error::Conflict { .. }) => Ok(None),
        Err(error) => Err(commit_failed(&error)),
    }
}

/// Removes an object in its last state. `None` means that somebody else wrote in between.
pub(crate) async fn commit_removal(
    actor: &Actor,
    item: &Arc<Item>,
    last: &Value,
) -> Result<Option<Arc<Item>>, Status> {
    let op = Op::Delete {
        key: item.key.clone(),
        precondition: Precondition::Revision(item.revision),
        last: payload(object::encode(last)),
        attrs: (*item.attrs).clone(),
    };
    match actor.api.store.commit(op).await {
        Ok(committed) => Ok(Some(committed.item)),
        Err(Error::Conflict { .. }) => Ok(None),
        Err(error) => Err(commit_failed(&error)),
    }
}

/// Changes an object by a function until no one gets in between: writes of subresources.
pub(crate) async fn change(
    actor: &Actor,
    place: &Place,
    part: Part,
    options: &WriteOptions,
    edit: &(dyn Fn(&mut Value) -> Result<(), Failure> + Sync),
) -> Result<Outcome, Failure> {
    loop {
        let item = place.read(actor)?;
        let old = object::parse(&item.bytes);
        let mut new = old.clone();
        edit(&mut new)?;
        let settled = settle(actor, place, part, (&old, new), Some(options)).await?;
        if let Some(outcome) = finish(actor, place, (&item, &old), settled, options).await? {
            return Ok(outcome);
        }
    }
}

/// Fills in defaults, of the resource in its stored form.
pub(crate) fn default(resource: &'static Resource, object: &mut Value) {
    defaults::apply_defaults(key::stored_as(resource), object);
}
