//! One pod's life, decided by `pernode_core::podlife`.

use jiff::Timestamp;
use pernode_core::node::Node;
use pernode_core::pod::Pod;
use serde_json::Value;

/// What a pod's agent does now.
#[derive(Debug)]
pub(crate) enum Step {
    /// Nothing, until a time or until the pod changes.
    Wait(Option<Timestamp>),
    /// Patch the status.
    Status(Value),
    /// Remove the pod: it has stopped.
    Remove,
}

pub(crate) fn step(_pod: &Pod, _node: &Node, _now: Timestamp) -> Step {
    Step::Wait(None)
}
