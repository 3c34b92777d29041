//! Plays the agents: feeds the fleet, sends its writes, comes back when something is due.

use crate::fleet::{Fleet, Job, Key, Outcome, Write, revision};
use crate::status::micros;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use jiff::Timestamp;
use pernode_core::node::Node;
use pernode_core::pod::Pod;
use pernode_runtime::{
    CancellationToken, DeleteOptions, Error, Event, Lease, Partial, Patch, Shared, Subscription,
    View, Writer,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Namespace of the nodes' leases.
const LEASES: &str = "kube-node-lease";
/// For how long after a renewal a node counts as alive (kubelet: 40 s).
const LEASE_SECONDS: i64 = 40;
/// Longest sleep: a wall clock that is set forward is noticed after this.
const SLEEP_MAX: Duration = Duration::from_secs(5);

/// How the agents work.
#[derive(Debug, Clone)]
pub struct Options {
    /// Writes in flight at a time, over all nodes.
    pub in_flight_max: usize,
}

impl Default for Options {
    /// 128 writes in flight: enough to fill the store's group commits.
    fn default() -> Self {
        Self { in_flight_max: 128 }
    }
}

/// What the agents have done, for metrics and tests.
#[derive(Debug, Default)]
pub struct Stats {
    nodes: AtomicUsize,
    writes: AtomicU64,
    failures: AtomicU64,
}

impl Stats {
    /// Simulated nodes at present.
    pub fn nodes(&self) -> usize {
        self.nodes.load(Ordering::Relaxed)
    }

    /// Writes sent.
    pub fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }

    /// Writes that failed and were tried again.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }
}

/// Plays the agents of all simulated nodes until `shutdown`, all in the caller's task.
///
/// At shutdown writes in flight are dropped: every one of them is decided anew after a restart.
pub async fn run(
    writer: Writer,
    (nodes, pods): (&Shared<Node>, &Shared<Pod>),
    options: Options,
    stats: Arc<Stats>,
    shutdown: CancellationToken,
) {
    let agents = Agents {
        writer,
        options,
        stats,
        fleet: Fleet::default(),
        in_flight: FuturesUnordered::new(),
    };
    let work = agents.work(nodes.subscribe(), pods.subscribe());
    shutdown.run_until_cancelled(work).await;
}

struct Agents {
    writer: Writer,
    options: Options,
    stats: Arc<Stats>,
    fleet: Fleet,
    in_flight: FuturesUnordered<BoxFuture<'static, (Key, Result<Outcome, Error>)>>,
}

impl Agents {
    async fn work(mut self, mut nodes: Subscription<Node>, mut pods: Subscription<Pod>) {
        loop {
            let slots = self
                .options
                .in_flight_max
                .saturating_sub(self.in_flight.len());
            for job in self.fleet.plan(Timestamp::now(), slots) {
                self.stats.writes.fetch_add(1, Ordering::Relaxed);
                self.in_flight
                    .push(Box::pin(execute(self.writer.clone(), job)));
            }
            let full = self.in_flight.len() >= self.options.in_flight_max;
            let wait = self.sleep();
            tokio::select! {
                Some((key, result)) = self.in_flight.next() => self.done(key, result),
                batch = nodes.next_batch() => {
                    if batch.is_empty() { return; }
                    for event in batch { self.node_event(event); }
                }
                batch = pods.next_batch() => {
                    if batch.is_empty() { return; }
                    for event in batch { self.pod_event(event); }
                }
                () = tokio::time::sleep(wait), if !full => {}
            }
        }
    }

    fn sleep(&self) -> Duration {
        let until = self
            .fleet
            .next()
            .map(|at| at.duration_since(Timestamp::now()));
        match until {
            None => SLEEP_MAX,
            Some(until) => Duration::try_from(until).unwrap_or_default().min(SLEEP_MAX),
        }
    }

    fn node_event(&mut self, event: Event<Node>) {
        let now = Timestamp::now();
        match event {
            Event::Reset(all) => {
                let names: BTreeSet<&str> = all.iter().map(|n| &*n.metadata.name).collect();
                self.fleet.reset_nodes(&names);
                drop(names);
                for node in all {
                    self.fleet.apply_node(node, now);
                }
            }
            Event::Apply(node) => self.fleet.apply_node(node, now),
            Event::Delete(node) => self.fleet.remove_node(&node.metadata.name),
        }
        self.stats
            .nodes
            .store(self.fleet.nodes(), Ordering::Relaxed);
    }

