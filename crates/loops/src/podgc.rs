//! Deletes pods that no agent will finish: `core::podgc` decides which.

use crate::drive::{Decide, drive, forward, inbox};
use crate::{Context, names, note};
use jiff::Timestamp;
use pernode_core::node::Node;
use pernode_core::pod::Pod;
use pernode_core::podgc::{Collect, Collector};
use pernode_runtime::Event;
use std::collections::BTreeSet;

pub(crate) enum Seen {
    Node(Event<Node>),
    Pod(Event<Pod>),
}

impl Decide for Collector {
    type Event = Seen;
    type Job = Collect;
    /// The uid of a pod that could not be deleted.
    type Outcome = Option<String>;

    fn see(&mut self, event: Seen, now: Timestamp) {
        match event {
            Seen::Node(Event::Reset(nodes)) => {
                let names: BTreeSet<&str> =
                    nodes.iter().map(|n| n.metadata.name.as_str()).collect();
                self.retain_nodes(&names, now);
                nodes.iter().for_each(|node| self.apply_node(node, now));
            }
            Seen::Node(Event::Apply(node)) => self.apply_node(&node, now),
            Seen::Node(Event::Delete(node)) => self.remove_node(&node.metadata.name, now),
            Seen::Pod(Event::Reset(pods)) => {
                let uids: BTreeSet<&str> = pods.iter().map(|p| p.metadata.uid.as_str()).collect();
                self.retain_pods(&uids);
                pods.iter().for_each(|pod| self.apply_pod(pod, now));
            }
            Seen::Pod(Event::Apply(pod)) => self.apply_pod(&pod, now),
            Seen::Pod(Event::Delete(pod)) => self.remove_pod(&pod.metadata.uid),
        }
    }

    fn plan(&mut self, now: Timestamp) -> (Vec<Collect>, Option<Timestamp>) {
        let plan = Self::plan(self, now);
        (plan.collect, plan.next)
    }

    fn done(&mut self, outcome: Option<String>, now: Timestamp) {
        if let Some(uid) = outcome {
            self.failed(&uid, now);
        }
    }
}

pub(crate) async fn run(context: Context) {
    // The nodes before the pods: else every pod would seem to have lost its node.
    if !context.informers.nodes.synced().await {
        return;
    }
    let (sender, events) = inbox();
    forward(
        context.informers.nodes.subscribe(),
        sender.clone(),
        Seen::Node,
    );
    forward(context.informers.pods.subscribe(), sender, Seen::Pod);
    let shutdown = context.shutdown.clone();
    let execute = |collect| {
        let context = context.clone();
        async move { context.collect(collect).await }
    };
    drive(Collector::default(), events, execute, shutdown).await;
}

impl Context {
    async fn collect(&self, Collect { pod, patch, .. }: Collect) -> Option<String> {
        if let Some(patch) = &patch
            && let Err(error) = self.patch_pod(&pod, patch).await
        {
            note(names::POD_GC, "mark", &pod.name, &error);
        }
        match self.delete_pod(&pod, Some(0)).await {
            Ok(()) => None,
            Err(error) => {
                note(names::POD_GC, "delete", &pod.name, &error);
                Some(pod.uid)
            }
        }
    }
}
