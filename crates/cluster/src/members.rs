//! The loops of a cluster: what runs, and how it stops.

use crate::builder::client;
use pernode_core::node::Node;
use pernode_core::pod::Pod;
use pernode_runtime::{CancellationToken, Informer, Shared, Source, View, Writer};
use pernode_server::Api;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::task::TaskTracker;

/// Name of the DaemonSet controller.
const DAEMONSET: &str = "daemonset-controller";
/// Name of what plays the agents of simulated nodes.
const SIMULATOR: &str = "node-simulator";

/// How long loops get to finish what they have begun.
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// Loops that are left out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Without(pub(crate) BTreeSet<String>);

impl Without {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }
}

/// The running loops.
#[derive(Debug)]
pub(crate) struct Members {
    shutdown: CancellationToken,
    tasks: TaskTracker,
}

impl Members {
    /// Starts all loops that are not left out. They share the informers for nodes and pods.
    pub(crate) fn start(api: &Api, without: &Without, ca_certificate: &str) -> Self {
        let members = Self {
            shutdown: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        let nodes = members.follow::<Node>(api);
        let pods = members.follow::<Pod>(api);
        if !without.has(DAEMONSET) {
            let client = client(api, DAEMONSET);
            let sources = pernode_controller::Sources::beside(
                nodes.clone(),
                pods.clone(),
                &client,
                &members.shutdown,
            );
            let options = pernode_controller::Options::default();
            members.spawn(pernode_controller::run(
                client,
                sources,
                options,
                members.shutdown.clone(),
            ));
        }
        let options = pernode_loops::Options {
            without: without.0.clone(),
            ca_certificate: ca_certificate.to_owned(),
        };
        let informers = pernode_loops::Informers {
            nodes: nodes.clone(),
            pods: pods.clone(),
        };
        let loop_api = api.clone();
        let client_of = move |name: &str| client(&loop_api, name);
        members.spawn(pernode_loops::run(
            client_of,
            informers,
            options,
            members.shutdown.clone(),
        ));
        let chores = api.clone();
        let shutdown = members.shutdown.clone();
        members.spawn(async move {
            shutdown.run_until_cancelled(chores.run_chores()).await;
        });
        if !without.has(SIMULATOR) {
            let writer = Writer::new(client(api, "kubelet"), "kubelet");
            let shutdown = members.shutdown.clone();
            let (nodes, pods) = (nodes, pods);
            members.spawn(async move {
                let stats = Arc::default();
                let options = pernode_node::Options::default();
                pernode_node::run(writer, (&nodes, &pods), options, stats, shutdown).await;
            });
        }
        members
    }

    /// One watch of a kind for all loops.
    fn follow<V: View>(&self, api: &Api) -> Shared<V> {
        let informer = Informer::new(Source::of::<V>());
        let shared = informer.shared();
        let client = client(api, "informers");
        self.spawn(informer.run(client, self.shutdown.clone()));
        shared
    }

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(work);
    }

    /// Stops all loops and waits until they have.
    pub(crate) async fn stop(self) {
        self.shutdown.cancel();
        self.tasks.close();
        if tokio::time::timeout(STOP_WITHIN, self.tasks.wait())
            .await
            .is_err()
        {
            tracing::warn!(
                "some loops did not end in time; what they write is decided anew at the next start"
            );
        }
    }
}
