//! Empties namespaces that are being deleted, then lets them go (spec/apiserver.md 2.11).

use crate::{Context, names, note};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use pernode_core::meta::{Meta, null_as_default};
use pernode_runtime::{
    CancellationToken, DeleteOptions, Error, Event, Object, Partial, Propagation, Queue, Resource,
    View, discover,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// The finalizer that this loop takes away.
const FINALIZER: &str = "kubernetes";
/// First and longest pause before a namespace that still has objects is looked at again.
const RETRY: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));
/// Namespaces that are emptied at the same time.
const AT_ONCE_MAX: usize = 8;

/// A Namespace, as far as its end is concerned.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Namespace {
    metadata: Meta,
    #[serde(deserialize_with = "null_as_default")]
    spec: NamespaceSpec,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct NamespaceSpec {
    #[serde(deserialize_with = "null_as_default")]
    finalizers: Vec<String>,
}

impl Object for Namespace {
    fn meta(&self) -> &Meta {
        &self.metadata
    }
}

impl View for Namespace {
    const RESOURCE: Resource = Resource::cluster("", "v1", "namespaces", "Namespace");
}

impl Namespace {
    /// Whether it waits for this loop.
    fn is_ending(&self) -> bool {
        self.metadata.is_deleting() && self.spec.finalizers.iter().any(|f| f == FINALIZER)
    }
}

pub(crate) async fn run(context: Context) {
    let queue = Queue::<String>::new(RETRY.0, RETRY.1);
    let mut namespaces = context.follow::<Namespace>().subscribe();
    let shutdown = context.shutdown.clone();
    let feed = async {
        while let Some(event) = namespaces.next().await {
            let seen = match event {
                Event::Reset(all) => all,
                Event::Apply(one) => vec![one],
                Event::Delete(_) => Vec::new(),
            };
            for namespace in seen.iter().filter(|n| n.is_ending()) {
                queue.add(namespace.metadata.name.clone());
            }
        }
    };
    let work = async { tokio::join!(feed, empty_all(&context, &queue, &shutdown)) };
    shutdown.run_until_cancelled(work).await;
}

async fn empty_all(context: &Context, queue: &Queue<String>, shutdown: &CancellationToken) {
    let mut busy = FuturesUnordered::new();
    while !shutdown.is_cancelled() {
        let room = busy.len() < AT_ONCE_MAX;
        tokio::select! {
            name = queue.next(), if room => match name {
                Some(name) => busy.push(one(context, queue, name)),
                None => return,
            },
            Some(()) = busy.next() => {}
        }
    }
}

async fn one(context: &Context, queue: &Queue<String>, name: String) {
    match context.empty(&name).await {
        Ok(true) => queue.forget(&name),
        Ok(false) => drop(queue.retry(name.clone())),
        Err(error) => {
            note(names::NAMESPACE, "empty", &name, &error);
            queue.retry(name.clone());
        }
    }
    queue.done(&name);
}

impl Context {
    /// One round over a namespace; whether it has gone.
    async fn empty(&self, name: &str) -> Result<bool, Error> {
        let mut left = false;
        for kind in discover(&self.writer).await? {
            if !kind.resource.namespaced || !kind.can(&["list", "deletecollection"]) {
                continue;
            }
            let found: Vec<Partial> = self.writer.list(&kind.resource, name).await?;
            if found.is_empty() {
                continue;
            }
            if found.iter().any(|o| !o.metadata.is_deleting()) {
                let options = DeleteOptions::default().propagation(Propagation::Background);
                self.writer
                    .delete_collection(&kind.resource, name, &options)
                    .await?;
                let rest: Vec<Partial> = self.writer.list(&kind.resource, name).await?;
                left |= !rest.is_empty();
            } else {
                left = true;
            }
        }
        if left {
            return Ok(false);
        }
        self.finalize(name).await
    }

    async fn finalize(&self, name: &str) -> Result<bool, Error> {
        let namespace: Value = match self.writer.get(&Namespace::RESOURCE, "", name).await {
            Ok(namespace) => namespace,
            Err(error) if error.is_not_found() => return Ok(true),
            Err(error) => return Err(error),
        };
        let others: Vec<&Value> = namespace["spec"]["finalizers"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|finalizer| *finalizer != FINALIZER)
            .collect();
        let mut body = namespace.clone();
        body["spec"] = json!({"finalizers": others});
        match self
            .writer
            .replace_sub(&Namespace::RESOURCE, "finalize", &body)
            .await
        {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() => Ok(true),
            Err(error) => Err(error),
        }
    }
}
