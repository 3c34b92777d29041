//! Cases about one pass: which pods it makes and deletes, and what a pod looks like.

use crate::{Outcome, get, opt, same};
use jiff::{SignedDuration, Timestamp};
use libtest_mimic::Failed;
use pernode_core::daemonset::backoff::End;
use pernode_core::daemonset::expectations::Awaited;
use pernode_core::daemonset::slow_start::{SlowStart, is_harmless_create, is_harmless_delete};
use pernode_core::daemonset::{DaemonSet, Fleet, Plan, Policy, Revision, plan, revision};
use pernode_core::node::Node;
use pernode_core::pod::Pod;
use serde_json::{Value, json};
use std::sync::Arc;

/// A fleet that shows the given objects, with a current revision of the given hash.
pub(crate) fn fleet(given: &Value, now: Timestamp) -> Result<Fleet, Failed> {
    let set: Arc<DaemonSet> = Arc::new(get(given, "daemonSet")?);
    let mut fleet = Fleet::new(set.clone(), now);
    for node in opt::<Vec<Node>>(given, "nodes")?.unwrap_or_default() {
        fleet.apply_node(&Arc::new(node));
    }
    if let Some(hash) = opt::<String>(given, "currentHash")? {
        let current: Revision = serde_json::from_value(revision::body(&set, &hash, 1))?;
        fleet.apply_revision(&Arc::new(current));
    }
    for pod in opt::<Vec<Pod>>(given, "pods")?.unwrap_or_default() {
        fleet.apply_pod(&Arc::new(with_uid(pod)));
    }
    Ok(fleet)
}

/// Pods of the cases have no uid; the server would have given them one.
pub(crate) fn with_uid(mut pod: Pod) -> Pod {
    if pod.metadata.uid.is_empty() {
        pod.metadata.uid = format!("uid-{}", pod.metadata.name);
    }
    pod
}

#[derive(Default)]
struct Done {
    creates: Vec<String>,
    attempts: usize,
    deletes: Vec<String>,
    adopts: Vec<String>,
    releases: Vec<String>,
    events: Vec<Value>,
    failed: bool,
}

/// A pass of a file that lists adoptions and releases.
pub(crate) fn pass_with_owners(given: &Value, expect: &Value) -> Outcome {
    compare(&run(given)?, expect, true)
}

/// A pass of a file that does not.
pub(crate) fn pass(given: &Value, expect: &Value) -> Outcome {
    compare(&run(given)?, expect, false)
}

fn run(given: &Value) -> Result<Done, Failed> {
    let now: Timestamp = get(given, "now")?;
    let mut fleet = fleet(given, now)?;
    for node in opt::<Vec<String>>(given, "nodesInFailedPodBackoff")?.unwrap_or_default() {
        fleet.record_removal(&node, End::Failed, now);
    }
    if let Some(unseen) = given.get("unseenWrites") {
        let count: i64 = get::<i64>(unseen, "creates")? + get::<i64>(unseen, "deletes")?;
        for n in 0..count {
            fleet
                .expectations_mut()
                .expect(&format!("unseen-{n}"), Awaited::Present, now);
        }
    }
    let burst = opt::<usize>(given, "burst")?.unwrap_or(250);
    let policy = Policy {
        creates_max: burst,
        deletes_max: burst,
    };
    fleet.advance(now);
    let plan = plan(&fleet, now, &policy);
    execute(given, &plan)
}

