//! Scenarios of pods that fail, revisions that are bad and creations that are refused.

use super::world::{World, healthy, text};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

fn is_failed(pod: &Value) -> bool {
    text(pod, "/status/phase") == "Failed"
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s07_surge_backs_off_from_failing_pods() {
    const LONG: Duration = Duration::from_secs(14);
    let world = World::start(&["t1", "t2", "t3"]).await;
    world
        .apply(json!({"updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}))
        .await;
    world
        .roll_until("all are available", async |w| w.status().await[5] == 3)
        .await;
    world.delete_pods_on("t1", 0).await;
    let mut seen = BTreeSet::new();
    let began = Instant::now();
    while began.elapsed() < LONG {
        let pods = world.pods_on("t1").await;
        let (failed, live): (Vec<_>, Vec<_>) = pods.iter().partition(|pod| is_failed(pod));
        assert!(failed.len() <= 1 && live.len() <= 1, "{pods:#?}");
        for pod in live {
            seen.insert(text(pod, "/metadata/uid"));
            let name = text(pod, "/metadata/name");
            world.patch_status(&name, json!({"phase": "Failed"})).await;
        }
        world.reap().await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // Deleted after 0, 1, 3 and 7 seconds, and each time one more is created.
    assert!((2..=5).contains(&seen.len()), "{} pods", seen.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s08_bad_revisions_in_a_row_take_one_node_down() {
    let world = healthy().await;
    for image in ["a:2", "a:3", "a:4"] {
        world.set_image(image).await;
        world
            .until("the new revision is tried", async || {
                world.reap().await;
                world.images().await == ["a:1", "a:1", image]
            })
            .await;
        world
            .holds("two old pods are ready", async || {
                world.reap().await;
                world.images().await == ["a:1", "a:1", image] && world.status().await[3] == 2
            })
            .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s20_a_quota_holds_pods_back_until_it_is_raised() {
    let names: Vec<String> = (1..=50).map(|number| format!("t{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let world = World::start(&names).await;
    world.quota(Some(0)).await;
    world.apply(json!({})).await;
    world.until_status([50, 0, 0, 0, 0, 0, 50]).await;
    world
        .until("the event tells", async || {
            world.has_event("FailedCreate").await
        })
        .await;
    world.holds_status([50, 0, 0, 0, 0, 0, 50]).await;
    world.quota(Some(10)).await;
    world
        .until("the quota is used up", async || {
            world.status().await[1] == 10
        })
        .await;
    world
        .until("the quota shows its use", async || {
            world.quota_use().await == "10/10"
        })
        .await;
    world.delete_pods_on("t1", 0).await;
    world
        .until("the place is used again", async || {
            world.quota_use().await == "10/10" && world.status().await[1] == 10
        })
        .await;
    world.quota(None).await;
    world
        .until("all are created", async || world.status().await[1] == 50)
        .await;
}
