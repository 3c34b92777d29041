//! What a node's credentials may read: a node sees itself, its pods and what these refer to.

use std::sync::Arc;

use pernode_api::field_selector::FieldSelector;
use pernode_api::resource::find;
use serde_json::Value;

use crate::api::Inner;
use crate::authz::Attributes;
use crate::key;
use crate::object;
use crate::query::Query;

/// Whether a node may do what its role allows in general; the error says why not.
pub(crate) fn check(
    api: &Arc<Inner>,
    node: &str,
    wanted: &Attributes<'_>,
    query: &Query,
) -> Result<(), String> {
    let reads = matches!(wanted.verb, "get" | "list" | "watch");
    match (wanted.group, wanted.resource) {
        ("", "nodes") if wanted.verb == "get" && wanted.name != node => Err(format!(
            "node '{node}' cannot read '{}', only its own Node object",
            wanted.name
        )),
        ("", "nodes") if reads && wanted.verb != "get" => selects(query, "metadata.name", node)
            .then_some(())
            .ok_or_else(|| {
                format!("node '{node}' cannot read all nodes, only its own Node object")
            }),
        ("", "pods") if matches!(wanted.verb, "list" | "watch") => {
            selects(query, "spec.nodeName", node)
                .then_some(())
                .ok_or_else(|| {
                    "can only list/watch pods with spec.nodeName field selector".to_owned()
                })
        }
        ("", "pods") if wanted.verb == "get" => runs(api, node, wanted)
            .then_some(())
            .ok_or_else(|| no_relation(node)),
        ("", "secrets" | "configmaps" | "serviceaccounts") if reads => {
            let name = match wanted.name {
                "" => selected(query, "metadata.name").unwrap_or_default(),
                name => name.to_owned(),
            };
            refers(api, node, wanted, &name)
                .then_some(())
                .ok_or_else(|| no_relation(node))
        }
        ("coordination.k8s.io", "leases")
            if wanted.namespace != "kube-node-lease"
                || (!wanted.name.is_empty() && wanted.name != node) =>
        {
            Err(format!(
                "can only access node lease with the same name as the requesting node in the namespace \"kube-node-lease\", not {:?}",
                wanted.name
            ))
        }
        _ => Ok(()),
    }
}

fn no_relation(node: &str) -> String {
    format!("no relationship found between node '{node}' and this object")
}

fn selected(query: &Query, field: &str) -> Option<String> {
    let selector = FieldSelector::parse(query.text("fieldSelector")?).ok()?;
    selector.exact(field).map(str::to_owned)
}

fn selects(query: &Query, field: &str, value: &str) -> bool {
    selected(query, field).is_some_and(|selected| selected == value)
}

fn runs(api: &Inner, node: &str, wanted: &Attributes<'_>) -> bool {
    let pods = find("", "v1", "pods").expect("pods are in the table");
    api.store
        .get(&key::key(pods, Some(wanted.namespace), wanted.name))
        .is_none_or(|item| item.attrs.field("spec.nodeName") == Some(node))
}

/// Whether a pod on the node refers to the object.
fn refers(api: &Inner, node: &str, wanted: &Attributes<'_>, name: &str) -> bool {
    if name.is_empty() {
        return false;
    }
    let pods = find("", "v1", "pods").expect("pods are in the table");
    api.store
        .list(&key::prefix(pods, Some(wanted.namespace)))
        .iter()
        .filter(|item| item.attrs.field("spec.nodeName") == Some(node))
        // A word that is not in the text is in no field: most pods need not be parsed.
        .filter(|item| memchr::memmem::find(&item.bytes, name.as_bytes()).is_some())
        .any(|item| mentions(&object::parse(&item.bytes)["spec"], wanted.resource, name))
}

/// Whether a pod's spec names an object of a kind, in any of the places that can.
fn mentions(value: &Value, resource: &str, name: &str) -> bool {
    match value {
        Value::Array(list) => list.iter().any(|value| mentions(value, resource, name)),
        Value::Object(map) => map.iter().any(|(field, value)| {
            names(field, value, resource, name) || mentions(value, resource, name)
        }),
        _ => false,
    }
}

fn names(field: &str, value: &Value, resource: &str, name: &str) -> bool {
    match (resource, field) {
        ("serviceaccounts", "serviceAccountName") => value == name,
        ("configmaps", "configMap" | "configMapRef" | "configMapKeyRef") => value["name"] == name,
        ("secrets", "secret") => value["secretName"] == name || value["name"] == name,
        ("secrets", "secretRef" | "secretKeyRef") => value["name"] == name,
        ("secrets", "imagePullSecrets") => value
            .as_array()
            .is_some_and(|list| list.iter().any(|secret| secret["name"] == name)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_pod_mentions() {
        let spec = json!({
            "serviceAccountName": "sa", "imagePullSecrets": [{"name": "pull"}],
            "volumes": [{"name": "v", "secret": {"secretName": "s"}}, {"configMap": {"name": "cm"}}],
            "containers": [{"env": [{"valueFrom": {"secretKeyRef": {"name": "k"}}}]}],
        });
        for name in ["s", "k", "pull"] {
            assert!(mentions(&spec, "secrets", name), "{name}");
        }
        assert!(mentions(&spec, "configmaps", "cm"));
        assert!(mentions(&spec, "serviceaccounts", "sa"));
        assert!(!mentions(&spec, "secrets", "cm"));
        assert!(!mentions(&spec, "configmaps", "v"));
    }
}
