//! Nodes.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::Value;

use super::cell::{NONE, Object, Or, UNKNOWN, text_at};
use super::{AGE, Column, NAME};

const ROLE_PREFIX: &str = "node-role.kubernetes.io/";
/// The older label, whose value is the role.
const ROLE_LABEL: &str = "kubernetes.io/role";

pub(super) static NODES: &[Column] = &[
    NAME,
    Column::text(
        "Status",
        "Whether it is ready, and whether it takes new pods.",
        status,
    ),
    Column::text("Roles", "Roles its labels give it.", roles),
    AGE,
    Column::text("Version", "Version of its kubelet.", |it| {
        it.text("/status/nodeInfo/kubeletVersion")
    }),
    Column::text("Internal-IP", "Address inside of the cluster.", |it| {
        address(it, "InternalIP")
    })
    .wide(),
    Column::text("External-IP", "Address outside of the cluster.", |it| {
        address(it, "ExternalIP")
    })
    .wide(),
    Column::text("OS-Image", "Operating system.", |it| {
        it.text_or("/status/nodeInfo/osImage", UNKNOWN)
    })
    .wide(),
    Column::text("Kernel-Version", "Kernel and architecture.", kernel).wide(),
    Column::text(
        "Container-Runtime",
        "Container runtime and its version.",
        |it| it.text_or("/status/nodeInfo/containerRuntimeVersion", UNKNOWN),
    )
    .wide(),
];

fn status(object: &Object<'_>) -> Value {
    let conditions = object.list("/status/conditions");
    let ready = conditions.iter().find(|it| text_at(it, "/type") == "Ready");
    let status = match ready.map(|it| text_at(it, "/status")) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    if object.truth_or("/spec/unschedulable", false) == Value::Bool(true) {
        format!("{status},SchedulingDisabled").into()
    } else {
        status.into()
    }
}

fn roles(object: &Object<'_>) -> Value {
    let Some(labels) = object.map("/metadata/labels") else {
        return NONE.into();
    };
    let roles = labels
        .iter()
        .filter_map(|(key, value)| match key.strip_prefix(ROLE_PREFIX) {
            Some(role) => Some(role),
            None if key == ROLE_LABEL => value.as_str(),
            None => None,
        });
    let roles: BTreeSet<_> = roles.filter(|role| !role.is_empty()).collect();
    roles.into_iter().collect::<Vec<_>>().join(",").or(NONE)
}

fn address(object: &Object<'_>, kind: &str) -> Value {
    let addresses = object.list("/status/addresses");
    let found = addresses.iter().find(|it| text_at(it, "/type") == kind);
    found
        .map_or_else(String::new, |it| text_at(it, "/address").into())
        .or(NONE)
}

fn kernel(object: &Object<'_>) -> Value {
    let kernel = object.str("/status/nodeInfo/kernelVersion");
    let architecture = object.str("/status/nodeInfo/architecture");
    match (kernel, architecture) {
        ("", _) => UNKNOWN.into(),
        (kernel, "") => kernel.into(),
        (kernel, architecture) => format!("{kernel} ({architecture})").into(),
    }
}
