//! Values that are one piece in JSON: times, amounts, numbers.

use super::tree::Tree;
use super::{DecodeError, value_error};
use crate::schema::Shape;
use alloc::format;
use alloc::string::{String, ToString};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use pernode_core::quantity::Quantity;
use serde_json::{Number, Value};

/// A leaf's value, or `None` when the tree has the wrong type for it.
pub(super) fn leaf(shape: &Shape, tree: &Tree) -> Result<Option<Value>, DecodeError> {
    Ok(match (shape, tree) {
        (Shape::String | Shape::Bytes, Tree::String(s)) => Some(Value::String(s.clone())),
        (Shape::Bool, Tree::Bool(b)) => Some(Value::Bool(*b)),
        (Shape::Int32, Tree::Number(n)) => integer(n)
            .filter(|n| i32::try_from(*n).is_ok())
            .map(Value::from),
        (Shape::Int64, Tree::Number(n)) => integer(n).map(Value::from),
        (Shape::Float, Tree::Number(n)) => Some(Value::Number(n.clone())),
        (Shape::IntOrString, Tree::String(s)) => Some(Value::String(s.clone())),
        (Shape::IntOrString, Tree::Number(n)) => integer(n)
            .filter(|n| i32::try_from(*n).is_ok())
            .map(Value::from),
        (Shape::Quantity, Tree::String(s)) => Some(quantity(s.trim())?),
        (Shape::Quantity, Tree::Number(n)) => Some(quantity(&n.to_string())?),
        (Shape::Time, Tree::String(s)) => Some(Value::String(seconds(time(s)?))),
        (Shape::MicroTime, Tree::String(s)) => Some(Value::String(micros(time(s)?))),
        (Shape::Duration, Tree::String(s)) => Some(Value::String(s.clone())),
        _ => None,
    })
}

/// A whole number, also when it is written as `3.0`, as Go does not accept and YAML may produce.
fn integer(number: &Number) -> Option<i64> {
    number.as_i64()
}

fn quantity(text: &str) -> Result<Value, DecodeError> {
    let quantity = Quantity::parse(text).map_err(|error| value_error(&error))?;
    Ok(Value::String(quantity.to_string()))
}

fn time(text: &str) -> Result<Timestamp, DecodeError> {
    text.parse().map_err(|_| {
        value_error(&format!(
            "parsing time {text:?} as \"2006-01-02T15:04:05Z07:00\": cannot parse {text:?} as \"2006\""
        ))
    })
}

/// Kubernetes' Time: RFC 3339 in whole seconds, UTC.
pub(super) fn seconds(time: Timestamp) -> String {
    let zoned = time.to_zoned(TimeZone::UTC);
    zoned.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Kubernetes' MicroTime: RFC 3339 with six decimals, UTC.
pub(super) fn micros(time: Timestamp) -> String {
    let zoned = time.to_zoned(TimeZone::UTC);
    zoned.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}
