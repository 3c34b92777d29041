//! The scenarios of `tests/cases/scenarios.md`: bare nodes, the test plays their agents.
//!
//! Each test is named by its scenario's number; what is *Right* there is expected here.

mod failing;
mod nodes;
mod world;

use serde_json::json;
use world::{World, healthy};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s01_default_tolerations() {
    let world = World::start(&["t1", "t2", "t3"]).await;
    world
        .patch_node("t2", json!({"spec": {"unschedulable": true}}))
        .await;
    let own = json!([
        {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30},
        {"key": "node.kubernetes.io/unreachable", "operator": "Equal", "effect": "NoExecute", "tolerationSeconds": 30},
    ]);
    world
        .apply(json!({"template": {"spec": {"tolerations": own}}}))
        .await;
    world.until_status([3, 3, 0, 0, 3, 0, 3]).await;
    let pods = world.pods().await;
    let found: Vec<(String, String)> = pods[0]["spec"]["tolerations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| {
            (
                world::text(t, "/key").replace("node.kubernetes.io/", ""),
                format!("{}{}", world::text(t, "/operator"), t["tolerationSeconds"]),
            )
        })
        .collect();
    let expected = [
        ("not-ready", "Existsnull"),
        ("unreachable", "Equal30"),
        ("unreachable", "Existsnull"),
        ("disk-pressure", "Existsnull"),
        ("memory-pressure", "Existsnull"),
        ("pid-pressure", "Existsnull"),
        ("unschedulable", "Existsnull"),
    ];
    assert_eq!(found, expected.map(|(k, v)| (k.to_owned(), v.to_owned())));
    world.taint("t3", &[("p", "PreferNoSchedule")]).await;
    world.holds_status([3, 3, 0, 0, 3, 0, 3]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s02_no_schedule_taint_updates_the_status() {
    let world = healthy().await;
    let before = world.uids_on("t3").await;
    world.taint("t3", &[("k", "NoSchedule")]).await;
    world.until_status([2, 2, 1, 2, 2, 2, 0]).await;
    assert_eq!(world.uids_on("t3").await, before);
    world.taint("t3", &[]).await;
    world.until_status([3, 3, 0, 3, 3, 3, 0]).await;
    world.taint("t3", &[("k", "NoSchedule")]).await;
    world.until_status([2, 2, 1, 2, 2, 2, 0]).await;
    world.delete_pods_on("t3", 0).await;
    world.until_status([2, 2, 0, 2, 2, 2, 0]).await;
    world.holds_status([2, 2, 0, 2, 2, 2, 0]).await;
    assert!(world.uids_on("t3").await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s04_a_terminating_pod_blocks_until_it_is_terminal() {
    let world = healthy().await;
    let name = world.names_on("t1").await.remove(0);
    world
        .patch_pod(&name, json!({"metadata": {"finalizers": ["test/hold"]}}))
        .await;
    world.delete_pods_on("t1", 30).await;
    world
        .holds("only the old pod", async || {
            world.names_on("t1").await == [name.clone()]
        })
        .await;
    world.patch_status(&name, json!({"phase": "Failed"})).await;
    world
        .until("a second pod beside the held one", async || {
            world.names_on("t1").await.len() == 2
        })
        .await;
    world
        .patch_pod(&name, json!({"metadata": {"finalizers": null}}))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s05_a_failing_pod_backs_off() {
    let world = healthy().await;
    let others = [world.uids_on("t2").await, world.uids_on("t3").await];
    let began = std::time::Instant::now();
    // Deletions come at 0, 1 and 3 seconds at the earliest.
    for _ in 0..3 {
        let name = world.live_on("t1").await;
        world.patch_status(&name, json!({"phase": "Failed"})).await;
        world
            .until("it is deleted", async || world.is_deleting(&name).await)
            .await;
        world.reap().await;
    }
    assert!(
        began.elapsed().as_secs_f64() >= 2.9,
        "{:?}",
        began.elapsed()
    );
    assert_eq!(
        [world.uids_on("t2").await, world.uids_on("t3").await],
        others
    );
    world
        .until("events name the failures", async || {
            world.has_event("FailedDaemonPod").await
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s11_a_rollout_passes_over_a_node_that_no_longer_qualifies() {
    let world = healthy().await;
    world.taint("t3", &[("k", "NoSchedule")]).await;
    world.until_status([2, 2, 1, 2, 2, 2, 0]).await;
    world.set_image("a:2").await;
    world
        .roll_until("both nodes are updated", async |w| {
            w.status().await[..5] == [2, 2, 0, 2, 2]
        })
        .await;
    assert!(world.names_on("t3").await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s12_a_surge_over_a_host_port_keeps_the_old_pods() {
    let world = World::start(&["t1", "t2", "t3"]).await;
    world
        .apply(json!({
            "updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": {"spec": {"containers": [{"name": "c", "image": "a:1", "ports": [{"containerPort": 8080, "hostPort": 8080}]}]}},
        }))
        .await;
    world
        .roll_until("all are available", async |w| w.status().await[5] == 3)
        .await;
    let old: Vec<String> = world.uids().await;
    world.set_image("a:2").await;
    world
        .until("one pod waits for the port", async || {
            world.uids().await.len() == 4
        })
        .await;
    world
        .holds("no more than one waits", async || {
            world.uids().await.len() == 4 && world.status().await[5] == 3
        })
        .await;
    world.set_image("a:1").await;
    world
        .until("the waiting pod goes", async || {
            world.reap().await;
            world.uids().await == old
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s14_undo_restarts_only_what_was_updated() {
    let world = healthy().await;
    let before = world.uids().await;
    world.set_image("a:2").await;
    world
        .until("one old pod goes", async || {
            world.reap().await;
            world.status().await[4] == 1
        })
        .await;
    world.set_image("a:1").await;
    world
        .roll_until("all are back", async |w| {
            w.status().await == [3, 3, 0, 3, 3, 3, 0]
        })
        .await;
    let after = world.uids().await;
    assert_eq!(before.iter().filter(|uid| after.contains(uid)).count(), 2);
    let mut revisions = world.revisions().await;
    revisions.sort_unstable();
    assert_eq!(revisions, [2, 3]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s15_history_keeps_revisions_that_pods_use() {
    let world = World::start(&["t1", "t2", "t3"]).await;
    world
        .apply(json!({"revisionHistoryLimit": 1, "updateStrategy": {"type": "OnDelete"}}))
        .await;
    world
        .roll_until("all are available", async |w| w.status().await[5] == 3)
        .await;
    for image in ["a:2", "a:3", "a:4", "a:5"] {
        world.set_image(image).await;
    }
    world
        .until("revisions 1 and 5 are left", async || {
            let mut revisions = world.revisions().await;
            revisions.sort_unstable();
            revisions == [1, 5]
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s17a_a_daemonset_made_anew_adopts_without_a_restart() {
    let world = healthy().await;
    let before = world.uids().await;
    world.orphan().await;
    world.apply(json!({})).await;
    world.until_status([3, 3, 0, 3, 3, 3, 0]).await;
    assert_eq!(world.uids().await, before);
}
