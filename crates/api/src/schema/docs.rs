//! The descriptions of types and fields, read when OpenAPI asks for them.

use super::load::inflate;
use alloc::collections::BTreeMap;
use alloc::string::String;

const DATA: &[u8] = include_bytes!("../../data/docs.json.z");

/// Descriptions of one type: of itself, and of its fields by name.
pub type TypeDocs = (String, BTreeMap<String, String>);

/// Descriptions by type name.
#[derive(Debug)]
pub struct Docs(BTreeMap<String, TypeDocs>);

impl Docs {
    /// Reads the embedded data, about half a megabyte.
    pub fn load() -> Self {
        Self(serde_json::from_slice(&inflate(DATA)).expect("tools/schema writes this form"))
    }

    /// What a type is for; empty for one that is not known.
    pub fn of_type(&self, name: &str) -> &str {
        self.0.get(name).map_or("", |(text, _)| text)
    }

    /// What a field of a type is for; empty for one that is not known.
    pub fn of_field(&self, name: &str, field: &str) -> &str {
        self.0
            .get(name)
            .and_then(|(_, fields)| fields.get(field))
            .map_or("", String::as_str)
    }
}
