//! ResourceQuotas: how much a namespace may hold.
//!
//! As upstream, the status of a quota is the ledger: a creation is written down there before the
//! object is stored, under the quota's version, so that servers that share a store cannot give away
//! the last place twice. Unlike upstream, a creation that finds the quota full counts what is stored
//! before it is refused, so that a place is free as soon as its object is gone; the quota loop
//! (`resourcequota-controller`) brings the status up to date.

use std::sync::{Mutex, PoisonError};

use pernode_api::resource::{RESOURCES, Resource, find};
use pernode_api::status::Status;
use pernode_core::quota::{self, Amounts, Counted};
use serde_json::{Value, json};

use crate::call::Actor;
use crate::key;
use crate::object::{self, Object as _};
use crate::options::WriteOptions;
use crate::registry::{Part, Place, write};
use crate::reply::Failure;

/// What creations under quotas share.
#[derive(Debug, Default)]
pub(crate) struct Quotas {
    /// Creations are written down one after the other; each waits for the store.
    turn: tokio::sync::Mutex<()>,
    /// Objects that are written down, but perhaps not stored yet.
    in_flight: Mutex<Vec<(u64, Place, Value)>>,
    next: std::sync::atomic::AtomicU64,
}

/// Holds an object's place in the quotas until it is stored, or its creation has failed.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    quotas: &'a Quotas,
    number: u64,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let in_flight = self.quotas.in_flight.lock();
        let mut in_flight = in_flight.unwrap_or_else(PoisonError::into_inner);
        in_flight.retain(|(number, ..)| *number != self.number);
    }
}

impl Quotas {
    fn hold(&self, place: &Place, object: &Value) -> Held<'_> {
        let number = self.next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let entry = (number, place.clone(), object.clone());
        let in_flight = self.in_flight.lock();
        in_flight
            .unwrap_or_else(PoisonError::into_inner)
            .push(entry);
        Held {
            quotas: self,
            number,
        }
    }

    fn in_flight(&self) -> Vec<(u64, Place, Value)> {
        let in_flight = self.in_flight.lock();
        in_flight.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn counted(resource: &Resource) -> Counted<'_> {
    Counted {
        group: resource.group,
        plural: resource.plural,
    }
}

/// Writes a new object down in the quotas of its namespace, or refuses it.
pub(crate) async fn charge<'a>(
    actor: &'a Actor,
    place: &Place,
    object: &Value,
    options: &WriteOptions,
) -> Result<Option<Held<'a>>, Failure> {
    let concerned = concerned(actor, place, object);
    if concerned.is_empty() {
        return Ok(None);
    }
    let quotas = &actor.api.quotas;
    let _turn = quotas.turn.lock().await;
    for quota in &concerned {
        let Some(item) = actor.api.store.get(&quota.key()) else {
            continue;
        };
        let quota = object::parse(&item.bytes);
        with(actor, place, object, &quota).map_err(|why| refused(place, &why))?;
    }
    if options.dry_run {
        return Ok(None);
    }
    for quota in &concerned {
        note(actor, place, object, quota).await?;
    }
    Ok(Some(quotas.hold(place, object)))
}

fn refused(place: &Place, why: &str) -> Failure {
    Status::forbidden(place.resource, &place.name, why).into()
}

/// The quotas of its namespace that bound what an object uses.
fn concerned(actor: &Actor, place: &Place, object: &Value) -> Vec<Place> {
    let Some(namespace) = place.namespace.as_deref() else {
        return Vec::new();
    };
    let resource = find("", "v1", "resourcequotas").expect("quotas are in the table");
    let kind = counted(place.resource);
    let stored = actor
        .api
        .store
        .list(&key::prefix(resource, Some(namespace)));
    let all = stored.iter().map(|item| object::parse(&item.bytes));
    let concerned = all.filter(|quota| {
        let hard = quota::amounts(&quota["spec"]["hard"]);
        quota::bounds(&hard, kind) && quota::speaks_of(quota, kind, object)
    });
    concerned
        .map(|quota| Place::new(resource, Some(namespace), quota.meta("name")))
        .collect()
}

/// What a quota's objects use together with one more, or why that one does not fit.
fn with(actor: &Actor, place: &Place, object: &Value, quota: &Value) -> Result<Amounts, String> {
    let hard = quota::amounts(&quota["spec"]["hard"]);
    let name = quota.meta("name");
    if place.resource.group.is_empty()
        && place.resource.plural == "pods"
        && let Some(open) = quota::unnamed(&hard, object)
    {
        return Err(format!("failed quota: {name}: {open}"));
    }
    let asked = quota::usage(counted(place.resource), object);
    let status = &quota["status"];
    if quota::amounts(&status["hard"]) == hard {
        let used = quota::amounts(&status["used"]);
        if let Ok(total) = quota::charge(name, &hard, &used, &asked) {
            return Ok(total);
        }
    }
    let used = recount(actor, place, quota, &hard);
    quota::charge(name, &hard, &used, &asked)
}

/// What is stored and what is about to be, of all that a quota bounds.
fn recount(actor: &Actor, place: &Place, quota: &Value, hard: &Amounts) -> Amounts {
    let mut used = quota::nothing_used(hard);
    let namespace = place.namespace.as_deref();
    let mut in_flight = actor.api.quotas.in_flight();
    let kinds = RESOURCES
        .iter()
        .filter(|kind| kind.namespaced && quota::bounds(hard, counted(kind)));
    for kind in kinds.filter(|kind| std::ptr::eq(key::stored_as(kind), *kind)) {
        for item in actor.api.store.list(&key::prefix(kind, namespace)).iter() {
            in_flight.retain(|(_, place, _)| place.key() != *item.key);
            let object = object::parse(&item.bytes);
            quota::count(quota, &mut used, counted(kind), &object);
        }
    }
    for (_, place, object) in &in_flight {
        if place.namespace.as_deref() == namespace {
            quota::count(quota, &mut used, counted(place.resource), object);
        }
    }
    used
}

/// Writes an object down in the status of one quota.
async fn note(
    actor: &Actor,
    place: &Place,
    object: &Value,
    quota_place: &Place,
) -> Result<(), Failure> {
    let server = Actor::server(&actor.api);
    let options = WriteOptions::of_server();
    // Others write too: the quota loop, the other servers on the store.
    while let Some(item) = actor.api.store.get(&quota_place.key()) {
        let old = object::parse(&item.bytes);
        let total = with(actor, place, object, &old).map_err(|why| refused(place, &why))?;
        let mut new = old.clone();
        let hard = quota::amounts(&old["spec"]["hard"]);
        new["status"] = json!({"hard": old["spec"]["hard"], "used": quota::shown(&total)});
        new["status"]["used"]
            .as_object_mut()
            .expect("made as a map")
            .retain(|what, _| hard.contains_key(what));
        let part = Part::Status;
        let settled = write::settle(&server, quota_place, part, (&old, new), Some(&options));
        let settled = settled.await?;
        let written = write::finish(&server, quota_place, (&item, &old), settled, &options);
        if written.await?.is_some() {
            break;
        }
    }
    Ok(())
}
