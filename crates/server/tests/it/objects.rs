//! Objects: created, read, listed, changed, deleted.

use serde_json::{Value, json};

use crate::harness::Client;

const CONFIG: &str = "/api/v1/namespaces/default/configmaps";
const PODS: &str = "/api/v1/namespaces/default/pods";
const SETS: &str = "/apis/apps/v1/namespaces/default/daemonsets";

fn config(name: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {"k": "v"}})
}

fn pod(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}})
}

fn set(name: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "c", "image": "i:1"}]},
            },
        },
    })
}

fn version(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap()
}

#[tokio::test]
async fn an_object_lives() {
    let client = Client::new().await;
    let created = client.post(CONFIG, &config("a")).await;
    assert_eq!(created.code, 201, "{}", created.text);
    let created = created.json();
    assert_eq!(created["kind"], "ConfigMap");
    assert_eq!(created["metadata"]["namespace"], "default");
    assert!(created["metadata"]["uid"].as_str().unwrap().len() == 36);
    let read = client.get(&format!("{CONFIG}/a")).await.json();
    assert_eq!(read, created);
    let again = client.post(CONFIG, &config("a")).await;
    assert_eq!(
        again.status(),
        "409 AlreadyExists configmaps \"a\" already exists"
    );
    let mut changed = read.clone();
    changed["data"]["k"] = "w".into();
    let put = client.put(&format!("{CONFIG}/a"), &changed).await.json();
    assert!(version(&put) > version(&read));
    let stale = client.put(&format!("{CONFIG}/a"), &changed).await;
    assert_eq!(
        stale.status(),
        "409 Conflict Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to the latest version and try again"
    );
    let same = client.put(&format!("{CONFIG}/a"), &put).await.json();
    assert_eq!(
        version(&same),
        version(&put),
        "a write that changes nothing is none"
    );
    let deleted = client.delete(&format!("{CONFIG}/a"), "").await.json();
    assert_eq!(deleted["status"], "Success");
    assert_eq!(deleted["details"]["uid"], created["metadata"]["uid"]);
    let gone = client.get(&format!("{CONFIG}/a")).await;
    assert_eq!(gone.status(), "404 NotFound configmaps \"a\" not found");
}

