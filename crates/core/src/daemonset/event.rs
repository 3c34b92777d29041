//! The Kubernetes events a plan asks for.
//!
//! `SuccessfulCreate`, `FailedCreate` and `SuccessfulDelete` are not here: they tell what happened when
//! the plan was carried out, so whoever does that emits them.

use super::backoff::{End, Removal};
use alloc::format;
use alloc::string::String;

/// `Normal` or `Warning`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventType {
    /// Something expected.
    Normal,
    /// Something a person should look at.
    Warning,
}

impl EventType {
    /// The API's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// An event about the DaemonSet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedEvent {
    /// Normal or warning.
    pub r#type: EventType,
    /// Reason in CamelCase.
    pub reason: &'static str,
    /// Text for people.
    pub message: String,
}

impl PlannedEvent {
    /// The selector is empty, so nothing is done.
    pub fn selecting_all() -> Self {
        Self {
            r#type: EventType::Warning,
            reason: "SelectingAll",
            message: "This daemon set is selecting all pods. A non-empty selector is required."
                .into(),
        }
    }

    /// A pod that ended is deleted.
    pub fn ended(namespace: &str, removal: &Removal) -> Self {
        let Removal { node, end, pod } = removal;
        let (r#type, reason, verb) = match end {
            End::Failed => (EventType::Warning, "FailedDaemonPod", "kill"),
            End::Succeeded => (EventType::Normal, "SucceededDaemonPod", "delete"),
        };
        let word = end.word();
        let message = format!(
            "Found {word} daemon pod {namespace}/{pod} on node {node}, will try to {verb} it"
        );
        Self {
            r#type,
            reason,
            message,
        }
    }
}
