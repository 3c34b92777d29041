//! Tests of `writer`.

use super::*;
use crate::mock::{Reply, client};
use pernode_core::pod::Pod;

const PODS: Resource = Resource::namespaced("", "v1", "pods", "Pod");

fn pod() -> Pod {
    serde_json::from_value(json!({"metadata": {"name": "p", "namespace": "n", "uid": "u"}}))
        .unwrap()
}

/// What one write sends: method, path, content type, body.
async fn sent<F>(write: impl FnOnce(Writer) -> F) -> String
where
    F: Future<Output = Result<(), Error>>,
{
    let (client, log) = client(|_| Reply::Full(200, r#"{"metadata":{"name":"p"}}"#.into()));
    write(Writer::new(client, "tester")).await.unwrap();
    let log = log.lock().unwrap();
    let [one] = &log[..] else {
        panic!("one request, not {log:?}")
    };
    [&*one.method, &one.path, &one.content_type, &one.body].join(" ")
}

#[tokio::test]
async fn writes_take_the_usual_paths() {
    let create = sent(|w| async move {
        let body = json!({"metadata": {"generateName": "p-"}});
        w.create(&PODS, "n", &body).await.map(drop)
    });
    assert_eq!(
        create.await,
        "POST /api/v1/namespaces/n/pods?fieldManager=tester application/json \
         {\"metadata\":{\"generateName\":\"p-\"}}"
    );
    let patch = sent(|w| async move {
        w.patch_status(&PODS, ("n", "p"), Patch::Strategic, &json!({"a": 1}))
            .await
            .map(drop)
    });
    assert_eq!(
        patch.await,
        "PATCH /api/v1/namespaces/n/pods/p/status?fieldManager=tester \
         application/strategic-merge-patch+json {\"a\":1}"
    );
    let put = sent(|w| async move {
        let body = json!({"metadata": {"name": "p", "namespace": "n"}});
        w.replace_sub(&PODS, "status", &body).await.map(drop)
    });
    assert_eq!(
        put.await,
        "PUT /api/v1/namespaces/n/pods/p/status?fieldManager=tester application/json \
         {\"metadata\":{\"name\":\"p\",\"namespace\":\"n\"}}"
    );
}

#[tokio::test]
async fn deletes_carry_their_options() {
    let delete = sent(|w| async move {
        let options = DeleteOptions::of_uid("u")
            .at_revision("7")
            .grace(0)
            .propagation(Propagation::Background);
        w.delete(&PODS, "n", "p", &options).await
    });
    assert_eq!(
        delete.await,
        "DELETE /api/v1/namespaces/n/pods/p application/json {\"apiVersion\":\"v1\",\
         \"gracePeriodSeconds\":0,\"kind\":\"DeleteOptions\",\"preconditions\":\
         {\"resourceVersion\":\"7\",\"uid\":\"u\"},\"propagationPolicy\":\"Background\"}"
    );
}

#[tokio::test]
async fn a_pod_is_bound_through_its_subresource() {
    let bind = sent(|w| async move { w.bind(&pod(), "node-a").await });
    assert_eq!(
        bind.await,
        "POST /api/v1/namespaces/n/pods/p/binding?fieldManager=tester application/json \
         {\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"p\",\
         \"namespace\":\"n\",\"uid\":\"u\"},\"target\":{\"apiVersion\":\"v1\",\
         \"kind\":\"Node\",\"name\":\"node-a\"}}"
    );
}

#[tokio::test]
async fn lists_are_read_in_pages() {
    let (client, log) = client(|asked| {
        let page = if asked.path.contains("continue=tok") {
            r#"{"metadata":{},"items":[{"metadata":{"name":"b"}}]}"#
        } else {
            r#"{"metadata":{"continue":"tok"},"items":[{"metadata":{"name":"a"}}]}"#
        };
        Reply::Full(200, page.into())
    });
    let all: Vec<Partial> = Writer::new(client, "t").list(&PODS, "").await.unwrap();
    let names: Vec<&str> = all.iter().map(|o| &*o.metadata.name).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(log.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn failures_carry_the_servers_reason() {
    let status = r#"{"code":409,"reason":"AlreadyExists","message":"pods \"p\" already exists"}"#;
    let (client, _) = client(move |_| Reply::Full(409, status.into()));
    let error = Writer::new(client, "t")
        .create(&PODS, "n", &json!({}))
        .await
        .unwrap_err();
    assert!(error.is_already_exists());
    assert_eq!(error.to_string(), "pods \"p\" already exists");
}
