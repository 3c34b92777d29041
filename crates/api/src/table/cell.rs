//! Reading an object for its cells.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::age::human_duration;

pub(super) const NONE: &str = "<none>";
pub(super) const UNKNOWN: &str = "<unknown>";
pub(super) const UNSET: &str = "<unset>";

/// The object whose row is made, and the time its ages are counted to.
///
/// Whatever is missing reads as empty or as zero, as it does for Kubernetes' typed objects.
#[derive(Debug, Clone, Copy)]
pub(super) struct Object<'a> {
    pub(super) value: &'a Value,
    pub(super) now: Timestamp,
}

impl<'a> Object<'a> {
    /// What is at a pointer.
    pub(super) fn at(&self, pointer: &str) -> Option<&'a Value> {
        self.value.pointer(pointer)
    }

    /// A text, empty if there is none.
    pub(super) fn str(&self, pointer: &str) -> &'a str {
        text_at(self.value, pointer)
    }

    /// A text as a cell.
    pub(super) fn text(&self, pointer: &str) -> Value {
        self.str(pointer).into()
    }

    /// A text as a cell, or what to show when it is empty.
    pub(super) fn text_or(&self, pointer: &str, otherwise: &str) -> Value {
        or(self.str(pointer), otherwise).into()
    }

    /// A number as a cell, 0 if there is none.
    pub(super) fn number(&self, pointer: &str) -> Value {
        int_at(self.value, pointer).into()
    }

    /// A truth value as a cell.
    pub(super) fn truth_or(&self, pointer: &str, otherwise: bool) -> Value {
        self.at(pointer)
            .and_then(Value::as_bool)
            .unwrap_or(otherwise)
            .into()
    }

    /// The elements of a list, none if there is no list.
    pub(super) fn list(&self, pointer: &str) -> &'a [Value] {
        list_at(self.value, pointer)
    }

    /// The entries of a map.
    pub(super) fn map(&self, pointer: &str) -> Option<&'a Map<String, Value>> {
        self.at(pointer)?.as_object()
    }

    /// How many entries a map or a list has.
    pub(super) fn count(&self, pointer: &str) -> usize {
        match self.at(pointer) {
            Some(Value::Object(map)) => map.len(),
            Some(Value::Array(list)) => list.len(),
            _ => 0,
        }
    }

    /// Labels as `k=v,k2=v2`, sorted by key.
    pub(super) fn labels(&self, pointer: &str) -> Value {
        self.map(pointer)
            .map_or_else(String::new, format_labels)
            .or(NONE)
    }

    /// One text of each element of a list, joined by commas.
    pub(super) fn joined(&self, list: &str, pointer: &str) -> Value {
        let texts: Vec<_> = self
            .list(list)
            .iter()
            .map(|it| text_at(it, pointer))
            .collect();
        texts.join(",").into()
    }

    /// How long ago a time was.
    pub(super) fn since(&self, time: Option<Timestamp>) -> String {
        time.map_or_else(
            || UNKNOWN.into(),
            |time| human_duration(self.now.duration_since(time).as_secs()),
        )
    }

    /// The time at a pointer.
    pub(super) fn time(&self, pointer: &str) -> Option<Timestamp> {
        time_at(self.value, pointer)
    }

    /// Whether the object is being deleted.
    pub(super) fn is_terminating(&self) -> bool {
        !self.str("/metadata/deletionTimestamp").is_empty()
    }
}

/// Cell of an object's name.
pub(super) fn name(object: &Object<'_>) -> Value {
    object.text("/metadata/name")
}

/// Cell of an object's age.
pub(super) fn age(object: &Object<'_>) -> Value {
    object
        .since(object.time("/metadata/creationTimestamp"))
        .into()
}

/// Cell of the time an object was created at.
pub(super) fn created(object: &Object<'_>) -> Value {
    object.text("/metadata/creationTimestamp")
}

/// A cell that shows something else when it would be empty.
pub(super) trait Or {
    fn or(self, otherwise: &str) -> Value;
}

impl Or for String {
    fn or(self, otherwise: &str) -> Value {
        if self.is_empty() {
            otherwise.into()
        } else {
            self.into()
        }
    }
}

/// A text, or another when it is empty.
pub(super) fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

/// A text, empty if there is none.
pub(super) fn text_at<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// A number, 0 if there is none.
pub(super) fn int_at(value: &Value, pointer: &str) -> i64 {
    value
        .pointer(pointer)
        .and_then(Value::as_i64)
        .unwrap_or_default()
}

/// The elements of a list, none if there is no list.
pub(super) fn list_at<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// A time.
pub(super) fn time_at(value: &Value, pointer: &str) -> Option<Timestamp> {
    text_at(value, pointer).parse().ok()
}

/// A text, number or truth value as text.
pub(super) fn scalar(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), Into::into)
}

fn format_labels(labels: &Map<String, Value>) -> String {
    let pairs: Vec<_> = labels
        .iter()
        .map(|(key, value)| format!("{key}={}", scalar(value)))
        .collect();
    pairs.join(",")
}

/// At most three of many, and how many more there are.
pub(super) fn first_three(all: &[String]) -> String {
    let shown = all.get(..3).unwrap_or(all).join(",");
    match all.len() {
        0..=3 => shown,
        len => format!("{shown} + {} more...", len - 3),
    }
}
