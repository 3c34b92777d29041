//! Eviction from nodes by `NoExecute` taints.
//!
//! A pod that does not tolerate such a taint of its node is deleted at once. One that tolerates
//! each for a limited time is deleted when the shortest of these times is over; the countdown
//! ends when the taint goes. An event touches the pods of one node, never more.

use crate::meta::seconds;
use crate::node::Node;
use crate::pod::{Pod, PodRef};
use crate::taint::{Effect, Taint, Toleration};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// Wait before a deletion that failed is tried again.
const RETRY_AFTER: SignedDuration = SignedDuration::from_secs(1);

/// Longest toleration that is counted in full. What is longer is as good as for ever, and sums of
/// times stay within what a time can hold.
const TOLERATION_MAX: i64 = 100 * 366 * 24 * 3600;

/// What is to be written now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Pods to delete. Report a failure with [`Evictions::failed`].
    pub evict: Vec<PodRef>,
    /// Pods whose countdown ended without a deletion, for an event.
    pub spared: Vec<PodRef>,
    /// When to plan again even if nothing happens.
    pub next: Option<Timestamp>,
}

/// The patch to write on a pod's status before it is deleted.
pub fn condition_patch(now: Timestamp) -> Value {
    json!({"status": {"conditions": [{
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "DeletionByTaintManager",
        "message": "Taint manager: deleting due to NoExecute taint",
        "lastProbeTime": null,
        "lastTransitionTime": seconds(now),
    }]}})
}

/// How long a pod may stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stay {
    /// No taint asks it to go.
    ForEver,
    /// It goes this long after the taint was seen.
    Limited(SignedDuration),
    /// It goes at once.
    No,
}

/// How long tolerations let a pod stay on a node with these `NoExecute` taints.
///
/// For each taint the first toleration that covers it counts, even if a later one is shorter; the
/// shortest of these limits decides. A limit of zero or less means at once.
pub fn stay(taints: &[Taint], tolerations: &[Toleration]) -> Stay {
    let mut limit: Option<i64> = None;
    for taint in taints {
        let Some(toleration) = tolerations.iter().find(|t| t.tolerates(taint)) else {
            return Stay::No;
        };
        if let Some(seconds) = toleration.toleration_seconds {
            let seconds = seconds.clamp(0, TOLERATION_MAX);
            limit = Some(limit.map_or(seconds, |limit| limit.min(seconds)));
        }
    }
    match limit {
        None => Stay::ForEver,
        Some(0) => Stay::No,
        Some(seconds) => Stay::Limited(SignedDuration::from_secs(seconds)),
    }
}

#[derive(Debug)]
struct Tracked {
    pod: PodRef,
    node: String,
    tolerations: Vec<Toleration>,
    countdown: Option<Countdown>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Countdown {
    since: Timestamp,
    until: Timestamp,
    /// The deletion was handed out; the watch has not shown it yet.
    handed_out: bool,
}

/// The `NoExecute` taints of all nodes and the pods on them.
///
/// Invariant: `due` holds exactly the countdowns that are not handed out yet.
#[derive(Debug, Default)]
pub struct Evictions {
    /// Only nodes that have such taints.
    taints: BTreeMap<String, Vec<Taint>>,
    pods: BTreeMap<String, Tracked>,
    by_node: BTreeMap<String, BTreeSet<String>>,
    due: BTreeSet<(Timestamp, String)>,
    spared: Vec<PodRef>,
}

impl Evictions {
    /// An empty index.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a node's state.
    pub fn apply_node(&mut self, node: &Node, now: Timestamp) {
        let name = &node.metadata.name;
        let taints = node.spec.taints.iter();
        let taints: Vec<Taint> = taints
            .filter(|taint| taint.effect == Effect::NoExecute)
            .cloned()
            .collect();
        let old = self.taints.get(name).map_or(&[][..], Vec::as_slice);
        if old == taints {
            return;
        }
        if taints.is_empty() {
            self.taints.remove(name);
        } else {
            self.taints.insert(name.clone(), taints);
        }
        for uid in self.by_node.get(name).cloned().into_iter().flatten() {
            self.judge(&uid, now);
        }
    }

    /// Takes the departure of a node. Countdowns go on; the pods are collected anyway.
    pub fn remove_node(&mut self, name: &str) {
        self.taints.remove(name);
    }

