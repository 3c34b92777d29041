//! Why a node has a pod, or none: everything the rules know about it.

use super::fleet::Fleet;
use super::placement::{Reason, Verdict};
use super::slot::{CreateReason, DeleteReason, Walk};
use crate::pod::Phase;
use alloc::string::String;
use alloc::vec::Vec;
use jiff::Timestamp;

/// The answer for one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Whether the node exists.
    pub exists: bool,
    /// What the placement rules say.
    pub verdict: Verdict,
    /// Every reason against the node.
    pub reasons: Vec<Reason>,
    /// Pods on it or aimed at it, the one that counts first.
    pub pods: Vec<PodReport>,
    /// The node's place in a rolling update.
    pub walk: Walk,
    /// Why a pod would be made now.
    pub create: Option<CreateReason>,
    /// Pods that would be deleted now, and why.
    pub delete: Vec<(String, DeleteReason)>,
    /// Until when a pod that ended is kept.
    pub backoff_until: Option<Timestamp>,
}

/// A pod of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodReport {
    /// Its name.
    pub name: String,
    /// Its phase.
    pub phase: Phase,
    /// Whether it is bound to the node, not only aimed at it.
    pub bound: bool,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether it is of the current template.
    pub updated: bool,
    /// Whether it is Ready.
    pub ready: bool,
    /// When it is available if nothing changes.
    pub available_at: Option<Timestamp>,
}

/// Looks at one node; none when the fleet knows nothing of it.
pub fn why(fleet: &Fleet, node: &str, now: Timestamp) -> Option<Report> {
    let slot = fleet.slot(node)?;
    let rules = fleet.rules();
    let needs = slot.needs(rules, now);
    let waits = |(_, end): &(_, _)| fleet.backoff().waits_until(node, *end, now);
    let backoff_until = needs.ended.iter().filter_map(waits).min();
    let ended = needs.ended.iter().filter(|ended| waits(ended).is_none());
    let ended = ended.map(|(pod, end)| (pod.metadata.name.clone(), DeleteReason::Ended(*end)));
    let delete = needs
        .delete
        .iter()
        .map(|(pod, reason)| (pod.metadata.name.clone(), *reason));
    Some(Report {
        exists: slot.node.is_some(),
        verdict: slot.verdict,
        reasons: slot
            .node
            .as_ref()
            .map_or_else(Vec::new, |n| rules.placement.reasons(n)),
        pods: slot.pods.iter().map(|pod| pod_report(fleet, pod)).collect(),
        walk: slot.facts.walk,
        create: needs.create.filter(|_| backoff_until.is_none()),
        delete: delete.chain(ended).collect(),
        backoff_until,
    })
}

fn pod_report(fleet: &Fleet, pod: &crate::pod::Pod) -> PodReport {
    PodReport {
        name: pod.metadata.name.clone(),
        phase: pod.status.phase,
        bound: !pod.spec.node_name.is_empty(),
        deleting: pod.metadata.is_deleting(),
        updated: fleet.rules().is_updated(pod),
        ready: pod.is_ready(),
        available_at: fleet.rules().available_at(pod),
    }
}
