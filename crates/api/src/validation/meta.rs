//! Validation of `metadata`, the same for all kinds.

use super::check::{self, Errors, IMMUTABLE};
use crate::field_error::{FieldError, Path, quote};
use crate::names;
use crate::object::{Object, Read};
use crate::strategy::deletion::{FOREGROUND, ORPHAN};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde_json::Value;

const ANNOTATIONS_MAX: usize = 256 * 1024;
const MANAGER_MAX: usize = 128;
const SUBRESOURCE_MAX: usize = 256;

/// What a name must look like.
pub type NameFormat = fn(&str) -> Vec<String>;

/// Validates the metadata of a new object (`metadata` itself, not the object).
pub fn validate(metadata: &Value, namespaced: bool, format: NameFormat) -> Vec<FieldError> {
    let mut errors = Errors::new();
    let path = Path::new("metadata");
    names(metadata, namespaced, format, &path, &mut errors);
    let generation = path.field("generation");
    check::nonnegative(metadata.int("generation"), &generation, &mut errors);
    labels(
        metadata.object("labels"),
        &path.field("labels"),
        &mut errors,
    );
    annotations(
        metadata.object("annotations"),
        &path.field("annotations"),
        &mut errors,
    );
    owners(
        metadata.list("ownerReferences"),
        &path.field("ownerReferences"),
        &mut errors,
    );
    finalizers(metadata, &path, &mut errors);
    managed_fields(metadata, &path, &mut errors);
    standard_finalizers(metadata, &path, &mut errors);
    errors
}

/// Validates the metadata of an update against what was stored.
pub fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Errors::new();
    let path = Path::new("metadata");
    if old.at("deletionTimestamp").is_some() {
        no_new_finalizers(new, old, &path.field("finalizers"), &mut errors);
    }
    if new.text("resourceVersion").is_empty() {
        let version = path.field("resourceVersion");
        errors.push(FieldError::invalid(
            &version,
            "",
            "must be specified for an update",
        ));
    }
    let (now, before) = (new.int("generation"), old.int("generation"));
    if now.unwrap_or(0) < before.unwrap_or(0) {
        let generation = path.field("generation");
        let value = now.unwrap_or(0);
        errors.push(FieldError::invalid(
            &generation,
            value,
            "must not be decremented",
        ));
    }
    for key in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        if !check::equal(new.get(key), old.get(key)) {
            let value = new.at(key).cloned().unwrap_or_default();
            errors.push(FieldError::invalid(&path.field(key), value, IMMUTABLE));
        }
    }
    labels(new.object("labels"), &path.field("labels"), &mut errors);
    annotations(
        new.object("annotations"),
        &path.field("annotations"),
        &mut errors,
    );
    owners(
        new.list("ownerReferences"),
        &path.field("ownerReferences"),
        &mut errors,
    );
    managed_fields(new, &path, &mut errors);
    standard_finalizers(new, &path, &mut errors);
    errors
}

fn names(
    metadata: &Value,
    namespaced: bool,
    format: NameFormat,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let base = metadata.text("generateName");
    if !base.is_empty() {
        let messages = format(&mask_trailing_dash(base));
        check::format(base, &path.field("generateName"), messages, errors);
    }
    let name = metadata.text("name");
    if name.is_empty() {
        let detail = "name or generateName is required";
        errors.push(FieldError::required(&path.field("name"), detail));
    } else {
        check::format(name, &path.field("name"), format(name), errors);
    }
    let namespace = metadata.text("namespace");
    let at = path.field("namespace");
    match (namespaced, namespace.is_empty()) {
        (true, true) => errors.push(FieldError::required(&at, "")),
        (true, false) => {
            check::format(namespace, &at, names::dns1123_label(namespace), errors);
        }
        (false, false) => errors.push(FieldError::forbidden(&at, "not allowed on this type")),
        (false, true) => {}
    }
}

/// A base may end in a dash, because characters follow.
fn mask_trailing_dash(base: &str) -> String {
    match base.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => format!("{rest}a"),
        _ => base.to_owned(),
    }
}

/// Validates a map of labels; errors name the map.
pub(super) fn labels(labels: Option<&Object>, path: &Path<'_>, errors: &mut Errors) {
    for (key, value) in labels.into_iter().flatten() {
        check::format(key, path, names::qualified_name(key), errors);
        let value = value.as_str().unwrap_or_default();
        check::format(value, path, names::label_value(value), errors);
    }
}

/// Validates a map of annotations; errors name the map.
pub(super) fn annotations(annotations: Option<&Object>, path: &Path<'_>, errors: &mut Errors) {
    let mut size = 0;
    for (key, value) in annotations.into_iter().flatten() {
        // Annotation keys may have capitals where label keys may not.
        let lower = key.to_ascii_lowercase();
        check::format(key, path, names::qualified_name(&lower), errors);
        size += key.len() + value.as_str().unwrap_or_default().len();
    }
    if size > ANNOTATIONS_MAX {
        errors.push(FieldError::too_long(path, ANNOTATIONS_MAX));
    }
}

