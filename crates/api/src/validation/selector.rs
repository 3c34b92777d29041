//! Validation of label selectors and node selectors.

use super::check::{self, Errors};
use super::meta;
use crate::field_error::{FieldError, Path};
use crate::names;
use crate::object::{Object, Read};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use pernode_core::selector::{LabelSelector, Selector};
use serde_json::Value;

/// Validates a label selector; `lenient` accepts malformed values in its expressions.
pub(super) fn label_selector(
    selector: Option<&Value>,
    lenient: bool,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let Some(selector) = selector.filter(|s| !s.is_null()) else {
        return;
    };
    meta::labels(
        selector.object("matchLabels"),
        &path.field("matchLabels"),
        errors,
    );
    check::each(selector, "matchExpressions", path, |expression, at| {
        requirement(expression, lenient, at, errors);
    });
}

fn requirement(expression: &Value, lenient: bool, path: &Path<'_>, errors: &mut Errors) {
    let values = expression.list("values");
    match expression.text("operator") {
        "In" | "NotIn" if values.is_empty() => errors.push(FieldError::required(
            &path.field("values"),
            "must be specified when `operator` is 'In' or 'NotIn'",
        )),
        "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(FieldError::forbidden(
            &path.field("values"),
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        )),
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        other => errors.push(FieldError::invalid(
            &path.field("operator"),
            other,
            "not a valid selector operator",
        )),
    }
    let key = expression.text("key");
    check::format(key, &path.field("key"), names::qualified_name(key), errors);
    if !lenient {
        check::each(expression, "values", path, |value, at| {
            let value = value.as_str().unwrap_or_default();
            check::format(value, at, names::label_value(value), errors);
        });
    }
}

/// Whether a selector that is stored already has values that are malformed as label values.
pub(super) fn has_malformed_values(selector: Option<&Value>) -> bool {
    let expressions = selector.map_or(&[][..], |s| s.list("matchExpressions"));
    expressions
        .iter()
        .flat_map(|expression| expression.list("values"))
        .any(|value| !names::label_value(value.as_str().unwrap_or_default()).is_empty())
}

/// Whether a selector selects labels; nothing when the selector is malformed.
pub(super) fn selects(selector: Option<&Value>, labels: Option<&Object>) -> Option<bool> {
    let Some(selector) = selector.filter(|s| !s.is_null()) else {
        return Some(false);
    };
    let selector: LabelSelector = serde_json::from_value(selector.clone()).ok()?;
    let selector = Selector::from_label_selector(&selector).ok()?;
    Some(selector.matches_with(|key| labels?.get(key)?.as_str()))
}

/// A label selector with its fields in upstream's order.
pub(super) fn show(selector: Option<&Value>) -> String {
    let Some(selector) = selector.filter(|s| !s.is_null()) else {
        return "null".into();
    };
    let mut parts: Vec<String> = Vec::new();
    for key in ["matchLabels", "matchExpressions"] {
        if let Some(value) = selector.at(key).filter(|v| !is_empty(v)) {
            parts.push(format!("\"{key}\":{value}"));
        }
    }
    format!("{{{}}}", parts.join(","))
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Object::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}

/// Validates a node selector that must have terms.
pub(super) fn node_selector(selector: &Value, path: &Path<'_>, errors: &mut Errors) {
    if selector.list("nodeSelectorTerms").is_empty() {
        let detail = "must have at least one node selector term";
        errors.push(FieldError::required(
            &path.field("nodeSelectorTerms"),
            detail,
        ));
    }
    check::each(selector, "nodeSelectorTerms", path, |term, at| {
        node_selector_term(term, at, errors);
    });
}

/// Validates a term of a node selector.
pub(super) fn node_selector_term(term: &Value, path: &Path<'_>, errors: &mut Errors) {
    check::each(term, "matchExpressions", path, |expression, at| {
        node_requirement(expression, at, errors);
    });
    check::each(term, "matchFields", path, |field, at| {
        node_field(field, at, errors);
    });
}

fn node_requirement(expression: &Value, path: &Path<'_>, errors: &mut Errors) {
    let values = expression.list("values");
    let at = path.field("values");
    match expression.text("operator") {
        "In" | "NotIn" if values.is_empty() => errors.push(FieldError::required(
            &at,
            "must be specified when `operator` is 'In' or 'NotIn'",
        )),
        "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(FieldError::forbidden(
            &at,
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        )),
        "Gt" | "Lt" if values.len() != 1 => errors.push(FieldError::required(
            &at,
            "must be specified single value when `operator` is 'Lt' or 'Gt'",
        )),
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        other => errors.push(FieldError::invalid(
            &path.field("operator"),
            other,
            "not a valid selector operator",
        )),
    }
    let key = expression.text("key");
    check::format(key, &path.field("key"), names::qualified_name(key), errors);
}

fn node_field(field: &Value, path: &Path<'_>, errors: &mut Errors) {
    let values = field.list("values");
    match field.text("operator") {
        "In" | "NotIn" if values.len() != 1 => errors.push(FieldError::required(
            &path.field("values"),
            "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
        )),
        "In" | "NotIn" => {}
        other => errors.push(FieldError::invalid(
            &path.field("operator"),
            other,
            "not a valid selector operator",
        )),
    }
    let key = field.text("key");
    if key != "metadata.name" {
        let detail = "not a valid field selector key";
        errors.push(FieldError::invalid(&path.field("key"), key, detail));
        return;
    }
    check::each(field, "values", path, |value, at| {
        let value = value.as_str().unwrap_or_default();
        check::format(value, at, names::dns1123_subdomain(value), errors);
    });
}
