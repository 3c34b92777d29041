//! Cases as they are written.

use std::path::{Path, PathBuf};

use pernode_api::resource;
use serde_json::Value;

/// A case with steps.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    file: String,
    pub(super) id: String,
    pub(super) objects: Vec<Value>,
    pub(super) steps: Vec<Value>,
    pub(super) expected: Vec<Value>,
}

impl Case {
    /// The HTTP cases of one file.
    pub(crate) fn load(directory: &Path, file: &str) -> Vec<Self> {
        let cases = read(directory, file);
        let cases = cases
            .iter()
            .filter(|case| case["given"].get("steps").is_some());
        cases
            .map(|case| Self::from_parts(file, case, &case["given"], &case["expect"]["steps"]))
            .collect()
    }

    /// A case whose requests and expectations are in the form of HTTP cases.
    pub(crate) fn from_parts(file: &str, case: &Value, given: &Value, expected: &Value) -> Self {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        Self {
            file: file.into(),
            id: case["id"].as_str().unwrap_or_default().into(),
            objects: list(&given["objects"]),
            steps: list(&given["steps"]),
            expected: list(expected),
        }
    }

    /// What the test is called.
    pub(crate) fn name(&self) -> String {
        format!("{}::{}", self.file, self.id)
    }
}

/// All cases of one file, as they are written.
pub(crate) fn read(directory: &Path, file: &str) -> Vec<Value> {
    let path = directory.join(format!("{file}.yaml"));
    let text = std::fs::read_to_string(&path);
    let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Where the contract cases are.
pub(crate) fn contract() -> PathBuf {
    std::env::var_os("PERNODE_CASES").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases")),
        PathBuf::from,
    )
}

/// The path an object is posted to; one without a namespace belongs to the case's.
pub(super) fn collection_of(object: &Value, namespace: &str) -> Result<String, String> {
    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let api_version = text("/apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = resource::find_kind(group, version, text("/kind"));
    let resource = resource.ok_or_else(|| format!("no such kind: {object}"))?;
    let root = if group.is_empty() { "/api" } else { "/apis" };
    let namespace = match text("/metadata/namespace") {
        "" => namespace,
        own => own,
    };
    let scope = if resource.namespaced {
        format!("/namespaces/{namespace}")
    } else {
        String::new()
    };
    Ok(format!("{root}/{api_version}{scope}/{}", resource.plural))
}
