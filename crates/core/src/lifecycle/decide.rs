//! What one node's state asks for.

use crate::meta::seconds;
use crate::node::{Node, NodeCondition};
use crate::schedule::TAINT_UNSCHEDULABLE;
use crate::taint::{Effect, Taint};
use alloc::borrow::ToOwned;
use alloc::vec::Vec;
use jiff::Timestamp;
use serde_json::{Value, json};

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// The conditions a silent node loses.
const LOST: [&str; 4] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/// Conditions that give a `NoSchedule` taint: type, status, key of the taint.
const TAINTING: [(&str, &str, &str); 6] = [
    ("Ready", "False", NOT_READY),
    ("Ready", "Unknown", UNREACHABLE),
    (
        "MemoryPressure",
        "True",
        "node.kubernetes.io/memory-pressure",
    ),
    ("DiskPressure", "True", "node.kubernetes.io/disk-pressure"),
    (
        "NetworkUnavailable",
        "True",
        "node.kubernetes.io/network-unavailable",
    ),
    ("PIDPressure", "True", "node.kubernetes.io/pid-pressure"),
];

fn condition<'a>(node: &'a Node, r#type: &str) -> Option<&'a NodeCondition> {
    node.status.conditions.iter().find(|c| c.r#type == r#type)
}

pub(super) fn ready_condition(node: &Node) -> Option<&NodeCondition> {
    condition(node, "Ready")
}

pub(super) fn is_ready(node: &Node) -> bool {
    ready_condition(node).is_some_and(|c| c.status == "True")
}

/// When the agent says it last reported.
pub(super) fn heartbeat(node: &Node) -> Option<Timestamp> {
    ready_condition(node)?.last_heartbeat_time
}

/// The conditions of a silent node, where they do not say so yet.
pub fn unknown_conditions(node: &Node, now: Timestamp) -> Option<Vec<Value>> {
    let lost = LOST.iter().filter_map(|r#type| {
        let seen = condition(node, r#type);
        if seen.is_some_and(|c| c.status == "Unknown") {
            return None;
        }
        let (reason, message) = match seen {
            Some(_) => ("NodeStatusUnknown", "Kubelet stopped posting node status."),
            None => (
                "NodeStatusNeverUpdated",
                "Kubelet never posted node status.",
            ),
        };
        let heartbeat = match seen {
            Some(seen) => seen.last_heartbeat_time,
            None => node.metadata.creation_timestamp,
        };
        Some(json!({
            "type": r#type,
            "status": "Unknown",
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": heartbeat.map(seconds),
            "lastTransitionTime": seconds(now),
        }))
    });
    let lost: Vec<Value> = lost.collect();
    (!lost.is_empty()).then_some(lost)
}

/// The node's taints as they should be; `None` when they are.
///
/// Only taints that belong to a condition or to the cordon are touched; others keep their place.
/// A node that never reported keeps the `not-ready` taint it was created with.
pub fn taints_wanted(node: &Node, now: Timestamp) -> Option<Vec<Taint>> {
    let reported = ready_condition(node).is_some();
    let ours = |taint: &Taint| match taint.effect {
        Effect::NoSchedule if taint.key == NOT_READY => reported,
        Effect::NoSchedule => {
            taint.key == TAINT_UNSCHEDULABLE || TAINTING.iter().any(|(.., key)| *key == taint.key)
        }
        Effect::NoExecute => taint.key == NOT_READY || taint.key == UNREACHABLE,
        _ => false,
    };
    let wanted = conditions_taints(node);
    let same = |a: &Taint, b: &(&str, Effect)| a.key == b.0 && a.effect == b.1;
    let mut taints: Vec<Taint> = node
        .spec
        .taints
        .iter()
        .filter(|taint| !ours(taint) || wanted.iter().any(|w| same(taint, w)))
        .cloned()
        .collect();
    let missing: Vec<_> = wanted
        .iter()
        .filter(|w| !taints.iter().any(|taint| same(taint, w)))
        .copied()
        .collect();
    if missing.is_empty() && taints.len() == node.spec.taints.len() {
        return None;
    }
    taints.extend(missing.into_iter().map(|(key, effect)| Taint {
        key: key.to_owned(),
        effect,
        time_added: Timestamp::from_second(now.as_second()).ok(),
        ..Taint::default()
    }));
    Some(taints)
}

/// The taints that the conditions and the cordon ask for.
fn conditions_taints(node: &Node) -> Vec<(&'static str, Effect)> {
    let status = |r#type| condition(node, r#type).map(|c| &*c.status);
    let mut wanted: Vec<(&'static str, Effect)> = TAINTING
        .iter()
        .filter(|(r#type, wanted, _)| status(r#type) == Some(wanted))
        .map(|(.., key)| (*key, Effect::NoSchedule))
        .collect();
    if node.spec.unschedulable {
        wanted.push((TAINT_UNSCHEDULABLE, Effect::NoSchedule));
    }
    match status("Ready") {
        Some("False") => wanted.push((NOT_READY, Effect::NoExecute)),
        Some("Unknown") => wanted.push((UNREACHABLE, Effect::NoExecute)),
        _ => {}
    }
    wanted
}
