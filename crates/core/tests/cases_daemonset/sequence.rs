//! Cases of several passes in a small model world.

use crate::{Outcome, get, opt, same};
use jiff::{SignedDuration, Timestamp};
use libtest_mimic::Failed;
use pernode_core::daemonset::history::HistoryPlan;
use pernode_core::daemonset::manage::{Steps, manage};
use pernode_core::daemonset::rollout::rollout;
use pernode_core::daemonset::{DaemonSet, Fleet, Policy, Revision};
use pernode_core::pod::{Phase, Pod, PodCondition};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

struct World {
    set: Value,
    fleet: Fleet,
    pods: BTreeMap<String, Pod>,
    revisions: BTreeMap<String, Revision>,
    now: Timestamp,
    made: usize,
}

pub(crate) fn sequence(given: &Value, expect: &Value) -> Outcome {
    let now = Timestamp::UNIX_EPOCH;
    let fleet = crate::pass::fleet(given, now)?;
    let mut world = World {
        set: get(given, "daemonSet")?,
        pods: BTreeMap::new(),
        revisions: BTreeMap::new(),
        made: 0,
        fleet,
        now,
    };
    for pod in opt::<Vec<Pod>>(given, "pods")?.unwrap_or_default() {
        world
            .pods
            .insert(pod.metadata.name.clone(), crate::pass::with_uid(pod));
    }
    let mut passes = Vec::new();
    for step in get::<Vec<Value>>(given, "steps")? {
        if step.get("sync").is_some() {
            passes.push(world.sync()?);
        } else if let Some(patch) = step.get("patchDaemonSet") {
            world.patch(patch)?;
        } else if let Some(ready) = step.get("setReady") {
            world.set_ready(ready)?;
        } else {
            let seconds: f64 = get(&step, "setClockSeconds")?;
            world.now =
                Timestamp::UNIX_EPOCH.checked_add(SignedDuration::from_secs_f64(seconds))?;
        }
    }
    same("passes", &passes, &get(expect, "passes")?)?;
    if let Some(wanted) = opt::<usize>(expect, "readyPods")? {
        same(
            "readyPods",
            &world.pods.values().filter(|pod| pod.is_ready()).count(),
            &wanted,
        )?;
    }
    Ok(())
}

impl World {
    /// One pass; the update step sees what the base step wrote.
    fn sync(&mut self) -> Result<Value, Failed> {
        let policy = Policy::default();
        self.fleet.advance(self.now);
        let history = self.fleet.plan_history();
        self.write_history(&history)?;
        let base = manage(&self.fleet, self.now, &policy);
        self.write(&base)?;
        let update = rollout(&self.fleet, &policy);
        self.write(&update)?;
        let creates = base.creates.len() + update.creates.len();
        let deletes = base.deletes.len() + update.deletes.len();
        Ok(json!({"creates": creates, "deletes": deletes}))
    }

    fn write_history(&mut self, plan: &HistoryPlan) -> Outcome {
        if let Some(create) = &plan.create {
            let revision: Revision = serde_json::from_value(create.body.clone())?;
            self.revisions.insert(create.name.clone(), revision);
        }
        for update in &plan.updates {
            if let (Some(revision), Some(number)) =
                (self.revisions.get_mut(&update.target.name), update.revision)
            {
                revision.revision = number;
            }
        }
        for gone in plan.duplicates.iter().chain(&plan.cleanup) {
            if let Some(revision) = self.revisions.remove(&gone.name) {
                self.fleet.remove_revision(&revision);
            }
        }
        for revision in self.revisions.values() {
            self.fleet.apply_revision(&Arc::new(revision.clone()));
        }
        Ok(())
    }

    fn write(&mut self, steps: &Steps) -> Outcome {
        for delete in &steps.deletes {
            if let Some(pod) = self.pods.remove(&delete.pod.name) {
                self.fleet.remove_pod(&pod);
            }
        }
        for create in &steps.creates {
            self.made += 1;
            let mut json = self.fleet.pod_for(&create.node);
            json["metadata"]["name"] = json!(format!("pod-{}", self.made));
            json["metadata"]["uid"] = json!(format!("uid-{}", self.made));
            json["metadata"]["creationTimestamp"] = json!(self.now);
            json["spec"]["nodeName"] = json!(*create.node);
            let pod: Pod = serde_json::from_value(json)?;
            self.show(pod);
        }
        Ok(())
    }

    fn show(&mut self, pod: Pod) {
        self.fleet.apply_pod(&Arc::new(pod.clone()));
        self.pods.insert(pod.metadata.name.clone(), pod);
    }

    fn patch(&mut self, patch: &Value) -> Outcome {
        merge(&mut self.set, patch);
        let set: DaemonSet = serde_json::from_value(self.set.clone())?;
        self.fleet.set_daemon_set(Arc::new(set));
        Ok(())
    }

    /// Changes the Ready condition of pods that do not have it so already.
    fn set_ready(&mut self, step: &Value) -> Outcome {
        let ready: bool = get(step, "ready")?;
        let revision: String = get(step, "revision")?;
        let alone = opt(step, "onlyNodesWithoutCurrentPod")?.unwrap_or(false);
        let rules = self.fleet.rules();
        let has_current = |node: &str| {
            let on_node = self.pods.values().filter(|pod| pod.spec.node_name == node);
            on_node.into_iter().any(|pod| rules.is_updated(pod))
        };
        let fits = |pod: &&Pod| {
            let is_of = match revision.as_str() {
                "current" => rules.is_updated(pod),
                "old" => !rules.is_updated(pod),
                _ => true,
            };
            pod.is_ready() != ready && is_of && !(alone && has_current(&pod.spec.node_name))
        };
        let count = opt(step, "count")?.unwrap_or(usize::MAX);
        let chosen: Vec<Pod> = self
            .pods
            .values()
            .filter(fits)
            .take(count)
            .cloned()
            .collect();
        for mut pod in chosen {
            pod.status.phase = Phase::Running;
            pod.status.conditions = vec![PodCondition {
                r#type: "Ready".into(),
                status: if ready { "True" } else { "False" }.into(),
                last_transition_time: Some(self.now),
                ..PodCondition::default()
            }];
            self.show(pod);
        }
        Ok(())
    }
}

/// JSON merge patch (RFC 7386).
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    let Some(map) = target.as_object_mut() else {
        return;
    };
    for (key, value) in fields {
        if value.is_null() {
            map.remove(key);
        } else {
            merge(map.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}
