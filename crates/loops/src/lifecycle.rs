//! Watches over nodes: `core::lifecycle` decides about conditions and taints.

use crate::drive::{Decide, drive, forward, inbox};
use crate::{Context, NODES, gone_is_fine, names, note};
use futures::StreamExt;
use jiff::{SignedDuration, Timestamp};
use pernode_core::lifecycle::{Lifecycle, NodePlan};
use pernode_core::node::Node;
use pernode_core::pod::PodRef;
use pernode_runtime::{Event, Lease, ObjectRef, Patch, Severity};
use serde_json::json;
use std::collections::BTreeSet;

/// Age of a lease at which its node counts as lost (node-monitor-grace-period).
const GRACE: SignedDuration = SignedDuration::from_secs(40);
/// Namespace of the nodes' leases.
const LEASES: &str = "kube-node-lease";
/// Pods of a lost node that are marked at the same time.
const MARKING_MAX: usize = 16;

pub(crate) enum Seen {
    Node(Event<Node>),
    Lease(Event<Lease>),
}

impl Decide for Lifecycle {
    type Event = Seen;
    type Job = NodePlan;
    /// The name of a node that could not be written.
    type Outcome = Option<String>;

    fn see(&mut self, event: Seen, now: Timestamp) {
        match event {
            Seen::Node(Event::Reset(nodes)) => {
                let names: BTreeSet<&str> =
                    nodes.iter().map(|n| n.metadata.name.as_str()).collect();
                self.retain_nodes(&names);
                nodes
                    .iter()
                    .cloned()
                    .for_each(|node| self.apply_node(node, now));
            }
            Seen::Node(Event::Apply(node)) => self.apply_node(node, now),
            Seen::Node(Event::Delete(node)) => self.remove_node(&node.metadata.name),
            Seen::Lease(Event::Reset(leases)) => leases.iter().for_each(|l| renewed(self, l, now)),
            Seen::Lease(Event::Apply(lease)) => renewed(self, &lease, now),
            // A lease that is deleted is one that is not renewed.
            Seen::Lease(Event::Delete(_)) => {}
        }
    }

    fn plan(&mut self, now: Timestamp) -> (Vec<NodePlan>, Option<Timestamp>) {
        let plan = Self::plan(self, now);
        (plan.nodes, plan.next)
    }

    fn done(&mut self, outcome: Option<String>, now: Timestamp) {
        if let Some(name) = outcome {
            self.failed(&name, now);
        }
    }
}

fn renewed(lifecycle: &mut Lifecycle, lease: &Lease, now: Timestamp) {
    if let Some(at) = lease
        .spec
        .renew_time
        .filter(|_| lease.metadata.namespace == LEASES)
    {
        lifecycle.apply_lease(&lease.metadata.name, at, now);
    }
}

pub(crate) async fn run(context: Context) {
    let (sender, events) = inbox();
    forward(
        context.informers.nodes.subscribe(),
        sender.clone(),
        Seen::Node,
    );
    forward(context.follow::<Lease>().subscribe(), sender, Seen::Lease);
    let shutdown = context.shutdown.clone();
    let execute = |plan| {
        let context = context.clone();
        async move { context.write_node(plan).await }
    };
    drive(Lifecycle::new(GRACE), events, execute, shutdown).await;
}

impl Context {
    async fn write_node(&self, plan: NodePlan) -> Option<String> {
        let mut failed = None;
        let at = ("", plan.name.as_str());
        if let Some(patch) = &plan.status {
            self.tell_lost(&plan.name);
            let written = self
                .writer
                .patch_status(&NODES, at, Patch::Strategic, patch)
                .await;
            failed = gone_is_fine(written.map(drop)).err();
        }
        if let Some(patch) = &plan.taints {
            // A conflict means that somebody changed the node: the watch shows it and the decision
            // is taken anew, so here it counts as a failure.
            let written = self.writer.patch(&NODES, at, Patch::Merge, patch).await;
            match written {
                Err(error) if !error.is_not_found() => failed = Some(error),
                Ok(_) | Err(_) => {}
            }
        }
        if plan.pods_not_ready {
            self.mark_pods(&plan.name).await;
        }
        let error = failed?;
        note(names::NODE_LIFECYCLE, "write node", &plan.name, &error);
        Some(plan.name)
    }

    fn tell_lost(&self, name: &str) {
        let node = self.informers.nodes.get("", name);
        let meta = node.map(|n| n.metadata.clone()).unwrap_or_default();
        let object = ObjectRef::of(&NODES, &meta);
        let message = format!("Node {name} status is now: NodeNotReady");
        self.recorder
            .record(object, Severity::Normal, "NodeNotReady", message);
    }

    /// The pods of a node that is not ready read as not ready: nobody can vouch for them.
    async fn mark_pods(&self, node: &str) {
        let now = Timestamp::now();
        let pods = self.informers.pods.list();
        let ready = pods
            .into_iter()
            .filter(|p| p.spec.node_name == node && p.is_ready());
        let patch = json!({"status": {"conditions": [{
            "type": "Ready",
            "status": "False",
            "lastTransitionTime": pernode_core::meta::seconds(now),
        }]}});
        futures::stream::iter(ready)
            .for_each_concurrent(MARKING_MAX, |pod| {
                let patch = &patch;
                async move {
                    let pod = PodRef {
                        namespace: pod.metadata.namespace.clone(),
                        name: pod.metadata.name.clone(),
                        uid: pod.metadata.uid.clone(),
                    };
                    match self.patch_pod(&pod, patch).await {
                        Ok(()) => self.recorder.record(
                            crate::event_ref(&pod),
                            Severity::Warning,
                            "NodeNotReady",
                            "Node is not ready",
                        ),
                        Err(error) => note(names::NODE_LIFECYCLE, "mark", &pod.name, &error),
                    }
                }
            })
            .await;
    }
}
