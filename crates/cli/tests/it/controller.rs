//! `pernode controller` on a cluster whose own controller is left out: adoption and fail-over.

use crate::process::{Pernode, pernode};
use k8s_openapi::api::apps::v1::DaemonSet;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Longest anything here may take on a busy machine; a fail-over waits out a lease of 15 s.
const WITHIN: Duration = Duration::from_secs(60);

/// A controller process, killed at the latest when the test ends.
struct Controller(Child);

impl Controller {
    fn start(kubeconfig: &Path) -> Self {
        let mut command = pernode(&["controller", "--kubeconfig"]);
        let child = command.arg(kubeconfig).stderr(Stdio::null()).spawn();
        Self(child.expect("the binary runs"))
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn agent() -> DaemonSet {
    let value = json!({
        "metadata": {"name": "agent"},
        "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": {
            "metadata": {"labels": {"app": "agent"}},
            "spec": {"containers": [{"name": "c", "image": "agent:1", "readinessProbe": {"exec": {"command": ["true"]}, "initialDelaySeconds": 1}}]},
        }},
    });
    serde_json::from_value(value).expect("a DaemonSet")
}

async fn until(api: &Api<DaemonSet>, what: &str, done: impl Fn(&Value) -> bool) {
    let began = Instant::now();
    loop {
        let found = api.get("agent").await.expect("it exists");
        let found = serde_json::to_value(found).expect("JSON");
        if done(&found["status"]) {
            return;
        }
        assert!(began.elapsed() < WITHIN, "{what}: {}", found["status"]);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_controller_takes_over_in_mid_rollout() {
    let folder = tempfile::tempdir().unwrap();
    let up = Pernode::start(
        folder.path(),
        &["--nodes", "3", "--without", "daemonset-controller"],
    );
    let first = Controller::start(&up.kubeconfig());
    let api: Api<DaemonSet> = Api::namespaced(up.client().await, "default");
    api.create(&PostParams::default(), &agent()).await.unwrap();
    until(&api, "the first controller rolls out", |s| {
        s["numberAvailable"] == 3
    })
    .await;

    let _second = Controller::start(&up.kubeconfig());
    let patch = json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "agent:2"}]}}}});
    api.patch("agent", &PatchParams::default(), &Patch::Strategic(patch))
        .await
        .unwrap();
    until(&api, "the rollout begins", |s| {
        s["updatedNumberScheduled"] == 1
    })
    .await;
    drop(first); // kill -9: the lease is not given back
    until(&api, "the second controller finishes the rollout", |s| {
        s["updatedNumberScheduled"] == 3 && s["numberAvailable"] == 3
    })
    .await;
}
