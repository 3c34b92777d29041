//! Deletes pods that `NoExecute` taints repel: `core::eviction` decides when.

use crate::drive::{Decide, drive, forward, inbox};
use crate::{Context, event_ref, names, note};
use jiff::Timestamp;
use pernode_core::eviction::{Evictions, condition_patch};
use pernode_core::node::Node;
use pernode_core::pod::{Pod, PodRef};
use pernode_runtime::{Event, Severity};
use std::collections::BTreeSet;

pub(crate) enum Seen {
    Node(Event<Node>),
    Pod(Event<Pod>),
}

pub(crate) enum Job {
    Evict(PodRef),
    Spare(PodRef),
}

impl Decide for Evictions {
    type Event = Seen;
    type Job = Job;
    /// The uid of a pod that could not be deleted.
    type Outcome = Option<String>;

    fn see(&mut self, event: Seen, now: Timestamp) {
        match event {
            Seen::Node(Event::Reset(nodes)) => {
                let names: BTreeSet<&str> =
                    nodes.iter().map(|n| n.metadata.name.as_str()).collect();
                self.retain_nodes(&names);
                nodes.iter().for_each(|node| self.apply_node(node, now));
            }
            Seen::Node(Event::Apply(node)) => self.apply_node(&node, now),
            Seen::Node(Event::Delete(node)) => self.remove_node(&node.metadata.name),
            Seen::Pod(Event::Reset(pods)) => {
                let uids: BTreeSet<&str> = pods.iter().map(|p| p.metadata.uid.as_str()).collect();
                self.retain_pods(&uids);
                pods.iter().for_each(|pod| self.apply_pod(pod, now));
            }
            Seen::Pod(Event::Apply(pod)) => self.apply_pod(&pod, now),
            Seen::Pod(Event::Delete(pod)) => self.remove_pod(&pod.metadata.uid),
        }
    }

    fn plan(&mut self, now: Timestamp) -> (Vec<Job>, Option<Timestamp>) {
        let plan = Self::plan(self, now);
        let evict = plan.evict.into_iter().map(Job::Evict);
        (
            evict
                .chain(plan.spared.into_iter().map(Job::Spare))
                .collect(),
            plan.next,
        )
    }

    fn done(&mut self, outcome: Option<String>, now: Timestamp) {
        if let Some(uid) = outcome {
            self.failed(&uid, now);
        }
    }
}

pub(crate) async fn run(context: Context) {
    let (sender, events) = inbox();
    forward(
        context.informers.nodes.subscribe(),
        sender.clone(),
        Seen::Node,
    );
    forward(context.informers.pods.subscribe(), sender, Seen::Pod);
    let shutdown = context.shutdown.clone();
    let execute = |job| {
        let context = context.clone();
        async move { context.execute(job).await }
    };
    drive(Evictions::new(), events, execute, shutdown).await;
}

impl Context {
    async fn execute(&self, job: Job) -> Option<String> {
        let pod = match job {
            Job::Evict(pod) => pod,
            Job::Spare(pod) => {
                let message = format!("Cancelling deletion of Pod {}/{}", pod.namespace, pod.name);
                self.recorder.record(
                    event_ref(&pod),
                    Severity::Normal,
                    "TaintManagerEviction",
                    message,
                );
                return None;
            }
        };
        let message = format!("Marking for deletion Pod {}/{}", pod.namespace, pod.name);
        self.recorder.record(
            event_ref(&pod),
            Severity::Normal,
            "TaintManagerEviction",
            message,
        );
        // The condition is for people; the pod goes without it too.
        if let Err(error) = self
            .patch_pod(&pod, &condition_patch(Timestamp::now()))
            .await
        {
            note(names::TAINT_EVICTION, "mark", &pod.name, &error);
        }
        match self.delete_pod(&pod, None).await {
            Ok(()) => None,
            Err(error) => {
                note(names::TAINT_EVICTION, "delete", &pod.name, &error);
                Some(pod.uid)
            }
        }
    }
}
