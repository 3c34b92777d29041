//! Keeps the status of pod disruption budgets, which evictions are judged by.

use crate::drive::{Decide, drive, forward, inbox};
use crate::{Context, names, note};
use jiff::Timestamp;
use pernode_core::int_or_percent::IntOrPercent;
use pernode_core::meta::{Meta, null_as_default, seconds};
use pernode_core::pod::Pod;
use pernode_core::selector::{LabelSelector, Selector};
use pernode_runtime::{Event, Object, Patch, Resource, View};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A PodDisruptionBudget.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Budget {
    metadata: Meta,
    #[serde(deserialize_with = "null_as_default")]
    spec: BudgetSpec,
    #[serde(deserialize_with = "null_as_default")]
    status: Counts,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct BudgetSpec {
    min_available: Option<IntOrPercent>,
    max_unavailable: Option<IntOrPercent>,
    selector: Option<LabelSelector>,
}

/// The numbers of a budget's status.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Counts {
    observed_generation: i64,
    expected_pods: i64,
    current_healthy: i64,
    desired_healthy: i64,
    disruptions_allowed: i64,
    #[serde(deserialize_with = "null_as_default")]
    conditions: Vec<Value>,
}

impl Object for Budget {
    fn meta(&self) -> &Meta {
        &self.metadata
    }
}

impl View for Budget {
    const RESOURCE: Resource = Resource::namespaced(
        "policy",
        "v1",
        "poddisruptionbudgets",
        "PodDisruptionBudget",
    );
}

pub(crate) enum Seen {
    Budget(Event<Budget>),
    Pod(Event<Pod>),
}

/// The new status of a budget.
pub(crate) struct Write {
    budget: Arc<Budget>,
    patch: Value,
}

/// Pods and budgets by namespace, and the budgets to count anew.
#[derive(Debug, Default)]
pub(crate) struct Disruption {
    pods: BTreeMap<String, BTreeMap<String, Arc<Pod>>>,
    budgets: BTreeMap<String, BTreeMap<String, (Arc<Budget>, Selector)>>,
    dirty: BTreeSet<(String, String)>,
}

impl Disruption {
    fn apply_budget(&mut self, budget: &Arc<Budget>) {
        let (namespace, name) = (&budget.metadata.namespace, &budget.metadata.name);
        // An absent or broken selector selects nothing.
        let selector = budget.spec.selector.as_ref();
        let selector = selector.and_then(|s| Selector::from_label_selector(s).ok());
        let entry = (
            Arc::clone(budget),
            selector.unwrap_or_else(Selector::nothing),
        );
        self.budgets
            .entry(namespace.clone())
            .or_default()
            .insert(name.clone(), entry);
        self.dirty.insert((namespace.clone(), name.clone()));
    }

    fn remove_budget(&mut self, budget: &Budget) {
        let (namespace, name) = (&budget.metadata.namespace, &budget.metadata.name);
        if let Some(budgets) = self.budgets.get_mut(namespace) {
            budgets.remove(name);
        }
        self.dirty.remove(&(namespace.clone(), name.clone()));
    }

    /// Marks the budgets that select a pod; costs nothing where there are none.
    fn touch(&mut self, pod: &Pod) {
        let namespace = &pod.metadata.namespace;
        for (name, (_, selector)) in self.budgets.get(namespace).into_iter().flatten() {
            if selector.matches(&pod.metadata.labels) {
                self.dirty.insert((namespace.clone(), name.clone()));
            }
        }
    }

    fn apply_pod(&mut self, pod: &Arc<Pod>) {
        let pods = self.pods.entry(pod.metadata.namespace.clone()).or_default();
        let old = pods.insert(pod.metadata.name.clone(), Arc::clone(pod));
        if let Some(old) = old {
            self.touch(&old);
        }
        self.touch(pod);
    }

    fn remove_pod(&mut self, pod: &Pod) {
        if let Some(pods) = self.pods.get_mut(&pod.metadata.namespace) {
            pods.remove(&pod.metadata.name);
        }
        self.touch(pod);
    }

    fn count(&self, budget: &Budget, selector: &Selector) -> Counts {
        let pods = self.pods.get(&budget.metadata.namespace);
        let selected = pods
            .into_iter()
            .flatten()
            .map(|(_, pod)| pod)
            .filter(|pod| {
                selector.matches(&pod.metadata.labels) && !pod.status.phase.is_terminal()
            });
        let (mut expected, mut healthy) = (0, 0);
        for pod in selected {
            expected += 1;
            healthy += i64::from(pod.is_ready() && !pod.metadata.is_deleting());
        }
        let scaled = |v: &IntOrPercent| v.scaled(expected, true).unwrap_or(expected);
        let desired = match (&budget.spec.min_available, &budget.spec.max_unavailable) {
            (Some(min), _) => scaled(min),
            (None, Some(max)) => (expected - scaled(max)).max(0),
            (None, None) => 0,
        };
        Counts {
            observed_generation: budget.metadata.generation,
            expected_pods: expected,
            current_healthy: healthy,
            desired_healthy: desired,
            disruptions_allowed: if expected == 0 {
                0
            } else {
                (healthy - desired).max(0)
            },
            conditions: Vec::new(),
        }
    }
}

