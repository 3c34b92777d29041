//! Taints of nodes and tolerations of pods.

use alloc::string::String;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What an untolerated taint does to a pod. Unknown text reads as `Other`: it repels nothing.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum Effect {
    /// No new pod is scheduled there; running ones stay.
    NoSchedule,
    /// The scheduler avoids the node, but no rule forbids it.
    PreferNoSchedule,
    /// No new pod, and running ones are evicted.
    NoExecute,
    /// An empty or unknown effect. In a toleration it stands for all effects.
    #[default]
    #[serde(other)]
    Other,
}

/// A mark on a node that repels pods without a matching toleration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Taint {
    /// Qualified name.
    pub key: String,
    /// Value, may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// What it does.
    pub effect: Effect,
    /// When a `NoExecute` taint was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_added: Option<Timestamp>,
}

/// A pod's permission to be on a node with matching taints.
///
/// Kept as text where Kubernetes keeps text, so that it goes back out as it came in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Toleration {
    /// Taint key; empty with `Exists` means all keys.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// `Exists`, `Equal` (also when empty), `Gt` or `Lt`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub operator: String,
    /// Compared with the taint's value by `Equal`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// Effect in text form; empty means all effects.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub effect: String,
    /// How long a `NoExecute` taint is tolerated; forever when absent, at once evicted when ≤ 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<i64>,
}
