//! Defaults of pods and of pod templates. They differ: a template keeps what its author wrote
//! about ports and requests, and the pod made from it is completed.

use super::{container, volume};
use crate::object::{Object, Read, Write, each};
use alloc::borrow::ToOwned;
use serde_json::Value;

/// Defaults of the spec of a pod.
pub(super) fn pod(spec: &mut Object) {
    for list in ["initContainers", "containers"] {
        each(spec, list).for_each(container::requests_from_limits);
    }
    spec.set_default("enableServiceLinks", true);
    if spec.flag("hostNetwork") {
        for list in ["initContainers", "containers"] {
            each(spec, list).for_each(container::host_ports);
        }
    }
    pod_spec(spec);
}

/// Defaults of a pod template.
pub(super) fn template(template: &mut Object) {
    template.object_mut("metadata");
    pod_spec(template.object_mut("spec"));
}

fn pod_spec(spec: &mut Object) {
    spec.set_text_default("restartPolicy", "Always");
    spec.set_default("terminationGracePeriodSeconds", 30);
    spec.set_text_default("dnsPolicy", "ClusterFirst");
    spec.set_default("securityContext", Value::Object(Object::new()));
    spec.set_text_default("schedulerName", "default-scheduler");
    service_account(spec);
    each(spec, "volumes").for_each(volume::volume);
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        each(spec, list).for_each(container::container);
    }
    if let Some(resources) = crate::object::inner(spec, "resources") {
        container::resources(resources);
    }
    if let Some(overhead) = crate::object::inner(spec, "overhead") {
        container::round(overhead);
    }
}

/// The old name of the field mirrors the new one, which wins when both are given.
fn service_account(spec: &mut Object) {
    let old = spec.text("serviceAccount");
    let new = spec.text("serviceAccountName");
    if old == new {
        return;
    }
    let name = if new.is_empty() { old } else { new }.to_owned();
    spec.insert("serviceAccount".to_owned(), name.clone().into());
    spec.insert("serviceAccountName".to_owned(), name.into());
}
