//! Deleting objects, one or many.

use std::sync::Arc;

use bytes::Bytes;
use pernode_api::resource::Resource;
use pernode_api::status::Status;
use pernode_api::strategy::{Deletion, plan_deletion};
use pernode_store::Item;
use serde_json::{Value, json};

use super::list;
use super::selection::Selection;
use super::write::{self, Place, Settled};
use crate::admission;
use crate::call::{Actor, Call};
use crate::decode;
use crate::object::{self, Object as _};
use crate::options::{DeleteOptions, WriteOptions};
use crate::reply::{self, Failure, Response};

/// What a deletion led to.
pub(crate) struct Deleted {
    /// The object as it is now, or its last state.
    pub(crate) object: Bytes,
    /// Whether it is gone.
    pub(crate) gone: bool,
    /// Its uid.
    uid: String,
}

/// `DELETE` of an object.
pub(crate) async fn delete(call: &Call) -> Result<Response, Failure> {
    let body = decode::options(call)?;
    let options = DeleteOptions::parse(body.as_ref(), &call.query)?;
    let place = Place::new(call.resource, call.namespace(), call.name());
    let deleted = remove(&call.actor, &place, &options).await?;
    if deleted.gone && !returns_object(call.resource) {
        let status = Status::success(call.resource, &place.name, &deleted.uid);
        return Ok(crate::view::write(
            call.accepted,
            200,
            status.to_value().to_string().into(),
        ));
    }
    let code = if !deleted.gone && options.how.orphan_dependents == Some(false) {
        // Upstream's way to say that the object goes when its dependents have gone.
        202
    } else {
        200
    };
    call.show(code, deleted.object, &[])
}

/// The kinds whose deletion answers with the object even when it is gone.
fn returns_object(resource: &Resource) -> bool {
    resource.group.is_empty()
        && matches!(
            resource.plural,
            "pods"
                | "services"
                | "serviceaccounts"
                | "podtemplates"
                | "resourcequotas"
                | "persistentvolumes"
                | "persistentvolumeclaims"
        )
}

/// Deletes an object: marks it, shortens its grace period, or removes it.
pub(crate) async fn remove(
    actor: &Actor,
    place: &Place,
    options: &DeleteOptions,
) -> Result<Deleted, Failure> {
    admission::delete(actor, place)?;
    loop {
        let item = place.read(actor)?;
        let old = object::parse(&item.bytes);
        check_preconditions(place, &old, options)?;
        let planned = if place.resource.kind == "Namespace" {
            plan_namespace(actor, &old)
        } else {
            plan_deletion(place.resource, &old, &options.how, actor.now)
        };
        if let Some(deleted) = carry_out(actor, place, (&item, &old), planned, options).await? {
            return Ok(deleted);
        }
    }
}

/// Watchers see that a pod is going before it is gone, also when it goes at once: upstream's
/// deletions with a grace period of zero are two writes.
async fn mark(
    actor: &Actor,
    place: &Place,
    (item, old): (&Arc<Item>, &Value),
    last: &Value,
) -> Result<Option<Arc<Item>>, Failure> {
    let first =
        old.meta("deletionTimestamp").is_empty() && !last.meta("deletionTimestamp").is_empty();
    if !first {
        return Ok(Some(item.clone()));
    }
    Ok(write::commit_change(actor, place, item, last).await?)
}

fn check_preconditions(place: &Place, old: &Value, options: &DeleteOptions) -> Result<(), Status> {
    if let Some(uid) = options.uid.as_deref().filter(|uid| *uid != old.meta("uid")) {
        let uids = (uid, old.meta("uid"));
        return Err(Status::delete_uid_conflict(
            place.resource,
            &place.name,
            uids,
        ));
    }
    let actual = old.meta("resourceVersion");
    if let Some(version) = options.resource_version.as_deref().filter(|v| *v != actual) {
        let versions = (version, actual);
        return Err(Status::delete_version_conflict(
            place.resource,
            &place.name,
            versions,
        ));
    }
    Ok(())
}

/// A namespace stays, as terminating, until it has been emptied and finalized.
fn plan_namespace(actor: &Actor, old: &Value) -> Deletion {
    let held = |value: &Value| value.as_array().is_some_and(|list| !list.is_empty());
    if !held(&old["spec"]["finalizers"]) && !held(&old["metadata"]["finalizers"]) {
        return Deletion::Remove(old.clone());
    }
    if !old.meta("deletionTimestamp").is_empty() {
        return Deletion::Unchanged;
    }
    let mut new = old.clone();
    new.set_meta("deletionTimestamp", &format!("{:.0}", actor.now));
    new["status"]["phase"] = json!("Terminating");
    Deletion::Keep(new)
}

async fn carry_out(
    actor: &Actor,
    place: &Place,
    (item, old): (&Arc<Item>, &Value),
    planned: Deletion,
    options: &DeleteOptions,
) -> Result<Option<Deleted>, Failure> {
    let deleted = |object: Bytes, gone| {
        Some(Deleted {
            object,
            gone,
            uid: old.meta("uid").to_owned(),
        })
    };
    match planned {
        Deletion::Unchanged => Ok(deleted(item.bytes.clone(), false)),
        Deletion::Keep(object) => {
            let write = WriteOptions {
                dry_run: options.dry_run,
                ..WriteOptions::internal()
            };
            let settled = Settled {
                object,
                warnings: Vec::new(),
            };
            let kept = write::finish(actor, place, (item, old), settled, &write).await?;
            Ok(kept.and_then(|outcome| deleted(outcome.object, false)))
        }
        Deletion::Remove(last) if options.dry_run => {
            Ok(deleted(object::encode_as_is(&last).into(), true))
        }
        Deletion::Remove(last) => {
            let Some(item) = mark(actor, place, (item, old), &last).await? else {
                return Ok(None);
            };
            let gone = write::commit_removal(actor, &item, &last).await?;
            Ok(gone.and_then(|item| deleted(item.bytes.clone(), true)))
        }
    }
}

/// `DELETE` of a collection: the objects that the selectors match, one by one.
pub(crate) async fn delete_collection(call: &Call) -> Result<Response, Failure> {
    let body = decode::options(call)?;
    let options = DeleteOptions::parse(body.as_ref(), &call.query)?;
    list::check_options(&call.query, false)?;
    let selection = Selection::of(call)?;
    let snapshot = call.api().store.list(&selection.prefix);
    let items: Vec<Arc<Item>> = snapshot
        .iter()
        .filter(|item| selection.matches(item))
        .cloned()
        .collect();
    for item in &items {
        let place = place_of(call.resource, &item.key);
        match remove(&call.actor, &place, &options).await {
            // Somebody else was faster: what was asked for has happened.
            Err(failure) if failure.status.code == 404 => {}
            result => drop(result?),
        }
    }
    let metadata = json!({"resourceVersion": snapshot.revision().to_string()});
    let mut response = list::answer(call.resource, &call.viewer()?, items, metadata);
    reply::warn(&mut response, &[]);
    Ok(response)
}

fn place_of(resource: &'static Resource, key: &str) -> Place {
    let mut parts = key.rsplit('/');
    let name = parts.next().unwrap_or_default();
    Place::new(resource, parts.next(), name)
}
