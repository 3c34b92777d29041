//! kube-rs and k8s-openapi as clients in the same process.

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use kube::api::{
    DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use kube::{Api, Client as Kube};
use pernode_server::User;
use serde_json::json;

use crate::harness::Client;

async fn kube() -> Kube {
    let client = Client::new().await;
    Kube::new(client.api.service_as(User::admin("test")), "default")
}

#[tokio::test]
async fn typed_objects_round_trip() {
    let api: Api<DaemonSet> = Api::default_namespaced(kube().await);
    let set: DaemonSet = serde_json::from_value(json!({
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        },
    }))
    .unwrap();
    let created = api.create(&PostParams::default(), &set).await.unwrap();
    assert_eq!(created.metadata.generation, Some(1));
    let patch = Patch::Merge(json!({"spec": {"minReadySeconds": 5}}));
    let patched = api
        .patch("web", &PatchParams::default(), &patch)
        .await
        .unwrap();
    assert_eq!(patched.spec.min_ready_seconds, Some(5));
    let list = api
        .list(&ListParams::default().labels("a!=b"))
        .await
        .unwrap();
    assert_eq!(list.items.len(), 1);
    api.delete("web", &DeleteParams::default()).await.unwrap();
    assert!(api.get_opt("web").await.unwrap().is_none());
}

#[tokio::test]
async fn typed_watches_see_changes() {
    let client = kube().await;
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let version = api
        .list(&ListParams::default())
        .await
        .unwrap()
        .metadata
        .resource_version
        .unwrap();
    let watch = api
        .watch(&WatchParams::default().timeout(10), &version)
        .await
        .unwrap();
    let mut watch = watch.boxed();
    for name in ["a", "b"] {
        let object = ConfigMap {
            metadata: kube::core::ObjectMeta {
                name: Some(name.to_owned()),
                ..Default::default()
            },
            ..Default::default()
        };
        api.create(&PostParams::default(), &object).await.unwrap();
    }
    for name in ["a", "b"] {
        match watch.try_next().await.unwrap().unwrap() {
            WatchEvent::Added(object) => assert_eq!(object.metadata.name.unwrap(), name),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn nodes_register_and_pods_run() {
    let client = kube().await;
    let nodes: Api<Node> = Api::all(client.clone());
    let node: Node = serde_json::from_value(json!({
        "metadata": {"name": "n1"},
        "status": {"capacity": {"cpu": "4"}, "conditions": [{"type": "Ready", "status": "True"}]},
    }))
    .unwrap();
    let created = nodes.create(&PostParams::default(), &node).await.unwrap();
    let taints = created.spec.unwrap().taints.unwrap();
    assert_eq!(taints[0].key, "node.kubernetes.io/not-ready");
    let pods: Api<Pod> = Api::default_namespaced(client);
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]},
    }))
    .unwrap();
    pods.create(&PostParams::default(), &pod).await.unwrap();
    let status = Patch::Strategic(json!({"status": {"phase": "Running"}}));
    let patched = pods
        .patch_status("p", &PatchParams::default(), &status)
        .await
        .unwrap();
    assert_eq!(patched.status.unwrap().phase.as_deref(), Some("Running"));
}
