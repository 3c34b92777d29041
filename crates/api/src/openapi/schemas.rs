//! The types of a document: those its paths name, and all that these lead to.

use crate::resource::Resource;
use crate::schema::{Docs, Field, ListType, Schema, Shape, TypeDef};
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde_json::{Map, Value, json};

/// Where the names of types of the meta group begin.
pub(super) const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";
/// Where references to types begin.
const PREFIX: &str = "#/components/schemas/";
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const INT_OR_STRING: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
const RAW: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";

/// Name of a resource's type.
pub(super) fn full_name(resource: &Resource) -> String {
    let group = match resource.group {
        "" => "core",
        other => other.split('.').next().unwrap_or(other),
    };
    format!("io.k8s.api.{group}.{}.{}", resource.version, resource.kind)
}

/// A reference to a type.
pub(super) fn reference(name: &str) -> Value {
    json!({"$ref": format!("{PREFIX}{name}")})
}

/// The types that some paths lead to, by name.
pub(super) fn reachable(
    schema: &Schema,
    docs: &Docs,
    paths: &Map<String, Value>,
) -> Map<String, Value> {
    let mut open: Vec<String> = Vec::new();
    references(&Value::Object(paths.clone()), &mut open);
    let mut done = BTreeSet::new();
    let mut types = Map::new();
    while let Some(name) = open.pop() {
        if !done.insert(name.clone()) {
            continue;
        }
        let described = describe(schema, docs, &name);
        references(&described, &mut open);
        types.insert(name, described);
    }
    types
}