fn owners(owners: &[Value], path: &Path<'_>, errors: &mut Errors) {
    let mut first: Option<String> = None;
    for owner in owners {
        self::owner(owner, path, errors);
        if !owner.flag("controller") {
            continue;
        }
        let this = format!("{}/{}", owner.text("kind"), owner.text("name"));
        match &first {
            None => first = Some(this),
            Some(first) => {
                let shown: Vec<String> = owners.iter().map(show_owner).collect();
                let detail = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {this}"
                );
                let shown = format!("[{}]", shown.join(","));
                errors.push(FieldError::invalid_text(path, shown, detail));
            }
        }
    }
}

fn owner(owner: &Value, path: &Path<'_>, errors: &mut Errors) {
    let api_version = owner.text("apiVersion");
    let (group, version) = match api_version.split_once('/') {
        Some((group, version)) if !version.contains('/') => (group, version),
        Some(_) => ("", ""),
        None => ("", api_version),
    };
    if version.is_empty() {
        let at = path.field("apiVersion");
        errors.push(FieldError::invalid(
            &at,
            api_version,
            "version must not be empty",
        ));
    }
    for key in ["kind", "name", "uid"] {
        if owner.text(key).is_empty() {
            errors.push(FieldError::invalid(
                &path.field(key),
                "",
                "must not be empty",
            ));
        }
    }
    if (group, version, owner.text("kind")) == ("", "v1", "Event") {
        let detail = "/v1, Kind=Event is disallowed from being an owner";
        errors.push(FieldError::invalid_text(path, show_owner(owner), detail));
    }
}

/// An owner reference with its fields in upstream's order.
fn show_owner(owner: &Value) -> String {
    let mut parts: Vec<String> = ["apiVersion", "kind", "name", "uid"]
        .iter()
        .map(|key| format!("\"{key}\":{}", Value::from(owner.text(key))))
        .collect();
    for key in ["controller", "blockOwnerDeletion"] {
        if let Some(value) = owner.at(key) {
            parts.push(format!("\"{key}\":{value}"));
        }
    }
    format!("{{{}}}", parts.join(","))
}

fn finalizers(metadata: &Value, path: &Path<'_>, errors: &mut Errors) {
    let at = path.field("finalizers");
    let list = metadata.list("finalizers");
    for name in list.iter().filter_map(Value::as_str) {
        check::format(name, &at, names::qualified_name(name), errors);
    }
    let has = |wanted: &str| list.iter().any(|name| name == wanted);
    if has(ORPHAN) && has(FOREGROUND) {
        let detail = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.push(FieldError::invalid(&at, list.to_vec(), detail));
    }
}

/// Only Kubernetes' own finalizers have names without a domain.
fn standard_finalizers(metadata: &Value, path: &Path<'_>, errors: &mut Errors) {
    check::each(metadata, "finalizers", path, |name, at| {
        let name = name.as_str().unwrap_or_default();
        if !name.contains('/') && !["kubernetes", ORPHAN, FOREGROUND].contains(&name) {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            errors.push(FieldError::invalid(at, name, detail));
        }
    });
}

fn no_new_finalizers(new: &Value, old: &Value, path: &Path<'_>, errors: &mut Errors) {
    let before = old.list("finalizers");
    let mut added: Vec<&str> = new
        .list("finalizers")
        .iter()
        .filter(|name| !before.contains(name))
        .filter_map(Value::as_str)
        .collect();
    if added.is_empty() {
        return;
    }
    added.sort_unstable();
    added.dedup();
    let shown: Vec<String> = added.iter().map(|name| quote(name)).collect();
    let detail = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
        shown.join(", ")
    );
    errors.push(FieldError::forbidden(path, detail));
}

fn managed_fields(metadata: &Value, path: &Path<'_>, errors: &mut Errors) {
    check::each(metadata, "managedFields", path, |entry, at| {
        let operation = entry.text("operation");
        if !["Apply", "Update"].contains(&operation) {
            let detail = "must be `Apply` or `Update`";
            errors.push(FieldError::invalid(
                &at.field("operation"),
                operation,
                detail,
            ));
        }
        let fields_type = entry.text("fieldsType");
        if !fields_type.is_empty() && fields_type != "FieldsV1" {
            let detail = "must be `FieldsV1`";
            errors.push(FieldError::invalid(
                &at.field("fieldsType"),
                fields_type,
                detail,
            ));
        }
        manager(entry.text("manager"), &at.field("manager"), errors);
        if entry.text("subresource").len() > SUBRESOURCE_MAX {
            errors.push(FieldError::too_long(
                &at.field("subresource"),
                SUBRESOURCE_MAX,
            ));
        }
    });
}

/// Validates the name of a field manager, in `managedFields` and in options.
pub fn manager(name: &str, path: &impl ToString, errors: &mut Vec<FieldError>) {
    if name.len() > MANAGER_MAX {
        errors.push(FieldError::too_long(path, MANAGER_MAX));
    }
    for (at, c) in name.char_indices().filter(|(_, c)| c.is_control()) {
        let detail = format!("invalid character U+{:04X} (at position {at})", c as u32);
        errors.push(FieldError::invalid(path, name, detail));
    }
}
