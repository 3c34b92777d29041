//! Errors of validation: what is wrong with which field.
//!
//! The texts are part of the API: `kubectl` prints them and tools match on them (spec/apiserver.md
//! 2.1). [`Path`] names the field without allocating until there is something to complain about.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use serde_json::Value;

/// What is wrong, in the API's own classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorKind {
    /// A value that must be given is missing.
    Required,
    /// The value is malformed.
    Invalid,
    /// The value is not one of a fixed set.
    NotSupported,
    /// The value is well-formed but not allowed here.
    Forbidden,
    /// The value repeats another one that must be unique.
    Duplicate,
    /// The value has too many bytes.
    TooLong,
    /// The list has too many items.
    TooMany,
    /// The value refers to something that is not there.
    NotFound,
    /// The value is of the wrong JSON type.
    TypeInvalid,
    /// The server failed to check.
    Internal,
}

impl ErrorKind {
    /// The `reason` of the cause in a `Status`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::Duplicate => "FieldValueDuplicate",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::NotFound => "FieldValueNotFound",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Internal => "InternalError",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::Duplicate => "Duplicate value",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::NotFound => "Not found",
            Self::Internal => "Internal error",
        }
    }

    /// Whether the text shows the offending value.
    fn shows_value(self) -> bool {
        !matches!(
            self,
            Self::Required | Self::Forbidden | Self::TooLong | Self::Internal
        )
    }
}

/// The offending value as the text shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bad {
    /// A value, shown as compact JSON (strings quoted).
    Value(Value),
    /// Text shown as it is: values whose fields upstream shows in its own order.
    Text(String),
}

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(Value::String(text)) => f.write_str(&quote(text)),
            Self::Value(value) => write!(f, "{value}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// Quotes text as Go's `%q` does.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            c if (c as u32) < 0x20 || c as u32 == 0x7f => {
                out.push_str("\\x");
                out.extend([c as u32 >> 4, c as u32 & 15].map(hex_digit));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn hex_digit(nibble: u32) -> char {
    char::from_digit(nibble, 16).unwrap_or('0')
}

/// One thing that is wrong with an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// Class.
    pub kind: ErrorKind,
    /// Path of the field, such as `spec.template.spec.containers[0].image`.
    pub field: String,
    /// The offending value; only shown by the classes whose text has it.
    pub bad: Bad,
    /// Explanation; may be empty.
    pub detail: String,
}

impl FieldError {
    fn new(kind: ErrorKind, path: &impl ToString, bad: Bad, detail: impl Into<String>) -> Self {
        Self {
            kind,
            field: path.to_string(),
            bad,
            detail: detail.into(),
        }
    }

    /// A value that must be given is missing.
    pub fn required(path: &impl ToString, detail: impl Into<String>) -> Self {
        let bad = Bad::Value(Value::String(String::new()));
        Self::new(ErrorKind::Required, path, bad, detail)
    }

    /// The value is malformed.
    pub fn invalid(
        path: &impl ToString,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        let bad = Bad::Value(value.into());
        Self::new(ErrorKind::Invalid, path, bad, detail)
    }

    /// The value is malformed, shown in the given words.
    pub fn invalid_text(
        path: &impl ToString,
        shown: impl Into<String>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(ErrorKind::Invalid, path, Bad::Text(shown.into()), detail)
    }

    /// The value is not one of `supported`.
    pub fn not_supported(
        path: &impl ToString,
        value: impl Into<Value>,
        supported: &[&str],
    ) -> Self {
        let bad = Bad::Value(value.into());
        Self::new(
            ErrorKind::NotSupported,
            path,
            bad,
            supported_values(supported),
        )
    }

    /// The value, shown in the given words, is not one of `supported`.
    pub fn not_supported_text(
        path: &impl ToString,
        shown: impl Into<String>,
        supported: &[&str],
    ) -> Self {
        let bad = Bad::Text(shown.into());
        Self::new(
            ErrorKind::NotSupported,
            path,
            bad,
            supported_values(supported),
        )
    }

    /// The value is not allowed here.
    pub fn forbidden(path: &impl ToString, detail: impl Into<String>) -> Self {
        let bad = Bad::Value(Value::String(String::new()));
        Self::new(ErrorKind::Forbidden, path, bad, detail)
    }

    /// The value repeats another one.
    pub fn duplicate(path: &impl ToString, value: impl Into<Value>) -> Self {
        let bad = Bad::Value(value.into());
        Self::new(ErrorKind::Duplicate, path, bad, "")
    }

