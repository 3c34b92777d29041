//! Which pods are collected because nobody else will ever remove them.
//!
//! Pods whose node has gone, pods that are being deleted but were never given to a node, and, of
//! the pods that have ended, the oldest beyond a threshold (upstream: pod garbage collector).

#[cfg(test)]
mod tests;

use crate::meta::seconds;
use crate::node::Node;
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
    /// The node it was given to has gone; one of the same name may have come since.
    bereft: bool,
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
    /// Uids by name.
    nodes: BTreeMap<String, String>,
    pods: BTreeMap<String, Tracked>,
    by_node: BTreeMap<String, BTreeSet<String>>,
    /// Ended pods, oldest first.
    ended: BTreeSet<(Option<Timestamp>, String)>,
    /// Nodes that have pods but do not exist, and when that is long enough ago.
    /// Invariant: each pod of such a node that was not handed out has a `due`.
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
            nodes: BTreeMap::new(),
            pods: BTreeMap::new(),
            by_node: BTreeMap::new(),
            ended: BTreeSet::new(),
            missing: BTreeMap::new(),
            due: BTreeSet::new(),
        }
    }

    /// Takes a node's state. Pods that were given to an earlier node of this name are collected: that
    /// node took their containers with it (upstream looks at the name only, kubernetes #71349).
    pub fn apply_node(&mut self, node: &Node, now: Timestamp) {
        let meta = &node.metadata;
        match self.nodes.get(&meta.name) {
            Some(known) if *known == meta.uid => return,
            Some(_) => self.remove_node(&meta.name, now),
            None => {}
        }
        self.nodes.insert(meta.name.clone(), meta.uid.clone());
        self.missing.remove(&meta.name);
        for uid in self.by_node.get(&meta.name).cloned().into_iter().flatten() {
            let Some(pod) = self.pods.get_mut(&uid) else {
                continue;
            };
            // The two watches are not in step: a pod of the new node may have been seen first.
            pod.bereft &= pod.created <= meta.creation_timestamp;
            if pod.bereft {
                self.look_at(&uid, now);
            }
        }
    }

    /// Takes the departure of a node.
    pub fn remove_node(&mut self, name: &str, now: Timestamp) {
        if self.nodes.remove(name).is_none() {
            return;
        }
        let Some(pods) = self.by_node.get(name).cloned() else {
            return;
        };
        let due = now + self.quarantine;
        self.missing.insert(name.into(), due);
        for uid in pods {
            if let Some(tracked) = self.pods.get_mut(&uid) {
                tracked.bereft = true;
                self.look_at(&uid, due);
            }
        }
    }

    /// Keeps only the nodes that a fresh list contains.
    pub fn retain_nodes(&mut self, listed: &BTreeSet<&str>, now: Timestamp) {
        let gone = self.nodes.keys().filter(|name| !listed.contains(&***name));
        let gone: Vec<String> = gone.cloned().collect();
        for name in gone {
            self.remove_node(&name, now);
        }
    }

    /// Takes a pod's state.
    pub fn apply_pod(&mut self, pod: &Pod, now: Timestamp) {
        let uid = &pod.metadata.uid;
        let node = &pod.spec.node_name;
        let old = self.forget(uid);
        let handed_out = old.as_ref().is_some_and(|old| old.handed_out);
        let old_node = old.as_ref().map(|old| old.node.clone());
        let same = old.filter(|old| old.node == *node);
        let due = same.as_ref().and_then(|old| old.due);
        let due = due.or_else(|| self.first_look(pod, now));
        let tracked = Tracked {
            pod: pod.reference(),
            node: node.clone(),
            ended: pod.status.phase.is_terminal(),
            created: pod.metadata.creation_timestamp,
            bereft: same.is_some_and(|old| old.bereft),
            handed_out,
            due: None,
        };
        if tracked.ended {
            self.ended.insert((tracked.created, uid.clone()));
        }
        if !node.is_empty() {
            let uids = self.by_node.entry(node.clone()).or_default();
            uids.insert(uid.clone());
        }
        self.pods.insert(uid.clone(), tracked);
        if let Some(due) = due.filter(|_| !handed_out) {
            self.look_at(uid, due);
        }
        self.drop_empty(old_node.as_deref());
    }

    /// When a pod that is new on its node is looked at on its own, if ever.
    fn first_look(&mut self, pod: &Pod, now: Timestamp) -> Option<Timestamp> {
        let node = &pod.spec.node_name;
        if node.is_empty() {
            return pod.metadata.is_deleting().then_some(now);
        }
        if self.nodes.contains_key(node) {
            return None;
        }
        let due = now + self.quarantine;
        Some(*self.missing.entry(node.clone()).or_insert(due))
    }

    /// A node that does not exist is remembered only while it has pods.
    fn drop_empty(&mut self, node: Option<&str>) {
        if let Some(node) = node.filter(|node| !self.by_node.contains_key(*node)) {
            self.missing.remove(node);
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
        let gone = self.forget(uid);
        self.drop_empty(gone.as_ref().map(|gone| &*gone.node));
    }

    fn forget(&mut self, uid: &str) -> Option<Tracked> {
        let gone = self.pods.remove(uid)?;
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
        Some(gone)
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
        let oldest = self.ended.iter().take(excess).map(|(_, uid)| uid.clone());
        for uid in oldest.collect::<Vec<_>>() {
            // One that failed waits for its turn.
            if self.pods.get(&uid).is_some_and(|pod| pod.due.is_none()) {
                self.collect(&uid, Cause::Terminated, now, &mut plan);
            }
        }
        plan.next = self.due.first().map(|(at, _)| *at);
        plan
    }

    /// Why a pod that is looked at on its own is to go, if it still is.
    fn cause(&self, uid: &str, now: Timestamp) -> Option<Cause> {
        let tracked = self.pods.get(uid)?;
        if tracked.node.is_empty() {
            return Some(Cause::Unscheduled);
        }
        let orphaned = match self.missing.get(&tracked.node) {
            Some(at) => *at <= now,
            None => tracked.bereft,
        };
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