/// Collects the names of the types that a value refers to.
fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            if let Some(name) = map.get("$ref").and_then(Value::as_str) {
                found.push(name.trim_start_matches(PREFIX).to_string());
            }
            map.values().for_each(|v| references(v, found));
        }
        Value::Array(list) => list.iter().for_each(|v| references(v, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// All types of the schema, and the leaves that have a name of their own.
pub(super) fn all(schema: &Schema, docs: &Docs) -> Map<String, Value> {
    let mut types = Map::new();
    for (_, def) in schema.types() {
        types.insert(def.name.clone(), struct_schema(schema, docs, def));
    }
    for name in [QUANTITY, INT_OR_STRING, RAW] {
        types.insert(name.to_string(), describe(schema, docs, name));
    }
    for name in ["Time", "MicroTime", "FieldsV1", "Patch", "Duration"] {
        let name = format!("{META}{name}");
        let described = describe(schema, docs, &name);
        types.insert(name, described);
    }
    types
}

fn describe(schema: &Schema, docs: &Docs, name: &str) -> Value {
    if let Some(id) = schema.type_named(name) {
        return struct_schema(schema, docs, schema.def(id));
    }
    let mut described = match name.strip_prefix(META) {
        Some("Time" | "MicroTime") => json!({"type": "string", "format": "date-time"}),
        Some("Duration") => json!({"type": "string"}),
        Some(_) => json!({"type": "object"}),
        None if name == QUANTITY => json!({"oneOf": [{"type": "string"}, {"type": "number"}]}),
        None if name == INT_OR_STRING => {
            json!({"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]})
        }
        None if name.ends_with("List") => return list_schema(schema, docs, name),
        None => json!({"type": "object"}),
    };
    if !docs.of_type(name).is_empty() {
        described["description"] = docs.of_type(name).into();
    }
    described
}

/// A list kind that has no type in the schema.
fn list_schema(schema: &Schema, docs: &Docs, name: &str) -> Value {
    let item = name.trim_end_matches("List");
    let kinds = schema
        .type_named(item)
        .map(|id| kinds(schema.def(id), "List"));
    let text = |what: &str| json!({"type": "string", "description": what});
    let mut list = json!({
        "description": format!("A list of {} objects.", item.rsplit('.').next().unwrap_or(item)),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": text("Version of the schema of this object."),
            "kind": text("Kind of this object."),
            "items": {"type": "array", "items": with_text(docs.of_type(item), reference(item))},
            "metadata": reference(&format!("{META}ListMeta")),
        },
    });
    if let Some(kinds) = kinds {
        list["x-kubernetes-group-version-kind"] = kinds;
    }
    list
}

fn kinds(def: &TypeDef, suffix: &str) -> Value {
    let kinds = def.kinds.iter();
    kinds
        .map(|k| json!({"group": k.group, "version": k.version, "kind": format!("{}{suffix}", k.kind)}))
        .collect()
}

fn struct_schema(schema: &Schema, docs: &Docs, def: &TypeDef) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in &def.fields {
        properties.insert(field.name.clone(), property(schema, docs, def, field));
        if field.required {
            required.push(Value::from(field.name.as_str()));
        }
    }
    let mut described = json!({"type": "object"});
    if !docs.of_type(&def.name).is_empty() {
        described["description"] = docs.of_type(&def.name).into();
    }
    if !properties.is_empty() {
        described["properties"] = properties.into();
    }
    if !required.is_empty() {
        described["required"] = required.into();
    }
    if !def.kinds.is_empty() {
        described["x-kubernetes-group-version-kind"] = kinds(def, "");
    }
    if def.atomic {
        described["x-kubernetes-map-type"] = "atomic".into();
    }
    described
}

fn property(schema: &Schema, docs: &Docs, def: &TypeDef, field: &Field) -> Value {
    let mut property = with_text(
        docs.of_field(&def.name, &field.name),
        shape(schema, &field.shape),
    );
    let is_struct = matches!(field.shape, Shape::Type(_)) && !field.pointer;
    if let Some(default) = &field.default {
        property["default"] = default.clone();
    } else if is_struct && property.get("$ref").is_none() {
        property["default"] = json!({});
    }
    if !field.values.is_empty() {
        property["enum"] = field.values.clone().into();
    }
    let strategy = match (field.merge, field.retain_keys) {
        (true, true) => Some("merge,retainKeys"),
        (true, false) => Some("merge"),
        (false, true) => Some("retainKeys"),
        (false, false) => None,
    };
    let list_type = match field.list_type {
        ListType::Map => Some("map"),
        ListType::Set => Some("set"),
        ListType::Atomic if matches!(field.shape, Shape::List(_)) => Some("atomic"),
        ListType::Atomic => None,
    };
    let extensions = [
        ("x-kubernetes-patch-strategy", strategy.map(Value::from)),
        (
            "x-kubernetes-patch-merge-key",
            field.merge_key.clone().map(Value::from),
        ),
        ("x-kubernetes-list-type", list_type.map(Value::from)),
        (
            "x-kubernetes-map-type",
            field.atomic_map.then(|| "atomic".into()),
        ),
        (
            "x-kubernetes-list-map-keys",
            (!field.list_map_keys.is_empty()).then(|| field.list_map_keys.clone().into()),
        ),
    ];
    for (name, value) in extensions {
        if let Some(value) = value {
            property[name] = value;
        }
    }
    property
}

/// A reference takes nothing beside it, so a description needs `allOf` around it.
fn with_text(text: &str, mut shape: Value) -> Value {
    if text.is_empty() {
        return shape;
    }
    if shape.get("$ref").is_some() {
        return json!({"description": text, "allOf": [shape]});
    }
    shape["description"] = text.into();
    shape
}

fn shape(schema: &Schema, of: &Shape) -> Value {
    match of {
        Shape::Type(id) => reference(&schema.def(*id).name),
        Shape::List(element) => json!({"type": "array", "items": element_shape(schema, element)}),
        Shape::Map(value) => {
            json!({"type": "object", "additionalProperties": element_shape(schema, value)})
        }
        Shape::String => json!({"type": "string"}),
        Shape::Bool => json!({"type": "boolean"}),
        Shape::Int32 => json!({"type": "integer", "format": "int32"}),
        Shape::Int64 => json!({"type": "integer", "format": "int64"}),
        Shape::Float => json!({"type": "number", "format": "double"}),
        Shape::Bytes => json!({"type": "string", "format": "byte"}),
        Shape::Quantity => reference(QUANTITY),
        Shape::IntOrString => reference(INT_OR_STRING),
        Shape::Time => reference(&format!("{META}Time")),
        Shape::MicroTime => reference(&format!("{META}MicroTime")),
        Shape::Duration => reference(&format!("{META}Duration")),
        Shape::Any => reference(RAW),
        Shape::FieldsV1 => reference(&format!("{META}FieldsV1")),
    }
}

/// Elements have the default of their type.
fn element_shape(schema: &Schema, element: &Shape) -> Value {
    let mut described = shape(schema, element);
    match element {
        Shape::String => described["default"] = "".into(),
        Shape::Type(_) => described = json!({"default": {}, "allOf": [described]}),
        _ => {}
    }
    described
}
