//! The walk along the schema.

use super::leaf::leaf;
use super::tree::{Tree, note, push_index, push_key};
use super::{DecodeError, finding, type_error};
use crate::schema::{Field, Schema, Shape, TypeDef, TypeId};
use alloc::string::String;
use alloc::vec::Vec;
use serde_json::{Map, Value};

/// Walks one object and remembers where it is and what it has found.
pub(super) struct Walk<'a> {
    schema: &'a Schema,
    /// Path with indices, as findings show it.
    path: String,
    /// Path of struct fields only, as Go's errors show it, and the struct of its last field.
    fields: String,
    owner: Option<&'a TypeDef>,
    findings: Vec<String>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(schema: &'a Schema) -> Self {
        Self {
            schema,
            path: String::new(),
            fields: String::new(),
            owner: None,
            findings: Vec::new(),
        }
    }

    pub(super) fn findings(self) -> Vec<String> {
        self.findings
    }

    /// The object itself: `null` is an empty one.
    pub(super) fn root(&mut self, id: TypeId, tree: Tree) -> Result<Value, DecodeError> {
        let def = self.schema.def(id);
        match tree {
            Tree::Map(entries) => self.object(def, entries),
            Tree::Null => self.object(def, Vec::new()),
            other => Err(type_error(&other.go_kind(), None, &def.go_name())),
        }
    }

    fn object(
        &mut self,
        def: &'a TypeDef,
        entries: Vec<(String, Tree)>,
    ) -> Result<Value, DecodeError> {
        let (length, depth) = (self.path.len(), self.fields.len());
        let mut map = Map::new();
        let mut seen: Vec<&str> = Vec::with_capacity(entries.len());
        for (key, tree) in entries {
            push_key(&mut self.path, &key);
            match def.field(&key) {
                None => note(&mut self.findings, finding("unknown", &self.path)),
                Some(field) => {
                    if seen.contains(&field.name.as_str()) {
                        note(&mut self.findings, finding("duplicate", &self.path));
                    }
                    seen.push(&field.name);
                    push_key(&mut self.fields, &key);
                    let owner = self.owner.replace(def);
                    if let Some(value) = self.field(field, tree)? {
                        map.insert(key, value);
                    } else {
                        map.remove(&key);
                    }
                    self.owner = owner;
                    self.fields.truncate(depth);
                }
            }
            self.path.truncate(length);
        }
        complete(self.schema, def, &mut map);
        Ok(Value::Object(map))
    }

    /// The value of a field, `None` where Go would leave it out.
    fn field(&mut self, field: &'a Field, tree: Tree) -> Result<Option<Value>, DecodeError> {
        if tree == Tree::Null {
            return Ok(None);
        }
        let value = self.value(field, &field.shape, tree)?;
        Ok(if is_left_out(field, &value) {
            None
        } else {
            Some(value)
        })
    }

    fn value(
        &mut self,
        field: &'a Field,
        shape: &'a Shape,
        tree: Tree,
    ) -> Result<Value, DecodeError> {
        match (shape, tree) {
            (Shape::Type(id), Tree::Map(entries)) => self.object(self.schema.def(*id), entries),
            (Shape::List(element), Tree::List(list)) => self.list(field, element, list),
            (Shape::Map(element), Tree::Map(entries)) => self.map(field, element, entries),
            (Shape::Any, tree) => Ok(self.any(tree)),
            (Shape::FieldsV1, tree @ Tree::Map(_)) => Ok(self.any(tree)),
            (shape, tree) => match leaf(shape, &tree)? {
                Some(value) => Ok(value),
                None => Err(self.mismatch(field, shape, &tree)),
            },
        }
    }

    fn list(
        &mut self,
        field: &'a Field,
        element: &'a Shape,
        list: Vec<Tree>,
    ) -> Result<Value, DecodeError> {
        let length = self.path.len();
        let mut values = Vec::with_capacity(list.len());
        for (index, tree) in list.into_iter().enumerate() {
            push_index(&mut self.path, index);
            values.push(match tree {
                Tree::Null => zero(self.schema, element),
                tree => self.value(field, element, tree)?,
            });
            self.path.truncate(length);
        }
        Ok(Value::Array(values))
    }

    fn map(
        &mut self,
        field: &'a Field,
        element: &'a Shape,
        entries: Vec<(String, Tree)>,
    ) -> Result<Value, DecodeError> {
        let length = self.path.len();
        let mut map = Map::new();
        for (key, tree) in entries {
            push_key(&mut self.path, &key);
            let value = match tree {
                Tree::Null => zero(self.schema, element),
                tree => self.value(field, element, tree)?,
            };
            if map.insert(key, value).is_some() {
                note(&mut self.findings, finding("duplicate", &self.path));
            }
            self.path.truncate(length);
        }
        Ok(Value::Object(map))
    }

    /// JSON that no schema describes is kept as it is; its duplicates are not looked at.
    fn any(&mut self, tree: Tree) -> Value {
        tree.into_value(&mut String::new(), &mut Vec::new())
    }

    fn mismatch(&self, field: &Field, shape: &Shape, tree: &Tree) -> DecodeError {
        let owner = self.owner.map_or("", TypeDef::short_name);
        let found = match (shape, tree) {
            (Shape::Int32 | Shape::Int64 | Shape::IntOrString, Tree::Number(n)) => {
                alloc::format!("number {n}")
            }
            (_, tree) => tree.go_kind(),
        };
        let wanted = shape.go_name(self.schema, field.go_type.as_deref());
        type_error(&found, Some((owner, &self.fields)), &wanted)
    }
}

