//! Where the controller's view of the cluster comes from.

use crate::views::{DaemonSetView, RevisionView};
use pernode_core::node::Node;
use pernode_core::pod::Pod;
use pernode_runtime::{CancellationToken, Informer, Shared, Source};

/// The objects the controller follows. Other loops may share them.
#[derive(Debug, Clone)]
pub struct Sources {
    /// All nodes.
    pub nodes: Shared<Node>,
    /// The pods, of all namespaces or of one.
    pub pods: Shared<Pod>,
    /// The DaemonSets, of the same namespaces.
    pub daemon_sets: Shared<DaemonSetView>,
    /// The ControllerRevisions, of the same namespaces.
    pub revisions: Shared<RevisionView>,
}

impl Sources {
    /// Shares the nodes and pods that are followed already, and follows the other two kinds.
    pub fn beside(
        nodes: Shared<Node>,
        pods: Shared<Pod>,
        client: &kube::Client,
        shutdown: &CancellationToken,
    ) -> Self {
        Self {
            nodes,
            pods,
            daemon_sets: follow(Source::of::<DaemonSetView>(), client, shutdown),
            revisions: follow(Source::of::<RevisionView>(), client, shutdown),
        }
    }

    /// Follows all four kinds, in one namespace when it is not empty (nodes have none).
    pub fn start(client: &kube::Client, namespace: &str, shutdown: &CancellationToken) -> Self {
        let inside = |source: Source| source.in_namespace(namespace);
        Self {
            nodes: follow(Source::of::<Node>(), client, shutdown),
            pods: follow(inside(Source::of::<Pod>()), client, shutdown),
            daemon_sets: follow(inside(Source::of::<DaemonSetView>()), client, shutdown),
            revisions: follow(inside(Source::of::<RevisionView>()), client, shutdown),
        }
    }
}

fn follow<V: pernode_runtime::Object>(
    source: Source,
    client: &kube::Client,
    shutdown: &CancellationToken,
) -> Shared<V> {
    let informer = Informer::new(source);
    let shared = informer.shared();
    informer.start(client.clone(), shutdown);
    shared
}
