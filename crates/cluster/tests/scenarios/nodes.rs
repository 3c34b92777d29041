//! Scenarios of nodes that leave, and of others that come in their place.

use super::world::{World, healthy};
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s19a_pods_for_a_departed_node_go() {
    let world = World::start_without(&["t1", "t2", "t3"], &["kube-scheduler"]).await;
    world.apply(json!({})).await;
    world.until_status([3, 3, 0, 0, 3, 0, 3]).await;
    world.delete_node("t3").await;
    world.until_status([2, 2, 0, 0, 2, 0, 2]).await;
    assert!(world.names_on("t3").await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s19b_the_pod_of_a_node_that_was_made_anew_is_replaced() {
    let world = healthy().await;
    let before = world.uids().await;
    let lost = world.uids_on("t3").await;
    world.delete_node("t3").await;
    world.make_node("t3").await;
    world
        .roll_until("another pod is there", async |w| {
            let now = w.uids_on("t3").await;
            now.len() == 1 && now != lost && w.status().await == [3, 3, 0, 3, 3, 3, 0]
        })
        .await;
    let after = world.uids().await;
    assert_eq!(before.iter().filter(|uid| after.contains(uid)).count(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s19c_a_departed_node_does_not_hold_its_successor_up() {
    let world = healthy().await;
    world.delete_node("t3").await;
    world.make_node("t4").await;
    world
        .roll_until("the new node has its pod", async |w| {
            w.names_on("t4").await.len() == 1 && w.status().await == [3, 3, 0, 3, 3, 3, 0]
        })
        .await;
    // The quarantine of a node that is missing takes 40 seconds.
    world
        .until_within(90, "the lost pod goes", async || {
            world.names_on("t3").await.is_empty()
        })
        .await;
    world.until_status([3, 3, 0, 3, 3, 3, 0]).await;
}
