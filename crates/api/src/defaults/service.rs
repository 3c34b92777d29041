//! Defaults of services, endpoints and network policies.

use super::default_in_each;
use crate::object::{Object, Read, Write, each};
use alloc::borrow::ToOwned;
use serde_json::json;

/// Defaults of a service. Its addresses are the server's to give, not a default.
pub(super) fn service(root: &mut Object) {
    let spec = root.object_mut("spec");
    spec.set_text_default("sessionAffinity", "None");
    session_affinity(spec);
    spec.set_text_default("type", "ClusterIP");
    for port in each(spec, "ports") {
        port.set_text_default("protocol", "TCP");
        let target = port.at("targetPort");
        if target.is_none_or(|t| *t == json!(0) || *t == json!("")) {
            let number = port.get("port").cloned().unwrap_or_else(|| json!(0));
            port.insert("targetPort".to_owned(), number);
        }
    }
    let kind = spec.text("type").to_owned();
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer") {
        spec.set_text_default("externalTrafficPolicy", "Cluster");
    }
    if matches!(kind.as_str(), "ClusterIP" | "NodePort" | "LoadBalancer") {
        spec.set_default("internalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        spec.set_default("allocateLoadBalancerNodePorts", true);
    }
    let status = root.object_mut("status");
    status.object_mut("loadBalancer");
}

fn session_affinity(spec: &mut Object) {
    match spec.text("sessionAffinity") {
        "None" => {
            spec.remove("sessionAffinityConfig");
        }
        "ClientIP" => {
            let config = spec.object_mut("sessionAffinityConfig");
            config
                .object_mut("clientIP")
                .set_default("timeoutSeconds", 10800);
        }
        _ => {}
    }
}

/// Defaults of endpoints.
pub(super) fn endpoints(root: &mut Object) {
    for subset in each(root, "subsets") {
        default_in_each(subset, "ports", "protocol", "TCP");
    }
}

/// Defaults of a slice of endpoints.
pub(super) fn endpoint_slice(root: &mut Object) {
    for port in each(root, "ports") {
        port.set_default("name", "");
        port.set_default("protocol", "TCP");
    }
}

/// A policy is about what comes in, and about what goes out if it has rules for that.
pub(super) fn network_policy(spec: &mut Object) {
    spec.object_mut("podSelector");
    for rules in ["ingress", "egress"] {
        for rule in each(spec, rules) {
            default_in_each(rule, "ports", "protocol", "TCP");
        }
    }
    if spec.list("policyTypes").is_empty() {
        let goes_out = !spec.list("egress").is_empty();
        let types = if goes_out {
            json!(["Ingress", "Egress"])
        } else {
            json!(["Ingress"])
        };
        spec.insert("policyTypes".to_owned(), types);
    }
}
