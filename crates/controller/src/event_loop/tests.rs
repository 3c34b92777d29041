//! The loop against an API server in memory.

mod fake;

use crate::{Options, Sources};
use fake::Fake;
use pernode_runtime::{CancellationToken, Gate, LeaseOptions, Writer, lead};
use serde_json::json;
use std::time::Duration;
use tokio::task::JoinHandle;

/// A controller that works on a fake server.
struct Running {
    fake: Fake,
    shutdown: CancellationToken,
    task: JoinHandle<()>,
}

impl Running {
    fn start(fake: Fake) -> Self {
        Self::start_with(fake, Options::default())
    }

    fn start_with(fake: Fake, options: Options) -> Self {
        let shutdown = CancellationToken::new();
        let sources: Sources = fake.sources();
        let run = crate::run(fake.client(), sources, options, shutdown.clone());
        Self {
            task: tokio::spawn(run),
            fake,
            shutdown,
        }
    }

    /// Waits, at most ten seconds, until something holds.
    async fn until(&self, what: &str, holds: impl Fn(&Fake) -> bool) {
        let wait = async {
            while !holds(&self.fake) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(10), wait).await;
        assert!(waited.is_ok(), "never: {what}\n{}", self.fake.describe());
    }

    async fn stop(self) {
        self.shutdown.cancel();
        tokio::time::timeout(Duration::from_secs(10), self.task)
            .await
            .unwrap()
            .unwrap();
    }
}

fn status(fake: &Fake) -> [i64; 3] {
    let set = fake.daemon_set();
    let number = |key: &str| set["status"][key].as_i64().unwrap_or(0);
    [
        number("desiredNumberScheduled"),
        number("numberReady"),
        number("updatedNumberScheduled"),
    ]
}

#[tokio::test]
async fn each_node_gets_a_pod_and_the_status_follows() {
    let fake = Fake::with_nodes(20);
    let running = Running::start(fake);
    running
        .until("20 pods", |fake| fake.pods().len() == 20)
        .await;
    running.fake.make_ready();
    running
        .until("all are ready", |fake| status(fake) == [20, 20, 20])
        .await;
    assert_eq!(running.fake.count("POST", "pods"), 20);
    assert_eq!(running.fake.count("POST", "controllerrevisions"), 1);
    assert_eq!(
        running.fake.daemon_set()["status"]["observedGeneration"],
        json!(1)
    );
    running.stop().await;
}

#[tokio::test]
async fn nothing_is_made_twice_while_the_watch_is_behind() {
    let fake = Fake::with_nodes(3);
    fake.hold_back("pods");
    let running = Running::start(fake);
    running.until("3 pods", |fake| fake.pods().len() == 3).await;
    running.fake.add_node("late");
    running
        .until("the new node counts", |fake| status(fake)[0] == 4)
        .await;
    assert_eq!(running.fake.count("POST", "pods"), 3);
    running.fake.show_held("pods");
    running
        .until("the pod of the new node", |fake| fake.pods().len() == 4)
        .await;
    assert_eq!(running.fake.count("POST", "pods"), 4);
    running.stop().await;
}

#[tokio::test]
async fn a_quota_costs_one_attempt_a_round_and_is_noticed_when_raised() {
    let fake = Fake::with_nodes(8);
    fake.set_quota(Some(0));
    let running = Running::start(fake);
    running
        .until("the first refusal", |fake| fake.count("POST", "pods") == 1)
        .await;
    running
        .until("the status says so", |fake| status(fake)[0] == 8)
        .await;
    running
        .until("three rounds", |fake| fake.count("POST", "pods") == 3)
        .await;
    running.fake.set_quota(None);
    running.until("8 pods", |fake| fake.pods().len() == 8).await;
    running.stop().await;
}

