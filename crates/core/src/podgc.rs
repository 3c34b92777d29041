//! Which pods are collected because nobody else will ever remove them.
//!
//! Pods whose node has gone, pods that are being deleted but were never given to a node, and, of
//! the pods that have ended, the oldest beyond a threshold (upstream: pod garbage collector).

use crate::meta::seconds;
use crate::pod::{Pod, PodRef};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// How long a node has to be missing before its pods are collected (upstream: quarantine).
pub const QUARANTINE: SignedDuration = SignedDuration::from_secs(40);
/// How many ended pods may be kept (upstream: `--terminated-pod-gc-threshold`).
pub const TERMINATED_MAX: usize = 12_500;
/// Wait before a deletion that failed is tried again.
const RETRY_AFTER: SignedDuration = SignedDuration::from_secs(5);

/// Why a pod is collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Its node does not exist.
    Orphaned,
    /// It is being deleted and has no node, so no agent will finish the deletion.
    Unscheduled,
    /// It has ended, and there are too many of these.
    Terminated,
}

/// A pod to delete with grace period 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collect {
    /// The pod.
    pub pod: PodRef,
    /// Why.
    pub cause: Cause,
    /// Strategic merge patch of its status, to be written first: it has not ended by itself.
    pub patch: Option<Value>,
}

/// What is to be written now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Pods to delete. Report a failure with [`Collector::failed`].
    pub collect: Vec<Collect>,
    /// When to plan again even if nothing happens.
    pub next: Option<Timestamp>,
}

#[derive(Debug)]
struct Tracked {
    pod: PodRef,
    node: String,
    ended: bool,
    created: Option<Timestamp>,
    /// The deletion was handed out; the watch has not shown it yet.
    handed_out: bool,
    /// When it is to be looked at on its own.
    due: Option<Timestamp>,
}

/// The nodes there are and the pods on them.
#[derive(Debug)]
pub struct Collector {
    terminated_max: usize,
    quarantine: SignedDuration,
    nodes: BTreeSet<String>,
    pods: BTreeMap<String, Tracked>,
    by_node: BTreeMap<String, BTreeSet<String>>,
    /// Ended pods, oldest first.
    ended: BTreeSet<(Option<Timestamp>, String)>,
    /// Nodes that have pods but do not exist, and when that is long enough ago.
    missing: BTreeMap<String, Timestamp>,
    /// Single pods to look at, and when. Invariant: each pod's `due`.
    due: BTreeSet<(Timestamp, String)>,
}

impl Default for Collector {
    fn default() -> Self {
        Self::new(TERMINATED_MAX, QUARANTINE)
    }
}

impl Collector {
    /// An empty index with its two limits. Feed the nodes before the pods.
    pub fn new(terminated_max: usize, quarantine: SignedDuration) -> Self {
        Self {
            terminated_max,
            quarantine,
            nodes: BTreeSet::new(),
            pods: BTreeMap::new(),
            by_node: BTreeMap::new(),
            ended: BTreeSet::new(),
            missing: BTreeMap::new(),
            due: BTreeSet::new(),
        }
    }

    /// Takes the arrival of a node.
    pub fn apply_node(&mut self, name: &str) {
        if self.nodes.insert(name.into()) {
            self.missing.remove(name);
        }
    }

    /// Takes the departure of a node.
    pub fn remove_node(&mut self, name: &str, now: Timestamp) {
        if self.nodes.remove(name) && self.by_node.contains_key(name) {
            self.missing.insert(name.into(), now + self.quarantine);
        }
    }

    /// Keeps only the nodes that a fresh list contains.
    pub fn retain_nodes(&mut self, listed: &BTreeSet<&str>, now: Timestamp) {
        let gone = self.nodes.iter().filter(|name| !listed.contains(&***name));
        let gone: Vec<String> = gone.cloned().collect();
        for name in gone {
            self.remove_node(&name, now);
        }
    }

    /// Takes a pod's state.
    pub fn apply_pod(&mut self, pod: &Pod, now: Timestamp) {
        let uid = &pod.metadata.uid;
        let handed_out = self.pods.get(uid).is_some_and(|old| old.handed_out);
        self.remove_pod(uid);
        let tracked = Tracked {
            pod: pod.reference(),
            node: pod.spec.node_name.clone(),
            ended: pod.status.phase.is_terminal(),
            created: pod.metadata.creation_timestamp,
            handed_out,
            due: None,
        };
        if tracked.ended {
            self.ended.insert((tracked.created, uid.clone()));
        }
        let node = &tracked.node;
        let undeletable = node.is_empty() && pod.metadata.is_deleting() && !handed_out;
        if !node.is_empty() {
            if !self.nodes.contains(node) && !self.missing.contains_key(node) {
                self.missing.insert(node.clone(), now + self.quarantine);
            }
            let uids = self.by_node.entry(node.clone()).or_default();
            uids.insert(uid.clone());
        }
        self.pods.insert(uid.clone(), tracked);
        if undeletable {
            self.look_at(uid, now);
        }
    }

