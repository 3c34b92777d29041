//! Tests of `podgc`.

use super::*;
use crate::meta::Meta;
use alloc::format;
use alloc::string::ToString;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("in range")
}

/// `name@node` with `!` if it has ended and `-` if it is being deleted; its uid is its name.
fn pod(text: &str, now: i64) -> Pod {
    let (words, marks) = text.split_at(text.find(['!', '-']).unwrap_or(text.len()));
    let (name, node) = words.split_once('@').expect("name@node");
    let metadata = Meta {
        name: name.into(),
        namespace: "d".into(),
        uid: name.into(),
        creation_timestamp: Some(at(now)),
        deletion_timestamp: marks.contains('-').then(|| at(now)),
        ..Meta::default()
    };
    let mut pod = Pod {
        metadata,
        ..Pod::default()
    };
    pod.spec.node_name = node.into();
    if marks.contains('!') {
        pod.status.phase = crate::pod::Phase::Failed;
    }
    pod
}

fn node(name: &str, uid: &str, now: i64) -> Node {
    let metadata = Meta {
        name: name.into(),
        uid: uid.into(),
        creation_timestamp: Some(at(now)),
        ..Meta::default()
    };
    Node {
        metadata,
        ..Node::default()
    }
}

/// One step a line: `+node n uid`, `-node n`, `+pod P`, `-pod uid`, `fail uid`, `wait seconds`; after each
/// step a plan is made. Answers the second and the pods that each plan collects.
fn run(script: &str) -> String {
    let mut collector = Collector::new(2, QUARANTINE);
    let mut clock = 0;
    let mut out = String::new();
    for line in script.lines().map(str::trim).filter(|l| !l.is_empty()) {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["+node", name, uid] => collector.apply_node(&node(name, uid, clock), at(clock)),
            ["-node", name] => collector.remove_node(name, at(clock)),
            ["+pod", text] => collector.apply_pod(&pod(text, clock), at(clock)),
            ["-pod", uid] => collector.remove_pod(uid),
            ["fail", uid] => collector.failed(uid, at(clock)),
            ["wait", seconds] => clock += seconds.parse::<i64>().expect("seconds"),
            _ => panic!("{line}"),
        }
        let plan = collector.plan(at(clock));
        for collect in plan.collect {
            let ends = if collect.patch.is_some() { " ends" } else { "" };
            let line = format!("{clock} {} {:?}{ends}\n", collect.pod.name, collect.cause);
            out.push_str(&line);
        }
    }
    out
}

#[track_caller]
fn check(script: &str, expected: &str) {
    let expected: String = expected
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .map(|l| l.to_string() + "\n")
        .collect();
    assert_eq!(run(script), expected, "{script}");
}

#[test]
fn pods_of_a_departed_node_go_after_the_quarantine() {
    check(
        "+node t1 u1\n +pod a@t1\n +pod b@t1!\n -node t1\n wait 39\n wait 1\n wait 9",
        "40 a Orphaned ends\n 40 b Orphaned",
    );
}

#[test]
fn pods_of_a_node_that_was_never_seen_go_too() {
    check("+pod a@t9\n wait 40", "40 a Orphaned ends");
    check("+pod a@t9\n wait 20\n +node t9 u9\n wait 60", "");
}

#[test]
fn pods_of_a_node_that_was_made_anew_go_at_once() {
    check(
        "+node t1 u1\n +pod a@t1\n -node t1\n wait 5\n +node t1 u2\n +pod new@t1\n wait 90",
        "5 a Orphaned ends",
    );
    // The departure was not seen, only the other uid.
    check("+node t1 u1\n +pod a@t1\n +node t1 u2", "0 a Orphaned ends");
    // A later state of the pod does not make it belong to the new node.
    check(
        "+node t1 u1\n +pod a@t1\n -node t1\n +pod a@t1\n wait 5\n +node t1 u2",
        "5 a Orphaned ends",
    );
}

#[test]
fn a_pod_of_the_new_node_may_be_seen_before_the_node() {
    check(
        "+node t1 u1\n wait 5\n +pod a@t1\n -node t1\n +node t1 u2",
        "5 a Orphaned ends",
    );
    // Created after the new node was.
    let mut collector = Collector::default();
    collector.apply_node(&node("t1", "u1", 0), at(9));
    collector.apply_pod(&pod("a@t1", 8), at(9));
    collector.remove_node("t1", at(9));
    collector.apply_node(&node("t1", "u2", 7), at(9));
    assert_eq!(collector.plan(at(99)).collect, []);
}

#[test]
fn a_node_that_is_only_updated_keeps_its_pods() {
    check("+node t1 u1\n +pod a@t1\n +node t1 u1\n wait 90", "");
}

#[test]
fn a_pod_being_deleted_without_a_node_goes_at_once() {
    check("+pod a@-", "0 a Unscheduled ends");
    check("+pod a@\n wait 100", "");
}

#[test]
fn the_oldest_ended_pods_beyond_the_threshold_go() {
    check(
        "+node t1 u1\n +pod a@t1!\n wait 1\n +pod b@t1!\n wait 1\n +pod c@t1!",
        "2 a Terminated",
    );
}

#[test]
fn a_deletion_that_failed_is_tried_again_later() {
    check(
        "+pod a@t9\n wait 40\n fail a\n wait 4\n wait 1\n -pod a\n wait 50",
        "40 a Orphaned ends\n 45 a Orphaned ends",
    );
}
