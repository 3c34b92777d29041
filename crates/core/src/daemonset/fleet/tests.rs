//! What the index does with events that come late, twice or in another order.

use super::*;
use crate::daemonset::expectations::Awaited;
use alloc::vec;
use serde_json::json;

fn fleet() -> Fleet {
    let set = serde_json::from_value(json!({
        "metadata": {"name": "agent", "namespace": "default", "uid": "ds"},
        "spec": {
            "selector": {"matchLabels": {"app": "agent"}},
            "template": {"metadata": {"labels": {"app": "agent"}}, "spec": {"containers": []}},
        },
    }));
    Fleet::new(Arc::new(set.unwrap()), Timestamp::UNIX_EPOCH)
}

fn node(name: &str, uid: &str) -> Arc<Node> {
    Arc::new(serde_json::from_value(json!({"metadata": {"name": name, "uid": uid}})).unwrap())
}

fn pod(name: &str, uid: &str, node: &str) -> Arc<Pod> {
    let pod = json!({
        "metadata": {
            "name": name, "uid": uid, "labels": {"app": "agent"},
            "ownerReferences": [{"uid": "ds", "controller": true}],
        },
        "spec": {"nodeName": node},
    });
    Arc::new(serde_json::from_value(pod).unwrap())
}

#[test]
fn a_pod_that_comes_before_its_node_counts_when_the_node_comes() {
    let mut fleet = fleet();
    fleet.apply_pod(&pod("p", "1", "a"));
    assert_eq!(fleet.tally().current, 0);
    assert!(fleet.apply_node(&node("a", "n1")));
    assert_eq!((fleet.tally().desired, fleet.tally().current), (1, 1));
    assert!(fleet.tally().needs_work.is_empty());
}

#[test]
fn the_late_end_of_an_earlier_pod_leaves_its_successor_alone() {
    let mut fleet = fleet();
    fleet.apply_node(&node("a", "n1"));
    fleet.apply_pod(&pod("p", "1", "a"));
    fleet.apply_pod(&pod("p", "2", "a"));
    assert!(!fleet.remove_pod(&pod("p", "1", "a")));
    assert_eq!(fleet.tally().current, 1);
    assert!(fleet.remove_pod(&pod("p", "2", "a")));
    assert_eq!(fleet.tally().current, 0);
}

#[test]
fn an_event_that_changes_nothing_is_no_news() {
    let mut fleet = fleet();
    assert!(fleet.apply_node(&node("a", "n1")));
    assert!(!fleet.apply_node(&node("a", "n1")));
    assert!(!fleet.remove_node("b"));
    assert!(fleet.remove_node("a"));
    assert_eq!(fleet.slots().count(), 0);
}

#[test]
fn a_write_the_watch_showed_before_the_answer_is_not_awaited() {
    let mut fleet = fleet();
    fleet.begin(&Plan::default(), Timestamp::UNIX_EPOCH);
    fleet.apply_pod(&pod("p", "1", "a"));
    fleet.remove_pod(&pod("p", "1", "a"));
    let expectations = fleet.expectations_mut();
    expectations.expect("1", Awaited::Present, Timestamp::UNIX_EPOCH);
    expectations.expect("2", Awaited::Present, Timestamp::UNIX_EPOCH);
    expectations.end();
    assert!(fleet.expectations().is_waiting(Timestamp::UNIX_EPOCH));
    fleet.apply_pod(&pod("q", "2", "a"));
    assert!(!fleet.expectations().is_waiting(Timestamp::UNIX_EPOCH));
}

#[test]
fn status_updates_do_not_judge_nodes_again() {
    let mut fleet = fleet();
    fleet.apply_node(&node("a", "n1"));
    let mut set = DaemonSet::clone(fleet.daemon_set());
    set.spec.template =
        crate::daemonset::view::Template::from_json(set.spec.template.json().clone()).unwrap();
    set.status.number_ready = 1;
    let before = fleet.daemon_set().spec.template.clone();
    fleet.set_daemon_set(Arc::new(set));
    assert!(fleet.daemon_set().spec.template.is_same(&before));
    let wanted: Vec<_> = vec![Arc::<str>::from("a")];
    assert_eq!(
        fleet.tally().needs_work.iter().cloned().collect::<Vec<_>>(),
        wanted
    );
}

/// A DaemonSet deleted with its pods left behind and made anew starts counting generations afresh.
#[test]
fn the_generation_of_an_earlier_life_makes_no_pod_current() {
    let mut set = DaemonSet::clone(fleet().daemon_set());
    let generation = crate::daemonset::view::GENERATION_ANNOTATION;
    set.metadata
        .annotations
        .insert(generation.into(), "1".into());
    let old: Revision =
        serde_json::from_value(crate::daemonset::revision::body(&set, "h1", 1)).unwrap();
    set.spec.template = crate::daemonset::view::Template::from_json(json!({
        "metadata": {"labels": {"app": "agent"}}, "spec": {"hostNetwork": true},
    }))
    .unwrap();
    let mut fleet = Fleet::new(Arc::new(set), Timestamp::UNIX_EPOCH);
    fleet.apply_node(&node("a", "n1"));
    let mut left = Pod::clone(&pod("p", "1", "a"));
    for (key, value) in [
        (HASH_LABEL, "h1"),
        (crate::daemonset::view::GENERATION_LABEL, "1"),
    ] {
        left.metadata.labels.insert(key.into(), value.into());
    }
    fleet.apply_pod(&Arc::new(left));
    // Without the revision the generation is all there is to go by.
    assert_eq!(fleet.tally().updated, 1);
    fleet.apply_revision(&Arc::new(old));
    assert_eq!(fleet.tally().updated, 0);
}
