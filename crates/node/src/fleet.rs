//! The index of all simulated nodes and what their agents do next.

mod timers;

use crate::knobs::Knobs;
use crate::spec::{address_of, hash, is_simulated};
use crate::status;
use jiff::{SignedDuration, Timestamp};
use pernode_core::node::Node;
use pernode_core::pod::Pod;
use pernode_core::podlife::{Host, Life, Step};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use timers::Timers;

/// How often a lease is renewed (kubelet: a quarter of its 40 s).
const LEASE_EVERY: SignedDuration = SignedDuration::from_secs(10);
/// Nodes that are renewed that often; more of them renew proportionally more slowly …
const LEASES_AT_FULL_RATE: usize = 1000;
/// … but never more slowly than this, half of the time after which a node counts as lost.
const LEASE_AT_LEAST_EVERY: SignedDuration = SignedDuration::from_secs(20);
/// How often an unchanged status is reported again (kubelet: nodeStatusReportFrequency).
const REPORT_EVERY: SignedDuration = SignedDuration::from_mins(5);
/// First and longest wait after a failed write.
const RETRY: (SignedDuration, SignedDuration) = (
    SignedDuration::from_millis(200),
    SignedDuration::from_secs(10),
);

/// Something with work to do at a time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// A node's lease, by node name.
    Lease(Arc<str>),
    /// A node's status, by name.
    Report(Arc<str>),
    /// A pod, by uid.
    Pod(Arc<str>),
}

/// One write.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) key: Key,
    pub(crate) write: Write,
}

/// What is written.
#[derive(Debug)]
pub(crate) enum Write {
    /// Renew a node's lease, or make it.
    Lease {
        node: Arc<Node>,
        /// Whether it was seen to exist.
        exists: bool,
        at: Timestamp,
    },
    /// Patch a node's status.
    Report { node: Arc<Node>, patch: Value },
    /// Patch a pod's status.
    Status { pod: Arc<Pod>, patch: Value },
    /// Remove a pod that has stopped.
    Remove { pod: Arc<Pod> },
}

/// How a write went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is stored at this revision.
    Written(u64),
    /// The object does not exist any more: the watch will tell.
    Gone,
    /// It failed and is to be tried again.
    Failed,
}

#[derive(Debug)]
struct SimNode {
    node: Arc<Node>,
    address: String,
    knobs: Knobs,
    lease_exists: bool,
    report: Writing,
}

#[derive(Debug)]
struct SimPod {
    pod: Arc<Pod>,
    life: Life,
    writing: Writing,
}

/// Where the writes of one object stand.
#[derive(Debug, Default)]
struct Writing {
    /// A write is under way.
    busy: bool,
    /// The revision that the write under way was decided on.
    based_on: u64,
    /// Nothing is decided before the watch has shown this revision: the write we made.
    awaited: u64,
    failures: u32,
}

impl Writing {
    fn start(&mut self, seen: u64) {
        self.busy = true;
        self.based_on = seen;
    }

    fn is_settled(&self, revision: u64) -> bool {
        !self.busy && revision >= self.awaited
    }

    /// Notes the end of a write; when to decide again, unless the watch has to tell first.
    fn end(&mut self, outcome: Outcome, seen: u64, now: Timestamp) -> Option<Timestamp> {
        self.busy = false;
        match outcome {
            Outcome::Written(revision) if revision > seen => {
                self.awaited = revision;
                self.failures = 0;
                None
            }
            // The watch was faster than the answer.
            Outcome::Written(revision) if revision > self.based_on => {
                self.failures = 0;
                Some(now)
            }
            Outcome::Gone => None,
            // A patch that changed nothing leaves the revision as it was. It counts as a
            // failure, else the same decision would be taken again at once, for ever.
            Outcome::Written(_) | Outcome::Failed => {
                let step = 2_i32.saturating_pow(self.failures.min(16));
                self.failures += 1;
                Some(now + RETRY.0.saturating_mul(step).min(RETRY.1))
            }
        }
    }
}

/// All simulated nodes, their pods and the times at which something is due.
#[derive(Debug, Default)]
pub(crate) struct Fleet {
    nodes: BTreeMap<Arc<str>, SimNode>,
    /// Every pod that is bound to some node, simulated or not: a node may join after its pods.
    pods: BTreeMap<Arc<str>, SimPod>,
    by_node: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
    /// Leases apart: they are due in time even when thousands of pods start.
    leases: Timers,
    work: Timers,
}

