//! What the API knows about types: one data set behind decoding, pruning, protobuf, strategic
//! merge, field ownership and OpenAPI.
//!
//! The data is made by `tools/schema` and embedded in two files: structure, which every start
//! reads, and descriptions, which only OpenAPI asks for.

mod docs;
mod load;

use crate::resource::Resource;
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use serde_json::Value;

pub use docs::{Docs, TypeDocs};

/// A type's place in the [`Schema`] it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub(crate) u32);

/// All types. Loaded once and passed by reference.
#[derive(Debug)]
pub struct Schema {
    types: Vec<TypeDef>,
    names: BTreeMap<String, TypeId>,
    kinds: BTreeMap<Gvk, TypeId>,
}

/// Group, version and kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gvk {
    /// API group; empty for the core group.
    pub group: String,
    /// Version.
    pub version: String,
    /// Kind.
    pub kind: String,
}

/// A type with fields.
#[derive(Debug)]
pub struct TypeDef {
    /// Name in OpenAPI, such as `io.k8s.api.core.v1.PodSpec`.
    pub name: String,
    /// Fields, sorted by name.
    pub fields: Vec<Field>,
    /// Kinds that objects of this type have.
    pub kinds: Vec<Gvk>,
    /// Whether it is owned as a whole in server-side apply.
    pub atomic: bool,
}

/// A field of a type.
#[derive(Debug)]
pub struct Field {
    /// Name in JSON.
    pub name: String,
    /// What it holds.
    pub shape: Shape,
    /// Numbers of the protobuf fields that lead to it: more than one when Go embeds a struct that
    /// JSON flattens. Empty for fields that do not travel in protobuf.
    pub protobuf: Vec<u32>,
    /// Whether Go holds a pointer: then zero and absent differ.
    pub pointer: bool,
    /// Whether Go leaves it out of JSON when it is empty.
    pub omitempty: bool,
    /// Whether Go leaves a struct out of JSON when all of it is zero.
    pub omitzero: bool,
    /// Whether OpenAPI lists it as required.
    pub required: bool,
    /// Name of the Go type where the shape does not say it, such as `v1.DNSPolicy`.
    pub go_type: Option<String>,
    /// The values it can have, if they are few.
    pub values: Vec<String>,
    /// Strategic merge: whether maps and lists are merged rather than replaced.
    pub merge: bool,
    /// Strategic merge: whether keys that the patch does not retain are dropped.
    pub retain_keys: bool,
    /// Strategic merge: the key by which elements of a list are the same.
    pub merge_key: Option<String>,
    /// Server-side apply: how the elements of a list are owned.
    pub list_type: ListType,
    /// Server-side apply: the fields that identify an element of a map-like list.
    pub list_map_keys: Vec<String>,
    /// Server-side apply: whether a map or struct is owned as a whole.
    pub atomic_map: bool,
    /// Value it has when absent, where the API publishes one.
    pub default: Option<Value>,
}

/// How the elements of a list are owned in server-side apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListType {
    /// The list is owned as a whole.
    Atomic,
    /// Elements are scalars, each owned on its own.
    Set,
    /// Elements are identified by keys, each owned on its own.
    Map,
}

/// What a field holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// A struct.
    Type(TypeId),
    /// A list.
    List(Box<Self>),
    /// A map with text keys.
    Map(Box<Self>),
    /// A text.
    String,
    /// A truth value.
    Bool,
    /// An integer of 32 bits.
    Int32,
    /// An integer of 64 bits.
    Int64,
    /// A floating point number.
    Float,
    /// Bytes, base64 in JSON.
    Bytes,
    /// An amount, a text or a number in JSON.
    Quantity,
    /// A 32-bit integer or a text.
    IntOrString,
    /// A time in whole seconds.
    Time,
    /// A time in microseconds.
    MicroTime,
    /// A duration as Go writes it.
    Duration,
    /// Any JSON.
    Any,
    /// A set of fields, any JSON object.
    FieldsV1,
}

impl Schema {
    /// Reads the embedded data.
    pub fn load() -> Self {
        load::load()
    }

    fn of(types: Vec<TypeDef>) -> Self {
        let ids = || (0_u32..).map(TypeId);
        let names = types
            .iter()
            .zip(ids())
            .map(|(t, id)| (t.name.clone(), id))
            .collect();
        let kinds = types
            .iter()
            .zip(ids())
            .flat_map(|(t, id)| t.kinds.iter().map(move |kind| (kind.clone(), id)))
            .collect();
        Self {
            types,
            names,
            kinds,
        }
    }

    /// The type of a resource's objects.
    pub fn type_of(&self, resource: &Resource) -> TypeId {
        self.type_of_kind(resource.group, resource.version, resource.kind)
            .expect("the schema is made for all resources of the table")
    }

    /// The type of a kind.
    pub fn type_of_kind(&self, group: &str, version: &str, kind: &str) -> Option<TypeId> {
        let gvk = Gvk {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
        };
        self.kinds.get(&gvk).copied()
    }

    /// A type by its OpenAPI name.
    pub fn type_named(&self, name: &str) -> Option<TypeId> {
        self.names.get(name).copied()
    }

    /// What a type is made of.
    pub fn def(&self, id: TypeId) -> &TypeDef {
        &self.types[id.0 as usize]
    }

    /// All types.
    pub fn types(&self) -> impl Iterator<Item = (TypeId, &TypeDef)> {
        (0_u32..).map(TypeId).zip(&self.types)
    }
}

impl TypeDef {
    /// A field by its JSON name, which is case-sensitive.
    pub fn field(&self, name: &str) -> Option<&Field> {
        let at = self
            .fields
            .binary_search_by(|field| field.name.as_str().cmp(name))
            .ok()?;
        Some(&self.fields[at])
    }

    /// The last part of the name, which is the name of the Go type: `PodSpec`.
    pub fn short_name(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or(&self.name)
    }

    /// Package and name as Go shows them in errors: `v1.PodSpec`.
    pub fn go_name(&self) -> String {
        let mut parts: Vec<&str> = self.name.rsplit('.').take(2).collect();
        parts.reverse();
        parts.join(".")
    }
}

impl Field {
    /// How Go names the type of this field in errors.
    pub fn go_type_name(&self, schema: &Schema) -> String {
        self.shape.go_name(schema, self.go_type.as_deref())
    }
}

impl Shape {
    /// How Go names it in errors; `leaf` replaces the name of the innermost type.
    pub fn go_name(&self, schema: &Schema, leaf: Option<&str>) -> String {
        let plain = |name: &str| leaf.unwrap_or(name).to_owned();
        match self {
            Self::Type(id) => schema.def(*id).go_name(),
            Self::List(element) => alloc::format!("[]{}", element.go_name(schema, leaf)),
            Self::Map(value) => alloc::format!("map[string]{}", value.go_name(schema, leaf)),
            Self::String => plain("string"),
            Self::Bool => "bool".to_owned(),
            Self::Int32 => "int32".to_owned(),
            Self::Int64 => "int64".to_owned(),
            Self::Float => "float64".to_owned(),
            Self::Bytes => "[]uint8".to_owned(),
            Self::Quantity => "resource.Quantity".to_owned(),
            Self::IntOrString => "intstr.IntOrString".to_owned(),
            Self::Time => "v1.Time".to_owned(),
            Self::MicroTime => "v1.MicroTime".to_owned(),
            Self::Duration => "v1.Duration".to_owned(),
            Self::Any => "runtime.RawExtension".to_owned(),
            Self::FieldsV1 => "v1.FieldsV1".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
