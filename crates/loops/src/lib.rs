//! The control loops beside the DaemonSet controller.
//!
//! ```text
//! informers ─▶ inbox ─▶ drive: one task owns the index ─ plan ─▶ bounded writes
//!                          ▲                                        │
//!                          └──────────── outcomes ◀─────────────────┘
//! ```
//!
//! | name | decides in | does |
//! |---|---|---|
//! | `kube-scheduler` | `core::schedule` | binds pods to nodes, preempts |
//! | `taint-eviction-controller` | `core::eviction` | deletes pods that `NoExecute` taints repel |
//! | `node-lifecycle-controller` | `core::lifecycle` | conditions of silent nodes, taints by condition |
//! | `pod-garbage-collector-controller` | `core::podgc` | pods of departed nodes |
//! | `garbage-collector-controller` | `core::garbage` | dependents of deleted owners |
//! | `namespace-controller` | here | empties namespaces that are being deleted |
//! | `serviceaccount-controller` | here | service account `default` and the CA of each namespace |
//! | `disruption-controller` | here | status of pod disruption budgets |
//! | `resourcequota-controller` | `core::quota` | status of resource quotas |

mod disruption;
mod drive;
mod eviction;
mod garbage;
mod lifecycle;
mod namespaces;
mod podgc;
mod quotas;
mod scheduler;
mod service_accounts;

use pernode_core::meta::Meta;
use pernode_core::node::Node;
use pernode_core::pod::{Pod, PodRef};
use pernode_runtime::{
    CancellationToken, DeleteOptions, Error, ObjectRef, Patch, Recorder, Resource, Shared, View,
    Writer,
};
use serde_json::Value;
use std::collections::BTreeSet;

/// Names of the loops, as events and field managers show them.
pub mod names {
    /// Binds pods to nodes.
    pub const SCHEDULER: &str = "kube-scheduler";
    /// Deletes pods that `NoExecute` taints repel.
    pub const TAINT_EVICTION: &str = "taint-eviction-controller";
    /// Watches over nodes' leases and conditions.
    pub const NODE_LIFECYCLE: &str = "node-lifecycle-controller";
    /// Deletes the pods of departed nodes.
    pub const POD_GC: &str = "pod-garbage-collector-controller";
    /// Deletes the dependents of deleted owners.
    pub const GARBAGE: &str = "garbage-collector-controller";
    /// Empties namespaces that are being deleted.
    pub const NAMESPACE: &str = "namespace-controller";
    /// Gives each namespace its service account.
    pub const SERVICE_ACCOUNT: &str = "serviceaccount-controller";
    /// Keeps the status of pod disruption budgets.
    pub const DISRUPTION: &str = "disruption-controller";
    /// Keeps the status of resource quotas.
    pub const QUOTA: &str = "resourcequota-controller";
}

/// What the loops are given.
#[derive(Debug, Clone)]
pub struct Options {
    /// Loops that are left out, by name. Default: none.
    pub without: BTreeSet<String>,
    /// PEM of the cluster's CA, for the ConfigMap `kube-root-ca.crt` of each namespace.
    pub ca_certificate: String,
}

/// The informers that all loops share.
#[derive(Debug, Clone)]
pub struct Informers {
    /// All nodes.
    pub nodes: Shared<Node>,
    /// All pods.
    pub pods: Shared<Pod>,
}

/// Runs all loops until `shutdown`.
///
/// `client` makes a loop's client from its name, so that each acts under an identity of its own.
pub async fn run(
    client: impl Fn(&str) -> kube::Client,
    informers: Informers,
    options: Options,
    shutdown: CancellationToken,
) {
    let context = |name: &'static str| {
        let writer = Writer::new(client(name), name);
        let reporter = match name {
            // Pods say under this name who is to place them.
            names::SCHEDULER => SCHEDULER_OF_PODS,
            name => name,
        };
        let recorder = Recorder::start(writer.clone(), reporter, &shutdown);
        Context {
            writer,
            recorder,
            informers: informers.clone(),
            shutdown: shutdown.clone(),
        }
    };
    let wanted = |name: &str| !options.without.contains(name);
    let unless = |name: &'static str| wanted(name).then(|| context(name));
    tokio::join!(
        maybe(unless(names::SCHEDULER).map(scheduler::run)),
        maybe(unless(names::TAINT_EVICTION).map(eviction::run)),
        maybe(unless(names::NODE_LIFECYCLE).map(lifecycle::run)),
        maybe(unless(names::POD_GC).map(podgc::run)),
        maybe(unless(names::GARBAGE).map(garbage::run)),
        maybe(unless(names::NAMESPACE).map(namespaces::run)),
        maybe(
            unless(names::SERVICE_ACCOUNT)
                .map(|c| service_accounts::run(c, &options.ca_certificate))
        ),
        maybe(unless(names::DISRUPTION).map(disruption::run)),
        maybe(unless(names::QUOTA).map(quotas::run)),
    );
}

async fn maybe(work: Option<impl Future<Output = ()>>) {
    if let Some(work) = work {
        // Each loop is large as a future and all of them run side by side.
        Box::pin(work).await;
    }
}

/// What each loop works with.
#[derive(Debug, Clone)]
struct Context {
    writer: Writer,
    recorder: Recorder,
    informers: Informers,
    shutdown: CancellationToken,
}

impl Context {
    /// Follows a kind that only this loop looks at.
    fn follow<V: View>(&self) -> Shared<V> {
        let informer = pernode_runtime::Informer::new(pernode_runtime::Source::of::<V>());
        let shared = informer.shared();
        informer.start(self.writer.client().clone(), &self.shutdown);
        shared
    }

    /// Patches a pod's status; a pod that is gone meanwhile is no failure.
    async fn patch_pod(&self, pod: &PodRef, patch: &Value) -> Result<(), Error> {
        let at = (pod.namespace.as_str(), pod.name.as_str());
        let written = self
            .writer
            .patch_status(&Pod::RESOURCE, at, Patch::Strategic, patch)
            .await;
        gone_is_fine(written.map(drop))
    }

    /// Deletes a pod, if it still is the one that was meant.
    async fn delete_pod(&self, pod: &PodRef, grace: Option<i64>) -> Result<(), Error> {
        let mut options = DeleteOptions::of_uid(&pod.uid);
        options.grace_period_seconds = grace;
        let deleted = self
            .writer
            .delete(&Pod::RESOURCE, &pod.namespace, &pod.name, &options)
            .await;
        gone_is_fine(deleted)
    }
}

/// An object that is gone, or another one under its name: what was wanted has happened.
fn gone_is_fine(result: Result<(), Error>) -> Result<(), Error> {
    match result {
        Err(error) if error.is_not_found() || error.is_conflict() => Ok(()),
        other => other,
    }
}

/// Metadata enough to address a pod.
fn meta_of(pod: &PodRef) -> Meta {
    Meta {
        name: pod.name.clone(),
        namespace: pod.namespace.clone(),
        uid: pod.uid.clone(),
        ..Meta::default()
    }
}

fn event_ref(pod: &PodRef) -> ObjectRef {
    ObjectRef::of(&Pod::RESOURCE, &meta_of(pod))
}

/// Logs a failed write; the loop decides when to try again.
fn note(loop_name: &str, what: &str, object: &str, error: &Error) {
    tracing::debug!(error = %error, source = ?std::error::Error::source(error).map(ToString::to_string), "{loop_name}: cannot {what} {object}");
}

/// What a pod's `schedulerName` says by default, and where its events come from.
const SCHEDULER_OF_PODS: &str = "default-scheduler";

const NODES: Resource = Node::RESOURCE;
