//! Why a pod is pending, in upstream's words.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Reason of the nodes that a pod which names its nodes leaves out.
pub(super) const NOT_NAMED: &str = "node(s) didn't satisfy plugin(s) [NodeAffinity]";
/// Reason of nodes where making room cannot help.
pub(super) const NOT_HELPFUL: &str = "Preemption is not helpful for scheduling";
/// Reason of nodes without a pod that could go.
pub(super) const NO_VICTIMS: &str = "No preemption victims found for incoming pod";
/// The terms of the pod's affinity exclude each other.
pub(super) const CONFLICT: &str = "pod affinity terms conflict";
/// There is not a single node.
pub(super) const NO_NODES: &str = "no nodes available to schedule pods";

/// How many nodes each reason refuses.
#[derive(Debug, Clone, Default)]
pub(super) struct Histogram(BTreeMap<Cow<'static, str>, usize>);

impl Histogram {
    pub(super) fn count(&mut self, reason: Cow<'static, str>, nodes: usize) {
        if nodes > 0 {
            *self.0.entry(reason).or_default() += nodes;
        }
    }

    /// `0/5 nodes are available: 1 Insufficient cpu, 4 …`, ordered as text.
    pub(super) fn message(&self, nodes: usize) -> String {
        let mut parts: Vec<String> = self
            .0
            .iter()
            .map(|(reason, count)| format!("{count} {reason}"))
            .collect();
        parts.sort_unstable();
        format!("0/{nodes} nodes are available: {}.", parts.join(", "))
    }
}
