//! Objects as bytes: how they are written, and what can be cut out of them without parsing.
//!
//! Invariant: stored bytes begin with `{"apiVersion":…,"kind":…,"metadata":{…}`, in this order.
//! So a list cuts kind and version off, and a metadata view cuts the metadata out, by slicing.

use bytes::Bytes;
use pernode_api::resource::Resource;
use serde_json::{Map, Value};

/// An encoded object without its resource version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Encoded {
    /// The text, with an empty `resourceVersion` where a version belongs.
    pub(crate) bytes: Vec<u8>,
    /// Where the digits of the version go.
    pub(crate) revision_at: usize,
}

/// The fields that come first, in this order.
const FIRST: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Encodes an object and leaves room for the version that the write will get.
pub(crate) fn encode(object: &Value) -> Encoded {
    let empty = Map::new();
    let object = object.as_object().unwrap_or(&empty);
    let mut out = Vec::with_capacity(2048);
    out.push(b'{');
    text_field(&mut out, "apiVersion", object);
    out.push(b',');
    text_field(&mut out, "kind", object);
    out.extend_from_slice(b",\"metadata\":");
    let metadata = object.get("metadata").and_then(Value::as_object);
    let revision_at = encode_metadata(&mut out, metadata.unwrap_or(&empty));
    for (key, value) in object {
        if !FIRST.contains(&key.as_str()) {
            out.push(b',');
            field(&mut out, key, value);
        }
    }
    out.push(b'}');
    Encoded {
        bytes: out,
        revision_at,
    }
}

/// Encodes an object as it is, in the same order of fields.
pub(crate) fn encode_as_is(object: &Value) -> Vec<u8> {
    let encoded = encode(object);
    let version = object["metadata"]["resourceVersion"].as_str();
    match version.filter(|version| !version.is_empty()) {
        Some(version) => encoded.with_version(version),
        None => encoded.without_version(),
    }
}

impl Encoded {
    /// The object with a version.
    pub(crate) fn with_version(mut self, version: &str) -> Vec<u8> {
        let at = self.revision_at..self.revision_at;
        self.bytes.splice(at, version.bytes());
        self.bytes
    }

    /// The object without the field `resourceVersion`: answers to dry runs have none.
    pub(crate) fn without_version(mut self) -> Vec<u8> {
        const NAME: &[u8] = b"\"resourceVersion\":\"";
        let start = self.revision_at - NAME.len();
        let mut end = self.revision_at + 1;
        let mut start = start;
        if self.bytes.get(end) == Some(&b',') {
            end += 1;
        } else if self.bytes.get(start.wrapping_sub(1)) == Some(&b',') {
            start -= 1;
        }
        self.bytes.drain(start..end);
        self.bytes
    }
}

fn encode_metadata(out: &mut Vec<u8>, metadata: &Map<String, Value>) -> usize {
    out.push(b'{');
    let mut revision_at = None;
    let mut first = true;
    for (key, value) in metadata {
        if key == "resourceVersion" {
            continue;
        }
        if revision_at.is_none() && key.as_str() > "resourceVersion" {
            revision_at = Some(version_field(out, &mut first));
        }
        separate(out, &mut first);
        field(out, key, value);
    }
    let revision_at = revision_at.unwrap_or_else(|| version_field(out, &mut first));
    out.push(b'}');
    revision_at
}

fn version_field(out: &mut Vec<u8>, first: &mut bool) -> usize {
    separate(out, first);
    out.extend_from_slice(b"\"resourceVersion\":\"");
    let at = out.len();
    out.push(b'"');
    at
}

fn separate(out: &mut Vec<u8>, first: &mut bool) {
    if !std::mem::take(first) {
        out.push(b',');
    }
}

fn text_field(out: &mut Vec<u8>, key: &str, object: &Map<String, Value>) {
    let empty = Value::String(String::new());
    field(out, key, object.get(key).unwrap_or(&empty));
}

fn field(out: &mut Vec<u8>, key: &str, value: &Value) {
    serde_json::to_writer(&mut *out, key).expect("writing to memory does not fail");
    out.push(b':');
    serde_json::to_writer(out, value).expect("a JSON value can be written");
}

/// How the bytes of a kind begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    /// `{"apiVersion":"…","kind":"…",`
    prefix: Vec<u8>,
}

impl Layout {
    pub(crate) fn of(resource: &Resource) -> Self {
        let version = resource.api_version();
        let kind = resource.kind;
        Self {
            prefix: format!("{{\"apiVersion\":\"{version}\",\"kind\":\"{kind}\",").into_bytes(),
        }
    }

