//! Whether an applied configuration fits the schema.

use super::atom::{Atom, field_name, go_type};
use super::field_set::shown;
use crate::patch::go_map_text;
use crate::schema::{Field, Schema, Shape};
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde_json::Value;

/// What does not fit, in upstream's words, each with its path.
pub(super) fn misfits(schema: &Schema, atom: Atom<'_>, object: &Value) -> Vec<String> {
    let mut check = Check {
        schema,
        path: String::new(),
        misfits: Vec::new(),
    };
    check.value(atom, None, object);
    check.misfits
}

/// Several misfits as one text.
pub(super) fn joined(misfits: &[String]) -> String {
    match misfits {
        [one] => one.clone(),
        many => {
            let lines = many.iter().map(|misfit| format!("\n  {misfit}"));
            ["errors:".into()].into_iter().chain(lines).collect()
        }
    }
}

struct Check<'a> {
    schema: &'a Schema,
    path: String,
    misfits: Vec<String>,
}

impl Check<'_> {
    fn report(&mut self, why: &str) {
        let misfit = match self.path.as_str() {
            "" => why.into(),
            path => format!("{path}: {why}"),
        };
        self.misfits.push(misfit);
    }

    fn below(&mut self, name: &str, look: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push_str(&shown(name));
        look(self);
        self.path.truncate(length);
    }

    fn value(&mut self, atom: Atom<'_>, shape: Option<&Shape>, value: &Value) {
        match (atom, value) {
            (_, Value::Null) => {}
            (Atom::Struct(def), Value::Object(map)) => {
                for (key, value) in map {
                    let field = def.field(key);
                    self.below(&field_name(key), |check| match field {
                        None => check.report("field not declared in schema"),
                        Some(field) => check.field(field, value),
                    });
                }
            }
            (Atom::Map(element), Value::Object(map)) => {
                for (key, value) in map {
                    let (atom, _) = atom.member(self.schema, key);
                    self.below(&field_name(key), |check| {
                        check.value(atom, Some(element), value);
                    });
                }
            }
            (Atom::Set | Atom::Keyed(..), Value::Array(list)) => self.list(atom, list),
            (Atom::Leaf, value) => {
                if let Some(shape) = shape {
                    self.leaf(shape, value);
                }
            }
            (atom, value) => {
                self.report(&format!("expected {atom}, got &{{{}}}", go_map_text(value)));
            }
        }
    }

    fn field(&mut self, field: &Field, value: &Value) {
        let atom = Atom::of_field(self.schema, field);
        self.value(atom, Some(&field.shape), value);
    }

    fn list(&mut self, atom: Atom<'_>, list: &[Value]) {
        let element_atom = atom.element(self.schema);
        let mut seen = BTreeSet::new();
        for (index, element) in list.iter().enumerate() {
            match atom.element_name(self.schema, element) {
                Err(error) => self.report(&format!("element {index}: {error}")),
                Ok(name) => {
                    self.below(&name, |check| check.value(element_atom, None, element));
                    if !seen.insert(name.clone()) {
                        self.report(&format!("duplicate entries for key {}", shown(&name)));
                    }
                }
            }
        }
    }

    /// Scalars, and what is owned as a whole.
    fn leaf(&mut self, shape: &Shape, value: &Value) {
        let why = match (shape, value) {
            (Shape::Type(id), Value::Object(_)) => {
                let atom = Atom::of_type(self.schema, *id);
                self.value(atom, None, value);
                return;
            }
            (Shape::List(element), Value::Array(list)) => {
                for (index, value) in list.iter().enumerate() {
                    self.below(&format!("i:{index}"), |check| check.whole(element, value));
                }
                return;
            }
            (Shape::Map(element), Value::Object(map)) => {
                for (key, value) in map {
                    self.below(&field_name(key), |check| check.whole(element, value));
                }
                return;
            }
            (Shape::Type(_) | Shape::Map(_), value) => {
                format!("expected map, got &{{{}}}", go_map_text(value))
            }
            (Shape::List(_), value) => format!("expected list, got &{{{}}}", go_map_text(value)),
            (Shape::Int32 | Shape::Int64 | Shape::Float, value) if !value.is_number() => {
                format!("expected numeric (int or float), got {}", go_type(value))
            }
            (Shape::Bool, value) if !value.is_boolean() => {
                format!("expected boolean, got &{{{}}}", go_map_text(value))
            }
            (Shape::String | Shape::Bytes | Shape::Duration, value) if !value.is_string() => {
                format!(
                    "expected string, got &value.valueUnstructured{{Value:{}}}",
                    go_map_text(value)
                )
            }
            (
                Shape::Quantity | Shape::IntOrString | Shape::Time | Shape::MicroTime,
                Value::Object(_) | Value::Array(_),
            ) => format!("expected any scalar, got &{{{}}}", go_map_text(value)),
            _ => return,
        };
        self.report(&why);
    }

    fn whole(&mut self, shape: &Shape, value: &Value) {
        if !value.is_null() {
            self.leaf(shape, value);
        }
    }
}
