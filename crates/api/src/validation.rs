//! Validation: what the API refuses, field by field.

use crate::field_error::FieldError;
use crate::resource::Resource;
use alloc::vec::Vec;
use serde_json::Value;

/// What is wrong with a new object.
pub fn validate_create(resource: &Resource, object: &Value) -> Vec<FieldError> {
    let _ = (resource, object);
    Vec::new()
}

/// What is wrong with an update, after [`crate::strategy::prepare_update`].
pub fn validate_update(resource: &Resource, new: &Value, old: &Value) -> Vec<FieldError> {
    let _ = (resource, new, old);
    Vec::new()
}

/// What is wrong with an update through `/status`.
pub fn validate_status_update(resource: &Resource, new: &Value, old: &Value) -> Vec<FieldError> {
    let _ = (resource, new, old);
    Vec::new()
}