#[tokio::test]
async fn names_are_generated() {
    let client = Client::new().await;
    let object = json!({"metadata": {"generateName": "gen-"}});
    let first = client.post(CONFIG, &object).await.json();
    let second = client.post(CONFIG, &object).await.json();
    let name = first["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("gen-") && name.len() == 9, "{name}");
    assert_ne!(first["metadata"]["name"], second["metadata"]["name"]);
}

#[tokio::test]
async fn dry_runs_store_nothing() {
    let client = Client::new().await;
    let dry = client
        .post(&format!("{CONFIG}?dryRun=All"), &config("a"))
        .await;
    assert_eq!(dry.code, 201);
    assert!(dry.json()["metadata"]["resourceVersion"].is_null());
    assert!(dry.json()["metadata"]["uid"].is_string());
    assert_eq!(client.get(&format!("{CONFIG}/a")).await.code, 404);
    client.post(CONFIG, &config("a")).await;
    let patch = json!({"data": {"k": "w"}});
    let dry = client
        .patch("merge", &format!("{CONFIG}/a?dryRun=All"), &patch)
        .await
        .json();
    assert_eq!(dry["data"]["k"], "w");
    let dry = client.delete(&format!("{CONFIG}/a?dryRun=All"), "").await;
    assert_eq!(dry.code, 200);
    assert_eq!(
        client.get(&format!("{CONFIG}/a")).await.json()["data"]["k"],
        "v"
    );
}

#[tokio::test]
async fn lists_have_pages() {
    let client = Client::new().await;
    for name in ["a", "b", "c", "d"] {
        let mut object = config(name);
        object["metadata"]["labels"] = json!({"odd": (name == "a" || name == "c").to_string()});
        client.post(CONFIG, &object).await;
    }
    let names = |list: &Value| -> Vec<String> {
        let items = list["items"].as_array().unwrap();
        items
            .iter()
            .map(|i| i["metadata"]["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let all = client.get(CONFIG).await.json();
    assert_eq!(all["kind"], "ConfigMapList");
    assert_eq!(names(&all), ["a", "b", "c", "d", "kube-root-ca.crt"]);
    assert!(all["items"][0]["kind"].is_null() && all["items"][0]["apiVersion"].is_null());
    let first = client.get(&format!("{CONFIG}?limit=2")).await.json();
    assert_eq!(names(&first), ["a", "b"]);
    assert_eq!(first["metadata"]["remainingItemCount"], 3);
    client.delete(&format!("{CONFIG}/c"), "").await;
    let next = first["metadata"]["continue"].as_str().unwrap();
    let second = client
        .get(&format!("{CONFIG}?limit=2&continue={next}"))
        .await
        .json();
    assert_eq!(names(&second), ["c", "d"], "pages show one state");
    assert_eq!(
        second["metadata"]["resourceVersion"],
        first["metadata"]["resourceVersion"]
    );
    let odd = client
        .get(&format!("{CONFIG}?labelSelector=odd%3Dtrue"))
        .await
        .json();
    assert_eq!(names(&odd), ["a"]);
    let one = client
        .get(&format!("{CONFIG}?fieldSelector=metadata.name%3Db"))
        .await
        .json();
    assert_eq!(names(&one), ["b"]);
    let bad = client.get(&format!("{CONFIG}?limit=abc")).await;
    assert_eq!(
        bad.status(),
        "400 BadRequest strconv.ParseInt: parsing \"abc\": invalid syntax"
    );
}

#[tokio::test]
async fn a_deleted_pod_has_its_grace() {
    let client = Client::new().await;
    client.post(PODS, &pod("p")).await;
    let binding = json!({"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}});
    let bound = client.post(&format!("{PODS}/p/binding"), &binding).await;
    assert_eq!(bound.code, 201, "{}", bound.text);
    let again = client.post(&format!("{PODS}/p/binding"), &binding).await;
    assert_eq!(
        again.status(),
        "409 Conflict Operation cannot be fulfilled on pods/binding \"p\": pod p is already assigned to node \"n\""
    );
    let marked = client.delete(&format!("{PODS}/p"), "").await.json();
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 30);
    assert_eq!(client.get(&format!("{PODS}/p")).await.code, 200);
    let gone = client
        .delete(&format!("{PODS}/p"), r#"{"gracePeriodSeconds":0}"#)
        .await;
    assert_eq!(
        (gone.code, gone.json()["kind"].as_str()),
        (200, Some("Pod"))
    );
    assert_eq!(client.get(&format!("{PODS}/p")).await.code, 404);
}

#[tokio::test]
async fn finalizers_hold() {
    let client = Client::new().await;
    let mut object = config("a");
    object["metadata"]["finalizers"] = json!(["example.com/x"]);
    client.post(CONFIG, &object).await;
    let held = client.delete(&format!("{CONFIG}/a"), "").await.json();
    assert!(held["metadata"]["deletionTimestamp"].is_string());
    let patch = json!({"metadata": {"finalizers": null}});
    let last = client.patch("merge", &format!("{CONFIG}/a"), &patch).await;
    assert_eq!(last.code, 200, "{}", last.text);
    assert_eq!(client.get(&format!("{CONFIG}/a")).await.code, 404);
}

#[tokio::test]
async fn namespaces_come_complete_and_go_slowly() {
    let client = Client::new().await;
    let path = "/api/v1/namespaces";
    let missing = client
        .post("/api/v1/namespaces/x/configmaps", &config("a"))
        .await;
    assert_eq!(missing.status(), "404 NotFound namespaces \"x\" not found");
    client.post(path, &json!({"metadata": {"name": "x"}})).await;
    assert_eq!(
        client
            .get(&format!("{path}/x/serviceaccounts/default"))
            .await
            .code,
        200
    );
    assert_eq!(
        client
            .get(&format!("{path}/x/configmaps/kube-root-ca.crt"))
            .await
            .code,
        200
    );
    let going = client.delete(&format!("{path}/x"), "").await.json();
    assert_eq!(going["status"]["phase"], "Terminating");
    let late = client
        .post(&format!("{path}/x/configmaps"), &config("late"))
        .await;
    assert_eq!(
        late.status(),
        "403 Forbidden configmaps \"late\" is forbidden: unable to create new content in namespace x because it is being terminated"
    );
    let finalize = json!({"metadata": {"name": "x"}, "spec": {"finalizers": []}});
    let done = client.put(&format!("{path}/x/finalize"), &finalize).await;
    assert_eq!(done.code, 200, "{}", done.text);
    assert_eq!(client.get(&format!("{path}/x")).await.code, 404);
    let kept = client.delete(&format!("{path}/kube-system"), "").await;
    assert_eq!(
        kept.status(),
        "403 Forbidden namespaces \"kube-system\" is forbidden: this namespace may not be deleted"
    );
}

#[tokio::test]
async fn a_daemon_set_counts_its_generations() {
    let client = Client::new().await;
    let created = client.post(SETS, &set("web")).await;
    assert_eq!(created.code, 201, "{}", created.text);
    assert_eq!(created.json()["metadata"]["generation"], 1);
    assert_eq!(created.json()["status"]["numberReady"], 0);
    let patch = json!({"spec": {"minReadySeconds": 3}});
    let patched = client
        .patch("strategic-merge", &format!("{SETS}/web"), &patch)
        .await
        .json();
    assert_eq!(patched["metadata"]["generation"], 2);
    let status = json!({"status": {"numberReady": 2}, "spec": {"minReadySeconds": 9}});
    let patched = client
        .patch("merge", &format!("{SETS}/web/status"), &status)
        .await
        .json();
    assert_eq!(patched["metadata"]["generation"], 2);
    assert_eq!(patched["status"]["numberReady"], 2);
    assert_eq!(patched["spec"]["minReadySeconds"], 3);
    let unknown = json!({"spec": {"replicas": 5}});
    let warned = client
        .patch("strategic-merge", &format!("{SETS}/web"), &unknown)
        .await;
    assert_eq!(
        warned.warnings(),
        [r#"299 - "unknown field \"spec.replicas\"""#]
    );
    assert_eq!(version(&warned.json()), version(&patched));
    let scale = client.get(&format!("{SETS}/web/scale")).await;
    assert_eq!(
        scale.status(),
        "404 NotFound the server could not find the requested resource"
    );
}

#[tokio::test]
async fn bad_bodies_are_explained() {
    let client = Client::new().await;
    let mut other = set("a");
    other["kind"] = "Deployment".into();
    let answer = client.post(SETS, &other).await;
    assert_eq!(
        answer.status(),
        "400 BadRequest Deployment in version \"v1\" cannot be handled as a DaemonSet: converting (v1.Deployment) to (apps.DaemonSet): unknown conversion"
    );
    let mut wrong = set("a");
    wrong["spec"]["minReadySeconds"] = "five".into();
    let answer = client.post(SETS, &wrong).await;
    assert_eq!(
        answer.status(),
        "400 BadRequest DaemonSet in version \"v1\" cannot be handled as a DaemonSet: json: cannot unmarshal string into Go struct field DaemonSetSpec.spec.minReadySeconds of type int32"
    );
    let answer = client
        .call(&format!("POST {SETS}"), &["content-type: text/plain"], "x")
        .await;
    assert_eq!(answer.code, 415);
    let large = "x".repeat(4 * 1024 * 1024);
    let answer = client.call(&format!("POST {SETS}"), &[], &large).await;
    assert_eq!(answer.code, 413);
    let yaml = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: w}\nspec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}\n";
    let answer = client
        .call(
            &format!("POST {SETS}"),
            &["content-type: application/yaml"],
            yaml,
        )
        .await;
    assert_eq!(answer.code, 201, "{}", answer.text);
}

#[tokio::test]
async fn forms_of_answers() {
    let client = Client::new().await;
    client.post(CONFIG, &config("a")).await;
    let table = "accept: application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    let answer = client
        .call(&format!("GET {CONFIG}/a"), &[table], "")
        .await
        .json();
    assert_eq!(answer["kind"], "Table");
    assert_eq!(answer["rows"][0]["cells"][0], "a");
    assert_eq!(answer["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    let list = client
        .call(&format!("GET {CONFIG}?limit=1"), &[table], "")
        .await
        .json();
    assert_eq!(list["columnDefinitions"][0]["name"], "Name");
    assert!(list["metadata"]["continue"].is_string());
    let partial = "accept: application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    let list = client
        .call(&format!("GET {CONFIG}"), &[partial], "")
        .await
        .json();
    assert_eq!(list["kind"], "PartialObjectMetadataList");
    assert_eq!(list["items"][0]["metadata"]["name"], "a");
    assert!(list["items"][0]["data"].is_null());
    let yaml = client
        .call(
            &format!("GET {CONFIG}/a"),
            &["accept: application/yaml"],
            "",
        )
        .await;
    assert!(yaml.text.contains("kind: ConfigMap"), "{}", yaml.text);
    let refused = client
        .call(&format!("GET {CONFIG}/a"), &["accept: text/html"], "")
        .await;
    assert_eq!(refused.code, 406);
}

#[tokio::test]
async fn events_have_two_forms() {
    let client = Client::new().await;
    let event = json!({
        "metadata": {"name": "e"}, "reason": "R", "message": "m", "type": "Normal",
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
        "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z",
    });
    let created = client
        .post("/api/v1/namespaces/default/events", &event)
        .await;
    assert_eq!(created.code, 201, "{}", created.text);
    let new = client
        .get("/apis/events.k8s.io/v1/namespaces/default/events/e")
        .await
        .json();
    assert_eq!(new["note"], "m");
    assert_eq!(new["regarding"]["name"], "p");
    let path = "/apis/events.k8s.io/v1/events?fieldSelector=regarding.name%3Dp";
    let list = client.get(path).await.json();
    assert_eq!(list["kind"], "EventList");
    assert_eq!(list["items"][0]["note"], "m");
    let later = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(2);
    assert_eq!(client.api.expire_events(later).await, 1);
}

#[tokio::test]
async fn paths_that_are_no_resources() {
    let client = Client::new().await;
    assert_eq!(client.get("/healthz").await.text, "ok");
    assert!(
        client
            .get("/readyz?verbose")
            .await
            .text
            .contains("[+]ping ok")
    );
    assert_eq!(client.get("/version").await.json()["minor"], "36");
    assert!(
        client
            .get("/metrics")
            .await
            .text
            .contains("pernode_store_revision")
    );
    let foo = client.get("/foo").await;
    assert_eq!((foo.code, foo.text.as_str()), (404, "404 page not found\n"));
    assert_eq!(
        client.get("/apis/foo/v1/bars").await.text,
        "404 page not found\n"
    );
    let foos = client.get("/api/v1/namespaces/default/foos").await;
    assert_eq!(
        foos.status(),
        "404 NotFound the server could not find the requested resource"
    );
    let post = client.post(&format!("{CONFIG}/a"), &json!({})).await;
    assert_eq!(
        post.status(),
        "405 MethodNotAllowed the server does not allow this method on the requested resource"
    );
    let first = client.get("/apis").await;
    let tag = first.headers["etag"].to_str().unwrap().to_owned();
    let second = client
        .call("GET /apis", &[&format!("if-none-match: {tag}")], "")
        .await;
    assert_eq!((second.code, second.text.as_str()), (304, ""));
}

#[tokio::test]
async fn pods_are_admitted() {
    let client = Client::new().await;
    let created = client.post(PODS, &pod("p")).await.json();
    assert_eq!(created["spec"]["serviceAccountName"], "default");
    assert_eq!(created["spec"]["priority"], 0);
    assert_eq!(created["spec"]["tolerations"].as_array().unwrap().len(), 2);
    let mut object = pod("q");
    object["spec"]["serviceAccountName"] = "nope".into();
    assert_eq!(
        client.post(PODS, &object).await.status(),
        "403 Forbidden pods \"q\" is forbidden: error looking up service account default/nope: serviceaccount \"nope\" not found"
    );
    let mut object = pod("q");
    object["spec"]["priorityClassName"] = "system-node-critical".into();
    let created = client.post(PODS, &object).await.json();
    assert_eq!(created["spec"]["priority"], 2_000_001_000);
    let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": {"pods": "2"}}});
    client
        .post("/api/v1/namespaces/default/resourcequotas", &quota)
        .await;
    assert_eq!(
        client.post(PODS, &pod("r")).await.status(),
        "403 Forbidden pods \"r\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2"
    );
}

#[tokio::test]
async fn budgets_are_asked_before_an_eviction() {
    let client = Client::new().await;
    let mut object = pod("p");
    object["metadata"]["labels"] = json!({"app": "a"});
    client.post(PODS, &object).await;
    let ready = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
    client
        .patch("merge", &format!("{PODS}/p/status"), &ready)
        .await;
    let budget = json!({
        "metadata": {"name": "b"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}},
    });
    let path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    assert_eq!(client.post(path, &budget).await.code, 201);
    let eviction =
        json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}});
    let blocked = client.post(&format!("{PODS}/p/eviction"), &eviction).await;
    assert_eq!(
        blocked.status(),
        "429 TooManyRequests Cannot evict pod as it would violate the pod's disruption budget."
    );
    client.delete(&format!("{path}/b"), "").await;
    let evicted = client.post(&format!("{PODS}/p/eviction"), &eviction).await;
    assert_eq!(evicted.code, 201, "{}", evicted.text);
    assert_eq!(client.get(&format!("{PODS}/p")).await.code, 404);
}

#[tokio::test]
async fn services_have_addresses() {
    let client = Client::new().await;
    let own = client
        .get("/api/v1/namespaces/default/services/kubernetes")
        .await
        .json();
    assert_eq!(own["spec"]["clusterIP"], "10.96.0.1");
    let service = json!({"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}});
    let created = client
        .post("/api/v1/namespaces/default/services", &service)
        .await;
    assert_eq!(
        created.json()["spec"]["clusterIP"],
        "10.96.0.2",
        "{}",
        created.text
    );
}

#[tokio::test]
async fn services_have_ports_on_nodes() {
    let client = Client::new().await;
    let path = "/api/v1/namespaces/default/services";
    let service = |name: &str, spec: Value| json!({"metadata": {"name": name}, "spec": spec});
    let ports = |answer: &Value| -> Vec<u64> {
        let ports = answer["spec"]["ports"].as_array().unwrap();
        ports
            .iter()
            .map(|p| p["nodePort"].as_u64().unwrap_or(0))
            .collect()
    };
    let dns = json!({"type": "NodePort", "ports": [
        {"name": "u", "port": 53, "protocol": "UDP"}, {"name": "t", "port": 53}, {"name": "w", "port": 80},
    ]});
    let created = client.post(path, &service("a", dns)).await.json();
    assert_eq!(ports(&created), [30086, 30086, 30087], "{created}");
    let chosen = json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30087}]});
    assert_eq!(
        client.post(path, &service("b", chosen)).await.status(),
        "422 Invalid Service \"b\" is invalid: spec.ports[0].nodePort: Invalid value: 30087: provided port is already allocated"
    );
    let local =
        json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{"port": 80}]});
    let created = client.post(path, &service("c", local)).await.json();
    assert_eq!(created["spec"]["healthCheckNodePort"], 30089, "{created}");
    let a = format!("{path}/a");
    let inside = json!({"spec": {"type": "ClusterIP"}});
    let changed = client.patch("strategic-merge", &a, &inside).await.json();
    assert_eq!(ports(&changed), [0, 0, 0], "{changed}");
    assert!(changed["spec"]["externalTrafficPolicy"].is_null());
    let outside = json!({"spec": {"type": "NodePort"}});
    let changed = client.patch("strategic-merge", &a, &outside).await.json();
    assert_eq!(ports(&changed), [30090, 30090, 30091], "{changed}");
}

