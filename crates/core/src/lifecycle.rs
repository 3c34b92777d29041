//! Which nodes are alive, and the taints that follow from a node's state.
//!
//! An agent shows that it is alive by renewing its lease or reporting its status. What counts is
//! when we saw that happen, not the times the agent wrote: its clock may be off. A node that is
//! silent too long gets its conditions set to `Unknown`. Taints follow from conditions and from
//! `spec.unschedulable` (upstream: node lifecycle controller, without its rate limits).

mod decide;

use crate::node::Node;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

pub use decide::{taints_wanted, unknown_conditions};

/// How long an agent may be silent (upstream: `--node-monitor-grace-period`).
pub const GRACE: SignedDuration = SignedDuration::from_secs(40);
/// How long a new node may take to report at all (upstream: `--node-startup-grace-period`).
pub const STARTUP_GRACE: SignedDuration = SignedDuration::from_secs(60);
/// Wait before a write that failed is tried again.
const RETRY_AFTER: SignedDuration = SignedDuration::from_secs(1);

/// What is to be written now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Nodes to write, in order of name.
    pub nodes: Vec<NodePlan>,
    /// When to plan again even if nothing happens.
    pub next: Option<Timestamp>,
}

/// What is to be written about one node. Report a failure with [`Lifecycle::failed`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodePlan {
    /// The node.
    pub name: String,
    /// Strategic merge patch of the status: the agent is silent.
    pub status: Option<Value>,
    /// Merge patch of the node: its taints, on condition of the revision they were seen in.
    pub taints: Option<Value>,
    /// The node stopped being ready: its pods are to read as not ready.
    pub pods_not_ready: bool,
}

#[derive(Debug)]
struct Tracked {
    node: Arc<Node>,
    /// What the agent last wrote: the lease's renew time and the status' heartbeat.
    renewed: Option<Timestamp>,
    heartbeat: Option<Timestamp>,
    /// When we saw one of these change.
    heard: Timestamp,
    due: Option<Timestamp>,
    /// Whether the pods' readiness was taken away since the node was ready last.
    pods_marked: bool,
}

/// All nodes and when they were heard of.
///
/// Invariant: `due` holds each node's `due`.
#[derive(Debug)]
pub struct Lifecycle {
    grace: SignedDuration,
    nodes: BTreeMap<String, Tracked>,
    /// Leases of nodes that are not known yet.
    early: BTreeMap<String, Timestamp>,
    due: BTreeSet<(Timestamp, String)>,
}

impl Default for Lifecycle {
    fn default() -> Self {
        Self::new(GRACE)
    }
}

impl Lifecycle {
    /// An empty index. `grace` is how long an agent may be silent.
    pub fn new(grace: SignedDuration) -> Self {
        Self {
            grace,
            nodes: BTreeMap::new(),
            early: BTreeMap::new(),
            due: BTreeSet::new(),
        }
    }

    /// Takes a node's state.
    pub fn apply_node(&mut self, node: Arc<Node>, now: Timestamp) {
        let name = node.metadata.name.clone();
        let heartbeat = decide::heartbeat(&node);
        let known = self.nodes.get_mut(&name);
        let same = known.filter(|known| known.node.metadata.uid == node.metadata.uid);
        if let Some(known) = same {
            if known.heartbeat != heartbeat {
                known.heartbeat = heartbeat;
                known.heard = now;
            }
            known.node = node;
        } else {
            let tracked = Tracked {
                pods_marked: !decide::is_ready(&node),
                node,
                renewed: self.early.remove(&name),
                heartbeat,
                heard: now,
                due: None,
            };
            self.forget(&name);
            self.nodes.insert(name.clone(), tracked);
        }
        self.look_at(&name, now);
    }

    /// Takes the departure of a node.
    pub fn remove_node(&mut self, name: &str) {
        self.forget(name);
        self.early.remove(name);
    }

    fn forget(&mut self, name: &str) {
        let gone = self.nodes.remove(name);
        if let Some(due) = gone.and_then(|gone| gone.due) {
            self.due.remove(&(due, name.into()));
        }
    }

    /// Keeps only the nodes that a fresh list contains.
    pub fn retain_nodes(&mut self, listed: &BTreeSet<&str>) {
        let gone = self.nodes.keys().filter(|name| !listed.contains(&***name));
        let gone: Vec<String> = gone.cloned().collect();
        for name in gone {
            self.remove_node(&name);
        }
    }

    /// Takes a node's lease.
    pub fn apply_lease(&mut self, node: &str, renewed: Timestamp, now: Timestamp) {
        let Some(tracked) = self.nodes.get_mut(node) else {
            self.early.insert(node.into(), renewed);
            return;
        };
        if tracked.renewed == Some(renewed) {
            return;
        }
        tracked.renewed = Some(renewed);
        tracked.heard = now;
        // The old time to look at it is only earlier than needed: it is moved when it comes.
    }

    fn look_at(&mut self, name: &str, at: Timestamp) {
        let Some(tracked) = self.nodes.get_mut(name) else {
            return;
        };
        if let Some(old) = tracked.due.replace(at) {
            self.due.remove(&(old, name.into()));
        }
        self.due.insert((at, name.into()));
    }

    /// A write about a node failed: it is looked at again soon.
    pub fn failed(&mut self, name: &str, now: Timestamp) {
        if let Some(tracked) = self.nodes.get_mut(name) {
            tracked.pods_marked = false;
            self.look_at(name, now + RETRY_AFTER);
        }
    }

    /// What is to be written now.
    pub fn plan(&mut self, now: Timestamp) -> Plan {
        let mut plan = Plan::default();
        while self.due.first().is_some_and(|(at, _)| *at <= now) {
            let Some((_, name)) = self.due.pop_first() else {
                break;
            };
            let Some(tracked) = self.nodes.get_mut(&name) else {
                continue;
            };
            tracked.due = None;
            let silent_from = tracked.silent_from(self.grace);
            let wanted = tracked.decide(silent_from <= now, now);
            if let Some(wanted) = wanted {
                plan.nodes.push(wanted);
            }
            if silent_from > now {
                self.look_at(&name, silent_from);
            }
        }
        plan.nodes.sort_by(|a, b| a.name.cmp(&b.name));
        plan.next = self.due.first().map(|(at, _)| *at);
        plan
    }
}

impl Tracked {
    /// When the agent counts as silent if nothing more is heard.
    fn silent_from(&self, grace: SignedDuration) -> Timestamp {
        let reported = decide::ready_condition(&self.node).is_some();
        let grace = if reported {
            grace
        } else {
            grace.max(STARTUP_GRACE)
        };
        self.heard + grace
    }

    fn decide(&mut self, silent: bool, now: Timestamp) -> Option<NodePlan> {
        let node = &self.node;
        let status = silent
            .then(|| unknown_conditions(node, now))
            .flatten()
            .map(|conditions| serde_json::json!({"status": {"conditions": conditions}}));
        // Taints follow from conditions as the API has them: after a status patch the watch
        // brings the node back here.
        let taints = taints_wanted(node, now).map(|taints| {
            serde_json::json!({
                "metadata": {"resourceVersion": node.metadata.resource_version},
                "spec": {"taints": taints},
            })
        });
        let ready = decide::is_ready(node);
        let pods_not_ready = !ready && !self.pods_marked && decide::ready_condition(node).is_some();
        self.pods_marked = !ready;
        let wanted = NodePlan {
            name: node.metadata.name.clone(),
            status,
            taints,
            pods_not_ready,
        };
        let anything = wanted.status.is_some() || wanted.taints.is_some() || wanted.pods_not_ready;
        anything.then_some(wanted)
    }
}
