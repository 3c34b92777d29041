//! Reading the embedded data. It is made together with the crate, so it is never wrong at run time.

use super::{Field, Gvk, ListType, Schema, Shape, TypeDef, TypeId};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use serde::Deserialize;
use serde_json::Value;

const DATA: &[u8] = include_bytes!("../../data/schema.json.z");

#[derive(Deserialize)]
struct File {
    types: Vec<TypeEntry>,
}

#[derive(Deserialize)]
struct TypeEntry {
    n: String,
    f: Vec<FieldEntry>,
    #[serde(default)]
    k: Vec<(String, String, String)>,
    #[serde(default)]
    a: u8,
}

#[derive(Deserialize)]
struct FieldEntry {
    n: String,
    s: String,
    #[serde(default)]
    p: Vec<u32>,
    #[serde(default, rename = "*")]
    pointer: u8,
    #[serde(default)]
    o: u8,
    #[serde(default)]
    z: u8,
    #[serde(default)]
    r: u8,
    g: Option<String>,
    #[serde(default)]
    e: Vec<String>,
    #[serde(default)]
    ps: String,
    pk: Option<String>,
    #[serde(default)]
    lt: String,
    #[serde(default)]
    lk: Vec<String>,
    #[serde(default)]
    mt: String,
    d: Option<Value>,
}

pub(super) fn load() -> Schema {
    let text = inflate(DATA);
    let file: File = serde_json::from_slice(&text).expect("tools/schema writes this form");
    Schema::of(file.types.into_iter().map(type_def).collect())
}

/// Unpacks an embedded file.
pub(super) fn inflate(packed: &[u8]) -> Vec<u8> {
    miniz_oxide::inflate::decompress_to_vec(packed).expect("tools/schema packs this form")
}

fn type_def(entry: TypeEntry) -> TypeDef {
    let kinds = entry.k.into_iter().map(|(group, version, kind)| Gvk {
        group,
        version,
        kind,
    });
    TypeDef {
        name: entry.n,
        fields: entry.f.into_iter().map(field).collect(),
        kinds: kinds.collect(),
        atomic: entry.a == 1,
    }
}

fn field(entry: FieldEntry) -> Field {
    Field {
        shape: shape(&entry.s),
        name: entry.n,
        protobuf: entry.p,
        pointer: entry.pointer == 1,
        omitempty: entry.o == 1,
        omitzero: entry.z == 1,
        required: entry.r == 1,
        go_type: entry.g,
        values: entry.e,
        merge: entry.ps.split(',').any(|s| s == "merge"),
        retain_keys: entry.ps.split(',').any(|s| s == "retainKeys"),
        merge_key: entry.pk,
        list_type: match entry.lt.as_str() {
            "map" => ListType::Map,
            "set" => ListType::Set,
            _ => ListType::Atomic,
        },
        list_map_keys: entry.lk,
        atomic_map: entry.mt == "atomic",
        default: entry.d,
    }
}

fn shape(text: &str) -> Shape {
    let rest = &text[1..];
    match &text[..1] {
        "#" => Shape::Type(TypeId(rest.parse().expect("a type is named by its index"))),
        "[" => Shape::List(Box::new(shape(rest))),
        "{" => Shape::Map(Box::new(shape(rest))),
        "s" => Shape::String,
        "b" => Shape::Bool,
        "i" => Shape::Int32,
        "l" => Shape::Int64,
        "d" => Shape::Float,
        "y" => Shape::Bytes,
        "q" => Shape::Quantity,
        "x" => Shape::IntOrString,
        "t" => Shape::Time,
        "m" => Shape::MicroTime,
        "u" => Shape::Duration,
        "f" => Shape::FieldsV1,
        _ => Shape::Any,
    }
}
