//! Validation: what the API refuses, field by field, in upstream's words.
//!
//! Objects have been decoded against the schema and defaulted before, so that types are right.
//! Kinds without rules of their own have those of their metadata. Sources: spec/apiserver.md 2.3
//! and 2.4, the cases of validation.yaml and names.yaml, and upstream's behaviour.

mod apps;
mod check;
mod config;
mod container;
mod event;
pub(crate) mod ingress;
pub mod meta;
mod network;
mod network_policy;
mod node;
mod pod;
mod pod_spec;
mod policy;
mod probe;
mod rbac;
mod resources;
mod scheduling;
mod security;
mod selector;
mod storage;
mod volume;

pub(crate) use check::equal;

use crate::field_error::FieldError;
use crate::names;
use crate::resource::Resource;
use alloc::vec::Vec;
use serde_json::Value;

const CORE: &str = "";
const APPS: &str = "apps";
const RBAC: &str = "rbac.authorization.k8s.io";
const NETWORKING: &str = "networking.k8s.io";
const STORAGE: &str = "storage.k8s.io";

/// What is wrong with a new object.
pub fn validate_create(resource: &Resource, object: &Value) -> Vec<FieldError> {
    let format = name_format(resource);
    let mut errors = meta::validate(&object["metadata"], resource.namespaced, format);
    content(resource, object, None, &mut errors);
    if (resource.group, resource.kind) == (CORE, "Pod") {
        pod::creation(object, &mut errors);
    }
    errors
}

/// What is wrong with an update, after [`crate::strategy::prepare_update`].
///
/// Errors in the metadata come twice, as they do upstream, where the generic part and the kind's
/// own part both look at it: the message drops the repetition and the causes keep it.
pub fn validate_update(resource: &Resource, new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = meta::validate_update(&new["metadata"], &old["metadata"]);
    errors.extend(errors.clone());
    changes(resource, new, old, &mut errors);
    content(resource, new, Some(old), &mut errors);
    errors
}

/// What is wrong with an update through `/status`.
pub fn validate_status_update(resource: &Resource, new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = meta::validate_update(&new["metadata"], &old["metadata"]);
    errors.extend(errors.clone());
    match (resource.group, resource.kind) {
        (APPS, "DaemonSet") => apps::daemon_set_status(new, old, &mut errors),
        (CORE, "Pod") => pod::status(new, old, &mut errors),
        (CORE, "Node") => node::update(new, old, &mut errors),
        (CORE, "Namespace") => config::namespace_status(new, &mut errors),
        (CORE, "ResourceQuota") => policy::quota_status(new, &mut errors),
        ("policy", "PodDisruptionBudget") => policy::budget_status(new, &mut errors),
        _ => {}
    }
    errors
}

/// The format of a kind's names.
pub fn name_format(resource: &Resource) -> meta::NameFormat {
    match (resource.group, resource.kind) {
        (CORE, "Namespace") => names::dns1123_label,
        (CORE, "Service") => names::dns1035_label,
        // Events are named after what they are about, which may be anything.
        (RBAC, _) | (CORE, "Event") => names::path_segment,
        _ => names::dns1123_subdomain,
    }
}

/// The rules that hold for a new and for an updated object.
fn content(resource: &Resource, new: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    match (resource.group, resource.kind) {
        (APPS, "DaemonSet") => apps::daemon_set(new, old, errors),
        (APPS, "ControllerRevision") => apps::controller_revision(new, errors),
        (CORE, "Pod") => pod::pod(new, errors),
        (CORE, "PodTemplate") => pod::pod_template(new, errors),
        (CORE, "Node") => node::node(new, errors),
        (CORE, "Namespace") => config::namespace(new, errors),
        (CORE, "ConfigMap") => config::config_map(new, errors),
        (CORE, "Secret") => config::secret(new, errors),
        (CORE, "Service") => network::service(new, errors),
        (CORE, "Endpoints") => network::endpoints(new, errors),
        ("discovery.k8s.io", "EndpointSlice") => network::endpoint_slice(new, errors),
        (NETWORKING, "NetworkPolicy") => network_policy::network_policy(new, errors),
        (NETWORKING, "Ingress") => ingress::ingress(new, old.is_none(), errors),
        (NETWORKING, "IngressClass") => ingress::ingress_class(new, errors),
        (CORE, "LimitRange") => policy::limit_range(new, errors),
        (CORE, "ResourceQuota") => policy::quota(new, errors),
        ("policy", "PodDisruptionBudget") => policy::budget(new, errors),
        ("scheduling.k8s.io", "PriorityClass") => policy::priority_class(new, errors),
        ("node.k8s.io", "RuntimeClass") => policy::runtime_class(new, errors),
        ("coordination.k8s.io", "Lease") => policy::lease(new, errors),
        ("certificates.k8s.io", _) => policy::signing_request(new, errors),
        (_, "Event") => event::event(resource, new, old.is_none(), errors),
        (RBAC, "Role" | "ClusterRole") => rbac::role(resource, new, errors),
        (RBAC, "RoleBinding" | "ClusterRoleBinding") => rbac::binding(resource, new, errors),
        (STORAGE, "StorageClass") => storage::storage_class(new, errors),
        (STORAGE, "CSINode") => storage::csi_node(new, errors),
        _ => {}
    }
}

/// The rules about what an update must not change.
fn changes(resource: &Resource, new: &Value, old: &Value, errors: &mut Vec<FieldError>) {
    match (resource.group, resource.kind) {
        (APPS, "DaemonSet") => apps::daemon_set_update(new, old, errors),
        (APPS, "ControllerRevision") => apps::controller_revision_update(new, old, errors),
        (CORE, "Pod") => pod::update(new, old, errors),
        (CORE, "Node") => node::update(new, old, errors),
        (CORE, "ConfigMap") => config::config_map_update(new, old, errors),
        (CORE, "Secret") => config::secret_update(new, old, errors),
        (CORE, "Service") => network::service_update(new, old, errors),
        ("discovery.k8s.io", "EndpointSlice") => network::endpoint_slice_update(new, old, errors),
        (NETWORKING, "IngressClass") => ingress::ingress_class_update(new, old, errors),
        ("scheduling.k8s.io", "PriorityClass") => policy::priority_class_update(new, old, errors),
        ("node.k8s.io", "RuntimeClass") => policy::runtime_class_update(new, old, errors),
        (RBAC, "RoleBinding" | "ClusterRoleBinding") => rbac::binding_update(new, old, errors),
        (STORAGE, "StorageClass") => storage::storage_class_update(new, old, errors),
        (STORAGE, "CSINode") => storage::csi_node_update(new, old, errors),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
