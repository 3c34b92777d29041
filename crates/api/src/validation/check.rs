//! The small checks that all kinds share.

use crate::field_error::{FieldError, Path};
use crate::object::Read;
use alloc::string::String;
use alloc::vec::Vec;
use serde_json::Value;

/// What validation has found so far.
pub(super) type Errors = Vec<FieldError>;

/// The message for what must not change.
pub(super) const IMMUTABLE: &str = "field is immutable";

/// Reports every message that a format has about a text.
pub(super) fn format(text: &str, path: &Path<'_>, messages: Vec<String>, errors: &mut Errors) {
    for message in messages {
        errors.push(FieldError::invalid(path, text, message));
    }
}

/// A text must be one of a set; when it is empty it is reported as missing.
pub(super) fn required_one_of(text: &str, path: &Path<'_>, set: &[&str], errors: &mut Errors) {
    if text.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else {
        one_of(text, path, set, errors);
    }
}

/// A text must be one of a set.
pub(super) fn one_of(text: &str, path: &Path<'_>, set: &[&str], errors: &mut Errors) {
    if !set.contains(&text) {
        errors.push(FieldError::not_supported(path, text, set));
    }
}

/// A text must not be empty.
pub(super) fn required(text: &str, path: &Path<'_>, errors: &mut Errors) {
    if text.is_empty() {
        errors.push(FieldError::required(path, ""));
    }
}

/// A number, when given, must not be negative.
pub(super) fn nonnegative(number: Option<i64>, path: &Path<'_>, errors: &mut Errors) {
    if let Some(number) = number.filter(|&n| n < 0) {
        let detail = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(path, number, detail));
    }
}

/// A number must be positive.
pub(super) fn positive(number: Option<i64>, path: &Path<'_>, errors: &mut Errors) {
    if let Some(number) = number.filter(|&n| n <= 0) {
        errors.push(FieldError::invalid(path, number, "must be greater than 0"));
    }
}

/// A number must lie within bounds.
pub(super) fn within(number: i64, bounds: (i64, i64), path: &Path<'_>, errors: &mut Errors) {
    for message in crate::names::in_range(number, bounds.0, bounds.1) {
        errors.push(FieldError::invalid(path, number, message));
    }
}

/// A field must be what it was.
pub(super) fn immutable(new: &Value, old: &Value, key: &str, path: &Path<'_>, errors: &mut Errors) {
    if !equal(new.get(key), old.get(key)) {
        let value = new.at(key).cloned().unwrap_or_default();
        errors.push(FieldError::invalid(path, value, IMMUTABLE));
    }
}

/// Whether two values mean the same: absent, `null`, empty text and empty lists are alike.
///
/// An empty object is something else than none: it may be a choice, such as `emptyDir: {}`.
pub(crate) fn equal(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a.filter(|v| !is_empty(v)), b.filter(|v| !is_empty(v))) {
        (None, None) => true,
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let covered = b
                .iter()
                .all(|(key, value)| is_empty(value) || a.contains_key(key));
            covered && a.iter().all(|(key, value)| equal(Some(value), b.get(key)))
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(Some(a), Some(b)))
        }
        (a, b) => a == b,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(_) | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The items of a list with their paths.
pub(super) fn each(
    holder: &Value,
    key: &str,
    path: &Path<'_>,
    mut check: impl FnMut(&Value, &Path<'_>),
) {
    let list = path.field(key);
    for (index, item) in holder.list(key).iter().enumerate() {
        check(item, &list.index(index));
    }
}

/// Looks for items of a list that repeat a key.
#[derive(Default)]
pub(super) struct Unique<'a>(Vec<&'a str>);

impl<'a> Unique<'a> {
    /// Reports a key that was there before; remembers one that was not.
    pub(super) fn check(&mut self, key: &'a str, path: &Path<'_>, errors: &mut Errors) {
        if self.0.contains(&key) {
            errors.push(FieldError::duplicate(path, key));
        } else {
            self.0.push(key);
        }
    }
}