/// Whether Go leaves a value out of JSON: an empty one without a pointer.
fn is_left_out(field: &Field, value: &Value) -> bool {
    match value {
        Value::Null => true,
        _ if !field.omitempty && !field.omitzero => false,
        // An empty list of entries asks for them to be cleared: the write that follows reads it.
        Value::Array(list) => list.is_empty() && field.name != "managedFields",
        Value::Object(map) => map.is_empty() && !matches!(field.shape, Shape::Type(_) | Shape::Any),
        _ if field.pointer || is_struct_in_go(&field.shape) => false,
        Value::Bool(b) => !b,
        Value::Number(n) => n.as_f64() == Some(0.0),
        Value::String(s) => s.is_empty(),
    }
}

/// Leaves that are structs in Go are never empty.
fn is_struct_in_go(shape: &Shape) -> bool {
    matches!(
        shape,
        Shape::Quantity | Shape::IntOrString | Shape::Time | Shape::MicroTime | Shape::Any
    )
}

/// Adds the fields that Go writes even when nobody has set them.
fn complete(schema: &Schema, def: &TypeDef, map: &mut Map<alloc::string::String, Value>) {
    for field in &def.fields {
        if map.contains_key(&field.name) {
            continue;
        }
        let is_struct = matches!(field.shape, Shape::Type(_)) || is_struct_in_go(&field.shape);
        let is_struct = is_struct && !field.pointer;
        if field.omitzero || (field.omitempty && !is_struct) {
            continue;
        }
        let value = if field.pointer {
            Value::Null
        } else {
            zero(schema, &field.shape)
        };
        map.insert(field.name.clone(), value);
    }
}

/// What Go writes for a value that nobody has set.
fn zero(schema: &Schema, shape: &Shape) -> Value {
    match shape {
        Shape::Type(id) => {
            let mut map = Map::new();
            complete(schema, schema.def(*id), &mut map);
            Value::Object(map)
        }
        Shape::String => Value::String(String::new()),
        Shape::Bool => Value::Bool(false),
        Shape::Int32 | Shape::Int64 | Shape::Float | Shape::IntOrString => Value::from(0),
        Shape::Quantity => Value::from("0"),
        Shape::Duration => Value::from("0s"),
        Shape::List(_)
        | Shape::Map(_)
        | Shape::Bytes
        | Shape::Time
        | Shape::MicroTime
        | Shape::Any
        | Shape::FieldsV1 => Value::Null,
    }
}
