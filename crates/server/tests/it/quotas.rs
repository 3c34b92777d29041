//! What quotas allow, and what their status says.

use futures::future::join_all;
use serde_json::{Value, json};

use crate::harness::Client;

const PODS: &str = "/api/v1/namespaces/default/pods";
const QUOTAS: &str = "/api/v1/namespaces/default/resourcequotas";

fn pod(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
}

async fn with_quota(spec: Value) -> Client {
    let client = Client::new().await;
    let quota = json!({"metadata": {"name": "q"}, "spec": spec});
    assert_eq!(client.post(QUOTAS, &quota).await.code, 201);
    client
}

async fn used(client: &Client) -> Value {
    client.get(&format!("{QUOTAS}/q")).await.json()["status"]["used"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_place_is_given_once() {
    let client = with_quota(json!({"hard": {"pods": "10"}})).await;
    let create = |number: usize| {
        let client = client.clone();
        tokio::spawn(async move { client.post(PODS, &pod(&format!("p{number}"))).await.code })
    };
    let codes = join_all((0..40).map(create)).await;
    let created = codes.iter().filter(|code| *code.as_ref().unwrap() == 201);
    assert_eq!(created.count(), 10);
    assert_eq!(used(&client).await, json!({"pods": "10"}));
}

#[tokio::test]
async fn a_place_is_free_as_soon_as_its_pod_is_gone() {
    let client = with_quota(json!({"hard": {"pods": "1", "count/pods": "5"}})).await;
    assert_eq!(client.post(PODS, &pod("a")).await.code, 201);
    assert_eq!(client.post(PODS, &pod("b")).await.code, 403);
    client
        .delete(&format!("{PODS}/a?gracePeriodSeconds=0"), "")
        .await;
    assert_eq!(client.post(PODS, &pod("b")).await.code, 201);
    assert_eq!(used(&client).await, json!({"count/pods": "1", "pods": "1"}));
}

#[tokio::test]
async fn a_dry_run_and_a_taken_name_take_no_place() {
    let client = with_quota(json!({"hard": {"pods": "2"}})).await;
    let dry = client.post(&format!("{PODS}?dryRun=All"), &pod("a")).await;
    assert_eq!(dry.code, 201);
    assert_eq!(client.post(PODS, &pod("a")).await.code, 201);
    assert_eq!(client.post(PODS, &pod("a")).await.code, 409);
    assert_eq!(client.post(PODS, &pod("b")).await.code, 201);
    assert_eq!(client.post(PODS, &pod("c")).await.code, 403);
}

#[tokio::test]
async fn what_is_bounded_has_to_be_named() {
    let client = with_quota(json!({"hard": {"limits.cpu": "1", "requests.memory": "1Gi"}})).await;
    assert_eq!(
        client.post(PODS, &pod("a")).await.status(),
        "403 Forbidden pods \"a\" is forbidden: failed quota: q: must specify limits.cpu for: c; requests.memory for: c"
    );
    let mut named = pod("a");
    named["spec"]["containers"][0]["resources"] =
        json!({"limits": {"cpu": "600m"}, "requests": {"memory": "1Mi"}});
    assert_eq!(client.post(PODS, &named).await.code, 201);
    named["metadata"]["name"] = "b".into();
    assert_eq!(
        client.post(PODS, &named).await.status(),
        "403 Forbidden pods \"b\" is forbidden: exceeded quota: q, requested: limits.cpu=600m, used: limits.cpu=600m, limited: limits.cpu=1"
    );
}

#[tokio::test]
async fn any_kind_can_be_counted() {
    let client = with_quota(json!({"hard": {"count/leases.coordination.k8s.io": "1"}})).await;
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let lease = |name: &str| json!({"metadata": {"name": name}});
    assert_eq!(client.post(leases, &lease("a")).await.code, 201);
    assert_eq!(client.post(leases, &lease("b")).await.code, 403);
}
