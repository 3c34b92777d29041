//! How the values of a field are owned: as a whole, or piece by piece.

use super::field_set::Branches;
use crate::schema::{Field, ListType, Schema, Shape, TypeDef, TypeId};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use serde_json::{Map, Value};

/// The unit of ownership of a value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Atom<'a> {
    /// Owned as a whole: scalars, and lists and maps that are atomic.
    Leaf,
    /// A struct, owned by fields.
    Struct(&'a TypeDef),
    /// A map, owned by keys.
    Map(&'a Shape),
    /// A list of scalars, owned by values.
    Set,
    /// A list of structs, owned by elements that keys identify.
    Keyed(&'a Shape, &'a [String]),
}

impl<'a> Atom<'a> {
    /// How objects of a type are owned.
    pub(super) fn of_type(schema: &'a Schema, id: TypeId) -> Self {
        Self::Struct(schema.def(id))
    }

    pub(super) fn of_field(schema: &'a Schema, field: &'a Field) -> Self {
        match (&field.shape, field.list_type) {
            (Shape::Type(_) | Shape::Map(_), _) if field.atomic_map => Self::Leaf,
            (Shape::List(_), ListType::Set) => Self::Set,
            (Shape::List(element), ListType::Map) => Self::Keyed(element, &field.list_map_keys),
            (shape, _) => Self::of_shape(schema, shape),
        }
    }

    fn of_shape(schema: &'a Schema, shape: &'a Shape) -> Self {
        match shape {
            Shape::Type(id) if !schema.def(*id).atomic => Self::Struct(schema.def(*id)),
            Shape::Map(value) => Self::Map(value),
            _ => Self::Leaf,
        }
    }

    /// How a member of a struct or map is owned, and whether the schema declares it by name.
    pub(super) fn member(self, schema: &'a Schema, name: &str) -> (Self, bool) {
        match self {
            Self::Struct(def) => match def.field(name) {
                Some(field) => (Self::of_field(schema, field), true),
                None => (Self::Leaf, false),
            },
            Self::Map(value) => (Self::of_shape(schema, value), false),
            _ => (Self::Leaf, false),
        }
    }

    /// How an element of a list is owned.
    pub(super) fn element(self, schema: &'a Schema) -> Self {
        match self {
            Self::Keyed(element, _) => Self::of_shape(schema, element),
            _ => Self::Leaf,
        }
    }

    /// What lies below a branch of a set of fields.
    pub(super) fn branch(self, schema: &'a Schema, name: &str) -> (Self, bool) {
        match name.strip_prefix("f:") {
            Some(field) => self.member(schema, field),
            None => (self.element(schema), false),
        }
    }

    /// The branch of an element of a list.
    pub(super) fn element_name(
        self,
        schema: &Schema,
        element: &Value,
    ) -> Result<String, ElementError> {
        match self {
            Self::Keyed(shape, keys) => key_name(schema, shape, keys, element),
            _ => match element {
                Value::Null => Err(ElementError::Null),
                Value::Object(_) => Err(ElementError::Map),
                Value::Array(_) => Err(ElementError::List),
                scalar => Ok(format!("v:{scalar}")),
            },
        }
    }
}

/// Why an element of a list cannot be told from the others.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ElementError {
    #[error("associative list without keys has an element that's an explicit null")]
    Null,
    #[error("associative list without keys has an element that's a map type")]
    Map,
    #[error("not supported: associative list with lists as elements")]
    List,
    #[error("associative list with keys may not have non-map elements")]
    NoMap,
    #[error("associative list with keys has an element that's an explicit null")]
    NullMap,
    #[error(
        "associative list with keys has an element that omits key field {0:?} (and doesn't have default value)"
    )]
    NoKey(String),
}

fn key_name(
    schema: &Schema,
    shape: &Shape,
    keys: &[String],
    element: &Value,
) -> Result<String, ElementError> {
    let Value::Object(map) = element else {
        return Err(if element.is_null() {
            ElementError::NullMap
        } else {
            ElementError::NoMap
        });
    };
    let default = |key: &str| match shape {
        Shape::Type(id) => schema.def(*id).field(key)?.default.as_ref(),
        _ => None,
    };
    // Most lists have one key; writing that text at once saves a map per element.
    if let [key] = keys {
        let value = map.get(key).or_else(|| default(key));
        let value = value.ok_or_else(|| ElementError::NoKey(key.clone()))?;
        return Ok(format!("k:{{\"{key}\":{value}}}"));
    }
    let mut named = Map::new();
    for key in keys {
        let value = map.get(key).or_else(|| default(key));
        let value = value.ok_or_else(|| ElementError::NoKey(key.clone()))?;
        named.insert(key.clone(), value.clone());
    }
    Ok(format!("k:{}", Value::Object(named)))
}

/// The branch of a member of a struct or map.
pub(super) fn field_name(name: &str) -> String {
    ["f:", name].concat()
}

/// A value's members, none for `null`; `Err` for what is no map.
pub(super) fn members(value: &Value) -> Result<Option<&Map<String, Value>>, ()> {
    match value {
        Value::Object(map) => Ok(Some(map)),
        Value::Null => Ok(None),
        _ => Err(()),
    }
}

/// A value's elements, none for `null`; `Err` for what is no list.
pub(super) fn elements(value: &Value) -> Result<&[Value], ()> {
    match value {
        Value::Array(list) => Ok(list),
        Value::Null => Ok(&[]),
        _ => Err(()),
    }
}

/// Marks fields that a struct declares as members when something below them is one.
///
/// Upstream: `EnsureNamedFieldsAreMembers` of structured-merge-diff. It lets a removal take a
/// struct along whose last field goes.
pub(super) fn name_structs(schema: &Schema, atom: Atom<'_>, node: &mut Branches) {
    for (name, child) in node.iter_mut() {
        let Value::Object(child) = child else {
            continue;
        };
        if child.is_empty() {
            continue;
        }
        let (atom, declared) = atom.branch(schema, name);
        name_structs(schema, atom, child);
        if declared {
            child.insert(".".to_owned(), Value::Object(Map::new()));
        }
    }
}

impl core::fmt::Display for Atom<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Leaf => "scalar",
            Self::Struct(_) | Self::Map(_) => "map",
            Self::Set | Self::Keyed(..) => "list",
        })
    }
}

/// A scalar in the words of Go's `%T`.
pub(super) fn go_type(value: &Value) -> String {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(n) if n.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
    .to_string()
}
