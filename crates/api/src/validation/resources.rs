//! Validation of quantities and of what containers ask for.

use super::check::{self, Errors};
use crate::field_error::{FieldError, Path};
use crate::names;
use crate::object::{Object, Read};
use alloc::format;
use alloc::string::{String, ToString};
use pernode_core::quantity::Quantity;
use serde_json::Value;

/// Reads a quantity; what is none was refused by decoding and counts as absent.
pub(super) fn quantity(value: &Value) -> Option<Quantity> {
    match value {
        Value::String(text) => Quantity::parse(text).ok(),
        Value::Number(number) => Quantity::parse(&number.to_string()).ok(),
        _ => None,
    }
}

/// Validates the resources of a container.
pub(super) fn requirements(resources: &Value, path: &Path<'_>, errors: &mut Errors) {
    let limits = resources.object("limits");
    let requests = resources.object("requests");
    let (limits_at, requests_at) = (path.field("limits"), path.field("requests"));
    for (name, value) in limits.into_iter().flatten() {
        container_resource(name, value, &limits_at.key(name), errors);
    }
    for (name, value) in requests.into_iter().flatten() {
        container_resource(name, value, &requests_at.key(name), errors);
        let limit = limits.and_then(|limits| limits.at(name));
        request_fits(name, value, limit, &[&requests_at, &limits_at], errors);
    }
    let names = || limits.into_iter().chain(requests).flat_map(Object::keys);
    let basic = names().any(|name| name == "cpu" || name == "memory");
    if names().any(|name| is_huge_page(name)) && !basic {
        errors.push(FieldError::forbidden(
            path,
            "HugePages require cpu or memory",
        ));
    }
    check::each(resources, "claims", path, |claim, at| {
        check::required(claim.text("name"), &at.field("name"), errors);
    });
}

fn container_resource(name: &str, value: &Value, path: &Path<'_>, errors: &mut Errors) {
    resource_name(name, path, errors);
    if !name.contains('/') && !is_standard_container_resource(name) {
        let detail = "must be a standard resource for containers";
        errors.push(FieldError::invalid(path, name, detail));
    }
    resource_value(name, value, path, errors);
}

/// Validates the name of any resource.
pub(super) fn resource_name(name: &str, path: &Path<'_>, errors: &mut Errors) {
    let messages = names::qualified_name(name);
    let well_formed = messages.is_empty();
    check::format(name, path, messages, errors);
    if well_formed && !name.contains('/') && !is_standard_resource(name) {
        let detail = "must be a standard resource type or fully qualified";
        errors.push(FieldError::invalid(path, name, detail));
    }
}

/// Validates an amount: not negative, and whole for what only comes in pieces.
pub(super) fn resource_value(name: &str, value: &Value, path: &Path<'_>, errors: &mut Errors) {
    let Some(amount) = quantity(value) else {
        return;
    };
    nonnegative_quantity(value, path, errors);
    if is_whole(name) && amount.milli_value() % 1000 != 0 {
        errors.push(FieldError::invalid(
            path,
            value.clone(),
            "must be an integer",
        ));
    }
}

/// Validates that an amount is not negative.
pub(super) fn nonnegative_quantity(value: &Value, path: &Path<'_>, errors: &mut Errors) {
    if quantity(value).is_some_and(|amount| amount.signum() < 0) {
        let detail = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(path, shown(value), detail));
    }
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), Into::into)
}

fn request_fits(
    name: &str,
    request: &Value,
    limit: Option<&Value>,
    paths: &[&Path<'_>; 2],
    errors: &mut Errors,
) {
    let [requests_at, limits_at] = paths;
    let Some(limit) = limit else {
        if !may_overcommit(name) {
            let detail = "Limit must be set for non overcommitable resources";
            errors.push(FieldError::required(*limits_at, detail));
        }
        return;
    };
    let (Some(asked), Some(most)) = (quantity(request), quantity(limit)) else {
        return;
    };
    let most_text = shown(limit);
    if asked != most && !may_overcommit(name) {
        let detail = format!("must be equal to {name} limit of {most_text}");
        errors.push(FieldError::invalid(*requests_at, shown(request), detail));
    } else if asked > most {
        let detail = format!("must be less than or equal to {name} limit of {most_text}");
        errors.push(FieldError::invalid(*requests_at, shown(request), detail));
    }
}

fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

fn may_overcommit(name: &str) -> bool {
    is_native(name) && !is_huge_page(name)
}

fn is_standard_container_resource(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "ephemeral-storage") || is_huge_page(name)
}

fn is_standard_resource(name: &str) -> bool {
    const STANDARD: &[&str] = &[
        "cpu",
        "memory",
        "ephemeral-storage",
        "requests.cpu",
        "requests.memory",
        "requests.ephemeral-storage",
        "limits.cpu",
        "limits.memory",
        "limits.ephemeral-storage",
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "storage",
        "requests.storage",
        "services.nodeports",
        "services.loadbalancers",
    ];
    STANDARD.contains(&name) || is_huge_page(name) || name.starts_with("requests.hugepages-")
}

/// Whether a resource only comes in pieces.
fn is_whole(name: &str) -> bool {
    const PIECES: &[&str] = &[
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    ];
    PIECES.contains(&name) || !is_native(name) || name.starts_with("count/")
}
