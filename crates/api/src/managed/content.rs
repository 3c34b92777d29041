//! The fields that an object has, and the object without some of them.

use super::atom::{Atom, elements, field_name};
use super::field_set::{Branches, FieldSet, attach, is_member};
use crate::schema::Schema;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use serde_json::{Map, Value};

/// All fields of an object: what an applied configuration owns.
///
/// Scalars and atomic values, keys of maps, elements of lists, and maps that are empty or `null`.
/// Structs with content are not owned themselves (upstream: `ToFieldSet`).
pub(super) fn fields_of(schema: &Schema, atom: Atom<'_>, object: &Value) -> FieldSet {
    FieldSet::of(content(schema, atom, object).1)
}

/// Whether the value itself is a member, and what is below it.
fn content(schema: &Schema, atom: Atom<'_>, value: &Value) -> (bool, Branches) {
    match (atom, value) {
        (Atom::Leaf, _) => (true, Map::new()),
        (_, Value::Null) => (false, Map::new()),
        (Atom::Struct(_) | Atom::Map(_), Value::Object(map)) => {
            (false, map_content(schema, atom, map))
        }
        (Atom::Set | Atom::Keyed(..), Value::Array(list)) => {
            (false, list_content(schema, atom, list))
        }
        _ => (true, Map::new()),
    }
}

fn map_content(schema: &Schema, atom: Atom<'_>, map: &Map<String, Value>) -> Branches {
    let mut branches = Map::new();
    for (key, value) in map {
        let (atom, declared) = atom.member(schema, key);
        let (member, below) = content(schema, atom, value);
        let is_empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
        attach(
            &mut branches,
            field_name(key),
            member || is_empty || !declared,
            below,
        );
    }
    branches
}

fn list_content(schema: &Schema, atom: Atom<'_>, list: &[Value]) -> Branches {
    let mut named: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for element in list {
        if let Ok(name) = atom.element_name(schema, element) {
            named.entry(name).or_default().push(element);
        }
    }
    let mut branches = Map::new();
    for (name, elements) in named {
        let below = match elements.as_slice() {
            [element] => content(schema, atom.element(schema), element).1,
            // Duplicates are owned together, without what is in them.
            _ => Map::new(),
        };
        attach(&mut branches, name, true, below);
    }
    branches
}

/// The value without some fields; `None` when nothing is left of it.
pub(super) fn without(
    schema: &Schema,
    atom: Atom<'_>,
    value: &Value,
    fields: &Branches,
) -> Option<Value> {
    match (atom, value) {
        (Atom::Struct(_) | Atom::Map(_), Value::Object(map)) => {
            let kept = map.iter().filter_map(|(key, value)| {
                let (atom, _) = atom.member(schema, key);
                let value = rest_of(schema, atom, value, fields.get(&field_name(key)))?;
                Some((key.clone(), value))
            });
            let kept: Map<String, Value> = kept.collect();
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
        (Atom::Set | Atom::Keyed(..), Value::Array(_)) => {
            let element_atom = atom.element(schema);
            let list = elements(value).unwrap_or_default();
            let kept = list.iter().filter_map(|element| {
                let name = atom.element_name(schema, element).ok();
                let node = name.and_then(|name| fields.get(&name));
                rest_of(schema, element_atom, element, node)
            });
            let kept: Vec<Value> = kept.collect();
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        _ => Some(value.clone()),
    }
}

fn rest_of(schema: &Schema, atom: Atom<'_>, value: &Value, node: Option<&Value>) -> Option<Value> {
    match node.and_then(Value::as_object) {
        None => Some(value.clone()),
        Some(node) if is_member(node) => None,
        Some(node) => without(schema, atom, value, node),
    }
}
