//! OpenAPI v2 for older clients: one document with all types, as JSON or as the protobuf message
//! that kubectl asks for.

use super::{VERSION, paths, schemas};
use crate::discovery;
use crate::schema::{Docs, Schema};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde_json::{Map, Value, json};

/// The document as JSON.
pub fn v2(schema: &Schema, docs: &Docs) -> Value {
    let mut all_paths = Map::new();
    for (group, version) in discovery::versions() {
        for (path, operations) in paths::paths(group, version) {
            all_paths.insert(path, older(operations));
        }
    }
    let definitions: Map<String, Value> = schemas::all(schema, docs)
        .into_iter()
        .map(|(name, def)| (name, older(def)))
        .collect();
    json!({
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": VERSION},
        "paths": all_paths,
        "definitions": definitions,
    })
}

/// What v3 says, in the words of v2.
fn older(value: Value) -> Value {
    match value {
        Value::Object(mut map) => {
            // v2 knows no allOf around a reference: the reference takes the description beside it.
            if let Some(Value::Array(all)) = map.remove("allOf")
                && let Some(Value::Object(only)) = all.into_iter().next()
            {
                map.extend(only);
            }
            if map.remove("oneOf").is_some() {
                map.insert("type".into(), "string".into());
            }
            if let Some(Value::String(target)) = map.get_mut("$ref") {
                *target = target.replace("#/components/schemas/", "#/definitions/");
            }
            flatten_parameter(&mut map);
            flatten_bodies(&mut map);
            Value::Object(map.into_iter().map(|(k, v)| (k, older(v))).collect())
        }
        Value::Array(list) => Value::Array(list.into_iter().map(older).collect()),
        other => other,
    }
}

/// Parameters carry their type themselves.
fn flatten_parameter(map: &mut Map<String, Value>) {
    if map.contains_key("in")
        && let Some(Value::Object(schema)) = map.remove("schema")
    {
        map.extend(schema);
    }
}

/// Bodies and answers have one schema for all content types.
fn flatten_bodies(map: &mut Map<String, Value>) {
    let first = |content: Value| content.as_object().and_then(|c| c.values().next().cloned());
    if let Some(mut body) = map.remove("requestBody") {
        let schema = first(body["content"].take()).map(|mut c| c["schema"].take());
        let parameter = json!({"name": "body", "in": "body", "required": true, "schema": schema});
        if let Some(list) = map
            .entry("parameters")
            .or_insert_with(|| json!([]))
            .as_array_mut()
        {
            // Marked so that its schema stays: only simple parameters are flattened.
            list.push(parameter);
        }
    }
    if let Some(content) = map.remove("content")
        && let Some(mut content) = first(content)
    {
        map.insert("schema".into(), content["schema"].take());
    }
}

/// The definitions as gnostic's protobuf message `openapi.v2.Document`, which is the only form of
/// v2 that kubectl asks for.
pub fn v2_protobuf(schema: &Schema, docs: &Docs) -> Vec<u8> {
    let mut definitions = Message::default();
    for (name, definition) in schemas::all(schema, docs) {
        let mut named = Message::default();
        named.text(1, &name);
        named.message(2, schema_message(&older(definition)));
        definitions.message(1, named);
    }
    let mut info = Message::default();
    info.text(1, "Kubernetes");
    info.text(2, VERSION);
    let mut document = Message::default();
    document.text(1, "2.0");
    document.message(2, info);
    document.message(8, Message::default());
    document.message(9, definitions);
    document.0
}

/// A protobuf message being written.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut number: usize) {
        while number >= 0x80 {
            self.0.push(number as u8 & 0x7f | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn bytes(&mut self, number: u32, bytes: &[u8]) {
        self.varint((number as usize) << 3 | 2);
        self.varint(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, number: u32, text: &str) {
        self.bytes(number, text.as_bytes());
    }

    fn message(&mut self, number: u32, message: Self) {
        self.bytes(number, &message.0);
    }
}

/// gnostic's `openapi.v2.Schema`.
fn schema_message(schema: &Value) -> Message {
    let mut message = Message::default();
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    for (number, key) in [(1, "$ref"), (2, "format"), (4, "description")] {
        if let Some(text) = text(key) {
            message.text(number, text);
        }
    }
    for required in schema["required"].as_array().into_iter().flatten() {
        message.text(19, required.as_str().unwrap_or_default());
    }
    if let Some(additional) = schema.get("additionalProperties") {
        let mut item = Message::default();
        item.message(1, schema_message(additional));
        message.message(21, item);
    }
    if let Some(r#type) = text("type") {
        let mut item = Message::default();
        item.text(1, r#type);
        message.message(22, item);
    }
    if let Some(items) = schema.get("items") {
        let mut item = Message::default();
        item.message(1, schema_message(items));
        message.message(23, item);
    }
    if let Some(Value::Object(properties)) = schema.get("properties") {
        let mut all = Message::default();
        for (name, property) in properties {
            let mut named = Message::default();
            named.text(1, name);
            named.message(2, schema_message(property));
            all.message(1, named);
        }
        message.message(25, all);
    }
    for (name, extension) in schema
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(k, _)| k.starts_with("x-"))
    {
        let mut any = Message::default();
        any.text(2, &yaml(extension));
        let mut named = Message::default();
        named.text(1, name);
        named.message(2, any);
        message.message(31, named);
    }
    message
}

/// An extension travels as YAML text; JSON is YAML.
fn yaml(value: &Value) -> String {
    format!(
        "{}\n",
        value
            .as_str()
            .map_or_else(|| value.to_string(), ToString::to_string)
    )
}
