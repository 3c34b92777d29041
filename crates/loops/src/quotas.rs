//! Brings the status of resource quotas up to date: `core::quota` counts.
//!
//! The API server writes each creation down by itself; what goes, and a bound that is changed, is
//! counted here.

use crate::drive::{Decide, drive, forward, inbox};
use crate::{Context, names, note};
use jiff::{SignedDuration, Timestamp};
use pernode_core::meta::{Meta, null_as_default};
use pernode_core::pod::Pod;
use pernode_core::quota::{self, Amounts, Counted};
use pernode_runtime::{Error, Event, Object, Resource, View, discover};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// How long after a change objects are counted: a creation that was written down before is stored by
/// then, and many changes are counted once.
const SETTLE: SignedDuration = SignedDuration::from_millis(200);
/// How often kinds are counted that this loop does not watch.
const RESYNC: SignedDuration = SignedDuration::from_secs(10);

/// A ResourceQuota.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Quota {
    metadata: Meta,
    #[serde(deserialize_with = "null_as_default")]
    spec: Bounds,
    #[serde(deserialize_with = "null_as_default")]
    status: Bounds,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Bounds {
    hard: Value,
}

impl Object for Quota {
    fn meta(&self) -> &Meta {
        &self.metadata
    }
}

impl View for Quota {
    const RESOURCE: Resource = Resource::namespaced("", "v1", "resourcequotas", "ResourceQuota");
}

pub(crate) enum Seen {
    Quota(Event<Quota>),
    Pod(Event<Pod>),
}

/// Namespace and name of a quota.
pub(crate) type Key = (String, String);

/// The quotas there are, and when each is counted next.
#[derive(Debug, Default)]
pub(crate) struct Quotas {
    /// By namespace and name; whether it bounds kinds that are not watched here.
    quotas: BTreeMap<String, BTreeMap<String, bool>>,
    due: BTreeMap<Key, Timestamp>,
}

const PODS: Counted<'_> = Counted {
    group: "",
    plural: "pods",
};

impl Quotas {
    fn apply(&mut self, quota: &Quota, now: Timestamp) {
        let key = (
            quota.metadata.namespace.clone(),
            quota.metadata.name.clone(),
        );
        let hard = quota::amounts(&quota.spec.hard);
        let alone = |(what, amount): (&String, _)| {
            let one = Amounts::from([(what.clone(), Clone::clone(amount))]);
            !quota::bounds(&one, PODS)
        };
        let others = hard.iter().any(alone);
        let quotas = self.quotas.entry(key.0.clone()).or_default();
        quotas.insert(key.1.clone(), others);
        if quota.status.hard.is_null() || quota::amounts(&quota.status.hard) != hard {
            self.due.insert(key, now);
        } else if others {
            self.due.entry(key).or_insert(now + RESYNC);
        }
    }

    fn remove(&mut self, meta: &Meta) {
        if let Some(quotas) = self.quotas.get_mut(&meta.namespace) {
            quotas.remove(&meta.name);
            if quotas.is_empty() {
                self.quotas.remove(&meta.namespace);
            }
        }
        self.due
            .remove(&(meta.namespace.clone(), meta.name.clone()));
    }

    /// Something in a namespace has gone.
    fn touch(&mut self, namespace: &str, now: Timestamp) {
        for name in self
            .quotas
            .get(namespace)
            .into_iter()
            .flat_map(BTreeMap::keys)
        {
            let due = self.due.entry((namespace.to_owned(), name.clone()));
            let at = now + SETTLE;
            due.and_modify(|due| *due = at.min(*due)).or_insert(at);
        }
    }
}

impl Decide for Quotas {
    type Event = Seen;
    type Job = Key;
    /// The quota, and whether it has to be counted again.
    type Outcome = (Key, bool);

    fn see(&mut self, event: Seen, now: Timestamp) {
        match event {
            Seen::Quota(Event::Reset(quotas)) => {
                let listed: BTreeSet<Key> = quotas
                    .iter()
                    .map(|q| (q.metadata.namespace.clone(), q.metadata.name.clone()))
                    .collect();
                self.quotas.clear();
                self.due.retain(|key, _| listed.contains(key));
                quotas.iter().for_each(|quota| self.apply(quota, now));
            }
            Seen::Quota(Event::Apply(quota)) => self.apply(&quota, now),
            Seen::Quota(Event::Delete(quota)) => self.remove(&quota.metadata),
            // What went while nobody watched is not known: all are counted.
            Seen::Pod(Event::Reset(_)) => {
                let namespaces: Vec<String> = self.quotas.keys().cloned().collect();
                namespaces.iter().for_each(|name| self.touch(name, now));
            }
            Seen::Pod(Event::Apply(pod)) => {
                if pod.status.phase.is_terminal() {
                    self.touch(&pod.metadata.namespace, now);
                }
            }
            Seen::Pod(Event::Delete(pod)) => self.touch(&pod.metadata.namespace, now),
        }
    }

    fn plan(&mut self, now: Timestamp) -> (Vec<Key>, Option<Timestamp>) {
        let jobs: Vec<Key> = self
            .due
            .iter()
            .filter(|(_, due)| **due <= now)
            .map(|(key, _)| key.clone())
            .collect();
        self.due.retain(|_, due| *due > now);
        (jobs, self.due.values().min().copied())
    }

    fn done(&mut self, (key, again): (Key, bool), now: Timestamp) {
        let quotas = self.quotas.get(&key.0);
        let Some(others) = quotas.and_then(|quotas| quotas.get(&key.1)) else {
            return;
        };
        if again {
            self.due.insert(key, now + SETTLE);
        } else if *others {
            self.due.entry(key).or_insert(now + RESYNC);
        }
    }
}

pub(crate) async fn run(context: Context) {
    let (sender, events) = inbox();
    let quotas = context.follow::<Quota>();
    forward(quotas.subscribe(), sender.clone(), Seen::Quota);
    forward(context.informers.pods.subscribe(), sender, Seen::Pod);
    let shutdown = context.shutdown.clone();
    let execute = |key: Key| {
        let context = context.clone();
        async move {
            let again = match context.recount(&key).await {
                Ok(()) => false,
                Err(error) => {
                    note(names::QUOTA, "count", &key.1, &error);
                    !error.is_not_found()
                }
            };
            (key, again)
        }
    };
    drive(Quotas::default(), events, execute, shutdown).await;
}

impl Context {
    /// Counts what a quota bounds and writes its status, unless somebody else wrote in between.
    async fn recount(&self, (namespace, name): &Key) -> Result<(), Error> {
        let mut quota: Value = self.writer.get(&Quota::RESOURCE, namespace, name).await?;
        let hard = quota::amounts(&quota["spec"]["hard"]);
        let mut used = quota::nothing_used(&hard);
        for kind in discover(&self.writer).await? {
            let resource = &kind.resource;
            let counted = Counted {
                group: &resource.group,
                plural: &resource.plural,
            };
            if !resource.namespaced || !kind.can(&["list"]) || !quota::bounds(&hard, counted) {
                continue;
            }
            let objects: Vec<Value> = self.writer.list(resource, namespace).await?;
            for object in &objects {
                quota::count(&quota, &mut used, counted, object);
            }
        }
        let known = &quota["status"];
        if quota::amounts(&known["used"]) == used && quota::amounts(&known["hard"]) == hard {
            return Ok(());
        }
        quota["status"] = json!({"hard": quota["spec"]["hard"], "used": quota::shown(&used)});
        let written = self
            .writer
            .replace_sub(&Quota::RESOURCE, "status", &quota)
            .await;
        written.map(drop)
    }
}