    fn pod_event(&mut self, event: Event<Pod>) {
        let now = Timestamp::now();
        match event {
            Event::Reset(all) => {
                let uids: BTreeSet<&str> = all.iter().map(|p| &*p.metadata.uid).collect();
                self.fleet.reset_pods(&uids);
                drop(uids);
                for pod in all {
                    self.fleet.apply_pod(pod, now);
                }
            }
            Event::Apply(pod) => self.fleet.apply_pod(pod, now),
            Event::Delete(pod) => self.fleet.remove_pod(&pod.metadata.uid),
        }
    }

    fn done(&mut self, key: Key, result: Result<Outcome, Error>) {
        let outcome = result.unwrap_or_else(|error| {
            tracing::debug!(?key, %error, "agent's write failed");
            self.stats.failures.fetch_add(1, Ordering::Relaxed);
            Outcome::Failed
        });
        self.fleet.done(key, outcome, Timestamp::now());
    }
}

async fn execute(writer: Writer, job: Job) -> (Key, Result<Outcome, Error>) {
    let result = match job.write {
        Write::Lease { node, exists, at } => renew(&writer, &node, exists, at).await,
        Write::Report { node, patch } => report(&writer, &node, patch).await,
        Write::Status { pod, patch } => patch_pod(&writer, &pod, patch).await,
        Write::Remove { pod } => remove(&writer, &pod).await,
    };
    (job.key, result)
}

async fn report(writer: &Writer, node: &Node, mut patch: Value) -> Result<Outcome, Error> {
    patch["metadata"] = json!({"uid": node.metadata.uid});
    let name = ("", &*node.metadata.name);
    let written = writer
        .patch_status(&Node::RESOURCE, name, Patch::Strategic, &patch)
        .await;
    outcome(written)
}

async fn patch_pod(writer: &Writer, pod: &Pod, mut patch: Value) -> Result<Outcome, Error> {
    patch["metadata"] = json!({"uid": pod.metadata.uid});
    let name = (&*pod.metadata.namespace, &*pod.metadata.name);
    let written = writer
        .patch_status(&Pod::RESOURCE, name, Patch::Strategic, &patch)
        .await;
    outcome(written)
}

/// Removes a pod that has stopped, as kubelet does: no grace left, and only this very pod.
async fn remove(writer: &Writer, pod: &Pod) -> Result<Outcome, Error> {
    let (namespace, name) = (&*pod.metadata.namespace, &*pod.metadata.name);
    let options = DeleteOptions::of_uid(&pod.metadata.uid).grace(0);
    match writer
        .delete(&Pod::RESOURCE, namespace, name, &options)
        .await
    {
        Ok(()) => Ok(Outcome::Gone),
        Err(error) if error.is_not_found() || error.is_conflict() => Ok(Outcome::Gone),
        Err(error) => Err(error),
    }
}

/// What a patch came to. A conflict means another uid: the object we meant is gone.
fn outcome(written: Result<Partial, Error>) -> Result<Outcome, Error> {
    match written {
        Ok(now) => Ok(Outcome::Written(revision(&now.metadata.resource_version))),
        Err(error) if error.is_not_found() || error.is_conflict() => Ok(Outcome::Gone),
        Err(error) => Err(error),
    }
}

/// Renews a lease; makes it where it does not exist, and takes it over where it does.
async fn renew(
    writer: &Writer,
    node: &Node,
    exists: bool,
    at: Timestamp,
) -> Result<Outcome, Error> {
    let name = (LEASES, &*node.metadata.name);
    if exists {
        let patch = json!({"spec": {"renewTime": micros(at)}});
        let written = writer
            .patch(&Lease::RESOURCE, name, Patch::Merge, &patch)
            .await;
        match written {
            Err(error) if error.is_not_found() => {}
            written => return outcome(written),
        }
    }
    let lease = lease(node, at);
    match writer.create(&Lease::RESOURCE, LEASES, &lease).await {
        Err(error) if error.is_already_exists() => {
            let written = writer
                .patch(&Lease::RESOURCE, name, Patch::Merge, &lease)
                .await;
            outcome(written)
        }
        Err(error) => Err(error),
        written => outcome(written),
    }
}

fn lease(node: &Node, at: Timestamp) -> Value {
    let name = &node.metadata.name;
    json!({
        "apiVersion": Lease::RESOURCE.api_version(),
        "kind": "Lease",
        "metadata": {
            "name": name,
            "namespace": LEASES,
            "ownerReferences": [{
                "apiVersion": "v1", "kind": "Node", "name": name, "uid": node.metadata.uid,
            }],
        },
        "spec": {
            "holderIdentity": name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": micros(at),
        },
    })
}
