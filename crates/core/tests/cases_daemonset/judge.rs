//! Cases about one node, one pod or one number.

use crate::{Outcome, get, opt, same};
use pernode_core::daemonset::DaemonSet;
use pernode_core::daemonset::budget::Budget;
use pernode_core::daemonset::placement::Placement;
use pernode_core::daemonset::progress::{self, Progress};
use pernode_core::daemonset::render::PodBase;
use pernode_core::daemonset::slot::Rules;
use pernode_core::node::Node;
use pernode_core::pod::Pod;
use serde_json::{Value, json};

pub(crate) fn placement(given: &Value, expect: &Value) -> Outcome {
    let set: DaemonSet = get(given, "daemonSet")?;
    let node: Node = get(given, "node")?;
    let placement = Placement::of(&set.spec.template);
    let verdict = placement.judge(&node);
    same("shouldRun", &verdict.should_run, &get(expect, "shouldRun")?)?;
    same(
        "shouldContinueRunning",
        &verdict.should_continue,
        &get(expect, "shouldContinueRunning")?,
    )?;
    same(
        "no reasons exactly when it should run",
        &placement.reasons(&node).is_empty(),
        &verdict.should_run,
    )
}

pub(crate) fn tolerations(given: &Value, expect: &Value) -> Outcome {
    let set: DaemonSet = get(given, "daemonSet")?;
    let wanted: Value = get(expect, "tolerations")?;
    let pod = PodBase::of(&set, "").for_node("n");
    same("in the pod", &pod["spec"]["tolerations"], &wanted)?;
    let judged = json!(Placement::of(&set.spec.template).tolerations());
    same("as they are judged", &judged, &wanted)
}

pub(crate) fn pin(given: &Value, expect: &Value) -> Outcome {
    let set: DaemonSet = get(given, "daemonSet")?;
    let node: String = get(given, "nodeName")?;
    let pod = PodBase::of(&set, "").for_node(&node);
    same(
        "affinity",
        &pod["spec"]["affinity"],
        &get(expect, "affinity")?,
    )
}

pub(crate) fn budget(given: &Value, expect: &Value) -> Outcome {
    let set: DaemonSet = get(given, "daemonSet")?;
    let nodes: Vec<Node> = get(given, "nodes")?;
    let placement = Placement::of(&set.spec.template);
    let desired = nodes
        .iter()
        .filter(|node| placement.judge(node).should_run)
        .count();
    let budget = Budget::of(&set, desired);
    same("desired", &desired, &get(expect, "desiredNumberScheduled")?)?;
    same(
        "maxUnavailable",
        &budget.max_unavailable,
        &get(expect, "maxUnavailable")?,
    )?;
    same("maxSurge", &budget.max_surge, &get(expect, "maxSurge")?)
}

pub(crate) fn updated(given: &Value, expect: &Value) -> Outcome {
    let set: DaemonSet = get(given, "daemonSet")?;
    let pod: Pod = get(given, "pod")?;
    let hash: String = get(given, "currentHash")?;
    same(
        "updated",
        &Rules::of(&set, &hash).is_updated(&pod),
        &get(expect, "updated")?,
    )
}

pub(crate) fn rollout_status(given: &Value, expect: &Value) -> Outcome {
    let set: DaemonSet = get(given, "daemonSet")?;
    let ours = match progress::of(&set) {
        Err(_) => json!({"error": "strategy-not-supported"}),
        Ok(Progress::SpecNotObserved) => json!({"done": false, "state": "spec-not-observed"}),
        Ok(Progress::Updating { have, want }) => {
            json!({"done": false, "state": "updating", "have": have, "want": want})
        }
        Ok(Progress::WaitingAvailable { have, want }) => {
            json!({"done": false, "state": "waiting-available", "have": have, "want": want})
        }
        Ok(Progress::Complete) => json!({"done": true, "state": "complete"}),
    };
    for key in ["done", "state", "have", "want", "error"] {
        same(key, &opt::<Value>(&ours, key)?, &opt(expect, key)?)?;
    }
    Ok(())
}