impl Decide for Disruption {
    type Event = Seen;
    type Job = Write;
    /// The budget whose status could not be written.
    type Outcome = Option<(String, String)>;

    fn see(&mut self, event: Seen, _now: Timestamp) {
        match event {
            Seen::Budget(Event::Reset(all)) => {
                self.budgets.clear();
                self.dirty.clear();
                all.iter().for_each(|b| self.apply_budget(b));
            }
            Seen::Budget(Event::Apply(budget)) => self.apply_budget(&budget),
            Seen::Budget(Event::Delete(budget)) => self.remove_budget(&budget),
            Seen::Pod(Event::Reset(all)) => {
                self.pods.clear();
                all.iter().for_each(|p| self.apply_pod(p));
            }
            Seen::Pod(Event::Apply(pod)) => self.apply_pod(&pod),
            Seen::Pod(Event::Delete(pod)) => self.remove_pod(&pod),
        }
    }

    fn plan(&mut self, now: Timestamp) -> (Vec<Write>, Option<Timestamp>) {
        let mut writes = Vec::new();
        for (namespace, name) in std::mem::take(&mut self.dirty) {
            let Some((budget, selector)) = self.budgets.get(&namespace).and_then(|b| b.get(&name))
            else {
                continue;
            };
            let mut counts = self.count(budget, selector);
            counts.conditions.clone_from(&budget.status.conditions);
            if counts != budget.status || budget.status.conditions.is_empty() {
                writes.push(Write {
                    budget: Arc::clone(budget),
                    patch: patch(&counts, now),
                });
            }
        }
        (writes, None)
    }

    fn done(&mut self, outcome: Self::Outcome, _now: Timestamp) {
        self.dirty.extend(outcome);
    }
}

fn patch(counts: &Counts, now: Timestamp) -> Value {
    let (status, reason) = if counts.disruptions_allowed > 0 {
        ("True", "SufficientPods")
    } else {
        ("False", "InsufficientPods")
    };
    json!({"status": {
        "observedGeneration": counts.observed_generation,
        "expectedPods": counts.expected_pods,
        "currentHealthy": counts.current_healthy,
        "desiredHealthy": counts.desired_healthy,
        "disruptionsAllowed": counts.disruptions_allowed,
        "conditions": [{
            "type": "DisruptionAllowed",
            "status": status,
            "reason": reason,
            "message": "",
            "observedGeneration": counts.observed_generation,
            "lastTransitionTime": seconds(now),
        }],
    }})
}

pub(crate) async fn run(context: Context) {
    let (sender, events) = inbox();
    forward(
        context.follow::<Budget>().subscribe(),
        sender.clone(),
        Seen::Budget,
    );
    forward(context.informers.pods.subscribe(), sender, Seen::Pod);
    let shutdown = context.shutdown.clone();
    let execute = |write| {
        let context = context.clone();
        async move { context.write_budget(write).await }
    };
    drive(Disruption::default(), events, execute, shutdown).await;
}

impl Context {
    async fn write_budget(&self, Write { budget, patch }: Write) -> Option<(String, String)> {
        let meta = &budget.metadata;
        let at = (meta.namespace.as_str(), meta.name.as_str());
        let error = self
            .writer
            .patch_status(&Budget::RESOURCE, at, Patch::Merge, &patch)
            .await
            .err()?;
        if error.is_not_found() {
            return None;
        }
        note(names::DISRUPTION, "write the status of", &meta.name, &error);
        Some((meta.namespace.clone(), meta.name.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, ready: &str) -> Arc<Pod> {
        let value = json!({
            "metadata": {"name": name, "namespace": "n", "labels": {"app": "x"}},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]},
        });
        Arc::new(serde_json::from_value(value).unwrap())
    }

    fn check(spec: Value, ready: usize, total: usize, expected: [i64; 4]) {
        let mut disruption = Disruption::default();
        for n in 0..total {
            disruption.apply_pod(&pod(
                &format!("p{n}"),
                if n < ready { "True" } else { "False" },
            ));
        }
        let budget = json!({"metadata": {"name": "b", "namespace": "n"}, "spec": spec});
        disruption.apply_budget(&Arc::new(serde_json::from_value(budget).unwrap()));
        let (writes, _) = Decide::plan(&mut disruption, Timestamp::UNIX_EPOCH);
        let status = &writes[0].patch["status"];
        let number = |field: &str| status[field].as_i64().unwrap();
        let found = [
            "expectedPods",
            "currentHealthy",
            "desiredHealthy",
            "disruptionsAllowed",
        ]
        .map(number);
        assert_eq!(found, expected);
    }

    #[test]
    fn budgets_are_counted_over_the_pods_they_select() {
        let spec = |key: &str, v: Value| json!({key: v, "selector": {"matchLabels": {"app": "x"}}});
        check(spec("minAvailable", json!(2)), 3, 3, [3, 3, 2, 1]);
        check(spec("minAvailable", json!("50%")), 2, 3, [3, 2, 2, 0]);
        check(spec("maxUnavailable", json!(1)), 4, 4, [4, 4, 3, 1]);
        check(json!({"minAvailable": 1}), 2, 2, [0, 0, 1, 0]);
    }
}
