//! Warnings: what a client is told about an object that is accepted all the same.

use crate::object::Read;
use crate::resource::Resource;
use crate::validation::ingress::CLASS_ANNOTATION;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde_json::Value;

const APPARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

/// Annotations that fields have replaced: prefix and what a warning says about them.
const DEPRECATED_ANNOTATIONS: &[(&str, &str)] = &[
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    (
        "seccomp.security.alpha.kubernetes.io/pod",
        "non-functional in v1.27+; use the \"seccompProfile\" field instead",
    ),
    (
        "container.seccomp.security.alpha.kubernetes.io/",
        "non-functional in v1.27+; use the \"seccompProfile\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
    (
        APPARMOR,
        "deprecated since v1.30; use the \"appArmorProfile\" field instead",
    ),
];

/// Labels of nodes that others have replaced.
const DEPRECATED_NODE_LABELS: &[(&str, &str)] = &[
    (
        "beta.kubernetes.io/arch",
        "deprecated since v1.14; use \"kubernetes.io/arch\" instead",
    ),
    (
        "beta.kubernetes.io/os",
        "deprecated since v1.14; use \"kubernetes.io/os\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
    ),
    (
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
];

/// A surge needs two pods on one node, and only one of them gets the port: such a rollout never
/// ends (kubernetes #106417). Upstream says nothing.
fn surge_with_host_ports(spec: &Value) -> Option<String> {
    let surge = &spec["updateStrategy"]["rollingUpdate"]["maxSurge"];
    let surges = !matches!(surge, Value::Null) && surge != 0 && surge != "0%";
    let pod = &spec["template"]["spec"];
    let containers = pod["containers"].as_array().into_iter().flatten();
    let mut ports = containers.flat_map(|c| c["ports"].as_array().into_iter().flatten());
    let takes = |port: &Value| {
        let host = port["hostPort"].as_i64().unwrap_or(0) != 0;
        host || pod["hostNetwork"] == true
    };
    let port = ports.find(|port| takes(port)).filter(|_| surges)?;
    let number = port["hostPort"]
        .as_i64()
        .or_else(|| port["containerPort"].as_i64())
        .unwrap_or(0);
    Some(format!(
        "spec.updateStrategy.rollingUpdate.maxSurge: the pods take host port {number}, so a new one cannot start beside the old one and a rollout will not end; use maxUnavailable"
    ))
}

/// The warnings that a client gets with an accepted object.
pub fn warnings(resource: &Resource, object: &Value) -> Vec<String> {
    let mut found = Vec::new();
    match (resource.group, resource.kind) {
        ("", "Pod") => pod(&object["metadata"], &object["spec"], "", &mut found),
        ("apps", "DaemonSet") => {
            let template = &object["spec"]["template"];
            pod(
                &template["metadata"],
                &template["spec"],
                "spec.template.",
                &mut found,
            );
            found.extend(surge_with_host_ports(&object["spec"]));
        }
        ("networking.k8s.io", "Ingress") => {
            let annotations = object.path(&["metadata", "annotations"]);
            if annotations.is_some_and(|all| all.at(CLASS_ANNOTATION).is_some()) {
                found.push(format!(
                    "annotation {CLASS_ANNOTATION:?} is deprecated, please use 'spec.ingressClassName' instead"
                ));
            }
        }
        _ => {}
    }
    found
}

/// The warning that comes with every answer about a kind that clients should leave.
pub fn deprecated(resource: &Resource) -> Option<&'static str> {
    let is_old = resource.group.is_empty() && resource.kind == "Endpoints";
    is_old.then_some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
}

/// The warning about owner references that were dropped.
pub(super) fn duplicate_owners(uids: &[&str]) -> String {
    format!(
        ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
        uids.join(", ")
    )
}

fn pod(metadata: &Value, spec: &Value, prefix: &str, found: &mut Vec<String>) {
    node_labels(spec, prefix, found);
    repeated_names(spec, prefix, found);
    for key in metadata
        .object("annotations")
        .into_iter()
        .flat_map(|map| map.keys())
    {
        let known = DEPRECATED_ANNOTATIONS
            .iter()
            .find(|(name, _)| key == name || (name.ends_with('/') && key.starts_with(name)));
        if let Some((_, advice)) = known {
            found.push(format!("{prefix}metadata.annotations[{key}]: {advice}"));
        }
    }
}

fn node_labels(spec: &Value, prefix: &str, found: &mut Vec<String>) {
    for key in spec
        .object("nodeSelector")
        .into_iter()
        .flat_map(|map| map.keys())
    {
        if let Some((_, advice)) = DEPRECATED_NODE_LABELS.iter().find(|(name, _)| key == name) {
            found.push(format!("{prefix}spec.nodeSelector[{key}]: {advice}"));
        }
    }
}

/// Variables that hide one another.
fn repeated_names(spec: &Value, prefix: &str, found: &mut Vec<String>) {
    for list in ["initContainers", "containers"] {
        for (c, container) in spec.list(list).iter().enumerate() {
            let variables = container.list("env");
            for (v, variable) in variables.iter().enumerate() {
                let name = variable.text("name");
                let hidden = variables[..v]
                    .iter()
                    .any(|other| other.text("name") == name);
                let refers = variable.text("value").contains(&format!("$({name})"));
                if hidden && !refers {
                    found.push(format!(
                        "{prefix}spec.{list}[{c}].env[{v}]: hides previous definition of \"{name}\", which may be dropped when using apply"
                    ));
                }
            }
        }
    }
}
