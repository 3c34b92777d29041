//! The filters: why a node cannot take a pod.

use super::demand::{Amounts, Demand};
use super::node_info::{Capacity, NodeInfo};
use crate::affinity::required_node_affinity_matches;
use crate::node::Node;
use crate::pod::Pod;
use crate::taint::{Effect, Taint, first_untolerated};
use alloc::borrow::{Cow, ToOwned};
use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};

/// A filter, in the order in which upstream's default profile asks them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Filter {
    /// The node is cordoned.
    NodeUnschedulable,
    /// The pod names another node.
    NodeName,
    /// A taint that the pod does not tolerate.
    TaintToleration,
    /// Node selector and required node affinity.
    NodeAffinity,
    /// Host ports.
    NodePorts,
    /// Requests against what is left, and the number of pods.
    NodeResourcesFit,
}

impl Filter {
    /// All filters in order.
    pub const ALL: [Self; 6] = [
        Self::NodeUnschedulable,
        Self::NodeName,
        Self::TaintToleration,
        Self::NodeAffinity,
        Self::NodePorts,
        Self::NodeResourcesFit,
    ];

    /// The name of upstream's plugin.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NodeUnschedulable => "NodeUnschedulable",
            Self::NodeName => "NodeName",
            Self::TaintToleration => "TaintToleration",
            Self::NodeAffinity => "NodeAffinity",
            Self::NodePorts => "NodePorts",
            Self::NodeResourcesFit => "NodeResourcesFit",
        }
    }
}

/// Why one filter refuses a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// The filter.
    pub filter: Filter,
    /// Reasons as upstream words them; more than one when several resources do not suffice.
    pub reasons: Vec<Cow<'static, str>>,
    /// Resources that do not suffice, `pods` for the number of pods.
    pub insufficient: Vec<String>,
    /// Whether the pod could fit once other pods are gone.
    pub preemption_may_help: bool,
}

impl Rejection {
    fn firm(filter: Filter, reason: &'static str) -> Self {
        Self {
            filter,
            reasons: vec![Cow::Borrowed(reason)],
            insufficient: Vec::new(),
            preemption_may_help: false,
        }
    }

    /// The reasons in one text.
    pub fn message(&self) -> String {
        self.reasons.join(", ")
    }
}

/// A node with what is taken on it, as the filters see it.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// The node.
    pub node: &'a Node,
    /// What it offers.
    pub capacity: &'a Capacity,
    /// What is taken.
    pub info: &'a NodeInfo,
}

impl Candidate<'_> {
    /// What one filter says.
    pub fn check(&self, filter: Filter, pod: &Pod, demand: &Demand) -> Option<Rejection> {
        match filter {
            Filter::NodeUnschedulable => unschedulable(pod, self.node),
            Filter::NodeName => node_name(pod, self.node),
            Filter::TaintToleration => taints(pod, self.node),
            Filter::NodeAffinity => affinity(pod, self.node),
            Filter::NodePorts => ports(demand, self.info),
            Filter::NodeResourcesFit => fit(demand, self),
        }
    }

    /// What the first filter that refuses says. Later filters are not asked, as upstream does.
    pub fn first_rejection(&self, pod: &Pod, demand: &Demand) -> Option<Rejection> {
        Filter::ALL
            .into_iter()
            .find_map(|filter| self.check(filter, pod, demand))
    }
}

/// Asks every filter on its own.
///
/// # Errors
/// The filters that refuse, in order.
pub fn filter(pod: &Pod, node: &Node, info: &NodeInfo) -> Result<(), Vec<Rejection>> {
    let capacity = Capacity::of(node);
    let candidate = Candidate {
        node,
        capacity: &capacity,
        info,
    };
    let demand = Demand::of(pod);
    let rejections: Vec<Rejection> = Filter::ALL
        .into_iter()
        .filter_map(|filter| candidate.check(filter, pod, &demand))
        .collect();
    if rejections.is_empty() {
        Ok(())
    } else {
        Err(rejections)
    }
}

/// Taint that stands for a cordon.
pub const TAINT_UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

