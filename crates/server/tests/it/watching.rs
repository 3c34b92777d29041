//! Watches: what is seen, in which order, and how they end.

use std::time::Duration;

use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::harness::Client;

const CONFIG: &str = "/api/v1/namespaces/default/configmaps";

/// Reads the lines of a watch.
struct Lines {
    body: pernode_server::Body,
    rest: String,
}

impl Lines {
    async fn open(client: &Client, query: &str, accept: &str) -> Self {
        let request = http::Request::get(format!("{CONFIG}?watch=1&{query}"))
            .header("accept", accept)
            .body(http_body_util::Full::default())
            .unwrap();
        let response = client.send(request).await;
        assert_eq!(response.status(), 200);
        Self {
            body: response.into_body(),
            rest: String::new(),
        }
    }

    /// The next event, or nothing at the end of the watch.
    async fn event(&mut self) -> Option<Value> {
        loop {
            if let Some((line, rest)) = self.rest.split_once('\n') {
                let event = serde_json::from_str(line).unwrap();
                self.rest = rest.to_owned();
                return Some(event);
            }
            let frame = tokio::time::timeout(Duration::from_secs(10), self.body.frame());
            let frame = frame.await.expect("a watch says something or ends")?;
            let data = frame.unwrap().into_data().unwrap();
            self.rest.push_str(std::str::from_utf8(&data).unwrap());
        }
    }

    /// The next event as `TYPE name`.
    async fn next(&mut self) -> String {
        let Some(event) = self.event().await else {
            return "end".to_owned();
        };
        let name = event["object"]["metadata"]["name"].as_str().unwrap_or("-");
        format!("{} {name}", event["type"].as_str().unwrap())
    }
}

async fn version(client: &Client) -> String {
    let list = client.get(CONFIG).await.json();
    list["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .to_owned()
}

async fn create(client: &Client, name: &str, labels: Value) {
    let object = json!({"metadata": {"name": name, "labels": labels}});
    assert_eq!(client.post(CONFIG, &object).await.code, 201);
}

async fn label(client: &Client, name: &str, labels: Value) {
    let patch = json!({"metadata": {"labels": labels}});
    let answer = client
        .patch("merge", &format!("{CONFIG}/{name}"), &patch)
        .await;
    assert_eq!(answer.code, 200);
}

#[tokio::test]
async fn from_a_version_on() {
    let client = Client::new().await;
    let from = version(&client).await;
    create(&client, "a", json!({})).await;
    let mut lines = Lines::open(&client, &format!("resourceVersion={from}"), "*/*").await;
    assert_eq!(lines.next().await, "ADDED a");
    label(&client, "a", json!({"x": "1"})).await;
    assert_eq!(lines.next().await, "MODIFIED a");
    client.delete(&format!("{CONFIG}/a"), "").await;
    let event = lines.event().await.unwrap();
    assert_eq!(event["type"], "DELETED");
    assert_eq!(event["object"]["metadata"]["labels"]["x"], "1");
    assert_eq!(event["object"]["kind"], "ConfigMap");
    let deleted = event["object"]["metadata"]["resourceVersion"]
        .as_str()
        .unwrap();
    assert_eq!(
        deleted,
        version(&client).await,
        "a deletion has a version of its own"
    );
}

#[tokio::test]
async fn selectors_see_objects_come_and_go() {
    let client = Client::new().await;
    let from = version(&client).await;
    let query = format!("resourceVersion={from}&labelSelector=x%3D1");
    let mut lines = Lines::open(&client, &query, "*/*").await;
    create(&client, "a", json!({"x": "1"})).await;
    label(&client, "a", json!({"x": "2"})).await;
    label(&client, "a", json!({"y": "2"})).await;
    label(&client, "a", json!({"x": "1"})).await;
    assert_eq!(lines.next().await, "ADDED a");
    let event = lines.event().await.unwrap();
    assert_eq!(event["type"], "DELETED");
    assert_eq!(
        event["object"]["metadata"]["labels"]["x"], "1",
        "the last state that matched"
    );
    assert_eq!(lines.next().await, "ADDED a");
}

#[tokio::test]
async fn initial_events_end_with_a_bookmark() {
    let client = Client::new().await;
    create(&client, "a", json!({})).await;
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1";
    let mut lines = Lines::open(&client, query, "*/*").await;
    assert_eq!(lines.next().await, "ADDED a");
    assert_eq!(lines.next().await, "ADDED kube-root-ca.crt");
    let mark = lines.event().await.unwrap();
    assert_eq!(mark["type"], "BOOKMARK");
    assert_eq!(
        mark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"],
        "true"
    );
    assert_eq!(
        lines.next().await,
        "BOOKMARK -",
        "a last bookmark before the timeout"
    );
    assert_eq!(lines.next().await, "end");
    let refused = client
        .get(&format!("{CONFIG}?watch=1&sendInitialEvents=true"))
        .await;
    assert_eq!(
        refused.status(),
        "422 Invalid ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
    );
}

#[tokio::test]
async fn without_a_version_everything_is_added_first() {
    let client = Client::new().await;
    let mut lines = Lines::open(&client, "timeoutSeconds=1", "*/*").await;
    assert_eq!(lines.next().await, "ADDED kube-root-ca.crt");
    assert_eq!(lines.next().await, "end");
}

#[tokio::test]
async fn a_version_too_old_ends_in_an_error() {
    let client = Client::new().await;
    create(&client, "a", json!({})).await;
    client.api.store().compact(client.api.store().revision());
    let mut lines = Lines::open(&client, "resourceVersion=2", "*/*").await;
    let event = lines.event().await.unwrap();
    assert_eq!(event["type"], "ERROR");
    assert_eq!(event["object"]["code"], 410);
    assert_eq!(event["object"]["reason"], "Expired");
    assert_eq!(lines.next().await, "end");
}

#[tokio::test]
async fn tables_and_metadata_are_watched_too() {
    let client = Client::new().await;
    let from = version(&client).await;
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let query = format!("resourceVersion={from}");
    let mut lines = Lines::open(&client, &query, table).await;
    let partial = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    let mut partials = Lines::open(&client, &query, partial).await;
    create(&client, "a", json!({})).await;
    create(&client, "b", json!({})).await;
    let first = lines.event().await.unwrap();
    assert_eq!(first["object"]["kind"], "Table");
    assert!(first["object"]["columnDefinitions"].is_array());
    let second = lines.event().await.unwrap();
    assert!(second["object"]["columnDefinitions"].is_null());
    assert_eq!(second["object"]["rows"][0]["cells"][0], "b");
    let event = partials.event().await.unwrap();
    assert_eq!(event["object"]["kind"], "PartialObjectMetadata");
    assert_eq!(event["object"]["metadata"]["name"], "a");
}

#[tokio::test]
async fn a_single_object_is_watched_by_name() {
    let client = Client::new().await;
    create(&client, "a", json!({})).await;
    create(&client, "a2", json!({})).await;
    let query = "fieldSelector=metadata.name%3Da&resourceVersion=0&timeoutSeconds=1";
    let mut lines = Lines::open(&client, query, "*/*").await;
    label(&client, "a2", json!({"x": "1"})).await;
    label(&client, "a", json!({"x": "1"})).await;
    assert_eq!(lines.next().await, "ADDED a");
    assert_eq!(lines.next().await, "MODIFIED a");
    assert_eq!(lines.next().await, "end");
}