    /// The value has more than `max` bytes.
    pub fn too_long(path: &impl ToString, max: usize) -> Self {
        let bad = Bad::Value(Value::String(String::new()));
        let detail = format!("may not be more than {max} bytes");
        Self::new(ErrorKind::TooLong, path, bad, detail)
    }

    /// The list has more than `max` items.
    pub fn too_many(path: &impl ToString, actual: usize, max: usize) -> Self {
        let bad = Bad::Value(Value::from(actual));
        let items = if max == 1 { "item" } else { "items" };
        let detail = format!("must have at most {max} {items}");
        Self::new(ErrorKind::TooMany, path, bad, detail)
    }

    /// The value refers to something that is not there.
    pub fn not_found(path: &impl ToString, value: impl Into<Value>) -> Self {
        let bad = Bad::Value(value.into());
        Self::new(ErrorKind::NotFound, path, bad, "")
    }

    /// The text without the field: the `message` of a cause.
    pub fn body(&self) -> String {
        let mut text = self.kind.words().to_owned();
        if self.kind.shows_value() {
            text.push_str(": ");
            text.push_str(&self.bad.to_string());
        }
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }
}

fn supported_values(supported: &[&str]) -> String {
    if supported.is_empty() {
        return String::new();
    }
    let quoted: Vec<String> = supported.iter().map(|s| quote(s)).collect();
    format!("supported values: {}", quoted.join(", "))
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

impl core::error::Error for FieldError {}

/// A field's path, built on the stack while validation walks into an object.
#[derive(Debug, Clone, Copy)]
pub struct Path<'a> {
    parent: Option<&'a Self>,
    step: Step<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Step<'a> {
    Field(&'a str),
    Index(usize),
    Key(&'a str),
}

impl<'a> Path<'a> {
    /// The path of a top-level field; dots in it are kept.
    pub fn new(field: &'a str) -> Self {
        Self {
            parent: None,
            step: Step::Field(field),
        }
    }

    /// A field of the value at this path.
    #[must_use]
    pub fn field(&'a self, name: &'a str) -> Self {
        Self {
            parent: Some(self),
            step: Step::Field(name),
        }
    }

    /// An item of the list at this path.
    #[must_use]
    pub fn index(&'a self, index: usize) -> Self {
        Self {
            parent: Some(self),
            step: Step::Index(index),
        }
    }

    /// An entry of the map at this path.
    #[must_use]
    pub fn key(&'a self, key: &'a str) -> Self {
        Self {
            parent: Some(self),
            step: Step::Key(key),
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            Step::Field(name) if self.parent.is_some() => write!(f, ".{name}"),
            Step::Field(name) => f.write_str(name),
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Key(key) => write!(f, "[{key}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_print_fields_indexes_and_keys() {
        let spec = Path::new("spec");
        let containers = spec.field("containers");
        let first = containers.index(0);
        let image = first.field("image");
        assert_eq!(image.to_string(), "spec.containers[0].image");
        assert_eq!(spec.key("cpu").to_string(), "spec[cpu]");
    }

    #[test]
    fn texts_are_upstreams() {
        let at = Path::new("a");
        let check = |error: FieldError, text: &str| assert_eq!(error.to_string(), text);
        check(FieldError::required(&at, ""), "a: Required value");
        check(FieldError::required(&at, "why"), "a: Required value: why");
        check(
            FieldError::invalid(&at, "x\"", "no"),
            r#"a: Invalid value: "x\"": no"#,
        );
        check(
            FieldError::invalid(&at, -1, "no"),
            "a: Invalid value: -1: no",
        );
        check(
            FieldError::invalid(&at, json!({"b": [1]}), "no"),
            r#"a: Invalid value: {"b":[1]}: no"#,
        );
        check(
            FieldError::invalid(&at, Value::Null, "no"),
            "a: Invalid value: null: no",
        );
        check(
            FieldError::not_supported(&at, "x", &["y", "z"]),
            r#"a: Unsupported value: "x": supported values: "y", "z""#,
        );
        check(FieldError::forbidden(&at, "no"), "a: Forbidden: no");
        check(
            FieldError::duplicate(&at, "c"),
            r#"a: Duplicate value: "c""#,
        );
        check(
            FieldError::too_long(&at, 5),
            "a: Too long: may not be more than 5 bytes",
        );
        check(
            FieldError::too_many(&at, 3, 1),
            "a: Too many: 3: must have at most 1 item",
        );
        check(FieldError::not_found(&at, "v"), r#"a: Not found: "v""#);
    }
}