impl Fleet {
    /// Number of simulated nodes.
    pub(crate) fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Takes a node; one that is not simulated (any more) leaves.
    pub(crate) fn apply_node(&mut self, node: Arc<Node>, now: Timestamp) {
        if !is_simulated(&node.metadata) {
            return self.remove_node(&node.metadata.name);
        }
        let name: Arc<str> = node.metadata.name.as_str().into();
        let knobs = Knobs::read(&node.metadata.annotations);
        let old = self.nodes.get(&name);
        let joins = old.is_none_or(|old| {
            old.node.metadata.uid != node.metadata.uid || old.knobs.dead != knobs.dead
        });
        let changed = joins
            || old.is_some_and(|old| old.node.metadata.annotations != node.metadata.annotations);
        if joins {
            let joined = SimNode {
                node,
                address: address_of(&name),
                knobs,
                lease_exists: false,
                report: Writing::default(),
            };
            self.nodes.insert(Arc::clone(&name), joined);
            self.leases.set(Key::Lease(Arc::clone(&name)), now);
        } else if let Some(old) = self.nodes.get_mut(&name) {
            old.node = node;
            old.knobs = knobs;
        }
        if changed {
            self.wake_pods(&name, now);
        }
        self.work.set(Key::Report(name), now);
    }

    /// Takes the departure of a node. Its pods are left to whoever collects them.
    pub(crate) fn remove_node(&mut self, name: &str) {
        if let Some((name, _)) = self.nodes.remove_entry(name) {
            self.leases.clear(&Key::Lease(Arc::clone(&name)));
            self.work.clear(&Key::Report(name));
        }
    }

    fn wake_pods(&mut self, node: &str, now: Timestamp) {
        for uid in self.by_node.get(node).into_iter().flatten() {
            self.work.set(Key::Pod(Arc::clone(uid)), now);
        }
    }

    /// Takes a pod; unbound ones are nobody's work yet.
    pub(crate) fn apply_pod(&mut self, pod: Arc<Pod>, now: Timestamp) {
        if pod.spec.node_name.is_empty() {
            return;
        }
        let revision = revision(&pod.metadata.resource_version);
        let uid: Arc<str> = pod.metadata.uid.as_str().into();
        match self.pods.get_mut(&uid) {
            Some(known) => {
                known.pod = pod;
                if !known.writing.is_settled(revision) {
                    return;
                }
            }
            None => self.add_pod(Arc::clone(&uid), pod),
        }
        self.work.set(Key::Pod(uid), now);
    }

    fn add_pod(&mut self, uid: Arc<str>, pod: Arc<Pod>) {
        let node = &*pod.spec.node_name;
        match self.by_node.get_mut(node) {
            Some(uids) => drop(uids.insert(Arc::clone(&uid))),
            None => drop(
                self.by_node
                    .insert(node.into(), BTreeSet::from([Arc::clone(&uid)])),
            ),
        }
        let (life, writing) = (Life::default(), Writing::default());
        self.pods.insert(uid, SimPod { pod, life, writing });
    }

    /// Takes the departure of a pod.
    pub(crate) fn remove_pod(&mut self, uid: &str) {
        let Some((uid, gone)) = self.pods.remove_entry(uid) else {
            return;
        };
        let node = &*gone.pod.spec.node_name;
        if let Some(uids) = self.by_node.get_mut(node) {
            uids.remove(&uid);
            if uids.is_empty() {
                self.by_node.remove(node);
            }
        }
        self.work.clear(&Key::Pod(uid));
    }

    /// Forgets the pods, before they are listed anew.
    pub(crate) fn reset_pods(&mut self, keep: &BTreeSet<&str>) {
        let gone: Vec<Arc<str>> = self
            .pods
            .keys()
            .filter(|uid| !keep.contains(&***uid))
            .cloned()
            .collect();
        for uid in &gone {
            self.remove_pod(uid);
        }
    }

    /// Forgets the nodes that are not among those listed anew.
    pub(crate) fn reset_nodes(&mut self, keep: &BTreeSet<&str>) {
        let gone: Vec<Arc<str>> = self
            .nodes
            .keys()
            .filter(|name| !keep.contains(&***name))
            .cloned()
            .collect();
        for name in &gone {
            self.remove_node(name);
        }
    }

    /// The writes that are due, at most `slots` of them.
    pub(crate) fn plan(&mut self, now: Timestamp, slots: usize) -> Vec<Job> {
        let mut jobs = Vec::new();
        while jobs.len() < slots {
            let due = self.leases.pop(now).or_else(|| self.work.pop(now));
            let Some(key) = due else { break };
            jobs.extend(self.decide(key, now));
        }
        jobs
    }

