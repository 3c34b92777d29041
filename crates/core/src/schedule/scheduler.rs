//! The index of nodes and pods, and the plan made from it.

use super::aim::Aim;
use super::node_info::{Capacity, NodeInfo};
use super::queue::Queue;
use super::try_pod::{Attempt, Refusals};
use super::{Bind, Demand, Plan, SCHEDULER_NAME, Unschedulable, pending_patch};
use crate::node::Node;
use crate::pod::{Pod, PodRef};
use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use jiff::{SignedDuration, Timestamp};

/// First and longest wait after a write failed (upstream: pod backoff of the queue).
const BACKOFF: (SignedDuration, SignedDuration) =
    (SignedDuration::from_secs(1), SignedDuration::from_secs(10));

/// A node with what it offers.
#[derive(Debug)]
pub(super) struct NodeEntry {
    pub(super) node: Arc<Node>,
    pub(super) capacity: Capacity,
}

/// Where a pod is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// It has no node.
    Pending,
    /// We sent it to a node, and the watch has not shown it yet.
    Assumed(String),
    /// The API says it is on this node.
    Bound(String),
}

impl Place {
    fn node(&self) -> Option<&str> {
        match self {
            Self::Pending => None,
            Self::Assumed(node) | Self::Bound(node) => Some(node),
        }
    }
}

#[derive(Debug)]
pub(super) struct PodEntry {
    pub(super) pod: Arc<Pod>,
    place: Place,
    /// What its status says, or will say once our write is done: message and nominated node.
    reported: Option<(String, Option<String>)>,
    /// Node where room is made for it. Others of lower priority leave that room alone.
    pub(super) nominated: Option<String>,
    failures: u32,
}

/// All nodes and pods, as far as placing pods needs them.
///
/// Invariant: the `NodeInfo` of a node is the sum over the pods placed there, whether or not the
/// node itself is known.
#[derive(Debug, Default)]
pub struct Scheduler {
    pub(super) nodes: BTreeMap<String, NodeEntry>,
    pub(super) infos: BTreeMap<String, NodeInfo>,
    pub(super) pods: BTreeMap<String, PodEntry>,
    /// Uids of pods by the node where room is made for them.
    pub(super) nominated: BTreeMap<String, BTreeSet<String>>,
    /// Uids of pods that were told to go for another.
    pub(super) victims: BTreeSet<String>,
    /// Where the search for a node begins next time, so that load spreads.
    pub(super) cursor: String,
    /// How often room that was made for a pod has been given up.
    pub(super) given_up: u64,
    queue: Queue,
}

impl Scheduler {
    /// An empty index.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a node's state. Heartbeats and other changes that do not matter wake nobody.
    pub fn apply_node(&mut self, node: Arc<Node>) {
        let name = node.metadata.name.clone();
        let matters = self
            .nodes
            .get(&name)
            .is_none_or(|old| differs(&old.node, &node));
        let capacity = Capacity::of(&node);
        self.nodes
            .insert(name.clone(), NodeEntry { node, capacity });
        if matters {
            self.queue.wake(&name);
        }
    }

    /// Takes the departure of a node.
    pub fn remove_node(&mut self, name: &str) {
        if self.nodes.remove(name).is_some() {
            self.queue.wake(name);
        }
    }

    /// Takes a pod's state.
    pub fn apply_pod(&mut self, pod: Arc<Pod>) {
        let bound = !pod.spec.node_name.is_empty();
        if pod.status.phase.is_terminal() || (!bound && pod.metadata.is_deleting()) {
            return self.remove_pod(&pod.metadata.uid);
        }
        if bound {
            self.apply_bound(pod);
        } else {
            self.apply_pending(pod);
        }
    }

    fn apply_bound(&mut self, pod: Arc<Pod>) {
        let uid = pod.metadata.uid.clone();
        let node = pod.spec.node_name.clone();
        self.queue.remove(&uid);
        self.nominate(&uid, None);
        let demand = Demand::of(&pod);
        let known = self.pods.get(&uid).and_then(|entry| entry.place.node());
        if known != Some(&*node) {
            let known = known.map(ToOwned::to_owned);
            self.leave(&uid, known.as_deref());
        }
        let info = self.infos.entry(node.clone()).or_default();
        let old = info.pods().get(&uid);
        let changed = old.is_some_and(|old| *old != demand);
        if old.is_none() || changed {
            info.add(&uid, demand);
        }
        if changed {
            self.queue.wake(&node);
        }
        let entry = PodEntry {
            pod,
            place: Place::Bound(node),
            reported: None,
            nominated: None,
            failures: 0,
        };
        self.pods.insert(uid, entry);
    }

