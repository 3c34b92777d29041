//! A cluster of bare nodes, and the hands that move it.

use http::{Method, Request};
use pernode_cluster::{Cluster, Nodes};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Longest anything may take on a busy machine.
const WITHIN: Duration = Duration::from_secs(30);
/// How long something has to hold to count as settled.
const SETTLED: Duration = Duration::from_millis(1500);
const EVERY: Duration = Duration::from_millis(30);
const BASE: &str = "/apis/apps/v1/namespaces/default/daemonsets";
const PODS: &str = "/api/v1/namespaces/default/pods";

pub(crate) struct World {
    client: kube::Client,
    _cluster: Cluster,
}

/// A text at a JSON pointer, empty if there is none.
pub(crate) fn text(value: &Value, pointer: &str) -> String {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// Three nodes with a ready pod of DaemonSet `x` on each.
pub(crate) async fn healthy() -> World {
    let world = World::start(&["t1", "t2", "t3"]).await;
    world.apply(json!({})).await;
    world
        .roll_until("all are available", async |w| {
            w.status().await == [3, 3, 0, 3, 3, 3, 0]
        })
        .await;
    world
}

impl World {
    pub(crate) async fn start(nodes: &[&str]) -> Self {
        Self::start_without(nodes, &[]).await
    }

    pub(crate) async fn start_without(nodes: &[&str], without: &[&str]) -> Self {
        let own = ["node-simulator", "node-lifecycle-controller"];
        let cluster = Cluster::builder()
            .nodes(Nodes::None)
            .without(own.iter().chain(without).copied())
            .start()
            .await
            .unwrap();
        let world = Self {
            client: cluster.client(),
            _cluster: cluster,
        };
        for name in nodes {
            world.make_node(name).await;
        }
        world
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        kind: &str,
        body: &Value,
    ) -> Result<Value, kube::Error> {
        let bytes = if body.is_null() {
            Vec::new()
        } else {
            serde_json::to_vec(body).unwrap()
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", kind);
        self.client.request(request.body(bytes).unwrap()).await
    }

    async fn get(&self, path: &str) -> Value {
        self.send(Method::GET, path, "application/json", &Value::Null)
            .await
            .unwrap()
    }

    async fn merge(&self, path: &str, patch: Value) {
        self.send(Method::PATCH, path, "application/merge-patch+json", &patch)
            .await
            .unwrap();
    }

    pub(crate) async fn make_node(&self, name: &str) {
        let resources = json!({"cpu": "4", "memory": "8Gi", "pods": "110"});
        let node = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "status": {"capacity": resources, "allocatable": resources, "conditions": [{"type": "Ready", "status": "True", "reason": "x"}]},
        });
        self.send(Method::POST, "/api/v1/nodes", "application/json", &node)
            .await
            .unwrap();
    }

    pub(crate) async fn delete_node(&self, name: &str) {
        let path = format!("/api/v1/nodes/{name}");
        self.send(Method::DELETE, &path, "application/json", &Value::Null)
            .await
            .unwrap();
    }

    pub(crate) async fn patch_node(&self, name: &str, patch: Value) {
        self.merge(&format!("/api/v1/nodes/{name}"), patch).await;
    }

    pub(crate) async fn taint(&self, name: &str, taints: &[(&str, &str)]) {
        let taints: Vec<Value> = taints
            .iter()
            .map(|(k, e)| json!({"key": k, "value": "v", "effect": e}))
            .collect();
        self.patch_node(name, json!({"spec": {"taints": taints}}))
            .await;
    }

    /// Creates DaemonSet `x`, with a merge patch of its spec.
    pub(crate) async fn apply(&self, patch: Value) {
        let mut spec = json!({
            "selector": {"matchLabels": {"app": "x"}},
            "template": {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "a:1"}]}},
        });
        overlay(&mut spec, patch);
        let body = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "x"}, "spec": spec});
        self.send(Method::POST, BASE, "application/json", &body)
            .await
            .unwrap();
    }

    /// Changes the image and waits until the controller has seen it.
    pub(crate) async fn set_image(&self, image: &str) {
        let patch = json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}});
        let path = format!("{BASE}/x");
        self.send(
            Method::PATCH,
            &path,
            "application/strategic-merge-patch+json",
            &patch,
        )
        .await
        .unwrap();
        self.until("the change is observed", async || {
            let x = self.get(&path).await;
            x["status"]["observedGeneration"] == x["metadata"]["generation"]
        })
        .await;
    }

    /// Deletes the DaemonSet and leaves its pods and revisions.
    pub(crate) async fn orphan(&self) {
        let path = format!("{BASE}/x?propagationPolicy=Orphan");
        self.send(Method::DELETE, &path, "application/json", &Value::Null)
            .await
            .unwrap();
        self.until("it is gone", async || {
            self.send(
                Method::GET,
                &format!("{BASE}/x"),
                "application/json",
                &Value::Null,
            )
            .await
            .is_err()
        })
        .await;
    }

    /// Desired, current, misscheduled, ready, updated, available, unavailable.
    pub(crate) async fn status(&self) -> [i64; 7] {
        let x = self.get(&format!("{BASE}/x")).await;
        [
            "desiredNumberScheduled",
            "currentNumberScheduled",
            "numberMisscheduled",
            "numberReady",
            "updatedNumberScheduled",
            "numberAvailable",
            "numberUnavailable",
        ]
        .map(|field| x["status"][field].as_i64().unwrap_or(0))
    }

    pub(crate) async fn pods(&self) -> Vec<Value> {
        self.get(PODS).await["items"].as_array().unwrap().clone()
    }

    pub(crate) async fn uids(&self) -> Vec<String> {
        let mut uids: Vec<String> = self
            .pods()
            .await
            .iter()
            .map(|p| text(p, "/metadata/uid"))
            .collect();
        uids.sort_unstable();
        uids
    }

    pub(crate) async fn pods_on(&self, node: &str) -> Vec<Value> {
        const AIM: &str = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchFields/0/values/0";
        let mut pods = self.pods().await;
        pods.retain(|p| text(p, AIM) == node);
        pods
    }

    pub(crate) async fn names_on(&self, node: &str) -> Vec<String> {
        self.pods_on(node)
            .await
            .iter()
            .map(|p| text(p, "/metadata/name"))
            .collect()
    }

    pub(crate) async fn uids_on(&self, node: &str) -> Vec<String> {
        self.pods_on(node)
            .await
            .iter()
            .map(|p| text(p, "/metadata/uid"))
            .collect()
    }

    /// The pod on a node that neither ended nor is being deleted, as soon as there is one.
    pub(crate) async fn live_on(&self, node: &str) -> String {
        let is_live = |p: &&Value| {
            text(p, "/status/phase") != "Failed" && p["metadata"]["deletionTimestamp"].is_null()
        };
        let began = Instant::now();
        loop {
            if let Some(pod) = self.pods_on(node).await.iter().find(is_live) {
                return text(pod, "/metadata/name");
            }
            assert!(began.elapsed() < WITHIN, "no live pod on {node}");
            tokio::time::sleep(EVERY).await;
        }
    }

    pub(crate) async fn is_deleting(&self, name: &str) -> bool {
        let pods = self.pods().await;
        let pod = pods.iter().find(|p| text(p, "/metadata/name") == name);
        pod.is_none_or(|p| !p["metadata"]["deletionTimestamp"].is_null())
    }

    pub(crate) async fn patch_pod(&self, name: &str, patch: Value) {
        self.merge(&format!("{PODS}/{name}"), patch).await;
    }

    pub(crate) async fn patch_status(&self, name: &str, status: Value) {
        self.merge(&format!("{PODS}/{name}/status"), json!({"status": status}))
            .await;
    }

    pub(crate) async fn delete_pods_on(&self, node: &str, grace: u32) {
        for name in self.names_on(node).await {
            let path = format!("{PODS}/{name}?gracePeriodSeconds={grace}");
            self.send(Method::DELETE, &path, "application/json", &Value::Null)
                .await
                .unwrap();
        }
    }

    /// Plays the kubelet that removes pods which are being deleted.
    pub(crate) async fn reap(&self) {
        for pod in self
            .pods()
            .await
            .iter()
            .filter(|p| !p["metadata"]["deletionTimestamp"].is_null())
        {
            let path = format!(
                "{PODS}/{}?gracePeriodSeconds=0",
                text(pod, "/metadata/name")
            );
            // It may be gone already.
            drop(
                self.send(Method::DELETE, &path, "application/json", &Value::Null)
                    .await,
            );
        }
    }

    /// Plays the kubelet that runs bound pods.
    async fn bring_up(&self) {
        for pod in self.pods().await {
            let is_new = text(&pod, "/status/phase") == "Pending"
                && !text(&pod, "/spec/nodeName").is_empty();
            if is_new && pod["metadata"]["deletionTimestamp"].is_null() {
                let now = pernode_core::meta::seconds(jiff::Timestamp::now());
                let ready = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": now}]});
                let path = format!("{PODS}/{}/status", text(&pod, "/metadata/name"));
                drop(
                    self.send(
                        Method::PATCH,
                        &path,
                        "application/merge-patch+json",
                        &json!({"status": ready}),
                    )
                    .await,
                );
            }
        }
    }

    pub(crate) async fn revisions(&self) -> Vec<i64> {
        let list = self
            .get("/apis/apps/v1/namespaces/default/controllerrevisions")
            .await;
        list["items"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|r| r["revision"].as_i64())
            .collect()
    }

    /// The images that the pods want, sorted.
    pub(crate) async fn images(&self) -> Vec<String> {
        let pods = self.pods().await;
        let image = |pod: &Value| text(pod, "/spec/containers/0/image");
        let mut images: Vec<String> = pods.iter().map(image).collect();
        images.sort_unstable();
        images
    }

    /// Allows so many pods, or any number.
    pub(crate) async fn quota(&self, pods: Option<u32>) {
        const QUOTAS: &str = "/api/v1/namespaces/default/resourcequotas";
        let path = format!("{QUOTAS}/q");
        let json = "application/json";
        let Some(pods) = pods else {
            self.send(Method::DELETE, &path, json, &Value::Null)
                .await
                .unwrap();
            return;
        };
        let spec = json!({"hard": {"pods": pods.to_string()}});
        let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": spec});
        if self.send(Method::POST, QUOTAS, json, &quota).await.is_err() {
            self.merge(&path, json!({"spec": spec})).await;
        }
    }

    /// Used and allowed pods, as the status of the quota shows them.
    pub(crate) async fn quota_use(&self) -> String {
        let quota = self
            .get("/api/v1/namespaces/default/resourcequotas/q")
            .await;
        let pods = |what: &str| text(&quota, &format!("/status/{what}/pods"));
        format!("{}/{}", pods("used"), pods("hard"))
    }

    pub(crate) async fn has_event(&self, reason: &str) -> bool {
        let list = self.get("/api/v1/namespaces/default/events").await;
        list["items"]
            .as_array()
            .unwrap()
            .iter()
            .any(|e| e["reason"] == reason)
    }

    /// Waits until something is so.
    pub(crate) async fn until(&self, what: &str, holds: impl AsyncFn() -> bool) {
        self.until_within(WITHIN.as_secs(), what, holds).await;
    }

    /// Waits until something is so that may take long.
    pub(crate) async fn until_within(
        &self,
        seconds: u64,
        what: &str,
        holds: impl AsyncFn() -> bool,
    ) {
        let began = Instant::now();
        while !holds().await {
            assert!(
                began.elapsed().as_secs() < seconds,
                "never: {what}; status {:?}",
                self.status().await
            );
            tokio::time::sleep(EVERY).await;
        }
    }

    /// Plays all kubelets until something is so.
    pub(crate) async fn roll_until(&self, what: &str, holds: impl AsyncFn(&Self) -> bool) {
        self.until(what, async || {
            self.reap().await;
            self.bring_up().await;
            holds(self).await
        })
        .await;
    }

    /// Expects something to stay so for a while.
    pub(crate) async fn holds(&self, what: &str, holds: impl AsyncFn() -> bool) {
        let began = Instant::now();
        while began.elapsed() < SETTLED {
            assert!(holds().await, "no longer: {what}");
            tokio::time::sleep(EVERY).await;
        }
    }

    pub(crate) async fn until_status(&self, wanted: [i64; 7]) {
        self.until(&format!("status {wanted:?}"), async || {
            self.status().await == wanted
        })
        .await;
    }

    pub(crate) async fn holds_status(&self, wanted: [i64; 7]) {
        self.holds(&format!("status {wanted:?}"), async || {
            self.status().await == wanted
        })
        .await;
    }
}

/// Lays one JSON value over another: maps are merged, all else is replaced.
fn overlay(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                overlay(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over,
    }
}
