//! Validation of namespaces and of what holds configuration.

use super::check::{self, Errors, equal};
use crate::field_error::{FieldError, Path};
use crate::names;
use crate::object::Read;
use alloc::string::String;
use alloc::vec::Vec;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// All values of a ConfigMap or a Secret together.
const DATA_MAX: usize = 1024 * 1024;
const FROZEN: &str = "field is immutable when `immutable` is set";
const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";

/// Validates the finalizers of a namespace.
pub(super) fn namespace(object: &Value, errors: &mut Errors) {
    let path = Path::new("spec");
    let at = path.field("finalizers");
    for name in object["spec"]
        .list("finalizers")
        .iter()
        .filter_map(Value::as_str)
    {
        check::format(name, &at, names::qualified_name(name), errors);
        if !name.contains('/') && !["kubernetes", "orphan", "foregroundDeletion"].contains(&name) {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            errors.push(FieldError::invalid(&at, name, detail));
        }
    }
}

/// Validates the phase of a namespace: it follows from the deletion time.
pub(super) fn namespace_status(object: &Value, errors: &mut Errors) {
    let deleting = object.path(&["metadata", "deletionTimestamp"]).is_some();
    let (phase, detail) = if deleting {
        (
            "Terminating",
            "may only be 'Terminating' if `deletionTimestamp` is not empty",
        )
    } else {
        (
            "Active",
            "may only be 'Active' if `deletionTimestamp` is empty",
        )
    };
    let given = object["status"].text("phase");
    if given != phase {
        errors.push(FieldError::invalid(&"status.Phase", given, detail));
    }
}

/// Validates a ConfigMap.
pub(super) fn config_map(object: &Value, errors: &mut Errors) {
    let mut size = 0;
    let (texts, bytes) = (object.object("data"), object.object("binaryData"));
    for (key, value) in texts.into_iter().flatten() {
        let data = Path::new("data");
        let at = data.key(key);
        check::format(key, &at, names::config_map_key(key), errors);
        if bytes.is_some_and(|bytes| bytes.contains_key(key)) {
            let detail = "duplicate of key present in binaryData";
            errors.push(FieldError::invalid(&at, key.as_str(), detail));
        }
        size += value.as_str().unwrap_or_default().len();
    }
    for (key, value) in bytes.into_iter().flatten() {
        let data = Path::new("binaryData");
        check::format(key, &data.key(key), names::config_map_key(key), errors);
        size += decoded_len(value);
    }
    if size > DATA_MAX {
        errors.push(FieldError::too_long(&"", DATA_MAX));
    }
}

/// Validates what an update of a ConfigMap must not change.
pub(super) fn config_map_update(new: &Value, old: &Value, errors: &mut Errors) {
    frozen(new, old, &["data", "binaryData"], errors);
}

fn frozen(new: &Value, old: &Value, keys: &[&str], errors: &mut Errors) {
    if !old.flag("immutable") {
        return;
    }
    if !new.flag("immutable") {
        errors.push(FieldError::forbidden(&"immutable", FROZEN));
    }
    for key in keys {
        if !equal(new.get(*key), old.get(*key)) {
            errors.push(FieldError::forbidden(key, FROZEN));
        }
    }
}

/// Length of base64 text when decoded.
fn decoded_len(value: &Value) -> usize {
    let text = value.as_str().unwrap_or_default();
    let padding = text.bytes().rev().take_while(|&b| b == b'=').count();
    (text.len() / 4 * 3).saturating_sub(padding)
}

/// Validates a Secret.
pub(super) fn secret(object: &Value, errors: &mut Errors) {
    let path = Path::new("data");
    let data = object.object("data");
    let mut size = 0;
    for (key, value) in data.into_iter().flatten() {
        check::format(key, &path.key(key), names::config_map_key(key), errors);
        size += decoded_len(value);
    }
    if size > DATA_MAX {
        errors.push(FieldError::too_long(&path, DATA_MAX));
    }
    let has = |key: &str| data.is_some_and(|data| data.contains_key(key));
    let required: &[&str] = match object.text("type") {
        "kubernetes.io/service-account-token" => {
            account_token(object, errors);
            &[]
        }
        "kubernetes.io/dockercfg" => docker_config(object, ".dockercfg", errors),
        "kubernetes.io/dockerconfigjson" => docker_config(object, ".dockerconfigjson", errors),
        "kubernetes.io/basic-auth" if has("username") || has("password") => &[],
        "kubernetes.io/basic-auth" => &["username", "password"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        _ => &[],
    };
    for key in required.iter().filter(|key| !has(key)) {
        errors.push(FieldError::required(&path.key(key), ""));
    }
}

fn account_token(object: &Value, errors: &mut Errors) {
    let name = object.path(&["metadata", "annotations", ACCOUNT_NAME]);
    if name.and_then(Value::as_str).unwrap_or_default().is_empty() {
        let metadata = Path::new("metadata");
        let annotations = metadata.field("annotations");
        errors.push(FieldError::required(&annotations.key(ACCOUNT_NAME), ""));
    }
}

/// The content of such a secret must be JSON. Answers with the keys that must be there.
fn docker_config(
    object: &Value,
    key: &'static str,
    errors: &mut Errors,
) -> &'static [&'static str] {
    let encoded = object.path(&["data", key]).and_then(Value::as_str);
    let Some(encoded) = encoded else {
        return match key {
            ".dockercfg" => &[".dockercfg"],
            _ => &[".dockerconfigjson"],
        };
    };
    let bytes: Vec<u8> = STANDARD.decode(encoded).unwrap_or_default();
    if let Err(why) = serde_json::from_slice::<Value>(&bytes) {
        let data = Path::new("data");
        let why: String = alloc::format!("{why}");
        errors.push(FieldError::invalid(
            &data.key(key),
            "<secret contents redacted>",
            why,
        ));
    }
    &[]
}

/// Validates what an update of a Secret must not change.
pub(super) fn secret_update(new: &Value, old: &Value, errors: &mut Errors) {
    check::immutable(new, old, "type", &Path::new("type"), errors);
    frozen(new, old, &["data"], errors);
}
