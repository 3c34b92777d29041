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

impl Effect {
    /// The effect as Kubernetes writes it; empty for [`Effect::Other`].
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
            Self::Other => "",
        }
    }
}

impl Toleration {
    /// Whether this toleration covers a taint (spec/daemonset.md 1; upstream `ToleratesTaint`).
    ///
    /// No effect covers all effects, no key covers all keys. The operators `Gt` and `Lt` belong to
    /// a feature that is off by default: see [`Toleration::tolerates_with_comparison`].
    pub fn tolerates(&self, taint: &Taint) -> bool {
        self.covers_key_and_effect(taint)
            && match self.operator.as_str() {
                "" | "Equal" => self.value == taint.value,
                "Exists" => true,
                _ => false,
            }
    }

    /// As [`Toleration::tolerates`], with the operators `Gt` and `Lt` on 64-bit integers.
    pub fn tolerates_with_comparison(&self, taint: &Taint) -> bool {
        let compared = || plain_integer(&taint.value).zip(plain_integer(&self.value));
        match self.operator.as_str() {
            "Gt" => self.covers_key_and_effect(taint) && compared().is_some_and(|(t, s)| t > s),
            "Lt" => self.covers_key_and_effect(taint) && compared().is_some_and(|(t, s)| t < s),
            _ => self.tolerates(taint),
        }
    }

    fn covers_key_and_effect(&self, taint: &Taint) -> bool {
        (self.effect.is_empty() || self.effect == taint.effect.as_str())
            && (self.key.is_empty() || self.key == taint.key)
    }
}

/// A 64-bit integer in plain notation: no plus sign, no leading zeros, no spaces.
fn plain_integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = digits == "0" && text == "0" || !digits.starts_with(['0', '+']);
    if plain { text.parse().ok() } else { None }
}

/// The first taint, in the node's order, of an effect that counts and that nothing tolerates.
pub fn first_untolerated<'a>(
    taints: &'a [Taint],
    tolerations: &[Toleration],
    counts: impl Fn(Effect) -> bool,
) -> Option<&'a Taint> {
    taints
        .iter()
        .filter(|taint| counts(taint.effect))
        .find(|taint| {
            !tolerations
                .iter()
                .any(|toleration| toleration.tolerates(taint))
        })
}