    fn apply_pending(&mut self, pod: Arc<Pod>) {
        let uid = pod.metadata.uid.clone();
        let nominated = Some(pod.status.nominated_node_name.clone()).filter(|n| !n.is_empty());
        let Some(entry) = self.pods.get_mut(&uid) else {
            let reported = reported(&pod);
            let entry = PodEntry {
                pod,
                place: Place::Pending,
                reported,
                nominated: None,
                failures: 0,
            };
            self.pods.insert(uid.clone(), entry);
            self.nominate(&uid, nominated);
            return self.enqueue(&uid);
        };
        let changed = entry.pod.spec != pod.spec;
        entry.pod = pod;
        match entry.place {
            Place::Pending if changed => self.enqueue(&uid),
            // Assumed: what we read was written before our binding was, the node stays taken.
            // Bound: a pod never loses its node, what is read is older than what was read before.
            Place::Pending | Place::Assumed(_) | Place::Bound(_) => {}
        }
    }

    /// Puts a pod into the queue if it is ours to place.
    fn enqueue(&mut self, uid: &str) {
        let Some(entry) = self.pods.get(uid) else {
            return;
        };
        let spec = &entry.pod.spec;
        let ours = spec.scheduler_name.is_empty() || spec.scheduler_name == SCHEDULER_NAME;
        if !ours || !spec.scheduling_gates.is_empty() {
            return self.queue.remove(uid);
        }
        let created = entry.pod.metadata.creation_timestamp;
        let aim = Aim::of(spec);
        self.queue
            .push(uid, spec.priority.unwrap_or(0), created, aim);
    }

    /// Takes the departure of a pod, or its end.
    pub fn remove_pod(&mut self, uid: &str) {
        self.queue.remove(uid);
        self.nominate(uid, None);
        self.victims.remove(uid);
        if let Some(entry) = self.pods.remove(uid) {
            self.leave(uid, entry.place.node());
        }
    }

    /// Frees what a pod takes on a node.
    fn leave(&mut self, uid: &str, node: Option<&str>) {
        let Some(node) = node else { return };
        if let Some(info) = self.infos.get_mut(node) {
            info.remove_pod(uid);
            if info.pod_count() == 0 {
                self.infos.remove(node);
            }
        }
        self.queue.wake(node);
    }

