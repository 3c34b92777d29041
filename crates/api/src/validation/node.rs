//! Validation of nodes.

use super::check::{self, Errors, equal};
use super::{resources, scheduling};
use crate::field_error::{FieldError, Path};
use crate::names;
use crate::object::Read;
use alloc::borrow::ToOwned;
use alloc::vec::Vec;
use serde_json::Value;

/// Validates the spec of a node, and what its status says about resources.
pub(super) fn node(node: &Value, errors: &mut Errors) {
    taints(node, errors);
    capacity(node, errors);
    let path = Path::new("spec");
    check::each(&node["spec"], "podCIDRs", &path, |block, at| {
        let block = block.as_str().unwrap_or_default();
        check::format(block, at, names::cidr(block), errors);
    });
}

fn capacity(node: &Value, errors: &mut Errors) {
    let path = Path::new("status");
    for key in ["capacity", "allocatable"] {
        let at = path.field(key);
        for (name, value) in node["status"].object(key).into_iter().flatten() {
            resources::resource_value(name, value, &at.key(name), errors);
        }
    }
}

/// Validates what an update of a node, or of its status, changes.
pub(super) fn update(new: &Value, old: &Value, errors: &mut Errors) {
    capacity(new, errors);
    let status = Path::new("status");
    let list = status.field("addresses");
    let addresses = new["status"].list("addresses");
    for (index, address) in addresses.iter().enumerate() {
        if addresses[..index].contains(address) {
            errors.push(FieldError::duplicate(&list.index(index), address.clone()));
        }
    }
    let (spec, before) = (&new["spec"], &old["spec"]);
    let blocks = before.at("podCIDRs");
    if blocks.is_some() && !equal(blocks, spec.at("podCIDRs")) {
        let detail = "node updates may not change podCIDR except from \"\" to valid";
        errors.push(FieldError::forbidden(&"spec.podCIDRs", detail));
    }
    let provider = before.text("providerID");
    if !provider.is_empty() && provider != spec.text("providerID") {
        let detail = "node updates may not change providerID except from \"\" to valid";
        errors.push(FieldError::forbidden(&"spec.providerID", detail));
    }
    taints(new, errors);
}

/// Validates taints of a node; upstream's path for them is `metadata.taints`.
pub(super) fn taints(node: &Value, errors: &mut Errors) {
    let metadata = Path::new("metadata");
    let mut seen: Vec<(&str, &str)> = Vec::new();
    let list = metadata.field("taints");
    for (index, taint) in node["spec"].list("taints").iter().enumerate() {
        let at = list.index(index);
        let (key, value, effect) = (taint.text("key"), taint.text("value"), taint.text("effect"));
        check::format(key, &at.field("key"), names::qualified_name(key), errors);
        let messages = names::label_value(value);
        if !messages.is_empty() {
            errors.push(FieldError::invalid(
                &at.field("value"),
                value,
                messages.join(";"),
            ));
        }
        check::required_one_of(effect, &at.field("effect"), scheduling::EFFECTS, errors);
        if seen.contains(&(key, effect)) {
            let mut error = FieldError::duplicate(&at, taint.clone());
            "taints must be unique by key and effect pair".clone_into(&mut error.detail);
            errors.push(error);
        }
        seen.push((key, effect));
    }
}
