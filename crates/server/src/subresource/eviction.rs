//! Evicting a pod: a deletion that disruption budgets have a say in.

use std::collections::BTreeMap;

use pernode_api::resource::{Resource, find};
use pernode_api::status::Status;
use pernode_core::selector::{LabelSelector, Selector};
use serde_json::{Value, json};

use crate::call::Call;
use crate::decode;
use crate::key;
use crate::object::{self, Object as _};
use crate::options::{DeleteOptions, WriteOptions};
use crate::registry::{self, Part, Place};
use crate::reply::{Failure, Response};

/// The kind of the body. It is no resource of its own.
static EVICTION: Resource = Resource {
    group: "policy",
    version: "v1",
    plural: "evictions",
    singular: "eviction",
    kind: "Eviction",
    namespaced: true,
    short_names: &[],
    categories: &[],
    subresources: &[],
    verbs: &["create"],
    conditional_update: false,
    create_on_update: false,
    generation: false,
};

/// How often a budget is read again when somebody else changes it meanwhile.
const TRIES_MAX: usize = 20;

/// `POST` to `pods/NAME/eviction`.
pub(super) async fn create(call: &Call) -> Result<Response, Failure> {
    let options = WriteOptions::parse("CreateOptions", &call.query, &call.headers)?;
    let type_id = super::type_named(call, "io.k8s.api.policy.v1.Eviction")?;
    let decoded = decode::typed(call, &EVICTION, type_id, options.validation)?;
    let place = Place::new(call.resource, call.namespace(), call.name());
    let own = decoded.object.meta("name");
    if !own.is_empty() && own != place.name {
        return Err(
            Status::bad_request("name in URL does not match name in Eviction object").into(),
        );
    }
    let body = &decoded.object["deleteOptions"];
    let mut how = DeleteOptions::parse(Some(body), &call.query)?;
    how.dry_run |= options.dry_run;
    let pod = object::parse(&place.read(&call.actor)?.bytes);
    if needs_budget(&pod) {
        spend(call, &pod, &how).await?;
    }
    registry::remove(&call.actor, &place, &how).await?;
    Ok(super::done(call))
}

/// Pods that serve nobody are evicted whatever the budgets say.
fn needs_budget(pod: &Value) -> bool {
    let phase = pod["status"]["phase"].as_str().unwrap_or_default();
    !matches!(phase, "Succeeded" | "Failed" | "Pending") && pod.meta("deletionTimestamp").is_empty()
}

