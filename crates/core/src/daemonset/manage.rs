//! The base step: every node that should have a pod gets one, everything else goes (section 1).

use super::backoff::Removal;
use super::event::PlannedEvent;
use super::fleet::Fleet;
use super::history::Target;
use super::policy::Policy;
use super::slot::{CreateReason, DeleteReason, Slot};
use super::view::earlier;
use crate::pod::Pod;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use jiff::Timestamp;

/// Creates and deletes of one step, in the order of node names.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Steps {
    /// Nodes that get a pod.
    pub creates: Vec<CreatePod>,
    /// Pods that go.
    pub deletes: Vec<DeletePod>,
    /// Removals of pods that ended, for the backoff.
    pub removals: Vec<Removal>,
    /// Nodes where a pod that ended is kept for its backoff.
    pub waiting: Vec<Waiting>,
    /// Events about the above.
    pub events: Vec<PlannedEvent>,
    /// When a backoff ends.
    pub next: Option<Timestamp>,
}

/// A pod to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatePod {
    /// The node it is aimed at.
    pub node: Arc<str>,
    /// Why.
    pub reason: CreateReason,
}

/// A pod to be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletePod {
    /// The pod.
    pub pod: Target,
    /// The node it is on.
    pub node: Arc<str>,
    /// Why.
    pub reason: DeleteReason,
}

/// A node that waits for a backoff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The node.
    pub node: Arc<str>,
    /// The pod that is kept meanwhile.
    pub pod: String,
    /// When it ends.
    pub until: Timestamp,
}

impl Steps {
    /// Whether nothing is written.
    pub fn is_idle(&self) -> bool {
        self.creates.is_empty() && self.deletes.is_empty()
    }

    /// Adds a deletion.
    pub(super) fn delete(&mut self, node: &Arc<str>, pod: &Pod, reason: DeleteReason) {
        let pod = Target::of(&pod.metadata);
        self.deletes.push(DeletePod {
            pod,
            node: node.clone(),
            reason,
        });
    }

    /// Adds a creation.
    pub(super) fn create(&mut self, node: &Arc<str>, reason: CreateReason) {
        self.creates.push(CreatePod {
            node: node.clone(),
            reason,
        });
    }

    /// Keeps to the bounds of a round; what is cut off follows in the next one.
    pub(super) fn bounded(mut self, policy: &Policy) -> Self {
        self.creates.truncate(policy.creates_max);
        self.deletes.truncate(policy.deletes_max);
        let kept = |removal: &Removal| self.deletes.iter().any(|d| d.pod.name == removal.pod);
        self.removals.retain(kept);
        self
    }
}

/// Works out the base step. It looks only at nodes where something is to be done.
pub fn manage(fleet: &Fleet, now: Timestamp, policy: &Policy) -> Steps {
    let mut steps = Steps::default();
    for name in &fleet.tally().needs_work {
        if steps.creates.len() >= policy.creates_max && steps.deletes.len() >= policy.deletes_max {
            break;
        }
        if let Some(slot) = fleet.slot(name) {
            manage_node(fleet, name, slot, now, &mut steps);
        }
    }
    let mut steps = steps.bounded(policy);
    let namespace = &fleet.daemon_set().metadata.namespace;
    steps.events = steps
        .removals
        .iter()
        .map(|r| PlannedEvent::ended(namespace, r))
        .collect();
    steps
}

fn manage_node(fleet: &Fleet, name: &Arc<str>, slot: &Slot, now: Timestamp, steps: &mut Steps) {
    let needs = slot.needs(fleet.rules(), now);
    for (pod, reason) in &needs.delete {
        steps.delete(name, pod, *reason);
    }
    let mut kept = false;
    let mut failed_goes = false;
    for (pod, end) in needs.ended {
        let until = fleet.backoff().waits_until(name, end, now);
        // One removal starts the delay for the next failed pod of the node; pods that ran to
        // completion all go together.
        let waits = until.is_some() || (end == super::backoff::End::Failed && failed_goes);
        if waits {
            kept = true;
            let until = until.or_else(|| now.saturating_add(super::backoff::DELAY_MIN).ok());
            let until = until.unwrap_or(Timestamp::MAX);
            steps.waiting.push(Waiting {
                node: name.clone(),
                pod: pod.metadata.name.clone(),
                until,
            });
            steps.next = earlier(steps.next, Some(until));
            continue;
        }
        failed_goes |= end == super::backoff::End::Failed;
        steps.delete(name, &pod, DeleteReason::Ended(end));
        let pod = pod.metadata.name.clone();
        steps.removals.push(Removal {
            node: name.clone(),
            end,
            pod,
        });
    }
    if let Some(reason) = needs.create.filter(|_| !kept) {
        steps.create(name, reason);
    }
}
