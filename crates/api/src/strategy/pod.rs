//! What the server does to new pods.

use crate::object::Read;
use alloc::vec::Vec;
use pernode_core::quantity::Quantity;
use serde_json::{Value, json};

/// The status of a new pod.
pub(super) fn first_status(spec: &Value) -> Value {
    let mut status = json!({"phase": "Pending", "qosClass": qos_class(spec)});
    if !spec.list("schedulingGates").is_empty() {
        status["conditions"] = json!([{
            "type": "PodScheduled",
            "status": "False",
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
            "lastProbeTime": null,
            "lastTransitionTime": null,
        }]);
    }
    status
}

const RESOURCES: [&str; 2] = ["cpu", "memory"];

/// The quality of service that a pod gets from what its containers ask for.
pub fn qos_class(spec: &Value) -> &'static str {
    let own = spec.at("resources").filter(|own| {
        let asks = |key: &str| own.object(key).is_some_and(|list| !list.is_empty());
        asks("requests") || asks("limits")
    });
    let all: Vec<&Value> = match own {
        Some(resources) => [resources].to_vec(),
        None => ["containers", "initContainers"]
            .iter()
            .flat_map(|list| spec.list(list))
            .map(|container| &container["resources"])
            .collect(),
    };
    let asks_nothing = |resources: &&Value| {
        RESOURCES.iter().all(|name| {
            amount(resources, "requests", name).is_none()
                && amount(resources, "limits", name).is_none()
        })
    };
    let is_fixed = |resources: &&Value| {
        RESOURCES.iter().all(|name| {
            let limit = amount(resources, "limits", name);
            let request = amount(resources, "requests", name);
            limit.is_some() && (request.is_none() || request == limit)
        })
    };
    if all.iter().all(asks_nothing) {
        "BestEffort"
    } else if all.iter().all(is_fixed) {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

/// An amount that is more than nothing.
fn amount(resources: &Value, part: &str, name: &str) -> Option<Quantity> {
    let text = resources.path(&[part, name])?.as_str()?;
    let quantity = Quantity::parse(text).ok()?;
    Some(quantity).filter(|amount| amount.signum() > 0)
}