#[tokio::test]
async fn a_template_generation_is_a_number_however_it_is_written() {
    let client = Client::new().await;
    client.post(SETS, &set("a")).await;
    let path = format!("{SETS}/a");
    let annotations = json!({"deprecated.daemonset.template.generation": "abc"});
    let patch = json!({"metadata": {"annotations": annotations}});
    let why = "strconv.ParseInt: parsing \"abc\": invalid syntax";
    let merged = client.patch("merge", &path, &patch).await;
    assert_eq!(merged.code, 422, "{}", merged.text);
    assert!(merged.status().ends_with(why), "{}", merged.text);
    let merged = client.patch("strategic-merge", &path, &patch).await;
    assert_eq!(merged.status(), format!("500  {why}"));
    for name in ["a", "b"] {
        let mut applied = set(name);
        applied["metadata"]["annotations"] = annotations.clone();
        let path = format!("{SETS}/{name}?fieldManager=m&force=true");
        assert_eq!(
            client.patch("apply", &path, &applied).await.status(),
            format!(
                "500  failed to convert to unversioned (default/{name}; apps/v1, Kind=DaemonSet): {why}"
            )
        );
    }
}

#[tokio::test]
async fn collections_are_deleted() {
    let client = Client::new().await;
    for name in ["a", "b"] {
        let mut object = config(name);
        object["metadata"]["labels"] = json!({"l": name});
        client.post(CONFIG, &object).await;
    }
    let deleted = client
        .delete(&format!("{CONFIG}?labelSelector=l%3Da"), "")
        .await
        .json();
    assert_eq!(deleted["kind"], "ConfigMapList");
    assert_eq!(deleted["items"][0]["metadata"]["name"], "a");
    assert_eq!(client.get(&format!("{CONFIG}/a")).await.code, 404);
    assert_eq!(client.get(&format!("{CONFIG}/b")).await.code, 200);
}

