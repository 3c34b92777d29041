//! Which nodes a pod names.

use crate::pod::PodSpec;
use alloc::collections::BTreeSet;
use alloc::string::String;

/// The nodes a pod can go to as far as it names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Aim {
    /// It names none: every node is looked at.
    Anywhere,
    /// Only these. Empty when its terms name different nodes at once, which nothing satisfies.
    Nodes(BTreeSet<String>),
}

impl Aim {
    /// Reads the names from the required node affinity (upstream: NodeAffinity's PreFilter).
    ///
    /// Terms are alternatives, so one term without a name makes it [`Aim::Anywhere`]; the
    /// requirements of one term must all hold, so names in one term exclude each other.
    pub fn of(spec: &PodSpec) -> Self {
        let required = spec
            .affinity
            .as_ref()
            .and_then(|a| a.node_affinity.as_ref()?.required.as_ref());
        let Some(required) = required else {
            return Self::Anywhere;
        };
        let mut nodes = BTreeSet::new();
        for term in &required.node_selector_terms {
            let mut names = term
                .match_fields
                .iter()
                .filter(|field| field.key == "metadata.name" && field.operator == "In")
                .map(|field| field.values.iter().cloned().collect::<BTreeSet<String>>());
            let Some(first) = names.next() else {
                return Self::Anywhere;
            };
            nodes.extend(names.fold(first, |all, more| &all & &more));
        }
        if required.node_selector_terms.is_empty() {
            return Self::Anywhere;
        }
        Self::Nodes(nodes)
    }
}
