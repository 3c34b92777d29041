//! Defaults: what the server fills in where a client says nothing.
//!
//! A pure function of the object, the same for what a client sends and for what is read from the
//! store; doing it twice changes nothing more. Sources: spec/apiserver.md 2.2, the cases of
//! defaults.yaml, and upstream's behaviour for kinds that the spec leaves out.

mod cluster;
mod container;
mod pod;
mod service;
mod volume;

use crate::object::{Object, Read, Write, each, inner};
use crate::resource::Resource;
use alloc::borrow::ToOwned;
use alloc::format;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// The annotation in which v1 keeps the number of template changes of a DaemonSet.
pub const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// The label of a namespace with its own name.
pub const NAMESPACE_NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// Fills in the defaults of a kind. Doing it twice changes nothing more.
pub fn apply_defaults(resource: &Resource, object: &mut Value) {
    let Some(root) = object.as_object_mut() else {
        return;
    };
    match (resource.group, resource.kind) {
        ("apps", "DaemonSet") => daemon_set(root.object_mut("spec")),
        ("", "Pod") => {
            pod::pod(root.object_mut("spec"));
            if let Some(status) = inner(root, "status") {
                mirror(status, "podIP", "podIPs", Some("ip"));
            }
        }
        ("", "PodTemplate") => pod::template(root.object_mut("template")),
        ("", "Namespace") => namespace(root),
        ("", "Node") => node(root),
        ("", "Secret") => secret(root),
        ("", "Service") => service::service(root),
        ("", "Endpoints") => service::endpoints(root),
        ("", "LimitRange") => cluster::limit_range(root),
        ("", "PersistentVolume") => cluster::persistent_volume(root),
        ("", "PersistentVolumeClaim") => cluster::persistent_volume_claim(root),
        ("", "ResourceQuota") => cluster::resource_quota(root),
        ("discovery.k8s.io", "EndpointSlice") => service::endpoint_slice(root),
        ("networking.k8s.io", "NetworkPolicy") => service::network_policy(root.object_mut("spec")),
        ("networking.k8s.io", "IngressClass") => {
            if let Some(parameters) = inner(root.object_mut("spec"), "parameters") {
                parameters.set_default("scope", "Cluster");
            }
        }
        ("networking.k8s.io", "Ingress") => {
            root.object_mut("status").object_mut("loadBalancer");
        }
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => {
            cluster::role_binding(root);
        }
        ("scheduling.k8s.io", "PriorityClass") => {
            root.set_default("preemptionPolicy", "PreemptLowerPriority");
        }
        ("storage.k8s.io", "StorageClass") => {
            root.set_default("reclaimPolicy", "Delete");
            root.set_default("volumeBindingMode", "Immediate");
        }
        ("storage.k8s.io", "CSIDriver") => cluster::csi_driver(root.object_mut("spec")),
        _ => {}
    }
}

/// Checks what reading an object of this version involves beyond its types.
///
/// # Errors
/// The text that goes into "… cannot be handled as a …" (400): the template generation of a
/// DaemonSet is a number that lives in an annotation.
pub fn check_conversion(resource: &Resource, object: &Value) -> Result<(), alloc::string::String> {
    if resource.kind != "DaemonSet" {
        return Ok(());
    }
    let given = object.path(&["metadata", "annotations", TEMPLATE_GENERATION]);
    let Some(text) = given.and_then(Value::as_str) else {
        return Ok(());
    };
    match parse_int(text) {
        Ok(_) => Ok(()),
        Err(why) => {
            let quoted = crate::field_error::quote(text);
            Err(format!("strconv.ParseInt: parsing {quoted}: {why}"))
        }
    }
}

/// Reads a decimal number as Go's `strconv.ParseInt` does, with its words for failures.
pub(crate) fn parse_int(text: &str) -> Result<i64, &'static str> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err("invalid syntax");
    }
    text.parse().map_err(|_| "value out of range")
}

fn daemon_set(spec: &mut Object) {
    let strategy = spec.object_mut("updateStrategy");
    strategy.set_text_default("type", "RollingUpdate");
    if strategy.text("type") == "RollingUpdate" {
        let rolling = strategy.object_mut("rollingUpdate");
        rolling.set_default("maxUnavailable", 1);
        rolling.set_default("maxSurge", 0);
    }
    spec.set_default("revisionHistoryLimit", 10);
    pod::template(spec.object_mut("template"));
}

fn namespace(root: &mut Object) {
    let name = root.object("metadata").map_or("", |m| m.text("name"));
    if !name.is_empty() {
        let name = name.to_owned();
        let labels = root.object_mut("metadata").object_mut("labels");
        if labels.text(NAMESPACE_NAME_LABEL) != name {
            labels.insert(NAMESPACE_NAME_LABEL.to_owned(), name.into());
        }
    }
    root.object_mut("status")
        .set_text_default("phase", "Active");
}

/// Keeps a single field and the first item of its list the same; the single field wins.
///
/// The list came later than the field; clients read and write either. `inside` is the field of an
/// item that holds the text, when items are objects.
fn mirror(holder: &mut Object, single: &str, list: &str, inside: Option<&str>) {
    let first = holder.list(list).first();
    let first = match inside {
        Some(key) => first.map_or("", |item| item.text(key)),
        None => first.and_then(Value::as_str).unwrap_or_default(),
    };
    let given = holder.text(single);
    if given == first {
        return;
    }
    if given.is_empty() {
        let first = first.to_owned();
        holder.insert(single.to_owned(), first.into());
        return;
    }
    let item = match inside {
        Some(key) => json!({ key: given }),
        None => json!(given),
    };
    holder.insert(list.to_owned(), json!([item]));
}

/// What a node can give to pods is all it has, unless it says otherwise.
fn node(root: &mut Object) {
    mirror(root.object_mut("spec"), "podCIDR", "podCIDRs", None);
    let status = root.object_mut("status");
    if status.at("allocatable").is_none()
        && let Some(capacity) = status.at("capacity").cloned()
    {
        status.insert("allocatable".to_owned(), capacity);
    }
}

/// `stringData` is a way to write `data`, never a way to read it.
fn secret(root: &mut Object) {
    root.set_text_default("type", "Opaque");
    if let Some(Value::Object(texts)) = root.remove("stringData") {
        let data = root.object_mut("data");
        for (key, text) in texts {
            let text = text.as_str().unwrap_or_default();
            data.insert(key, STANDARD.encode(text).into());
        }
    }
}

/// Sets a default in each object of a list.
fn default_in_each(root: &mut Object, list: &str, key: &str, value: &str) {
    for item in each(root, list) {
        item.set_text_default(key, value);
    }
}

/// The reference to a field of the pod itself.
fn field_reference(holder: &mut Object) {
    if let Some(field) = inner(holder, "fieldRef") {
        field.set_text_default("apiVersion", "v1");
    }
    if let Some(field) = inner(holder, "resourceFieldRef") {
        field.set_default("divisor", json!("0"));
    }
}

#[cfg(test)]
mod tests;
