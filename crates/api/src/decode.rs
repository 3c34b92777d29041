//! From JSON to an object as the API stores it, and what was wrong on the way.
//!
//! A text is read into a tree that keeps the order and the duplicates of its keys, then walked
//! along the schema once: types are checked with Go's messages, unknown fields are dropped and
//! reported, and the result has the fields that a trip through Go's structs would leave
//! (spec/apiserver.md 2.5 and 2.12).

mod leaf;
mod tree;
mod walk;

use crate::schema::{Schema, TypeId};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde_json::Value;

/// Why an object could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The text is not JSON.
    #[error("json parse error: {0}")]
    Syntax(String),
    /// A value has the wrong type, in Go's words.
    #[error("{0}")]
    Type(String),
    /// The protobuf message is damaged or of an unknown kind.
    #[error("{0}")]
    Protobuf(String),
}

impl DecodeError {
    /// Whether the text is not even JSON.
    pub fn is_syntax(&self) -> bool {
        matches!(self, Self::Syntax(_))
    }
}

/// An object that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// The object.
    pub object: Value,
    /// Unknown and duplicate fields, in the order of the text, each named once.
    pub unknown: Vec<String>,
}

/// JSON without a schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The value; of duplicate keys the last one counts.
    pub value: Value,
    /// Duplicate fields, in the order of the text.
    pub duplicates: Vec<String>,
}

/// Reads an object of a type.
///
/// # Errors
/// Text that is not JSON, or a value of the wrong type.
pub fn decode_json(schema: &Schema, id: TypeId, text: &[u8]) -> Result<Decoded, DecodeError> {
    let tree = tree::parse(text)?;
    let mut walk = walk::Walk::new(schema);
    let object = walk.root(id, tree)?;
    Ok(Decoded {
        object,
        unknown: walk.findings(),
    })
}

/// Reads JSON without a schema and notices duplicate keys, as patches are read.
///
/// # Errors
/// Text that is not JSON.
pub fn parse_json(text: &[u8]) -> Result<Parsed, DecodeError> {
    let tree = tree::parse(text)?;
    let mut duplicates = Vec::new();
    let value = tree.into_value(&mut String::new(), &mut duplicates);
    Ok(Parsed { value, duplicates })
}

/// Checks an object that exists already, such as the result of a patch, and gives it the form of
/// [`decode_json`]. Unknown fields are returned sorted by path.
///
/// # Errors
/// A value of the wrong type; the object is then as it was.
pub fn check_value(
    schema: &Schema,
    id: TypeId,
    object: &mut Value,
) -> Result<Vec<String>, DecodeError> {
    let tree = tree::Tree::from_value(object.clone());
    let mut walk = walk::Walk::new(schema);
    *object = walk.root(id, tree)?;
    let mut findings = walk.findings();
    findings.sort();
    Ok(findings)
}

/// How a finding about a field is told.
fn finding(what: &str, path: &str) -> String {
    format!("{what} field {path:?}")
}

/// `cannot unmarshal X into Go struct field S.path of type T`, or without the field at the root.
fn type_error(found: &str, place: Option<(&str, &str)>, wanted: &str) -> DecodeError {
    let into = match place {
        Some((owner, path)) => format!("Go struct field {owner}.{path}"),
        None => "Go value".to_owned(),
    };
    DecodeError::Type(format!(
        "json: cannot unmarshal {found} into {into} of type {wanted}"
    ))
}

/// An error that Go shows without a place, as its own parsers' errors are.
fn value_error(error: &impl ToString) -> DecodeError {
    DecodeError::Type(error.to_string())
}

#[cfg(test)]
mod tests;
