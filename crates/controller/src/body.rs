//! The bodies of the controller's patches.

use pernode_core::daemonset::DaemonSet;
use pernode_core::daemonset::history::{Relabel, Target, Update};
use pernode_core::daemonset::view::{DaemonSetStatus, HASH_LABEL};
use serde_json::{Map, Value, json};

/// Makes the DaemonSet the controller of an object. A strategic merge patch; the uid makes it fail
/// when another object has taken the name.
pub(crate) fn adoption(set: &DaemonSet, target: &Target) -> Value {
    json!({"metadata": {"uid": target.uid, "ownerReferences": [set.owner_reference()]}})
}

/// Takes the DaemonSet out of an object's owners. A strategic merge patch.
pub(crate) fn release(set: &DaemonSet, target: &Target) -> Value {
    let owner = json!({"$patch": "delete", "uid": set.metadata.uid});
    json!({"metadata": {"uid": target.uid, "ownerReferences": [owner]}})
}

/// Changes the number or the hash label of a revision. A merge patch, for the state that was planned on.
pub(crate) fn revision_update(update: &Update) -> Value {
    let mut patch = json!({"metadata": precondition(&update.target)});
    if let Some(number) = update.revision {
        patch["revision"] = json!(number);
    }
    if let Some(hash) = &update.hash_label {
        patch["metadata"]["labels"] = json!({HASH_LABEL: hash});
    }
    patch
}

/// Changes the hash label of a pod. A merge patch.
pub(crate) fn relabel(relabel: &Relabel) -> Value {
    json!({"metadata": {"uid": relabel.pod.uid, "labels": {HASH_LABEL: relabel.hash}}})
}

/// Raises the collision count. A merge patch of the status, for the state that was read.
pub(crate) fn collision_count(live: &DaemonSet, count: i64) -> Value {
    let target = Target::of(&live.metadata);
    json!({"metadata": precondition(&target), "status": {"collisionCount": count}})
}

/// Writes the counters. A merge patch of the status, for the state `target` was read at.
pub(crate) fn status(target: &Target, status: &DaemonSetStatus) -> Value {
    // What the API leaves out when it is zero has to be taken out, not only left out.
    const OMITTED: [&str; 4] = [
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
    ];
    let mut counters = match json!(status) {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    counters.remove("conditions");
    for key in OMITTED {
        counters.entry(key).or_insert(Value::Null);
    }
    json!({"metadata": precondition(target), "status": counters})
}

/// The write applies to this very object in this very state. Tests may leave versions out.
fn precondition(target: &Target) -> Value {
    let mut meta = Map::new();
    for (key, value) in [("uid", &target.uid), ("resourceVersion", &target.version)] {
        if !value.is_empty() {
            meta.insert(key.into(), json!(value));
        }
    }
    Value::Object(meta)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn target() -> Target {
        Target {
            name: "x".into(),
            uid: "u1".into(),
            version: "7".into(),
        }
    }

    #[allow(clippy::needless_pass_by_value, reason = "expect! makes a value")]
    fn check(body: &Value, text: Expect) {
        text.assert_eq(&body.to_string());
    }

    #[test]
    fn counters_that_are_zero_are_taken_out() {
        let counters = DaemonSetStatus {
            desired_number_scheduled: 3,
            number_unavailable: 3,
            observed_generation: 2,
            ..DaemonSetStatus::default()
        };
        check(
            &status(&target(), &counters),
            expect![[
                r#"{"metadata":{"resourceVersion":"7","uid":"u1"},"status":{"currentNumberScheduled":0,"desiredNumberScheduled":3,"numberAvailable":null,"numberMisscheduled":0,"numberReady":0,"numberUnavailable":3,"observedGeneration":2,"updatedNumberScheduled":null}}"#
            ]],
        );
    }

    #[test]
    fn owners_come_and_go_by_uid() {
        let mut set = DaemonSet::default();
        set.metadata.name = "agent".into();
        set.metadata.uid = "d1".into();
        check(
            &adoption(&set, &target()),
            expect![[
                r#"{"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","blockOwnerDeletion":true,"controller":true,"kind":"DaemonSet","name":"agent","uid":"d1"}],"uid":"u1"}}"#
            ]],
        );
        check(
            &release(&set, &target()),
            expect![[
                r#"{"metadata":{"ownerReferences":[{"$patch":"delete","uid":"d1"}],"uid":"u1"}}"#
            ]],
        );
    }

    #[test]
    fn a_revision_changes_only_what_is_planned() {
        let update = Update {
            target: target(),
            revision: Some(4),
            hash_label: None,
        };
        check(
            &revision_update(&update),
            expect![[r#"{"metadata":{"resourceVersion":"7","uid":"u1"},"revision":4}"#]],
        );
    }
}
