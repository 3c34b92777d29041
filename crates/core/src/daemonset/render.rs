//! The pods a DaemonSet makes (section 2 of the contract).

use super::placement;
use super::view::{DaemonSet, GENERATION_LABEL, HASH_LABEL};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use serde_json::{Map, Value, json};

/// Everything of a pod that does not depend on its node. Cloning is cheap.
#[derive(Debug, Clone, PartialEq)]
pub struct PodBase {
    json: Arc<Value>,
}

impl PodBase {
    /// Prepares the pods of a DaemonSet's current template.
    pub fn of(set: &DaemonSet, hash: &str) -> Self {
        let template = &set.spec.template;
        let mut spec = match template.json().get("spec") {
            Some(Value::Object(spec)) => spec.clone(),
            Some(_) | None => Map::new(),
        };
        let host_network = template.spec().host_network;
        let own = spec.remove("tolerations");
        spec.insert(
            "tolerations".into(),
            Value::Array(tolerations(own, host_network)),
        );
        let json = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata(set, hash),
            "spec": spec,
        });
        Self {
            json: Arc::new(json),
        }
    }

    /// The complete pod for one node, as it is sent to the API server.
    pub fn for_node(&self, node: &str) -> Value {
        let mut pod = Value::clone(&self.json);
        if let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) {
            let affinity = spec.remove("affinity");
            spec.insert("affinity".into(), pinned(affinity, node));
        }
        pod
    }
}

fn metadata(set: &DaemonSet, hash: &str) -> Value {
    let template = set.spec.template.metadata();
    let mut labels = template.labels.clone();
    if let Some(generation) = set.template_generation() {
        labels.insert(GENERATION_LABEL.into(), generation.to_string());
    }
    if !hash.is_empty() {
        labels.insert(HASH_LABEL.into(), hash.into());
    }
    let mut metadata = Map::new();
    metadata.insert(
        "generateName".into(),
        format!("{}-", set.metadata.name).into(),
    );
    metadata.insert("namespace".into(), set.metadata.namespace.clone().into());
    metadata.insert("labels".into(), json!(labels));
    if !template.annotations.is_empty() {
        metadata.insert("annotations".into(), json!(template.annotations));
    }
    if !template.finalizers.is_empty() {
        metadata.insert("finalizers".into(), json!(template.finalizers));
    }
    metadata.insert("ownerReferences".into(), json!([set.owner_reference()]));
    Value::Object(metadata)
}

/// The default tolerations merged into the template's, which stay as they were written.
fn tolerations(own: Option<Value>, host_network: bool) -> Vec<Value> {
    let mut all = match own {
        Some(Value::Array(own)) => own,
        Some(_) | None => Vec::new(),
    };
    for default in placement::default_tolerations(host_network) {
        let default = json!(default);
        let mut found = false;
        for toleration in all.iter_mut().filter(|t| is_same(t, &default)) {
            *toleration = default.clone();
            found = true;
        }
        if !found {
            all.push(default);
        }
    }
    all
}

fn is_same(a: &Value, b: &Value) -> bool {
    let text = |v: &Value, key: &str| {
        v.get(key)
            .and_then(Value::as_str)
            .map_or("", |s| s)
            .to_string()
    };
    ["key", "operator", "value", "effect"]
        .iter()
        .all(|key| text(a, key) == text(b, key))
}

/// An affinity whose required node terms are replaced by one that only the node can match.
fn pinned(affinity: Option<Value>, node: &str) -> Value {
    let mut affinity = object(affinity);
    let mut node_affinity = object(affinity.remove("nodeAffinity"));
    node_affinity.insert(
        "requiredDuringSchedulingIgnoredDuringExecution".into(),
        json!({"nodeSelectorTerms": [{"matchFields": [
            {"key": "metadata.name", "operator": "In", "values": [node]}
        ]}]}),
    );
    affinity.insert("nodeAffinity".into(), Value::Object(node_affinity));
    Value::Object(affinity)
}

fn object(value: Option<Value>) -> Map<String, Value> {
    match value {
        Some(Value::Object(map)) => map,
        Some(_) | None => Map::new(),
    }
}
