//! OpenAPI v3, a document for each group and version: what `kubectl explain`, `apply` and
//! generators read (spec/apiserver.md 1.3).

mod paths;
mod schemas;
mod v2;

use crate::discovery;
use crate::schema::{Docs, Schema};
use alloc::format;
use alloc::string::String;
use serde_json::{Map, Value, json};

pub use v2::{v2, v2_protobuf};

/// Version of the API in the documents.
const VERSION: &str = "v1.36.2";

/// Path of a group and version below the root: `api/v1`, `apis/apps/v1`.
pub fn path_of(group: &str, version: &str) -> String {
    if group.is_empty() {
        format!("api/{version}")
    } else {
        format!("apis/{group}/{version}")
    }
}

/// The index of documents, the answer of `/openapi/v3`.
///
/// `hash` names the content of a document, so that clients may keep it for ever.
pub fn index(hash: impl Fn(&str, &str) -> String) -> Value {
    let mut paths = Map::new();
    for (group, version) in discovery::versions() {
        let path = path_of(group, version);
        let url = format!("/openapi/v3/{path}?hash={}", hash(group, version));
        paths.insert(path, json!({"serverRelativeURL": url}));
    }
    json!({"paths": paths})
}

/// The document of a group and version; `None` for one that is not served.
pub fn document(schema: &Schema, docs: &Docs, group: &str, version: &str) -> Option<Value> {
    if !discovery::versions().contains(&(group, version)) {
        return None;
    }
    let paths = paths::paths(group, version);
    let components = schemas::reachable(schema, docs, &paths);
    Some(json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": VERSION},
        "paths": paths,
        "components": {"schemas": components},
    }))
}

#[cfg(test)]
mod tests;
