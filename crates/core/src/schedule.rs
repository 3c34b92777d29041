//! Which node a pod goes to.
//!
//! ```text
//! node and pod events ─▶ Scheduler (index) ─ plan(now) ─▶ Plan: binds, preemptions, refusals
//!                          NodeInfo per node: what is taken
//!                          Queue: pods to look at, pods that wait for a change
//! ```
//!
//! A pod that is aimed at nodes by name (as daemon pods are) is looked at on those nodes only,
//! and an event on a node wakes only the pods aimed at it and those aimed nowhere. So neither an
//! event nor a daemon pod costs more in a large cluster than in a small one.
//!
//! Filters, their order and their words are those of Kubernetes 1.36's default profile, as far as
//! they concern the kinds that are served. Volumes, pod affinity and topology spread are not
//! looked at.

pub mod aim;
pub mod demand;
pub mod filter;
mod message;
pub mod node_info;
mod preempt;
mod queue;
mod scheduler;
mod score;
mod try_pod;

#[cfg(test)]
mod tests;

use crate::pod::{Pod, PodRef};
use alloc::string::String;
use alloc::vec::Vec;
use jiff::Timestamp;
use serde_json::{Value, json};

pub use demand::{Amounts, Demand};
pub use filter::{Filter, Rejection, TAINT_UNSCHEDULABLE, filter};
pub use node_info::{Capacity, NodeInfo};
pub use scheduler::Scheduler;

/// Name of the scheduler that this is; also what an empty `schedulerName` means.
pub const SCHEDULER_NAME: &str = "default-scheduler";

/// What is to be written now. Nothing is left to choose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Pods that get their node. Each counts as bound from now on: report a failure with
    /// [`Scheduler::bind_failed`].
    pub binds: Vec<Bind>,
    /// Pods that fit nowhere, where what is known about them changed.
    pub unschedulable: Vec<Unschedulable>,
    /// Pods that have to go for others.
    pub preemptions: Vec<Preemption>,
    /// When to plan again even if nothing happens.
    pub next: Option<Timestamp>,
}

/// A pod and its node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bind {
    /// The pod.
    pub pod: PodRef,
    /// The node.
    pub node: String,
}

/// A pod that fits nowhere now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unschedulable {
    /// The pod.
    pub pod: PodRef,
    /// Why, for people: `0/5 nodes are available: …`.
    pub message: String,
    /// The node where room is being made for it.
    pub nominated_node: Option<String>,
    /// Strategic merge patch of its status that says so.
    pub patch: Value,
}

/// Pods that have to go so that another one fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preemption {
    /// The pod that gets the room.
    pub pod: PodRef,
    /// Where.
    pub node: String,
    /// The pods to delete. Report one that cannot be with [`Scheduler::delete_failed`].
    pub victims: Vec<PodRef>,
    /// Strategic merge patch of a victim's status, to be written before it is deleted.
    pub victim_patch: Value,
}

/// The patch that reports why a pod is pending.
fn pending_patch(pod: &Pod, message: &str, nominated: Option<&str>, now: Timestamp) -> Value {
    let since = pod
        .condition("PodScheduled")
        .filter(|c| c.status == "False")
        .and_then(|c| c.last_transition_time)
        .unwrap_or(now);
    let mut status = json!({"conditions": [{
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": message,
        "lastProbeTime": null,
        "lastTransitionTime": crate::meta::seconds(since),
    }]});
    match nominated {
        Some(node) => status["nominatedNodeName"] = node.into(),
        None if !pod.status.nominated_node_name.is_empty() => {
            status["nominatedNodeName"] = Value::Null;
        }
        None => {}
    }
    json!({"metadata": {"uid": pod.metadata.uid}, "status": status})
}

/// The patch that tells a victim's readers why it goes.
fn victim_patch(now: Timestamp) -> Value {
    json!({"status": {"conditions": [{
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": alloc::format!("{SCHEDULER_NAME}: preempting to accommodate a higher priority pod"),
        "lastProbeTime": null,
        "lastTransitionTime": crate::meta::seconds(now),
    }]}})
}