    /// The object without `apiVersion` and `kind`, as lists have it: what follows the brace.
    pub(crate) fn tail<'a>(&self, object: &'a [u8]) -> &'a [u8] {
        object
            .strip_prefix(self.prefix.as_slice())
            .unwrap_or_else(|| &object[1.min(object.len())..])
    }

    /// The value of the field `metadata`.
    pub(crate) fn metadata<'a>(&self, object: &'a [u8]) -> &'a [u8] {
        self.tail(object)
            .strip_prefix(b"\"metadata\":")
            .and_then(|rest| rest.get(..json_end(rest)?))
            .unwrap_or(b"{}")
    }
}

/// Where the JSON object that begins here ends.
fn json_end(text: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            b'"' => at += string_end(&text[at + 1..])?,
            _ => {}
        }
        at += 1;
    }
    None
}

/// How far the closing quote of a string is from its first character, that quote included.
fn string_end(text: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let quote = from + memchr::memchr2(b'"', b'\\', &text[from..])?;
        if text[quote] == b'"' {
            return Some(quote + 1);
        }
        from = quote + 2;
        if from > text.len() {
            return None;
        }
    }
}

/// Parses stored bytes.
pub(crate) fn parse(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("the store holds objects that were encoded here")
}

/// The only metadata of an object, as `PartialObjectMetadata` of a version.
pub(crate) fn partial(layout: &Layout, object: &[u8], api_version: &str) -> Bytes {
    let metadata = layout.metadata(object);
    let mut out = Vec::with_capacity(metadata.len() + 96);
    out.extend_from_slice(b"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"");
    out.extend_from_slice(api_version.as_bytes());
    out.extend_from_slice(b"\",\"metadata\":");
    out.extend_from_slice(metadata);
    out.push(b'}');
    out.into()
}

/// Reads of the fields that the registry itself looks at.
pub(crate) trait Object {
    /// A text in the metadata, empty when absent.
    fn meta(&self, field: &str) -> &str;
    /// The metadata, made when it is absent.
    fn metadata_mut(&mut self) -> &mut Map<String, Value>;
    /// Sets a text in the metadata.
    fn set_meta(&mut self, field: &str, value: &str);
}

impl Object for Value {
    fn meta(&self, field: &str) -> &str {
        self["metadata"][field].as_str().unwrap_or_default()
    }

    fn metadata_mut(&mut self) -> &mut Map<String, Value> {
        if !self["metadata"].is_object() {
            self["metadata"] = Self::Object(Map::new());
        }
        self["metadata"]
            .as_object_mut()
            .expect("the metadata was just made an object")
    }

    fn set_meta(&mut self, field: &str, value: &str) {
        self.metadata_mut()
            .insert(field.to_owned(), Self::String(value.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use pernode_api::resource::find;
    use serde_json::json;

    use super::*;

    fn pod() -> Value {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "a", "uid": "u", "annotations": {"x": "}\"\\"}},
            "spec": {"nodeName": "n"}, "aFirst": 1,
        })
    }

    #[test]
    fn the_version_has_its_place() {
        let text = String::from_utf8(encode(&pod()).with_version("42")).unwrap();
        assert_eq!(
            text,
            r#"{"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"x":"}\"\\"},"name":"a","resourceVersion":"42","uid":"u"},"aFirst":1,"spec":{"nodeName":"n"}}"#
        );
        for metadata in [json!({}), json!({"name": "a"}), json!({"uid": "u"})] {
            let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata});
            let with: Value = serde_json::from_slice(&encode(&object).with_version("7")).unwrap();
            assert_eq!(with["metadata"]["resourceVersion"], "7");
            let without: Value =
                serde_json::from_slice(&encode(&object).without_version()).unwrap();
            assert_eq!(without, object);
        }
    }

    #[test]
    fn slices() {
        let layout = Layout::of(find("", "v1", "pods").unwrap());
        let bytes = encode(&pod()).with_version("42");
        let tail = String::from_utf8(layout.tail(&bytes).to_vec()).unwrap();
        assert!(tail.starts_with("\"metadata\":{"), "{tail}");
        let metadata: Value = serde_json::from_slice(layout.metadata(&bytes)).unwrap();
        assert_eq!(metadata["resourceVersion"], "42");
        assert_eq!(metadata["annotations"]["x"], "}\"\\");
        let partial: Value =
            serde_json::from_slice(&partial(&layout, &bytes, "meta.k8s.io/v1")).unwrap();
        assert_eq!(partial["kind"], "PartialObjectMetadata");
        assert_eq!(partial["metadata"], metadata);
    }
}