    /// Notes where room is made for a pod; room that is given up wakes those who may use it.
    pub(super) fn nominate(&mut self, uid: &str, node: Option<String>) {
        let Some(entry) = self.pods.get_mut(uid) else {
            return;
        };
        if entry.nominated == node {
            return;
        }
        let old = core::mem::replace(&mut entry.nominated, node.clone());
        if let Some(old) = old {
            if let Some(uids) = self.nominated.get_mut(&old) {
                uids.remove(uid);
                if uids.is_empty() {
                    self.nominated.remove(&old);
                }
            }
            self.given_up += 1;
            self.queue.wake(&old);
        }
        if let Some(node) = node {
            let uids = self.nominated.entry(node).or_default();
            uids.insert(uid.to_owned());
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
        let gone = self.nodes.keys().filter(|name| !listed.contains(&***name));
        let gone: Vec<String> = gone.cloned().collect();
        for name in gone {
            self.remove_node(&name);
        }
    }

    /// A binding could not be written: the pod is tried again later.
    ///
    /// One that the watch has shown to be bound meanwhile is left alone.
    pub fn bind_failed(&mut self, uid: &str, now: Timestamp) {
        let Some(entry) = self.pods.get_mut(uid) else {
            return;
        };
        if !matches!(entry.place, Place::Assumed(_)) {
            return;
        }
        let place = core::mem::replace(&mut entry.place, Place::Pending);
        self.leave(uid, place.node());
        self.enqueue(uid);
        self.rest(uid, now);
    }

    /// A pod's status could not be written: it is looked at and reported again later.
    pub fn report_failed(&mut self, uid: &str, now: Timestamp) {
        if let Some(entry) = self.pods.get_mut(uid) {
            entry.reported = None;
            self.rest(uid, now);
        }
    }

    /// A victim could not be deleted: whoever needs its place is looked at again later.
    pub fn delete_failed(&mut self, uid: &str, now: Timestamp) {
        self.victims.remove(uid);
        let place = self.pods.get(uid).and_then(|entry| entry.place.node());
        let needing = place.and_then(|node| self.nominated.get(node));
        for uid in needing.cloned().into_iter().flatten() {
            self.rest(&uid, now);
        }
    }

    fn rest(&mut self, uid: &str, now: Timestamp) {
        let Some(entry) = self.pods.get_mut(uid) else {
            return;
        };
        let step = 2_i32.saturating_pow(entry.failures.min(8));
        entry.failures += 1;
        self.queue
            .rest(uid, now + BACKOFF.0.saturating_mul(step).min(BACKOFF.1));
    }

    /// What is taken on a node.
    pub fn node_info(&self, node: &str) -> Option<&NodeInfo> {
        self.infos.get(node)
    }

    /// Pods without a node: to look at, waiting for a change, resting after a failed write.
    pub fn pending(&self) -> (usize, usize, usize) {
        self.queue.len()
    }

    /// Places the pods that are to be looked at.
    pub fn plan(&mut self, now: Timestamp) -> Plan {
        self.queue.advance(now);
        let mut plan = Plan::default();
        let mut refusals = Refusals::default();
        while let Some((uid, aim)) = self.queue.pop() {
            let Some(entry) = self.pods.get(&uid) else {
                continue;
            };
            let pod = Arc::clone(&entry.pod);
            match self.try_pod(&pod, &aim, &mut refusals, now) {
                Attempt::Fits(node) => plan.binds.push(self.assume(&pod, node)),
                Attempt::Refused {
                    message,
                    making_room,
                } => {
                    self.queue.wait(&uid);
                    let nominated = making_room.node;
                    plan.preemptions.extend(making_room.preemption);
                    plan.unschedulable
                        .extend(self.report(&pod, message, nominated, now));
                }
            }
        }
        plan.next = self.queue.next();
        plan
    }

    fn assume(&mut self, pod: &Pod, node: String) -> Bind {
        let uid = &pod.metadata.uid;
        self.queue.remove(uid);
        self.nominate(uid, None);
        let info = self.infos.entry(node.clone()).or_default();
        info.add_pod(pod);
        if let Some(entry) = self.pods.get_mut(uid) {
            entry.place = Place::Assumed(node.clone());
        }
        Bind {
            pod: pod.reference(),
            node,
        }
    }

    /// The report about a refused pod, if it says something new.
    fn report(
        &mut self,
        pod: &Pod,
        message: String,
        nominated: Option<String>,
        now: Timestamp,
    ) -> Option<Unschedulable> {
        self.nominate(&pod.metadata.uid, nominated.clone());
        let entry = self.pods.get_mut(&pod.metadata.uid)?;
        let says = Some((message.clone(), nominated.clone()));
        if entry.reported == says {
            return None;
        }
        entry.reported = says;
        let patch = pending_patch(pod, &message, nominated.as_deref(), now);
        Some(Unschedulable {
            pod: pod.reference(),
            message,
            nominated_node: nominated,
            patch,
        })
    }

    /// The reference of a known pod.
    pub(super) fn reference(&self, uid: &str) -> Option<PodRef> {
        self.pods.get(uid).map(|entry| entry.pod.reference())
    }
}

/// Whether two states of a node differ in something a filter looks at.
fn differs(old: &Node, new: &Node) -> bool {
    old.metadata.labels != new.metadata.labels
        || old.spec != new.spec
        || old.status.allocatable != new.status.allocatable
}

/// What a pod's status says about its being pending.
fn reported(pod: &Pod) -> Option<(String, Option<String>)> {
    let condition = pod.condition("PodScheduled")?;
    let nominated = &pod.status.nominated_node_name;
    (condition.status == "False" && condition.reason == "Unschedulable").then(|| {
        let nominated = Some(nominated.clone()).filter(|n| !n.is_empty());
        (condition.message.clone(), nominated)
    })
}
