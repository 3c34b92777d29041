//! Replacing objects.

use pernode_api::status::Status;
use serde_json::Value;

use super::create::{insert, place_in};
use super::write::{Outcome, Part, Place, TRIES_MAX, default, finish, settle};
use crate::call::{Actor, Call};
use crate::decode;
use crate::events;
use crate::key;
use crate::object::{self, Object as _};
use crate::options::WriteOptions;
use crate::reply::{Failure, Response};

/// `PUT` of an object.
pub(crate) async fn update(call: &Call) -> Result<Response, Failure> {
    replace(call, Part::Main).await
}

/// `PUT` of an object or of its status.
pub(crate) async fn replace(call: &Call, part: Part) -> Result<Response, Failure> {
    let options = WriteOptions::parse("UpdateOptions", &call.query, &call.headers)?;
    let decoded = decode::object(call, options.validation)?;
    let place = Place::new(call.resource, call.namespace(), call.name());
    let outcome = put(&call.actor, &place, part, decoded.object, &options)
        .await
        .map_err(|failure| decode::with_warnings(failure, &decoded.warnings))?;
    let warnings = [decoded.warnings, outcome.warnings].concat();
    let code = if outcome.created { 201 } else { 200 };
    call.show(code, outcome.object, &warnings)
}

/// The name in a body has to be there and to be the one of the path.
pub(crate) fn check_name(place: &Place, object: &Value) -> Result<(), Status> {
    match object.meta("name") {
        "" => Err(Status::name_undeterminable(&place.name)),
        name if name != place.name => Err(Status::name_mismatch(name, &place.name)),
        _ => Ok(()),
    }
}

/// Puts an object in the place of the stored one.
async fn put(
    actor: &Actor,
    place: &Place,
    part: Part,
    mut object: Value,
    options: &WriteOptions,
) -> Result<Outcome, Failure> {
    check_name(place, &object)?;
    place_in(place.resource, place.namespace.as_deref(), &mut object)?;
    let version = version(&object)?;
    let external = object;
    for _ in 0..TRIES_MAX {
        let Some(item) = actor.api.store.get(&place.key()) else {
            if place.resource.create_on_update && part == Part::Main {
                let mut object = external;
                object.metadata_mut().remove("resourceVersion");
                let at = (place.resource, place.namespace.as_deref());
                return insert(actor, at, object, options).await;
            }
            return Err(place.not_found().into());
        };
        let old = object::parse(&item.bytes);
        check_version(place, version, item.revision)?;
        check_uid(place, &external, &old)?;
        let new = stored_form(place, external.clone(), &old);
        let settled = settle(actor, place, part, (&old, new), Some(options)).await?;
        match finish(actor, place, (&item, &old), settled, options).await? {
            Some(outcome) => return Ok(outcome),
            None if version.is_some() => return Err(stale(place).into()),
            None => {}
        }
    }
    Err(stale(place).into())
}

/// The form the object is stored in, with defaults.
pub(crate) fn stored_form(place: &Place, external: Value, old: &Value) -> Value {
    let mut object = if std::ptr::eq(key::stored_as(place.resource), place.resource) {
        external
    } else {
        events::to_core_group(external, Some(old))
    };
    default(place.resource, &mut object);
    object
}

/// The version a body names; "0" and nothing mean none.
pub(crate) fn version(object: &Value) -> Result<Option<u64>, Status> {
    match object.meta("resourceVersion") {
        "" | "0" => Ok(None),
        text => text.parse().map(Some).map_err(|_| {
            Status::bad_request(format!(
                "invalid resource version: resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"
            ))
        }),
    }
}

pub(crate) fn check_version(place: &Place, wanted: Option<u64>, actual: u64) -> Result<(), Status> {
    match wanted {
        Some(wanted) if wanted != actual => Err(stale(place)),
        None if place.resource.conditional_update => {
            Err(Status::version_required(place.resource, &place.name))
        }
        _ => Ok(()),
    }
}

pub(crate) fn check_uid(place: &Place, new: &Value, old: &Value) -> Result<(), Status> {
    let (wanted, actual) = (new.meta("uid"), old.meta("uid"));
    if wanted.is_empty() || wanted == actual {
        return Ok(());
    }
    // The key as upstream has it, without the group: the text is read by people.
    let namespace = place.namespace.as_deref();
    let mut shown = format!("/registry/{}/", place.resource.plural);
    if let Some(namespace) = namespace {
        shown.push_str(namespace);
        shown.push('/');
    }
    shown.push_str(&place.name);
    Err(Status::uid_conflict(
        place.resource,
        &shown,
        &place.name,
        (wanted, actual),
    ))
}

pub(crate) fn stale(place: &Place) -> Status {
    Status::stale(place.resource, &place.name)
}