#[tokio::test]
async fn a_new_template_replaces_one_pod_after_the_other() {
    let fake = Fake::with_nodes(3);
    let running = Running::start(fake);
    running.until("3 pods", |fake| fake.pods().len() == 3).await;
    running.fake.make_ready();
    running
        .until("all are ready", |fake| status(fake) == [3, 3, 3])
        .await;
    running.fake.set_image("agent:2");
    for replaced in 1..=3 {
        running
            .until("the next pod is new", |fake| {
                fake.count("POST", "pods") == 3 + replaced
            })
            .await;
        running
            .until("it is counted", |fake| {
                status(fake) == [3, 2, replaced as i64]
            })
            .await;
        assert_eq!(running.fake.count("DELETE", "pods"), replaced);
        running.fake.make_ready();
    }
    running
        .until("all are ready again", |fake| status(fake) == [3, 3, 3])
        .await;
    assert_eq!(running.fake.count("POST", "controllerrevisions"), 2);
    running.stop().await;
}

#[tokio::test]
async fn an_orphan_is_adopted_only_when_a_live_read_agrees() {
    let fake = Fake::with_nodes(1);
    fake.add_orphan("stray", "node-0");
    fake.show_live_as_deleting(true);
    let running = Running::start(fake);
    let fake = &running.fake;
    running
        .until("it looked twice", |fake| {
            fake.count("GET", "daemonsets") >= 2
        })
        .await;
    assert_eq!(
        (fake.count("PATCH", "pods"), fake.count("POST", "pods")),
        (0, 0)
    );
    fake.show_live_as_deleting(false);
    running
        .until("it is adopted", |fake| fake.count("PATCH", "pods") == 1)
        .await;
    // It is of no known template, so the update replaces it.
    running
        .until("it is replaced", |fake| fake.count("POST", "pods") == 1)
        .await;
    assert_eq!(fake.count("DELETE", "pods"), 1);
    running.stop().await;
}

#[tokio::test]
async fn a_taken_revision_name_is_avoided() {
    let fake = Fake::with_nodes(1);
    let running = Running::start(fake);
    running
        .until("the pod", |fake| fake.pods().len() == 1)
        .await;
    let name = running.fake.revision_names().remove(0);
    running.stop().await;

    let fake = Fake::with_nodes(1);
    fake.add_foreign_revision(&name);
    let running = Running::start(fake);
    running
        .until("the pod", |fake| fake.pods().len() == 1)
        .await;
    assert_eq!(
        running.fake.daemon_set()["status"]["collisionCount"],
        json!(1)
    );
    assert_eq!(running.fake.revision_names().len(), 2);
    running.stop().await;
}

#[tokio::test]
async fn a_conflict_of_the_status_is_met_with_a_fresh_copy() {
    let fake = Fake::with_nodes(2);
    fake.conflict_next_status();
    let running = Running::start(fake);
    running
        .until("the status is there", |fake| status(fake)[0] == 2)
        .await;
    assert!(running.fake.count("GET", "daemonsets") >= 1);
    running.stop().await;
}

#[tokio::test]
async fn nothing_is_written_before_this_process_leads() {
    let fake = Fake::with_nodes(2);
    fake.deny_leases(true);
    let shutdown = CancellationToken::new();
    let writer = Writer::new(fake.client(), "test");
    let mut lease = LeaseOptions::new("kube-system", "daemonset-controller", "me");
    lease.retry = Duration::from_millis(5);
    let gate: Gate = lead(writer, lease, &shutdown);
    let running = Running::start_with(
        fake,
        Options {
            gate,
            ..Options::default()
        },
    );
    running
        .until("it tried to lead", |fake| fake.count("GET", "leases") >= 2)
        .await;
    assert_eq!(running.fake.count("POST", "pods"), 0);
    running.fake.deny_leases(false);
    running.until("2 pods", |fake| fake.pods().len() == 2).await;
    running.stop().await;
    shutdown.cancel();
}

#[tokio::test]
async fn pods_that_are_gone_already_make_no_hot_loop() {
    let fake = Fake::with_nodes(1);
    fake.add_owned("a", "node-0");
    fake.add_owned("b", "node-0");
    fake.forget_silently("b");
    let running = Running::start(fake);
    running
        .until("it tried thrice", |fake| fake.count("DELETE", "pods") >= 3)
        .await;
    let begin = tokio::time::Instant::now();
    running
        .until("more tries", |fake| fake.count("DELETE", "pods") >= 8)
        .await;
    assert!(
        begin.elapsed() > Duration::from_millis(100),
        "{:?}",
        begin.elapsed()
    );
    running.stop().await;
}