/// Carries a plan out as the executor does, against a server that answers as the case says.
fn execute(given: &Value, plan: &Plan) -> Result<Done, Failed> {
    let mut done = Done::default();
    let reasons = ["FailedDaemonPod", "SucceededDaemonPod", "SelectingAll"];
    let events = plan
        .events
        .iter()
        .filter(|event| reasons.contains(&event.reason));
    done.events = events
        .map(|e| json!({"type": e.r#type.as_str(), "reason": e.reason}))
        .collect();
    if !plan.adopts.is_empty() && !may_adopt(given)? {
        done.failed = true;
        return Ok(done);
    }
    done.adopts = plan.adopts.iter().map(|pod| pod.name.clone()).collect();
    done.releases = plan.releases.iter().map(|pod| pod.name.clone()).collect();
    create(given, plan, &mut done)?;
    done.deletes = plan
        .deletes
        .iter()
        .map(|delete| delete.pod.name.clone())
        .collect();
    let refused = opt::<String>(given, "deleteError")?.filter(|reason| !is_harmless_delete(reason));
    done.failed |= refused.is_some() && !done.deletes.is_empty();
    Ok(done)
}

fn create(given: &Value, plan: &Plan, done: &mut Done) -> Outcome {
    let error: Option<String> = opt(given, "createError")?;
    let quota: Option<usize> = opt(given, "createQuota")?;
    let quota = quota.unwrap_or(if error.is_some() { 0 } else { usize::MAX });
    let fails = !error.as_deref().is_some_and(is_harmless_create);
    let mut start = SlowStart::new(plan.creates.len());
    let mut failures = 0;
    while let Some(batch) = start.next_batch(failures) {
        for create in &plan.creates[batch] {
            done.attempts += 1;
            if done.creates.len() < quota {
                done.creates.push(create.node.to_string());
            } else if fails {
                failures += 1;
            }
        }
    }
    done.failed |= failures > 0;
    Ok(())
}

/// Whether an uncached read shows the same DaemonSet, and not being deleted.
pub(crate) fn may_adopt(given: &Value) -> Result<bool, Failed> {
    let cached: DaemonSet = get(given, "daemonSet")?;
    Ok(match given.get("liveDaemonSet") {
        None => true,
        Some(Value::Null) => false,
        Some(_) => {
            let live: DaemonSet = get(given, "liveDaemonSet")?;
            live.metadata.uid == cached.metadata.uid && !live.metadata.is_deleting()
        }
    })
}

fn compare(done: &Done, expect: &Value, owners: bool) -> Outcome {
    compare_names("creates", &done.creates, expect, "node", "createsAnyOf")?;
    compare_names("deletes", &done.deletes, expect, "pod", "deletesAnyOf")?;
    // Only the files that speak of owners list what is adopted and released.
    let speaks = |key: &str| owners || expect.get(key).is_some();
    let claims = [("adopts", &done.adopts), ("releases", &done.releases)];
    for (key, ours) in claims.into_iter().filter(|(key, _)| speaks(key)) {
        same(
            key,
            &sorted(ours.clone()),
            &sorted(opt(expect, key)?.unwrap_or_default()),
        )?;
    }
    let text = |events: &[Value]| sorted(events.iter().map(Value::to_string).collect());
    let wanted: Vec<Value> = opt(expect, "events")?.unwrap_or_default();
    same("events", &text(&done.events), &text(&wanted))?;
    same(
        "syncError",
        &done.failed,
        &opt(expect, "syncError")?.unwrap_or(false),
    )?;
    if let Some(attempts) = opt::<usize>(expect, "createAttempts")? {
        same("createAttempts", &done.attempts, &attempts)?;
    }
    if let Some(created) = opt::<usize>(expect, "created")? {
        same("created", &done.creates.len(), &created)?;
    }
    Ok(())
}

/// The exact names must be there, and beside them only as many of the others as the case allows.
fn compare_names(what: &str, ours: &[String], expect: &Value, field: &str, any: &str) -> Outcome {
    let mut rest = sorted(ours.to_vec());
    for wanted in get::<Vec<Value>>(expect, what)? {
        let wanted: String = get(&wanted, field)?;
        let at = rest.iter().position(|name| *name == wanted);
        let at = at.ok_or_else(|| format!("{what}: no {wanted} in {ours:?}"))?;
        rest.remove(at);
    }
    for choice in opt::<Vec<Value>>(expect, any)?.unwrap_or_default() {
        let from: Vec<String> = get(&choice, "from")?;
        let chosen = rest.iter().filter(|name| from.contains(name)).count();
        same(any, &chosen, &get(&choice, "count")?)?;
        rest.retain(|name| !from.contains(name));
    }
    same(
        &format!("{what} beyond the expected ones"),
        &rest,
        &Vec::new(),
    )
}

pub(crate) fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}

pub(crate) fn render(given: &Value, expect: &Value) -> Outcome {
    let fleet = fleet(given, Timestamp::UNIX_EPOCH)?;
    let node: String = get(given, "nodeName")?;
    let mut ours = fleet.pod_for(&node);
    same("kind", &ours["kind"], &json!("Pod"))?;
    if let Some(metadata) = ours["metadata"].as_object_mut() {
        same(
            "namespace",
            &metadata.remove("namespace"),
            &Some(json!("default")),
        )?;
    }
    let wanted: Value = get(expect, "pod")?;
    same("metadata", &ours["metadata"], &wanted["metadata"])?;
    same("spec", &ours["spec"], &wanted["spec"])
}

pub(crate) fn backoff(given: &Value, expect: &Value) -> Outcome {
    let start: Timestamp = "2026-01-01T00:00:00Z".parse()?;
    let set: DaemonSet = get(given, "daemonSet")?;
    let node: Node = get(given, "node")?;
    let mut fleet = Fleet::new(Arc::new(set.clone()), start);
    fleet.apply_node(&Arc::new(node.clone()));
    let mut ours = Vec::new();
    for (n, observation) in get::<Vec<Value>>(given, "observations")?.iter().enumerate() {
        let now = start.checked_add(SignedDuration::from_secs_f64(get(
            observation,
            "atSeconds",
        )?))?;
        let mut set = set.clone();
        set.status.observed_generation = get(observation, "observedGeneration")?;
        fleet.set_daemon_set(Arc::new(set));
        let pod: Pod = serde_json::from_value(failed_pod(&fleet, &node.metadata.name, n))?;
        fleet.apply_pod(&Arc::new(pod.clone()));
        fleet.advance(now);
        let plan = plan(&fleet, now, &Policy::default());
        let deleted = !plan.deletes.is_empty();
        ours.push(deleted);
        fleet.begin(&plan, now);
        fleet.expectations_mut().end();
        if !deleted {
            let next = plan.next.ok_or("a pod in backoff has a next look")?;
            same("the next look is later", &(next > now), &true)?;
        }
        fleet.remove_pod(&pod);
    }
    same("deleted", &ours, &get(expect, "deleted")?)
}

fn failed_pod(fleet: &Fleet, node: &str, n: usize) -> Value {
    let mut pod = fleet.pod_for(node);
    pod["metadata"]["name"] = json!(format!("p{n}"));
    pod["metadata"]["uid"] = json!(format!("uid-p{n}"));
    pod["spec"]["nodeName"] = json!(node);
    pod["status"] = json!({"phase": "Failed"});
    pod
}