fn unschedulable(pod: &Pod, node: &Node) -> Option<Rejection> {
    let cordon = Taint {
        key: TAINT_UNSCHEDULABLE.to_owned(),
        effect: Effect::NoSchedule,
        ..Taint::default()
    };
    let refused =
        node.spec.unschedulable && !pod.spec.tolerations.iter().any(|t| t.tolerates(&cordon));
    refused.then(|| Rejection::firm(Filter::NodeUnschedulable, "node(s) were unschedulable"))
}

fn node_name(pod: &Pod, node: &Node) -> Option<Rejection> {
    let wanted = &pod.spec.node_name;
    let refused = !wanted.is_empty() && *wanted != node.metadata.name;
    refused.then(|| {
        Rejection::firm(
            Filter::NodeName,
            "node(s) didn't match the requested node name",
        )
    })
}

fn taints(pod: &Pod, node: &Node) -> Option<Rejection> {
    let repels = |effect| matches!(effect, Effect::NoSchedule | Effect::NoExecute);
    first_untolerated(&node.spec.taints, &pod.spec.tolerations, repels)
        .map(|_| Rejection::firm(Filter::TaintToleration, "node(s) had untolerated taint(s)"))
}

fn affinity(pod: &Pod, node: &Node) -> Option<Rejection> {
    (!required_node_affinity_matches(&pod.spec, node)).then(|| {
        Rejection::firm(
            Filter::NodeAffinity,
            "node(s) didn't match Pod's node affinity/selector",
        )
    })
}

fn ports(demand: &Demand, info: &NodeInfo) -> Option<Rejection> {
    let taken = demand.ports.iter().any(|port| info.is_port_taken(port));
    taken.then(|| Rejection {
        preemption_may_help: true,
        ..Rejection::firm(
            Filter::NodePorts,
            "node(s) didn't have free ports for the requested pod ports",
        )
    })
}

/// A resource that does not suffice.
struct Shortage {
    resource: String,
    /// It would not suffice on an empty node either.
    for_good: bool,
}

fn fit(demand: &Demand, candidate: &Candidate<'_>) -> Option<Rejection> {
    let full = candidate.info.pod_count() as i64 + 1 > candidate.capacity.pods;
    let shortages = shortages(
        &demand.amounts,
        &candidate.capacity.amounts,
        candidate.info.used(),
    );
    if !full && shortages.is_empty() {
        return None;
    }
    let mut rejection = Rejection {
        filter: Filter::NodeResourcesFit,
        reasons: Vec::new(),
        insufficient: Vec::new(),
        preemption_may_help: shortages.iter().all(|s| !s.for_good),
    };
    if full {
        rejection.reasons.push(Cow::Borrowed("Too many pods"));
        rejection.insufficient.push("pods".to_owned());
    }
    for Shortage { resource, .. } in shortages {
        let reason = Cow::Owned(format!("Insufficient {resource}"));
        rejection.reasons.push(reason);
        rejection.insufficient.push(resource);
    }
    Some(rejection)
}

/// The resources of which more is asked for than is left. What is not asked for does not matter,
/// even when the node is overcommitted.
fn shortages(wanted: &Amounts, offered: &Amounts, used: &Amounts) -> Vec<Shortage> {
    let mut shortages = Vec::new();
    let mut look = |name: &str, wanted: i64, offered: i64, used: i64| {
        if wanted > 0 && wanted > offered.saturating_sub(used) {
            shortages.push(Shortage {
                resource: name.to_owned(),
                for_good: wanted > offered,
            });
        }
    };
    look("cpu", wanted.milli_cpu, offered.milli_cpu, used.milli_cpu);
    look("memory", wanted.memory, offered.memory, used.memory);
    look(
        "ephemeral-storage",
        wanted.ephemeral_storage,
        offered.ephemeral_storage,
        used.ephemeral_storage,
    );
    let of = |amounts: &Amounts, name: &str| amounts.scalar.get(name).copied().unwrap_or(0);
    for (name, amount) in &wanted.scalar {
        look(name, *amount, of(offered, name), of(used, name));
    }
    shortages
}
