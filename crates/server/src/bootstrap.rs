//! What every cluster has from the start.

use std::sync::Arc;

use pernode_api::resource::{Resource, find};
use serde_json::{Value, json};

use crate::api::{BootstrapError, Inner};
use crate::authz::roles;
use crate::call::Actor;
use crate::options::WriteOptions;
use crate::registry;

/// The namespaces there are from the start.
const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// Creates what is missing.
pub(crate) async fn run(api: &Arc<Inner>) -> Result<(), BootstrapError> {
    for name in NAMESPACES {
        create(api, "namespaces", None, json!({"metadata": {"name": name}})).await?;
        namespace_content(api, name).await?;
    }
    for class in priority_classes() {
        create(api, "priorityclasses", None, class).await?;
    }
    for role in roles::cluster_roles() {
        create(api, "clusterroles", None, role).await?;
    }
    for binding in roles::cluster_role_bindings() {
        create(api, "clusterrolebindings", None, binding).await?;
    }
    create(api, "services", Some("default"), kubernetes_service(api)).await
}

/// Creates what every namespace has: its default service account, and the cluster's CA.
pub(crate) async fn namespace_content(api: &Arc<Inner>, name: &str) -> Result<(), BootstrapError> {
    let account = json!({"metadata": {"name": "default"}});
    create(api, "serviceaccounts", Some(name), account).await?;
    let ca = api.options.ca_certificate.clone().unwrap_or_default();
    let config = json!({
        "metadata": {
            "name": "kube-root-ca.crt",
            "annotations": {"kubernetes.io/description": "The CA that signs this cluster's API server certificate."},
        },
        "data": {"ca.crt": ca},
    });
    create(api, "configmaps", Some(name), config).await
}

fn resource(plural: &str) -> &'static Resource {
    let group = match plural {
        "priorityclasses" => "scheduling.k8s.io",
        "clusterroles" | "clusterrolebindings" => "rbac.authorization.k8s.io",
        _ => "",
    };
    find(group, "v1", plural).expect("what every cluster has is in the table")
}

async fn create(
    api: &Arc<Inner>,
    plural: &str,
    namespace: Option<&str>,
    mut object: Value,
) -> Result<(), BootstrapError> {
    let resource = resource(plural);
    let name = object["metadata"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let present = registry::Place::new(resource, namespace, &name).key();
    if api.store.get(&present).is_some() {
        return Ok(());
    }
    object["apiVersion"] = resource.api_version().into();
    object["kind"] = resource.kind.into();
    let options = WriteOptions::internal();
    let created =
        registry::insert(&Actor::server(api), (resource, namespace), object, &options).await;
    match created {
        Ok(_) => Ok(()),
        // Another server, or a loop, was faster.
        Err(failure) if failure.status.reason == "AlreadyExists" => Ok(()),
        Err(failure) => Err(BootstrapError {
            kind: resource.kind.to_owned(),
            name,
            source: *failure.status,
        }),
    }
}

fn priority_classes() -> [Value; 2] {
    let class = |name: &str, value: i64, what: &str| {
        json!({
            "metadata": {"name": name}, "value": value, "preemptionPolicy": "PreemptLowerPriority",
            "description": format!("For pods that {what} cannot do without."),
        })
    };
    [
        class("system-cluster-critical", 2_000_000_000, "the cluster"),
        class("system-node-critical", 2_000_001_000, "their node"),
    ]
}

fn kubernetes_service(api: &Inner) -> Value {
    let port = api
        .options
        .public_address
        .rsplit(':')
        .next()
        .and_then(|port| port.parse::<u16>().ok())
        .unwrap_or(6443);
    json!({
        "metadata": {
            "name": "kubernetes",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "clusterIP": api.addresses.first(),
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}],
        },
    })
}
