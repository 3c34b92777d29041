//! Places pods: `core::schedule` decides, this binds, reports and makes room.

use crate::drive::{Decide, drive, forward, inbox};
use crate::{Context, event_ref, meta_of, names, note};
use jiff::Timestamp;
use pernode_core::node::Node;
use pernode_core::pod::Pod;
use pernode_core::schedule::{Bind, Preemption, Scheduler, Unschedulable};
use pernode_runtime::{Event, Partial, Severity};
use std::collections::BTreeSet;

/// What the scheduler looks at.
pub(crate) enum Seen {
    Node(Event<Node>),
    Pod(Event<Pod>),
}

pub(crate) enum Job {
    Bind(Bind),
    Report(Unschedulable),
    MakeRoom(Preemption),
}

/// What has to be tried again, by the pod's uid.
pub(crate) enum Outcome {
    Done,
    BindFailed(String),
    ReportFailed(String),
    DeleteFailed(Vec<String>),
}

impl Decide for Scheduler {
    type Event = Seen;
    type Job = Job;
    type Outcome = Outcome;

    fn see(&mut self, event: Seen, _now: Timestamp) {
        match event {
            Seen::Node(Event::Reset(nodes)) => {
                let names: BTreeSet<&str> =
                    nodes.iter().map(|n| n.metadata.name.as_str()).collect();
                self.retain_nodes(&names);
                nodes.iter().cloned().for_each(|node| self.apply_node(node));
            }
            Seen::Node(Event::Apply(node)) => self.apply_node(node),
            Seen::Node(Event::Delete(node)) => self.remove_node(&node.metadata.name),
            Seen::Pod(Event::Reset(pods)) => {
                let uids: BTreeSet<&str> = pods.iter().map(|p| p.metadata.uid.as_str()).collect();
                self.retain_pods(&uids);
                pods.iter().cloned().for_each(|pod| self.apply_pod(pod));
            }
            Seen::Pod(Event::Apply(pod)) => self.apply_pod(pod),
            Seen::Pod(Event::Delete(pod)) => self.remove_pod(&pod.metadata.uid),
        }
    }

    fn plan(&mut self, now: Timestamp) -> (Vec<Job>, Option<Timestamp>) {
        let plan = Self::plan(self, now);
        let binds = plan.binds.into_iter().map(Job::Bind);
        let room = plan.preemptions.into_iter().map(Job::MakeRoom);
        let reports = plan.unschedulable.into_iter().map(Job::Report);
        (binds.chain(room).chain(reports).collect(), plan.next)
    }

    fn done(&mut self, outcome: Outcome, now: Timestamp) {
        match outcome {
            Outcome::Done => {}
            Outcome::BindFailed(uid) => self.bind_failed(&uid, now),
            Outcome::ReportFailed(uid) => self.report_failed(&uid, now),
            Outcome::DeleteFailed(uids) => uids.iter().for_each(|uid| self.delete_failed(uid, now)),
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
        async move {
            match job {
                Job::Bind(bind) => context.bind(bind).await,
                Job::Report(report) => context.report(report).await,
                Job::MakeRoom(preemption) => context.make_room(preemption).await,
            }
        }
    };
    drive(Scheduler::new(), events, execute, shutdown).await;
}

impl Context {
    async fn bind(&self, Bind { pod, node }: Bind) -> Outcome {
        match self
            .writer
            .bind(
                &Partial {
                    metadata: meta_of(&pod),
                },
                &node,
            )
            .await
        {
            Ok(()) => {
                let message = format!(
                    "Successfully assigned {}/{} to {node}",
                    pod.namespace, pod.name
                );
                self.recorder
                    .record(event_ref(&pod), Severity::Normal, "Scheduled", message);
                Outcome::Done
            }
            Err(error) if error.is_not_found() => Outcome::Done,
            Err(error) => {
                note(names::SCHEDULER, "bind", &pod.name, &error);
                Outcome::BindFailed(pod.uid)
            }
        }
    }

    async fn report(&self, report: Unschedulable) -> Outcome {
        let Unschedulable {
            pod,
            message,
            patch,
            ..
        } = report;
        match self.patch_pod(&pod, &patch).await {
            Ok(()) => {
                self.recorder.record(
                    event_ref(&pod),
                    Severity::Warning,
                    "FailedScheduling",
                    message,
                );
                Outcome::Done
            }
            Err(error) => {
                note(names::SCHEDULER, "report on", &pod.name, &error);
                Outcome::ReportFailed(pod.uid)
            }
        }
    }

    async fn make_room(&self, preemption: Preemption) -> Outcome {
        let Preemption {
            pod,
            node,
            victims,
            victim_patch,
        } = preemption;
        let mut failed = Vec::new();
        for victim in victims {
            // The condition is for people; a victim goes without it too.
            if let Err(error) = self.patch_pod(&victim, &victim_patch).await {
                note(names::SCHEDULER, "mark", &victim.name, &error);
            }
            match self.delete_pod(&victim, None).await {
                Ok(()) => {
                    let message = format!("Preempted by pod {} on node {node}", pod.uid);
                    self.recorder.record(
                        event_ref(&victim),
                        Severity::Normal,
                        "Preempted",
                        message,
                    );
                }
                Err(error) => {
                    note(names::SCHEDULER, "preempt", &victim.name, &error);
                    failed.push(victim.uid);
                }
            }
        }
        Outcome::DeleteFailed(failed)
    }
}
