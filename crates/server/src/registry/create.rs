//! Creating objects.

use pernode_api::names::generate_name;
use pernode_api::resource::Resource;
use pernode_api::status::Status;
use pernode_api::{strategy, validation};
use serde_json::Value;

use super::write::{self, Outcome, Part, Place};
use crate::admission;
use crate::bootstrap;
use crate::call::{Actor, Call};
use crate::decode;
use crate::events;
use crate::key;
use crate::object::{self, Object as _};
use crate::options::WriteOptions;
use crate::reply::{Failure, Response};

/// How many generated names are tried before giving up, as upstream does.
const NAMES_MAX: usize = 8;

/// `POST` to a collection.
pub(crate) async fn create(call: &Call) -> Result<Response, Failure> {
    let options = WriteOptions::parse("CreateOptions", &call.query, &call.headers)?;
    let decoded = decode::object(call, options.validation)?;
    let outcome = insert(
        &call.actor,
        (call.resource, call.namespace()),
        decoded.object,
        &options,
    )
    .await
    .map_err(|failure| decode::with_warnings(failure, &decoded.warnings))?;
    let warnings = [decoded.warnings, outcome.warnings].concat();
    call.show(201, outcome.object, &warnings)
}

/// Creates an object in its external form; it need have neither name nor namespace yet.
pub(crate) async fn insert(
    actor: &Actor,
    (resource, namespace): (&'static Resource, Option<&str>),
    mut object: Value,
    options: &WriteOptions,
) -> Result<Outcome, Failure> {
    place_in(resource, namespace, &mut object)?;
    if !matches!(object.meta("resourceVersion"), "" | "0") {
        return Err(
            Status::unmapped("resourceVersion should not be set on objects to be created").into(),
        );
    }
    object.metadata_mut().remove("resourceVersion");
    let generated = object.meta("name").is_empty() && !object.meta("generateName").is_empty();
    if std::ptr::eq(key::stored_as(resource), resource) {
        write::default(resource, &mut object);
    } else {
        object = events::admit_new(object)?;
    }
    let stored = key::stored_as(resource);
    let dropped = strategy::prepare_create(stored, &mut object);
    let uid = uuid::Uuid::new_v4().to_string();
    strategy::fill_system_fields(&mut object, &uid, actor.now);
    let mut tries = 0;
    let pristine = generated.then(|| object.clone());
    loop {
        if generated {
            let name = generate_name(object.meta("generateName"), rand::random());
            object.set_meta("name", &name);
        }
        let place = Place::new(resource, namespace, object.meta("name"));
        let mut warnings = dropped.clone();
        warnings.extend(admit(actor, &place, &mut object, options).await?);
        if let Some(bytes) = store(actor, &place, &object, options).await? {
            if resource.kind == "Namespace" && !options.dry_run {
                furnish(actor, &place.name).await;
            }
            return Ok(Outcome {
                object: bytes,
                created: true,
                warnings,
            });
        }
        tries += 1;
        match &pristine {
            Some(pristine) if tries < NAMES_MAX => object = pristine.clone(),
            _ => return Err(taken(actor, &place).into()),
        }
    }
}

/// Gives a new namespace what each has, before its creation is answered: whoever creates a pod in
/// it next need not wait for a loop to make its service account.
async fn furnish(actor: &Actor, namespace: &str) {
    let content = bootstrap::namespace_content(&actor.api, namespace);
    if let Err(error) = Box::pin(content).await {
        tracing::warn!(%error, source = %error.source, namespace, "a new namespace is not complete");
    }
}

/// Puts the namespace of the path into the object, unless the object names another.
pub(crate) fn place_in(
    resource: &Resource,
    namespace: Option<&str>,
    object: &mut Value,
) -> Result<(), Status> {
    let own = object.meta("namespace");
    match namespace.filter(|_| resource.namespaced) {
        Some(namespace) if own.is_empty() => object.set_meta("namespace", namespace),
        Some(namespace) if own != namespace => return Err(Status::namespace_mismatch()),
        None if !own.is_empty() => return Err(Status::namespace_mismatch()),
        _ => {}
    }
    Ok(())
}

async fn admit(
    actor: &Actor,
    place: &Place,
    object: &mut Value,
    options: &WriteOptions,
) -> Result<Vec<String>, Failure> {
    let mut warnings = admission::create(actor, place, object, options).await?;
    let stored = key::stored_as(place.resource);
    if !options.credited {
        write::credit(actor, place, Part::Main, (None, object), options);
    }
    let errors = validation::validate_create(stored, object);
    if !errors.is_empty() {
        return Err(Status::invalid(place.resource, &place.name, &errors).into());
    }
    warnings.extend(strategy::warnings(stored, object));
    Ok(warnings)
}

async fn store(
    actor: &Actor,
    place: &Place,
    object: &Value,
    options: &WriteOptions,
) -> Result<Option<bytes::Bytes>, Failure> {
    // Last of all: who is refused for another reason takes no place.
    let held = admission::quota::charge(actor, place, object, options).await?;
    if options.dry_run {
        let free = actor.api.store.get(&place.key()).is_none();
        return Ok(free.then(|| object::encode(object).without_version().into()));
    }
    // Held until the object is stored.
    let _held = held;
    let item = write::commit_new(actor, place, object).await?;
    Ok(item.map(|item| item.bytes.clone()))
}

fn taken(actor: &Actor, place: &Place) -> Status {
    let deleted = actor.api.store.get(&place.key()).is_some_and(|item| {
        let object = object::parse(&item.bytes);
        !object.meta("deletionTimestamp").is_empty()
    });
    if deleted {
        Status::being_deleted(place.resource, &place.name)
    } else {
        Status::already_exists(place.resource, &place.name)
    }
}
