//! The addresses of services. Which address a service gets is the server's to decide; whether it
//! needs one, and where it is written, is decided here.

use crate::object::{Object, Read, Write, each};
use alloc::borrow::ToOwned;
use alloc::string::String;
use serde_json::{Value, json};

/// The address of a service that has none: clients find its pods by name.
pub const HEADLESS: &str = "None";

pub(super) fn prepare_create(root: &mut Object) {
    let spec = root.object_mut("spec");
    mirror_address(spec);
    if spec.text("type") == "ExternalName" {
        return;
    }
    if spec.text("clusterIP") == HEADLESS {
        describe_families(spec);
    }
}

/// Whether the ports of a service need ports on every node.
pub fn needs_node_ports(service: &Value) -> bool {
    let spec = &service["spec"];
    match spec.text("type") {
        "NodePort" => true,
        "LoadBalancer" => spec.at("allocateLoadBalancerNodePorts") != Some(&Value::Bool(false)),
        _ => false,
    }
}

/// Gives every port that needs one a port on the nodes, taken from `next`.
pub fn set_node_ports(service: &mut Value, mut next: impl FnMut() -> Option<u16>) {
    let Some(root) = service.as_object_mut() else {
        return;
    };
    for port in each(root.object_mut("spec"), "ports") {
        if port.int("nodePort").unwrap_or(0) == 0
            && let Some(chosen) = next()
        {
            port.insert("nodePort".into(), chosen.into());
        }
    }
}

/// The family of the address; two families at once are not served.
fn describe_families(spec: &mut Object) {
    let family = if spec.text("clusterIP").contains(':') {
        "IPv6"
    } else {
        "IPv4"
    };
    if spec.list("ipFamilies").is_empty() {
        spec.insert("ipFamilies".into(), json!([family]));
    }
    spec.set_text_default("ipFamilyPolicy", "SingleStack");
}

/// `clusterIP` and `clusterIPs[0]` are the same thing.
fn mirror_address(spec: &mut Object) {
    let single = spec.text("clusterIP").to_owned();
    let first = spec.list("clusterIPs").first().and_then(Value::as_str);
    let first: Option<String> = first.map(ToOwned::to_owned);
    match (single.is_empty(), first) {
        (false, None) => spec.put("clusterIPs", Some(json!([single]))),
        (true, Some(first)) => spec.put("clusterIP", Some(first.into())),
        _ => {}
    }
}

/// An update that leaves out what the server chose keeps it.
pub(super) fn prepare_update(root: &mut Object, old: &Value) {
    let spec = root.object_mut("spec");
    let before = &old["spec"];
    let has_address = |kind: &str| matches!(kind, "ClusterIP" | "NodePort" | "LoadBalancer");
    if has_address(spec.text("type")) && has_address(before.text("type")) {
        for key in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            if spec
                .at(key)
                .is_none_or(|value| *value == json!("") || *value == json!([]))
            {
                spec.put(key, before.at(key).cloned());
            }
        }
        keep_node_ports(spec, before);
    } else if spec.text("type") == "ExternalName" {
        for key in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            spec.remove(key);
        }
    }
    mirror_address(spec);
}

fn keep_node_ports(spec: &mut Object, before: &Value) {
    if !matches!(spec.text("type"), "NodePort" | "LoadBalancer") {
        return;
    }
    for port in each(spec, "ports") {
        if port.int("nodePort").unwrap_or(0) != 0 {
            continue;
        }
        let same = before.list("ports").iter().find(|old| {
            old.int("port") == port.int("port") && old.text("protocol") == port.text("protocol")
        });
        let kept = same.and_then(|old| old.at("nodePort")).cloned();
        if kept.is_some() {
            port.put("nodePort", kept);
        }
    }
}
