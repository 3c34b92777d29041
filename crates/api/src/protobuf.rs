//! Request bodies in protobuf, which typed Go clients send for every write (spec/apiserver.md 2.12).
//!
//! The numbers come from the same schema as everything else; the result has the form of
//! [`crate::decode::decode_json`]. Replies are JSON, which all these clients accept.

mod wire;

use crate::decode::{DecodeError, check_value};
use crate::schema::{Schema, Shape, TypeDef, TypeId};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value};
use wire::{Record, records};

/// What every message from a Kubernetes client begins with.
const MAGIC: &[u8] = b"k8s\0";
/// Deepest nesting of messages; a pod is about ten deep.
const DEPTH_MAX: usize = 64;

/// Reads an object in its envelope; `apiVersion` and `kind` are set from the envelope.
///
/// # Errors
/// A damaged message, or a kind that the schema does not have.
pub fn decode_envelope(schema: &Schema, body: &[u8]) -> Result<Value, DecodeError> {
    let Some(message) = body.strip_prefix(MAGIC) else {
        return Err(damaged(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
        ));
    };
    let envelope = Envelope::read(message)?;
    let id = type_of(schema, &envelope).ok_or_else(|| {
        damaged(&format!(
            "no kind {:?} is registered for version {:?}",
            envelope.kind, envelope.api_version
        ))
    })?;
    let mut map = Map::new();
    Reader { schema }.message(schema.def(id), &[], envelope.raw, &mut map, 0)?;
    let mut object = Value::Object(map);
    check_value(schema, id, &mut object)?;
    object["apiVersion"] = envelope.api_version.into();
    object["kind"] = envelope.kind.into();
    Ok(object)
}

/// Options travel under the group of what they are for; their type is the same everywhere.
fn type_of(schema: &Schema, envelope: &Envelope<'_>) -> Option<TypeId> {
    let (group, version) = envelope
        .api_version
        .split_once('/')
        .unwrap_or(("", &envelope.api_version));
    schema
        .type_of_kind(group, version, &envelope.kind)
        .or_else(|| match envelope.kind.as_str() {
            "DeleteOptions" => {
                schema.type_named("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions")
            }
            _ => None,
        })
}

fn damaged(why: &str) -> DecodeError {
    DecodeError::Protobuf(why.to_string())
}

struct Envelope<'a> {
    api_version: String,
    kind: String,
    raw: &'a [u8],
}

impl<'a> Envelope<'a> {
    fn read(message: &'a [u8]) -> Result<Self, DecodeError> {
        let mut envelope = Envelope {
            api_version: String::new(),
            kind: String::new(),
            raw: &[],
        };
        for record in records(message) {
            let (number, record) = record?;
            match number {
                1 => {
                    for part in records(record.bytes()?) {
                        let (number, part) = part?;
                        match number {
                            1 => envelope.api_version = part.text()?,
                            2 => envelope.kind = part.text()?,
                            _ => {}
                        }
                    }
                }
                2 => envelope.raw = record.bytes()?,
                _ => {}
            }
        }
        Ok(envelope)
    }
}

struct Reader<'a> {
    schema: &'a Schema,
}

