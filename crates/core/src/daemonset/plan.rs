//! The plan: what one round writes, and why. No choices are left after it.

use super::event::PlannedEvent;
use super::fleet::Fleet;
use super::history::{Claim, HistoryPlan, Target};
use super::manage::{CreatePod, DeletePod, Steps, Waiting, manage};
use super::policy::Policy;
use super::rollout::rollout;
use super::status;
use super::view::{DaemonSetStatus, earlier};
use alloc::vec::Vec;
use jiff::Timestamp;

/// Everything one round does, in the order of the fields; a failure of one kind stops the later ones,
/// except that the status is attempted in any case.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// Pods that get the DaemonSet as controller, after a live read showed that it still exists.
    pub adopts: Vec<Target>,
    /// Pods that lose it.
    pub releases: Vec<Target>,
    /// Writes to revisions, and to pods that carry a duplicate's hash.
    pub history: HistoryPlan,
    /// Pods to make, by node name; their bodies are [`Fleet::pod_for`] the node.
    pub creates: Vec<CreatePod>,
    /// Pods to delete.
    pub deletes: Vec<DeletePod>,
    /// Removals that start a backoff.
    pub removals: Vec<super::backoff::Removal>,
    /// Events about the decisions.
    pub events: Vec<PlannedEvent>,
    /// The status, if it is not what the DaemonSet has already.
    pub status: Option<DaemonSetStatus>,
    /// What holds the round back.
    pub holds: Vec<Hold>,
    /// When to look again without an event.
    pub next: Option<Timestamp>,
    /// Seconds after which to look again in any case, against clocks that disagree.
    pub guard_seconds: Option<i64>,
}

/// Something a round waits for or stops at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hold {
    /// The DaemonSet is being deleted.
    Deleting,
    /// The selector is empty.
    SelectsAll,
    /// Writes of earlier rounds that the watch has not shown.
    UnseenWrites(usize),
    /// A pod that ended is kept for its backoff.
    Backoff(Waiting),
}

impl Plan {
    /// Whether nothing is written, not even the status.
    pub fn is_idle(&self) -> bool {
        !self.acts() && self.status.is_none()
    }

    /// Whether pods or revisions are written.
    pub fn acts(&self) -> bool {
        !(self.adopts.is_empty()
            && self.releases.is_empty()
            && self.history.is_empty()
            && self.creates.is_empty()
            && self.deletes.is_empty())
    }

    fn take(&mut self, steps: Steps) {
        self.creates = steps.creates;
        self.deletes = steps.deletes;
        self.removals = steps.removals;
        self.events.extend(steps.events);
        self.holds
            .extend(steps.waiting.into_iter().map(Hold::Backoff));
        self.next = earlier(self.next, steps.next);
    }
}

/// Works out what to do now.
///
/// The fleet must have been [advanced](Fleet::advance) to `now`. The cost is that of the nodes that
/// change, not of all nodes.
pub fn plan(fleet: &Fleet, now: Timestamp, policy: &Policy) -> Plan {
    debug_assert!(
        fleet.now() == now,
        "the fleet was advanced to the moment of the plan"
    );
    let mut plan = Plan::default();
    let set = fleet.daemon_set();
    if fleet.selects_all() {
        plan.holds.push(Hold::SelectsAll);
        plan.events.push(PlannedEvent::selecting_all());
        return plan;
    }
    if set.metadata.is_deleting() {
        plan.holds.push(Hold::Deleting);
        return plan;
    }
    plan.next = fleet.tally().changes.first().map(|(at, _)| *at);
    let waits = fleet.expectations().is_waiting(now);
    if waits {
        plan.holds
            .push(Hold::UnseenWrites(fleet.expectations().len()));
        plan.next = earlier(plan.next, fleet.expectations().next(now));
    } else {
        act(fleet, now, policy, &mut plan);
    }
    if let Some(status) = status::of(set, fleet.tally(), !waits) {
        plan.guard_seconds = status::guard_seconds(set, &status);
        plan.status = Some(status).filter(|status| *status != set.status);
    }
    plan
}

fn act(fleet: &Fleet, now: Timestamp, policy: &Policy, plan: &mut Plan) {
    plan.adopts = fleet
        .members(Claim::Orphan)
        .map(|pod| Target::of(&pod.metadata))
        .collect();
    plan.releases = fleet
        .members(Claim::Stray)
        .map(|pod| Target::of(&pod.metadata))
        .collect();
    plan.history = fleet.plan_history();
    let base = manage(fleet, now, policy);
    let idle = base.is_idle();
    plan.take(base);
    if idle {
        let next = plan.next;
        let update = rollout(fleet, policy);
        plan.creates = update.creates;
        plan.deletes = update.deletes;
        plan.next = next;
    }
}
