//! Defaults of containers.

use super::{default_in_each, field_reference};
use crate::object::{Object, Read, Write, each, inner};
use alloc::borrow::ToOwned;
use alloc::string::ToString;
use pernode_core::quantity::Quantity;
use serde_json::{Value, json};

/// Defaults of a container of any sort.
pub(super) fn container(container: &mut Object) {
    pull_policy(container, "image", "imagePullPolicy");
    container.set_text_default("terminationMessagePath", "/dev/termination-log");
    container.set_text_default("terminationMessagePolicy", "File");
    resources(container.object_mut("resources"));
    default_in_each(container, "ports", "protocol", "TCP");
    for env in each(container, "env") {
        if let Some(source) = inner(env, "valueFrom") {
            field_reference(source);
            if let Some(file) = inner(source, "fileKeyRef") {
                file.set_default("optional", false);
            }
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(found) = inner(container, name) {
            probe(found);
        }
    }
    if let Some(lifecycle) = inner(container, "lifecycle") {
        for name in ["postStart", "preStop"] {
            if let Some(handler) = inner(lifecycle, name) {
                http_get(handler);
            }
        }
    }
}

/// An image that may change under its name is pulled each time; any other only when absent.
pub(super) fn pull_policy(holder: &mut Object, image: &str, policy: &str) {
    if holder.text(policy).is_empty() {
        let floats = tag(holder.text(image)) == Some("latest");
        let word = if floats { "Always" } else { "IfNotPresent" };
        holder.insert(policy.to_owned(), word.into());
    }
}

/// The tag of an image: `latest` when it has neither tag nor digest.
fn tag(image: &str) -> Option<&str> {
    let (name, digest) = match image.split_once('@') {
        Some((name, _)) => (name, true),
        None => (image, false),
    };
    // A colon before the last slash belongs to the port of the registry.
    let last = name.rsplit('/').next().unwrap_or_default();
    match last.rsplit_once(':') {
        Some((_, tag)) => Some(tag),
        None if digest => None,
        None => Some("latest"),
    }
}

fn probe(probe: &mut Object) {
    for (key, value) in [
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ] {
        if probe.int(key).unwrap_or(0) == 0 {
            probe.insert(key.to_owned(), value.into());
        }
    }
    http_get(probe);
    if let Some(grpc) = inner(probe, "grpc") {
        grpc.set_default("service", "");
    }
}

fn http_get(handler: &mut Object) {
    if let Some(get) = inner(handler, "httpGet") {
        get.set_text_default("path", "/");
        get.set_text_default("scheme", "HTTP");
    }
}

/// Quantities are kept in canonical form and in whole thousandths.
pub(super) fn resources(resources: &mut Object) {
    for key in ["requests", "limits"] {
        if let Some(list) = inner(resources, key) {
            round(list);
        }
    }
}

/// Brings the quantities of a resource list into canonical form, rounded up to thousandths.
pub(super) fn round(list: &mut Object) {
    for value in list.values_mut() {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => continue,
        };
        // What is no quantity is left for decoding to refuse.
        if let Ok(quantity) = Quantity::parse(&text) {
            let milli = Quantity::from_milli(quantity.milli_value());
            // Amounts too big to be counted in thousandths come out smaller; they stay.
            let canonical = if milli > quantity { milli } else { quantity }.to_string();
            if *value != canonical {
                *value = canonical.into();
            }
        }
    }
}

/// What a container may use at most is also what it asks for, unless it says otherwise.
pub(super) fn requests_from_limits(container: &mut Object) {
    let Some(resources) = inner(container, "resources") else {
        return;
    };
    let Some(limits) = resources.object("limits").cloned() else {
        return;
    };
    let requests = resources.object_mut("requests");
    for (name, limit) in limits {
        requests.entry(name).or_insert(limit);
    }
}

/// In the network of the host a container's port is the host's port.
pub(super) fn host_ports(container: &mut Object) {
    for port in each(container, "ports") {
        if port.int("hostPort").unwrap_or(0) == 0 {
            let number = port.get("containerPort").cloned();
            port.insert("hostPort".to_owned(), number.unwrap_or_else(|| json!(0)));
        }
    }
}