impl Reader<'_> {
    /// Reads a message into the fields whose numbers begin with `prefix`: structs that Go embeds
    /// are messages of their own, which JSON flattens.
    #[allow(
        clippy::too_many_arguments,
        reason = "the place in the schema, in the bytes and in the result"
    )]
    fn message(
        &self,
        def: &TypeDef,
        prefix: &[u32],
        bytes: &[u8],
        map: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        if depth > DEPTH_MAX {
            return Err(damaged("the message is nested too deeply"));
        }
        for record in records(bytes) {
            let (number, record) = record?;
            let path: Vec<u32> = prefix.iter().copied().chain([number]).collect();
            if let Some(field) = def.fields.iter().find(|f| f.protobuf == path) {
                let old = map.remove(&field.name);
                let value = self.merge(&field.shape, old, &record, depth)?;
                map.insert(field.name.clone(), value);
            } else if def.fields.iter().any(|f| f.protobuf.starts_with(&path)) {
                self.message(def, &path, record.bytes()?, map, depth + 1)?;
            }
        }
        Ok(())
    }

    /// A field's value after one more record of it: lists and maps grow, others are replaced.
    fn merge(
        &self,
        shape: &Shape,
        old: Option<Value>,
        record: &Record<'_>,
        depth: usize,
    ) -> Result<Value, DecodeError> {
        match shape {
            Shape::List(element) => {
                let mut list = match old {
                    Some(Value::Array(list)) => list,
                    _ => Vec::new(),
                };
                self.elements(element, record, &mut list, depth)?;
                Ok(Value::Array(list))
            }
            Shape::Map(element) => {
                let mut map = match old {
                    Some(Value::Object(map)) => map,
                    _ => Map::new(),
                };
                let (key, value) = self.entry(element, record, depth)?;
                map.insert(key, value);
                Ok(Value::Object(map))
            }
            _ => self.single(shape, record, depth),
        }
    }

    /// One element, or many numbers packed into one record.
    fn elements(
        &self,
        element: &Shape,
        record: &Record<'_>,
        list: &mut Vec<Value>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        if let (Shape::Int32 | Shape::Int64, Record::Bytes(packed)) = (element, record) {
            for number in wire::varints(packed) {
                list.push(Value::from(number? as i64));
            }
            return Ok(());
        }
        list.push(self.single(element, record, depth)?);
        Ok(())
    }

    /// An entry of a map: `{1: key, 2: value}`.
    fn entry(
        &self,
        element: &Shape,
        record: &Record<'_>,
        depth: usize,
    ) -> Result<(String, Value), DecodeError> {
        let mut key = String::new();
        let mut value = None;
        for part in records(record.bytes()?) {
            match part? {
                (1, part) => key = part.text()?,
                (2, part) => value = Some(self.map_value(element, &part, depth)?),
                _ => {}
            }
        }
        let empty = || self.map_value(element, &Record::Bytes(&[]), depth);
        Ok((key, value.map_or_else(empty, Ok)?))
    }

    /// A list inside a map travels as a message of its own: `{1: items}`.
    fn map_value(
        &self,
        shape: &Shape,
        record: &Record<'_>,
        depth: usize,
    ) -> Result<Value, DecodeError> {
        let Shape::List(element) = shape else {
            return self.single(shape, record, depth);
        };
        let mut list = Vec::new();
        for item in records(record.bytes()?) {
            let (_, item) = item?;
            list.push(self.single(element, &item, depth)?);
        }
        Ok(Value::Array(list))
    }

    fn single(
        &self,
        shape: &Shape,
        record: &Record<'_>,
        depth: usize,
    ) -> Result<Value, DecodeError> {
        Ok(match shape {
            Shape::Type(id) => {
                let mut map = Map::new();
                self.message(
                    self.schema.def(*id),
                    &[],
                    record.bytes()?,
                    &mut map,
                    depth + 1,
                )?;
                Value::Object(map)
            }
            Shape::String => Value::String(record.text()?),
            Shape::Bool => Value::Bool(record.number()? != 0),
            Shape::Int32 | Shape::Int64 => Value::from(record.number()? as i64),
            Shape::Float => Value::from(f64::from_bits(record.number()?)),
            Shape::Bytes => Value::String(STANDARD.encode(record.bytes()?)),
            Shape::Quantity => Value::String(quantity(record)?),
            Shape::IntOrString => int_or_string(record)?,
            Shape::Time | Shape::MicroTime => time(record)?,
            Shape::Duration => Value::String(format!("{}ns", numbers::<1>(record)?[0])),
            Shape::Any | Shape::FieldsV1 => raw_json(record)?,
            Shape::List(_) | Shape::Map(_) => {
                return Err(damaged("a list of lists does not travel in protobuf"));
            }
        })
    }
}

fn quantity(record: &Record<'_>) -> Result<String, DecodeError> {
    for part in records(record.bytes()?) {
        if let (1, part) = part? {
            return part.text();
        }
    }
    Ok("0".into())
}

/// The first numbers of a message, 0 where there is none.
fn numbers<const N: usize>(record: &Record<'_>) -> Result<[i64; N], DecodeError> {
    let mut found = [0; N];
    for part in records(record.bytes()?) {
        let (number, part) = part?;
        if let Some(slot) = found.get_mut((number as usize).wrapping_sub(1)) {
            *slot = part.number()? as i64;
        }
    }
    Ok(found)
}

fn int_or_string(record: &Record<'_>) -> Result<Value, DecodeError> {
    let (mut is_text, mut number, mut text) = (false, 0, String::new());
    for part in records(record.bytes()?) {
        match part? {
            (1, part) => is_text = part.number()? == 1,
            (2, part) => number = part.number()? as i64,
            (3, part) => text = part.text()?,
            _ => {}
        }
    }
    Ok(if is_text {
        Value::String(text)
    } else {
        Value::from(number)
    })
}

/// Seconds and nanoseconds; an empty message is no time.
fn time(record: &Record<'_>) -> Result<Value, DecodeError> {
    if record.bytes()?.is_empty() {
        return Ok(Value::Null);
    }
    let [seconds, nanos] = numbers::<2>(record)?;
    match Timestamp::new(seconds, i32::try_from(nanos).unwrap_or(0)) {
        Ok(time) => Ok(Value::String(time.to_string())),
        Err(_) => Err(damaged("a time is out of range")),
    }
}

fn raw_json(record: &Record<'_>) -> Result<Value, DecodeError> {
    for part in records(record.bytes()?) {
        if let (1, part) = part? {
            let bytes = part.bytes()?;
            return serde_json::from_slice(bytes)
                .map_err(|error| damaged(&format!("embedded JSON cannot be read: {error}")));
        }
    }
    Ok(Value::Null)
}

#[cfg(test)]
mod tests;
