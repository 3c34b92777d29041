//! JSON with the order and the duplicates of its keys.

use super::{DecodeError, finding};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::{self, Write};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Tree {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
}

/// Reads a text. serde_json refuses nesting deeper than 128, which bounds the recursion here too.
pub(super) fn parse(text: &[u8]) -> Result<Tree, DecodeError> {
    serde_json::from_slice(text).map_err(|error| DecodeError::Syntax(error.to_string()))
}

impl Tree {
    pub(super) fn from_value(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(b) => Self::Bool(b),
            Value::Number(n) => Self::Number(n),
            Value::String(s) => Self::String(s),
            Value::Array(list) => Self::List(list.into_iter().map(Self::from_value).collect()),
            Value::Object(map) => Self::Map(
                map.into_iter()
                    .map(|(k, v)| (k, Self::from_value(v)))
                    .collect(),
            ),
        }
    }

    /// The value without a schema; duplicates are reported with their path.
    pub(super) fn into_value(self, path: &mut String, duplicates: &mut Vec<String>) -> Value {
        let length = path.len();
        match self {
            Self::Null => Value::Null,
            Self::Bool(b) => Value::Bool(b),
            Self::Number(n) => Value::Number(n),
            Self::String(s) => Value::String(s),
            Self::List(list) => {
                let mut values = Vec::with_capacity(list.len());
                for (index, element) in list.into_iter().enumerate() {
                    push_index(path, index);
                    values.push(element.into_value(path, duplicates));
                    path.truncate(length);
                }
                Value::Array(values)
            }
            Self::Map(entries) => {
                let mut map = Map::new();
                for (key, entry) in entries {
                    push_key(path, &key);
                    let value = entry.into_value(path, duplicates);
                    if map.insert(key, value).is_some() {
                        note(duplicates, finding("duplicate", path));
                    }
                    path.truncate(length);
                }
                Value::Object(map)
            }
        }
    }

    /// What Go calls such a value.
    pub(super) fn go_kind(&self) -> String {
        match self {
            Self::Null => "null".into(),
            Self::Bool(_) => "bool".into(),
            Self::Number(n) if n.is_f64() => alloc::format!("number {n}"),
            Self::Number(_) => "number".into(),
            Self::String(_) => "string".into(),
            Self::List(_) => "array".into(),
            Self::Map(_) => "object".into(),
        }
    }
}

/// Adds a finding unless it is there.
pub(super) fn note(findings: &mut Vec<String>, finding: String) {
    if !findings.contains(&finding) {
        findings.push(finding);
    }
}

pub(super) fn push_key(path: &mut String, key: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(key);
}

pub(super) fn push_index(path: &mut String, index: usize) {
    write!(path, "[{index}]").expect("a String takes everything");
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Number::from_f64(value).map_or(Tree::Null, Tree::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::String(value.to_string()))
    }

    fn visit_string<E>(self, value: String) -> Result<Tree, E> {
        Ok(Tree::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = access.next_element()? {
            list.push(element);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Tree, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = access.next_entry()? {
            map.push(entry);
        }
        Ok(Tree::Map(map))
    }
}