    /// When the next write is due.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        [self.leases.next(), self.work.next()]
            .into_iter()
            .flatten()
            .min()
    }

    fn decide(&mut self, key: Key, now: Timestamp) -> Option<Job> {
        let write = match &key {
            Key::Lease(name) => self.renew(name, now),
            Key::Report(name) => self.report(name, now),
            Key::Pod(uid) => self.live(uid, now),
        }?;
        Some(Job { key, write })
    }

    fn renew(&mut self, name: &Arc<str>, now: Timestamp) -> Option<Write> {
        let every = lease_every(self.nodes.len());
        let sim = self.nodes.get(name)?;
        if sim.knobs.dead {
            return None;
        }
        // The first one comes at once, the second at the node's own place in the period: nodes
        // that joined together do not renew together ever after.
        let after = if sim.lease_exists {
            every
        } else {
            every.mul_f64(f64::from(hash(name)) / f64::from(u32::MAX))
        };
        self.leases.set(Key::Lease(Arc::clone(name)), now + after);
        Some(Write::Lease {
            node: Arc::clone(&sim.node),
            exists: sim.lease_exists,
            at: now,
        })
    }

    fn report(&mut self, name: &Arc<str>, now: Timestamp) -> Option<Write> {
        let sim = self.nodes.get_mut(name)?;
        let seen = revision(&sim.node.metadata.resource_version);
        if sim.knobs.dead || !sim.report.is_settled(seen) {
            return None;
        }
        let heartbeat = sim
            .node
            .status
            .conditions
            .iter()
            .filter_map(|c| c.last_heartbeat_time)
            .max();
        let again = heartbeat.map_or(now, |at| at + REPORT_EVERY);
        if status::is_reported(&sim.node, &sim.knobs) && again > now {
            self.work.set(Key::Report(Arc::clone(name)), again);
            return None;
        }
        sim.report.start(seen);
        Some(Write::Report {
            node: Arc::clone(&sim.node),
            patch: status::report(&sim.node, &sim.knobs, now),
        })
    }

    fn live(&mut self, uid: &Arc<str>, now: Timestamp) -> Option<Write> {
        let sim = self.pods.get_mut(uid)?;
        let seen = revision(&sim.pod.metadata.resource_version);
        let node = self.nodes.get(&*sim.pod.spec.node_name)?;
        if node.knobs.dead || !sim.writing.is_settled(seen) {
            return None;
        }
        let host = Host {
            ip: &node.address,
            annotations: &node.node.metadata.annotations,
            missing_images: &[],
        };
        let step = sim.life.step(&sim.pod, &host, now);
        if let Step::Wait(Some(at)) = step {
            self.work.set(Key::Pod(Arc::clone(uid)), at);
        }
        let pod = Arc::clone(&sim.pod);
        let write = match step {
            Step::Wait(_) => return None,
            Step::Status(patch) => Write::Status { pod, patch },
            Step::Remove => Write::Remove { pod },
        };
        sim.writing.start(seen);
        Some(write)
    }

    /// Takes the outcome of a write.
    pub(crate) fn done(&mut self, key: Key, outcome: Outcome, now: Timestamp) {
        let again = match &key {
            Key::Lease(name) => return self.lease_done(name, outcome, now),
            Key::Report(name) => self.nodes.get_mut(name).and_then(|sim| {
                let seen = revision(&sim.node.metadata.resource_version);
                sim.report.end(outcome, seen, now)
            }),
            Key::Pod(uid) => self.pods.get_mut(uid).and_then(|sim| {
                let seen = revision(&sim.pod.metadata.resource_version);
                sim.writing.end(outcome, seen, now)
            }),
        };
        if let Some(at) = again {
            self.work.set(key, at);
        }
    }

    fn lease_done(&mut self, name: &Arc<str>, outcome: Outcome, now: Timestamp) {
        let Some(sim) = self.nodes.get_mut(name) else {
            return;
        };
        sim.lease_exists = matches!(outcome, Outcome::Written(_));
        if outcome == Outcome::Failed && !sim.knobs.dead {
            self.leases.set(Key::Lease(Arc::clone(name)), now + RETRY.0);
        }
    }
}

/// How often the lease of each of so many nodes is renewed.
fn lease_every(nodes: usize) -> SignedDuration {
    let crowd = nodes as f64 / LEASES_AT_FULL_RATE as f64;
    LEASE_EVERY
        .mul_f64(crowd.max(1.0))
        .min(LEASE_AT_LEAST_EVERY)
}

/// A resourceVersion as a number; 0 when it is none.
pub(crate) fn revision(text: &str) -> u64 {
    text.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests;
