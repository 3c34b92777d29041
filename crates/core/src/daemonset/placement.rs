//! Which nodes get a pod (section 1 of the contract).

use super::view::Template;
use crate::affinity::required_node_affinity_matches;
use crate::node::Node;
use crate::taint::{Effect, Taint, Toleration};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// The answer for one node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Verdict {
    /// A pod is created if there is none.
    pub should_run: bool,
    /// A pod that is there may stay.
    pub should_continue: bool,
}

/// Why a node gets no pod, or may not keep the one it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// The template names another node.
    TemplateNamesNode {
        /// The node it names.
        wanted: String,
    },
    /// A label of the node selector is missing or has another value.
    NodeSelector {
        /// Label key.
        key: String,
        /// Value the template asks for.
        wanted: String,
        /// Value the node has.
        found: Option<String>,
    },
    /// No term of the required node affinity matches.
    NodeAffinity,
    /// A taint that is not tolerated; `NoExecute` removes a running pod, `NoSchedule` does not.
    Taint(Taint),
}

/// Tolerations every daemon pod gets, in this order: key and effect, all with operator `Exists`.
pub const DEFAULT_TOLERATIONS: [(&str, &str); 6] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
];

/// The toleration pods on the host's network get in addition.
pub const HOST_NETWORK_TOLERATION: (&str, &str) =
    ("node.kubernetes.io/network-unavailable", "NoSchedule");

/// The default tolerations of a pod, with or without the host's network.
pub fn default_tolerations(host_network: bool) -> impl Iterator<Item = Toleration> {
    let last = host_network.then_some(HOST_NETWORK_TOLERATION);
    DEFAULT_TOLERATIONS
        .into_iter()
        .chain(last)
        .map(|(key, effect)| Toleration {
            key: key.into(),
            operator: "Exists".into(),
            effect: effect.into(),
            ..Toleration::default()
        })
}

/// The tolerations of the pods of a template: its own first, the default ones added.
///
/// A default one replaces an own one of the same key, operator, value and effect where it stands, so a
/// time limit on it is lost; else it is appended.
pub fn tolerations(own: &[Toleration], host_network: bool) -> Vec<Toleration> {
    let mut all = own.to_vec();
    for default in default_tolerations(host_network) {
        let mut found = false;
        for toleration in all.iter_mut().filter(|t| is_same(t, &default)) {
            *toleration = default.clone();
            found = true;
        }
        if !found {
            all.push(default);
        }
    }
    all
}

fn is_same(a: &Toleration, b: &Toleration) -> bool {
    (&a.key, &a.operator, &a.value, &a.effect) == (&b.key, &b.operator, &b.value, &b.effect)
}

/// The placement rules of one template, ready to judge nodes.
#[derive(Debug, Clone, Default)]
pub struct Placement {
    template: Template,
    tolerations: Vec<Toleration>,
}

impl Placement {
    /// Prepares the rules of a template.
    pub fn of(template: &Template) -> Self {
        let spec = template.spec();
        Self {
            template: template.clone(),
            tolerations: tolerations(&spec.tolerations, spec.host_network),
        }
    }

    /// Judges a node. Only its name, labels and taints are looked at.
    pub fn judge(&self, node: &Node) -> Verdict {
        let spec = self.template.spec();
        let wanted = &spec.node_name;
        if !wanted.is_empty() && *wanted != node.metadata.name {
            return Verdict::default();
        }
        if !required_node_affinity_matches(spec, node) {
            return Verdict::default();
        }
        let mut untolerated = node.spec.taints.iter().filter(|taint| self.repels(taint));
        match untolerated.next() {
            None => Verdict {
                should_run: true,
                should_continue: true,
            },
            Some(first) => {
                let evicts = core::iter::once(first)
                    .chain(untolerated)
                    .any(|taint| taint.effect == Effect::NoExecute);
                Verdict {
                    should_run: false,
                    should_continue: !evicts,
                }
            }
        }
    }

    /// Every reason against a node; empty exactly when [`Self::judge`] says it should run.
    pub fn reasons(&self, node: &Node) -> Vec<Reason> {
        let spec = self.template.spec();
        let mut reasons = Vec::new();
        if !spec.node_name.is_empty() && spec.node_name != node.metadata.name {
            reasons.push(Reason::TemplateNamesNode {
                wanted: spec.node_name.clone(),
            });
        }
        let before = reasons.len();
        for (key, wanted) in &spec.node_selector {
            let found = node.metadata.labels.get(key);
            if found != Some(wanted) {
                let (key, wanted) = (key.clone(), wanted.clone());
                reasons.push(Reason::NodeSelector {
                    key,
                    wanted,
                    found: found.cloned(),
                });
            }
        }
        if reasons.len() == before && !required_node_affinity_matches(spec, node) {
            reasons.push(Reason::NodeAffinity);
        }
        let taints = node.spec.taints.iter().filter(|taint| self.repels(taint));
        reasons.extend(taints.cloned().map(Reason::Taint));
        reasons
    }

    /// The tolerations its pods carry.
    pub fn tolerations(&self) -> &[Toleration] {
        &self.tolerations
    }

    fn repels(&self, taint: &Taint) -> bool {
        matches!(taint.effect, Effect::NoSchedule | Effect::NoExecute)
            && !self
                .tolerations
                .iter()
                .any(|toleration| toleration.tolerates(taint))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TemplateNamesNode { wanted } => {
                write!(f, "the template names node {wanted}")
            }
            Self::NodeSelector {
                key,
                wanted,
                found: None,
            } => {
                write!(
                    f,
                    "the node selector wants label {key}={wanted}, the node has no such label"
                )
            }
            Self::NodeSelector {
                key,
                wanted,
                found: Some(found),
            } => {
                write!(
                    f,
                    "the node selector wants label {key}={wanted}, the node has {key}={found}"
                )
            }
            Self::NodeAffinity => f.write_str("no term of the required node affinity matches"),
            Self::Taint(taint) => {
                let Taint {
                    key, value, effect, ..
                } = taint;
                let equals = if value.is_empty() { "" } else { "=" };
                write!(f, "taint {key}{equals}{value}:{effect:?} is not tolerated")
            }
        }
    }
}