#[tokio::test]
async fn logs_tell_a_simulated_life() {
    let client = Client::new().await;
    client.post(PODS, &pod("p")).await;
    assert_eq!(client.get(&format!("{PODS}/p/log")).await.code, 204);
    let binding = json!({"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}});
    client.post(&format!("{PODS}/p/binding"), &binding).await;
    let log = client.get(&format!("{PODS}/p/log")).await;
    assert!(log.text.contains("PodScheduled is True"), "{}", log.text);
    let wrong = client.get(&format!("{PODS}/p/log?container=zz")).await;
    assert_eq!(
        wrong.status(),
        "400 BadRequest container zz is not valid for pod p"
    );
    let bad = client.get(&format!("{PODS}/p/log?tailLines=-1")).await;
    assert_eq!(
        bad.status(),
        "422 Invalid PodLogOptions \"p\" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0"
    );
    let exec = client
        .post(&format!("{PODS}/p/exec?command=ls"), &json!({}))
        .await;
    assert_eq!(exec.status(), "400 BadRequest Upgrade request required");
}

#[tokio::test]
async fn a_log_is_followed_to_its_end() {
    let client = Client::new().await;
    client.post(PODS, &pod("p")).await;
    let binding = json!({"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}});
    client.post(&format!("{PODS}/p/binding"), &binding).await;
    let follower = client.clone();
    let followed = tokio::spawn(async move {
        let path = format!("{PODS}/p/log?follow=true&tailLines=1");
        follower.get(&path).await.text
    });
    // Whatever of this comes before the follower has begun is in its first line.
    let ready = |reason: &str, phase: &str| {
        json!({"status": {"phase": phase, "conditions": [
            {"type": "Ready", "status": "False", "reason": reason, "lastTransitionTime": "2030-01-01T00:00:00Z"},
        ]}})
    };
    for (reason, phase) in [("Starting", "Running"), ("PodCompleted", "Succeeded")] {
        let path = format!("{PODS}/p/status");
        let patched = client.patch("merge", &path, &ready(reason, phase)).await;
        assert_eq!(patched.code, 200, "{}", patched.text);
    }
    let text = followed.await.unwrap();
    assert!(text.ends_with("Ready is False (PodCompleted)\n"), "{text}");
    assert!(!text.contains("pod created"), "only the last line: {text}");
}