    fn look_at(&mut self, uid: &str, at: Timestamp) {
        let Some(tracked) = self.pods.get_mut(uid) else {
            return;
        };
        if let Some(old) = tracked.due.replace(at) {
            self.due.remove(&(old, uid.into()));
        }
        self.due.insert((at, uid.into()));
    }

    /// Takes the departure of a pod.
    pub fn remove_pod(&mut self, uid: &str) {
        let Some(gone) = self.pods.remove(uid) else {
            return;
        };
        self.ended.remove(&(gone.created, uid.into()));
        if let Some(due) = gone.due {
            self.due.remove(&(due, uid.into()));
        }
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

    /// A deletion could not be written: it is tried again later.
    pub fn failed(&mut self, uid: &str, now: Timestamp) {
        if let Some(tracked) = self.pods.get_mut(uid) {
            tracked.handed_out = false;
            self.look_at(uid, now + RETRY_AFTER);
        }
    }

    /// The pods to collect now.
    pub fn plan(&mut self, now: Timestamp) -> Plan {
        let mut plan = Plan::default();
        let over = self.missing.iter().filter(|(_, at)| **at <= now);
        let over: Vec<String> = over.map(|(name, _)| name.clone()).collect();
        for node in over {
            // Stays in `missing`, so that pods that are still seen later are collected too.
            for uid in self.by_node.get(&node).cloned().into_iter().flatten() {
                self.collect(&uid, Cause::Orphaned, now, &mut plan);
            }
            if !self.by_node.contains_key(&node) {
                self.missing.remove(&node);
            }
        }
        while self.due.first().is_some_and(|(at, _)| *at <= now) {
            let Some((_, uid)) = self.due.pop_first() else {
                break;
            };
            if let Some(tracked) = self.pods.get_mut(&uid) {
                tracked.due = None;
            }
            if let Some(cause) = self.cause(&uid, now) {
                self.collect(&uid, cause, now, &mut plan);
            }
        }
        let excess = self.ended.len().saturating_sub(self.terminated_max);
        let oldest: Vec<String> = self
            .ended
            .iter()
            .take(excess)
            .map(|e| e.1.clone())
            .collect();
        for uid in oldest {
            self.collect(&uid, Cause::Terminated, now, &mut plan);
        }
        plan.next = self.next(now);
        plan
    }

    fn next(&self, now: Timestamp) -> Option<Timestamp> {
        let missing = self.missing.values().copied().filter(|at| *at > now);
        let due = self.due.first().map(|(at, _)| *at);
        missing.chain(due).min()
    }

    /// Why a pod that is looked at on its own is to go, if it still is.
    fn cause(&self, uid: &str, now: Timestamp) -> Option<Cause> {
        let tracked = self.pods.get(uid)?;
        if tracked.node.is_empty() {
            return Some(Cause::Unscheduled);
        }
        let orphaned = self.missing.get(&tracked.node).is_some_and(|at| *at <= now);
        orphaned.then_some(Cause::Orphaned)
    }

    fn collect(&mut self, uid: &str, cause: Cause, now: Timestamp, plan: &mut Plan) {
        let Some(tracked) = self.pods.get_mut(uid) else {
            return;
        };
        if tracked.handed_out {
            return;
        }
        tracked.handed_out = true;
        let patch = (!tracked.ended && cause != Cause::Terminated).then(|| ended_patch(cause, now));
        plan.collect.push(Collect {
            pod: tracked.pod.clone(),
            cause,
            patch,
        });
    }
}

/// A pod that is collected while it runs ends as failed; an orphaned one says why.
fn ended_patch(cause: Cause, now: Timestamp) -> Value {
    let mut status = json!({"phase": "Failed"});
    if cause == Cause::Orphaned {
        status["conditions"] = json!([{
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByPodGC",
            "message": "PodGC: node no longer exists",
            "lastProbeTime": null,
            "lastTransitionTime": seconds(now),
        }]);
    }
    json!({"status": status})
}