    /// Takes a pod's state.
    pub fn apply_pod(&mut self, pod: &Pod, now: Timestamp) {
        let uid = &pod.metadata.uid;
        if pod.spec.node_name.is_empty() || pod.metadata.is_deleting() {
            return self.remove_pod(uid);
        }
        if let Some(known) = self.pods.get_mut(uid) {
            if known.tolerations != pod.spec.tolerations {
                known.tolerations.clone_from(&pod.spec.tolerations);
                self.judge(uid, now);
            }
            return;
        }
        let node = pod.spec.node_name.clone();
        let tracked = Tracked {
            pod: pod.reference(),
            node: node.clone(),
            tolerations: pod.spec.tolerations.clone(),
            countdown: None,
        };
        self.pods.insert(uid.clone(), tracked);
        let uids = self.by_node.entry(node).or_default();
        uids.insert(uid.clone());
        self.judge(uid, now);
    }

    /// Takes the departure of a pod.
    pub fn remove_pod(&mut self, uid: &str) {
        self.set(uid, None);
        let Some(gone) = self.pods.remove(uid) else {
            return;
        };
        if let Some(uids) = self.by_node.get_mut(&gone.node) {
            uids.remove(uid);
            if uids.is_empty() {
                self.by_node.remove(&gone.node);
            }
        }
    }

    /// Keeps only the pods that a fresh list contains; follow with `apply_pod` for each.
    pub fn retain_pods(&mut self, listed: &BTreeSet<&str>) {
        let gone = self.pods.keys().filter(|uid| !listed.contains(&***uid));
        let gone: Vec<String> = gone.cloned().collect();
        for uid in gone {
            self.remove_pod(&uid);
        }
    }

    /// Keeps only the nodes that a fresh list contains, by name.
    pub fn retain_nodes(&mut self, listed: &BTreeSet<&str>) {
        self.taints.retain(|name, _| listed.contains(&**name));
    }

    /// Decides anew about one pod.
    ///
    /// A countdown that runs is not moved, neither by taints that come nor by those that go, as
    /// long as a limit remains (upstream: `processPodOnNode`).
    fn judge(&mut self, uid: &str, now: Timestamp) {
        let Some(tracked) = self.pods.get(uid) else {
            return;
        };
        let taints = self
            .taints
            .get(&tracked.node)
            .map_or(&[][..], Vec::as_slice);
        let old = tracked.countdown;
        let new = match stay(taints, &tracked.tolerations) {
            Stay::ForEver => None,
            Stay::No => Some(old.filter(|old| old.handed_out).unwrap_or(Countdown {
                since: now,
                until: now,
                handed_out: false,
            })),
            Stay::Limited(limit) => Some(old.filter(|old| old.since < now).unwrap_or(Countdown {
                since: now,
                until: now + limit,
                handed_out: false,
            })),
        };
        if new.is_none() && old.is_some() {
            self.spared.push(tracked.pod.clone());
        }
        self.set(uid, new);
    }

    fn set(&mut self, uid: &str, countdown: Option<Countdown>) {
        let Some(tracked) = self.pods.get_mut(uid) else {
            return;
        };
        let old = core::mem::replace(&mut tracked.countdown, countdown);
        if let Some(old) = old {
            self.due.remove(&(old.until, uid.into()));
        }
        if let Some(new) = countdown.filter(|new| !new.handed_out) {
            self.due.insert((new.until, uid.into()));
        }
    }

    /// A deletion could not be written: it is tried again soon.
    pub fn failed(&mut self, uid: &str, now: Timestamp) {
        let countdown = self.pods.get(uid).and_then(|tracked| tracked.countdown);
        if let Some(countdown) = countdown.filter(|c| c.handed_out) {
            let again = Countdown {
                until: now + RETRY_AFTER,
                handed_out: false,
                ..countdown
            };
            self.set(uid, Some(again));
        }
    }

    /// The deletions that are due.
    pub fn plan(&mut self, now: Timestamp) -> Plan {
        let mut plan = Plan {
            spared: core::mem::take(&mut self.spared),
            ..Plan::default()
        };
        while self.due.first().is_some_and(|(until, _)| *until <= now) {
            let Some((_, uid)) = self.due.pop_first() else {
                break;
            };
            let Some(tracked) = self.pods.get_mut(&uid) else {
                continue;
            };
            if let Some(countdown) = &mut tracked.countdown {
                countdown.handed_out = true;
            }
            plan.evict.push(tracked.pod.clone());
        }
        plan.next = self.due.first().map(|(until, _)| *until);
        plan
    }
}
