//! An API server in memory: enough of it for the controller's writes, with faults on demand.

use crate::{DaemonSetView, RevisionView, Sources};
use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::Full;
use kube::client::Body;
use pernode_core::node::Node;
use pernode_core::pod::Pod;
use pernode_runtime::Shared;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};

/// The server; clones are the same one.
#[derive(Clone)]
pub(super) struct Fake {
    state: Arc<Mutex<State>>,
}

struct State {
    objects: BTreeMap<(String, String), Value>,
    log: Vec<(String, String)>,
    version: u64,
    quota: Option<usize>,
    held: BTreeMap<String, Vec<Value>>,
    live_is_deleting: bool,
    status_conflicts: usize,
    leases_denied: bool,
    silent: BTreeSet<String>,
    nodes: Shared<Node>,
    pods: Shared<Pod>,
    daemon_sets: Shared<DaemonSetView>,
    revisions: Shared<RevisionView>,
}

fn owner() -> Value {
    json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "ds",
        "controller": true, "blockOwnerDeletion": true})
}

impl Fake {
    pub(super) fn with_nodes(count: usize) -> Self {
        let fake = Self {
            state: Arc::new(Mutex::new(State {
                objects: BTreeMap::new(),
                log: Vec::new(),
                version: 1,
                quota: None,
                held: BTreeMap::new(),
                live_is_deleting: false,
                status_conflicts: 0,
                leases_denied: false,
                silent: BTreeSet::new(),
                nodes: Shared::new(),
                pods: Shared::new(),
                daemon_sets: Shared::new(),
                revisions: Shared::new(),
            })),
        };
        fake.state().put(
            "daemonsets",
            json!({
                "metadata": {"name": "agent", "namespace": "default", "uid": "ds", "generation": 1},
                "spec": {
                    "selector": {"matchLabels": {"app": "agent"}},
                    "template": {
                        "metadata": {"labels": {"app": "agent"}},
                        "spec": {"containers": [{"name": "main", "image": "agent:1"}]},
                    },
                },
            }),
        );
        for n in 0..count {
            fake.add_node(&format!("node-{n}"));
        }
        fake
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(super) fn client(&self) -> kube::Client {
        let fake = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let fake = fake.clone();
            async move {
                let (parts, body) = request.into_parts();
                let bytes = body.collect_bytes().await.unwrap();
                let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
                let (code, answer) = fake.state().answer(&parts.method, parts.uri.path(), &body);
                let answer = Full::new(Bytes::from(answer.to_string()));
                Ok::<_, Infallible>(Response::builder().status(code).body(answer).unwrap())
            }
        });
        kube::Client::new(service, "default")
    }

    /// What the informers would show; lists are complete from the start.
    pub(super) fn sources(&self) -> Sources {
        let state = self.state();
        let of = |plural: &str| state.all(plural);
        state.nodes.replace(read(of("nodes")));
        state.pods.replace(read(of("pods")));
        state.daemon_sets.replace(read(of("daemonsets")));
        state.revisions.replace(read(of("controllerrevisions")));
        Sources {
            nodes: state.nodes.clone(),
            pods: state.pods.clone(),
            daemon_sets: state.daemon_sets.clone(),
            revisions: state.revisions.clone(),
        }
    }

    // What tests do to the cluster.

    pub(super) fn add_node(&self, name: &str) {
        self.state()
            .put("nodes", json!({"metadata": {"name": name, "uid": name}}));
    }

    pub(super) fn add_orphan(&self, name: &str, node: &str) {
        self.state().put(
            "pods",
            json!({
                "metadata": {"name": name, "namespace": "default", "uid": name,
                    "labels": {"app": "agent"}},
                "spec": {"nodeName": node},
                "status": {"phase": "Running"},
            }),
        );
    }

    pub(super) fn add_owned(&self, name: &str, node: &str) {
        self.add_orphan(name, node);
        let mut state = self.state();
        let mut pod = state.objects[&("pods".to_owned(), name.to_owned())].clone();
        pod["metadata"]["ownerReferences"] = json!([owner()]);
        state.put("pods", pod);
    }

    pub(super) fn add_foreign_revision(&self, name: &str) {
        self.state().put(
            "controllerrevisions",
            json!({
                "metadata": {"name": name, "namespace": "default", "uid": "foreign"},
                "data": {"spec": {"template": {"spec": {}}}}, "revision": 1,
            }),
        );
    }

    /// The server has a pod no longer, and no watch tells.
    pub(super) fn forget_silently(&self, name: &str) {
        self.state().silent.insert(name.to_owned());
    }

    pub(super) fn make_ready(&self) {
        let mut state = self.state();
        for mut pod in state.all("pods") {
            pod["spec"]["nodeName"] = target(&pod);
            pod["status"] = json!({"phase": "Running", "conditions": [{"type": "Ready",
                "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]});
            state.put("pods", pod);
        }
    }

    pub(super) fn set_image(&self, image: &str) {
        let mut state = self.state();
        let mut set = state.all("daemonsets").remove(0);
        set["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
        let generation = set["metadata"]["generation"].as_i64().unwrap();
        set["metadata"]["generation"] = json!(generation + 1);
        state.put("daemonsets", set);
    }

    pub(super) fn set_quota(&self, quota: Option<usize>) {
        self.state().quota = quota;
    }

    pub(super) fn hold_back(&self, plural: &str) {
        self.state().held.insert(plural.to_owned(), Vec::new());
    }

    pub(super) fn show_held(&self, plural: &str) {
        let mut state = self.state();
        for object in state.held.remove(plural).unwrap_or_default() {
            state.show(plural, &object);
        }
    }

    pub(super) fn show_live_as_deleting(&self, deleting: bool) {
        self.state().live_is_deleting = deleting;
    }

    pub(super) fn conflict_next_status(&self) {
        self.state().status_conflicts = 1;
    }

    pub(super) fn deny_leases(&self, denied: bool) {
        self.state().leases_denied = denied;
    }

    // What tests look at.

    pub(super) fn pods(&self) -> Vec<Value> {
        self.state().all("pods")
    }

    pub(super) fn daemon_set(&self) -> Value {
        self.state().all("daemonsets").remove(0)
    }

    pub(super) fn revision_names(&self) -> Vec<String> {
        let revisions = self.state().all("controllerrevisions");
        revisions
            .iter()
            .map(|r| r["metadata"]["name"].as_str().unwrap().to_owned())
            .collect()
    }

    pub(super) fn count(&self, method: &str, plural: &str) -> usize {
        let state = self.state();
        state
            .log
            .iter()
            .filter(|(m, p)| m == method && p == plural)
            .count()
    }

    pub(super) fn describe(&self) -> String {
        format!("{:?}\n{}", self.state().log, self.daemon_set()["status"])
    }
}

impl State {
    fn all(&self, plural: &str) -> Vec<Value> {
        let of_kind = self.objects.iter().filter(|((kind, _), _)| kind == plural);
        of_kind.map(|(_, object)| object.clone()).collect()
    }

    /// Stores an object under a new version and shows it.
    fn put(&mut self, plural: &str, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        self.objects
            .insert((plural.to_owned(), name), object.clone());
        match self.held.get_mut(plural) {
            Some(held) => held.push(object.clone()),
            None => self.show(plural, &object),
        }
        object
    }

    fn show(&self, plural: &str, object: &Value) {
        let object = object.clone();
        match plural {
            "nodes" => self.nodes.apply(serde_json::from_value(object).unwrap()),
            "pods" => self.pods.apply(serde_json::from_value(object).unwrap()),
            "daemonsets" => self
                .daemon_sets
                .apply(serde_json::from_value(object).unwrap()),
            "controllerrevisions" => self
                .revisions
                .apply(serde_json::from_value(object).unwrap()),
            _ => {}
        }
    }

    fn answer(&mut self, method: &Method, path: &str, body: &Value) -> (u16, Value) {
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let at = parts
            .iter()
            .position(|part| *part == "namespaces")
            .map_or(2, |at| at + 2);
        let plural = parts[at].to_owned();
        let name = parts.get(at + 1).copied().unwrap_or_default().to_owned();
        self.log.push((method.to_string(), plural.clone()));
        if plural == "leases" && self.leases_denied {
            return failure(403, "Forbidden");
        }
        match method.as_str() {
            "POST" => self.create(&plural, body.clone()),
            "GET" => self.get(&plural, &name),
            "DELETE" => self.delete(&plural, &name),
            _ => self.patch(&plural, &name, parts.get(at + 2) == Some(&"status"), body),
        }
    }

    fn create(&mut self, plural: &str, mut body: Value) -> (u16, Value) {
        if plural == "pods"
            && self
                .quota
                .is_some_and(|quota| self.all("pods").len() >= quota)
        {
            return failure(403, "Forbidden");
        }
        self.version += 1;
        if body["metadata"].get("name").is_none() {
            let prefix = body["metadata"]["generateName"]
                .as_str()
                .unwrap()
                .to_owned();
            body["metadata"]["name"] = json!(format!("{prefix}{}", self.version));
        }
        let name = body["metadata"]["name"].as_str().unwrap().to_owned();
        if self.objects.contains_key(&(plural.to_owned(), name)) {
            return failure(409, "AlreadyExists");
        }
        body["metadata"]["uid"] = json!(format!("uid-{}", self.version));
        (201, self.put(plural, body))
    }

    fn get(&self, plural: &str, name: &str) -> (u16, Value) {
        match self.objects.get(&(plural.to_owned(), name.to_owned())) {
            None => failure(404, "NotFound"),
            Some(object) => {
                let mut object = object.clone();
                if plural == "daemonsets" && self.live_is_deleting {
                    object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
                }
                (200, object)
            }
        }
    }

    fn delete(&mut self, plural: &str, name: &str) -> (u16, Value) {
        if self.silent.contains(name) {
            return failure(404, "NotFound");
        }
        match self.objects.remove(&(plural.to_owned(), name.to_owned())) {
            None => failure(404, "NotFound"),
            Some(object) => {
                match plural {
                    "pods" => self
                        .pods
                        .delete(serde_json::from_value(object.clone()).unwrap()),
                    _ => self
                        .revisions
                        .delete(serde_json::from_value(object.clone()).unwrap()),
                }
                (200, object)
            }
        }
    }

    fn patch(&mut self, plural: &str, name: &str, is_status: bool, body: &Value) -> (u16, Value) {
        let Some(object) = self.objects.get(&(plural.to_owned(), name.to_owned())) else {
            return failure(404, "NotFound");
        };
        let mut object = object.clone();
        let wanted = body["metadata"].get("resourceVersion");
        if is_status && self.status_conflicts > 0 {
            self.status_conflicts -= 1;
            return failure(409, "Conflict");
        }
        if wanted.is_some_and(|version| *version != object["metadata"]["resourceVersion"]) {
            return failure(409, "Conflict");
        }
        let mut body = body.clone();
        if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("resourceVersion");
        }
        merge(&mut object, &body);
        (200, self.put(plural, object))
    }
}

/// The node a pod is aimed at.
fn target(pod: &Value) -> Value {
    let required =
        &pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    let aimed = &required["nodeSelectorTerms"][0]["matchFields"][0]["values"][0];
    if aimed.is_null() {
        pod["spec"]["nodeName"].clone()
    } else {
        aimed.clone()
    }
}

fn merge(object: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *object = patch.clone();
        return;
    };
    if !object.is_object() {
        *object = json!({});
    }
    for (key, value) in fields {
        if value.is_null() {
            object.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut object[key], value);
        }
    }
}

fn failure(code: u16, reason: &str) -> (u16, Value) {
    (
        code,
        json!({"kind": "Status", "reason": reason, "message": reason, "code": code}),
    )
}

fn read<T: serde::de::DeserializeOwned>(objects: Vec<Value>) -> Vec<T> {
    objects
        .into_iter()
        .map(|object| serde_json::from_value(object).unwrap())
        .collect()
}