fn is_ready(pod: &Value) -> bool {
    pod["status"]["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

/// Takes one disruption from the budget that covers the pod, if one does.
async fn spend(call: &Call, pod: &Value, how: &DeleteOptions) -> Result<(), Failure> {
    for _ in 0..TRIES_MAX {
        let budgets = covering(call, pod)?;
        let budget = match budgets.as_slice() {
            [] => return Ok(()),
            [budget] => budget,
            _ => {
                return Err(Status::internal(
                    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
                )
                .into());
            }
        };
        let counted = count(call, budget);
        if !is_ready(pod) && may_evict_unready(budget, &counted) {
            return Ok(());
        }
        if counted.allowed() <= 0 {
            return Err(blocked(budget, &counted).into());
        }
        if how.dry_run {
            return Ok(());
        }
        match record(call, budget, pod).await {
            Err(failure) if failure.status.code == 409 => {}
            result => return result,
        }
    }
    Err(Status::too_many_requests("the disruption budget is changing too fast", 10).into())
}

fn may_evict_unready(budget: &Value, counted: &Counted) -> bool {
    budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
        || (counted.healthy >= counted.needed && counted.needed > 0)
}

fn blocked(budget: &Value, counted: &Counted) -> Status {
    Status::eviction_blocked(budget.meta("name"), counted.needed, counted.healthy)
}

fn budgets() -> &'static Resource {
    find("policy", "v1", "poddisruptionbudgets").expect("budgets are in the table")
}

/// The budgets whose selector matches the pod.
fn covering(call: &Call, pod: &Value) -> Result<Vec<Value>, Failure> {
    let labels = labels(pod);
    let prefix = key::prefix(budgets(), call.namespace());
    let mut covering = Vec::new();
    for item in call.api().store.list(&prefix).iter() {
        let budget = object::parse(&item.bytes);
        if selector(&budget)?.matches_with(|key| labels.get(key).map(String::as_str)) {
            covering.push(budget);
        }
    }
    Ok(covering)
}

fn labels(pod: &Value) -> BTreeMap<String, String> {
    serde_json::from_value(pod["metadata"]["labels"].clone()).unwrap_or_default()
}

/// A budget without selector covers nothing, one with an empty selector everything.
fn selector(budget: &Value) -> Result<Selector, Failure> {
    let value = &budget["spec"]["selector"];
    if value.is_null() {
        return Ok(Selector::nothing());
    }
    let selector: LabelSelector = serde_json::from_value(value.clone()).unwrap_or_default();
    Selector::from_label_selector(&selector)
        .map_err(|error| Status::internal(error.to_string()).into())
}

/// How a budget stands.
struct Counted {
    healthy: i64,
    needed: i64,
}

impl Counted {
    fn allowed(&self) -> i64 {
        self.healthy - self.needed
    }
}

/// Counts the pods a budget covers, as they are stored now: no loop has to have counted before.
fn count(call: &Call, budget: &Value) -> Counted {
    let pods = find("", "v1", "pods").expect("pods are in the table");
    let Ok(selector) = selector(budget) else {
        return Counted {
            healthy: 0,
            needed: i64::MAX,
        };
    };
    let (mut expected, mut healthy) = (0, 0);
    let disrupted = &budget["status"]["disruptedPods"];
    let prefix = key::prefix(pods, call.namespace());
    for item in call.api().store.list(&prefix).iter() {
        if !selector.matches_with(|key| item.attrs.label(key)) {
            continue;
        }
        let pod = object::parse(&item.bytes);
        if matches!(
            pod["status"]["phase"].as_str(),
            Some("Succeeded" | "Failed")
        ) {
            continue;
        }
        expected += 1;
        let going =
            !pod.meta("deletionTimestamp").is_empty() || !disrupted[pod.meta("name")].is_null();
        healthy += i64::from(is_ready(&pod) && !going);
    }
    Counted {
        healthy,
        needed: needed(budget, expected),
    }
}

/// How many healthy pods a budget wants of so many.
fn needed(budget: &Value, expected: i64) -> i64 {
    let spec = &budget["spec"];
    let scaled = |value: &Value| {
        serde_json::from_value::<pernode_core::int_or_percent::IntOrPercent>(value.clone())
            .ok()
            .and_then(|value| value.scaled(expected, true).ok())
    };
    if let Some(unavailable) = scaled(&spec["maxUnavailable"]) {
        return (expected - unavailable).max(0);
    }
    scaled(&spec["minAvailable"]).unwrap_or(0)
}

/// Notes in the budget's status that the pod goes, so that the next eviction counts it.
async fn record(call: &Call, budget: &Value, pod: &Value) -> Result<(), Failure> {
    let place = Place::new(budgets(), call.namespace(), budget.meta("name"));
    let now = format!("{:.0}", call.actor.now);
    let version = budget.meta("resourceVersion");
    let edit = |stored: &mut Value| {
        if stored.meta("resourceVersion") != version {
            return Err(Status::stale(budgets(), stored.meta("name")).into());
        }
        let allowed = stored["status"]["disruptionsAllowed"].as_i64().unwrap_or(0);
        stored["status"]["disruptionsAllowed"] = (allowed - 1).max(0).into();
        stored["status"]["disruptedPods"][pod.meta("name")] = json!(now);
        Ok(())
    };
    let options = WriteOptions::internal();
    registry::change(&call.actor, &place, Part::Other("status"), &options, &edit).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_many_a_budget_needs() {
        let check = |spec: Value, expected: i64| needed(&json!({"spec": spec}), expected);
        assert_eq!(check(json!({"minAvailable": 2}), 5), 2);
        assert_eq!(check(json!({"minAvailable": "50%"}), 5), 3);
        assert_eq!(check(json!({"maxUnavailable": 1}), 5), 4);
        assert_eq!(check(json!({"maxUnavailable": "100%"}), 5), 0);
        assert_eq!(check(json!({}), 5), 0);
    }

    #[test]
    fn who_needs_a_budget() {
        assert!(needs_budget(&json!({"status": {"phase": "Running"}})));
        assert!(!needs_budget(&json!({"status": {"phase": "Pending"}})));
        let going = json!({"metadata": {"deletionTimestamp": "x"}, "status": {"phase": "Running"}});
        assert!(!needs_budget(&going));
    }
}
