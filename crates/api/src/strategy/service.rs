//! The addresses of services. Which address a service gets is the server's to decide; whether it
//! needs one, and where it is written, is decided here.

use crate::object::{Object, Read, Write, each};
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
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

/// Whether a load balancer asks every node if it has a pod of the service.
pub fn needs_health_port(service: &Value) -> bool {
    let spec = &service["spec"];
    spec.text("type") == "LoadBalancer" && spec.text("externalTrafficPolicy") == "Local"
}

/// The ports on the nodes that a service has or asks for, with the index of the port and its
/// protocol.
pub fn node_ports(service: &Value) -> Vec<(usize, i64, &str)> {
    let ports = service["spec"].list("ports").iter().enumerate();
    ports
        .map(|(index, port)| (index, node_port(port), port.text("protocol")))
        .filter(|(_, number, _)| *number != 0)
        .collect()
}

/// Gives every port that needs one a port on the nodes, taken from `next`; a port of the same
/// number in another protocol shares it.
pub fn set_node_ports(service: &mut Value, mut next: impl FnMut() -> Option<u16>) {
    let Some(root) = service.as_object_mut() else {
        return;
    };
    // (port, protocol, port on the nodes) of those that have one.
    let mut chosen: Vec<(i64, String, u16)> = Vec::new();
    for port in each(root.object_mut("spec"), "ports") {
        let number = port.int("port").unwrap_or(0);
        let protocol = port.text("protocol").to_owned();
        let given = u16::try_from(node_port(port)).unwrap_or(0);
        let shared = chosen
            .iter()
            .find(|(n, p, _)| *n == number && *p != protocol)
            .map(|(_, _, shared)| *shared);
        let taken = match given {
            0 => shared.or_else(&mut next),
            given => Some(given),
        };
        if let Some(taken) = taken {
            port.insert("nodePort".into(), taken.into());
            chosen.push((number, protocol, taken));
        }
    }
}

fn node_port(port: &(impl Read + ?Sized)) -> i64 {
    port.int("nodePort").unwrap_or(0)
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
        if spec.int("healthCheckNodePort").unwrap_or(0) == 0 {
            spec.put(
                "healthCheckNodePort",
                before.at("healthCheckNodePort").cloned(),
            );
        }
        keep_node_ports(spec, before);
    } else if spec.text("type") == "ExternalName" {
        for key in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            spec.remove(key);
        }
    }
    drop_what_the_type_has_not(spec, before);
    mirror_address(spec);
}

/// A patch of the type alone leaves what belonged to the old type: it goes, unless it changed.
fn drop_what_the_type_has_not(spec: &mut Object, before: &Value) {
    let on_nodes = |kind: &str| matches!(kind, "NodePort" | "LoadBalancer");
    let has_address = |kind: &str| on_nodes(kind) || kind == "ClusterIP";
    let balances = |kind: &str| kind == "LoadBalancer";
    let (kind, old_kind) = (spec.text("type").to_owned(), before.text("type"));
    let left = |has: &dyn Fn(&str) -> bool| has(old_kind) && !has(&kind);
    let asked = |local: bool| local && kind == "LoadBalancer";
    let local = spec.text("externalTrafficPolicy") == "Local";
    for (key, gone) in [
        ("externalTrafficPolicy", left(&on_nodes)),
        ("internalTrafficPolicy", left(&has_address)),
        ("allocateLoadBalancerNodePorts", left(&balances)),
        ("loadBalancerClass", left(&balances)),
        ("healthCheckNodePort", !asked(local)),
    ] {
        if gone && spec.at(key) == before.at(key) {
            spec.remove(key);
        }
    }
    let ports =
        |spec: &dyn Read| -> Vec<i64> { spec.list("ports").iter().map(node_port).collect() };
    if left(&on_nodes) && ports(spec) == ports(before) {
        for port in each(spec, "ports") {
            port.remove("nodePort");
        }
    }
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
