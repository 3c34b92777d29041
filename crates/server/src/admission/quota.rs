//! ResourceQuotas: how much a namespace may hold.
//!
//! Use is counted from what is stored, at the moment of the write. Two writes at the same moment
//! can both fit into the last place; upstream serializes them, a lab cluster does not need to.

use pernode_api::resource::{Resource, find};
use pernode_api::status::Status;
use pernode_core::quantity::Quantity;
use serde_json::Value;

use super::limits::{Amounts, add, amounts};
use crate::call::Actor;
use crate::key;
use crate::object;
use crate::registry::Place;

/// Refuses an object that does not fit into the quotas of its namespace.
pub(super) fn check(actor: &Actor, place: &Place, object: &Value) -> Result<(), Status> {
    let resource = find("", "v1", "resourcequotas").expect("quotas are in the table");
    let quotas = actor
        .api
        .store
        .list(&key::prefix(resource, place.namespace.as_deref()));
    for item in quotas.iter() {
        let quota = object::parse(&item.bytes);
        check_one(actor, place, object, &quota)?;
    }
    Ok(())
}

fn check_one(actor: &Actor, place: &Place, object: &Value, quota: &Value) -> Result<(), Status> {
    let hard = amounts(&quota["spec"]["hard"]);
    let asked = usage(place.resource, object);
    let name = quota["metadata"]["name"].as_str().unwrap_or_default();
    let missing: Vec<&str> = hard
        .keys()
        .filter(|what| {
            place.resource.kind == "Pod" && must_be_given(what) && !asked.contains_key(*what)
        })
        .map(String::as_str)
        .collect();
    if !missing.is_empty() {
        let why = format!("failed quota: {name}: must specify {}", missing.join(","));
        return Err(Status::forbidden(place.resource, &place.name, &why));
    }
    let used = used(actor, place);
    let over: Vec<&String> = hard
        .iter()
        .filter(|(what, hard)| {
            asked.get(*what).is_some_and(|asked| match used.get(*what) {
                Some(used) => used.add(asked) > **hard,
                None => *asked > **hard,
            })
        })
        .map(|(what, _)| what)
        .collect();
    if over.is_empty() {
        return Ok(());
    }
    let none = Quantity::from_value(0);
    let list = |amounts: &Amounts| {
        let parts: Vec<String> = over
            .iter()
            .map(|what| format!("{what}={}", amounts.get(*what).unwrap_or(&none)))
            .collect();
        parts.join(",")
    };
    let why = format!(
        "exceeded quota: {name}, requested: {}, used: {}, limited: {}",
        list(&asked),
        list(&used),
        list(&hard)
    );
    Err(Status::forbidden(place.resource, &place.name, &why))
}

/// Amounts that a pod has to name when a quota bounds them.
fn must_be_given(what: &str) -> bool {
    matches!(
        what,
        "cpu" | "memory" | "requests.cpu" | "requests.memory" | "limits.cpu" | "limits.memory"
    )
}

/// What one object uses.
fn usage(resource: &Resource, object: &Value) -> Amounts {
    let one = Quantity::from_value(1);
    let mut usage = Amounts::from([(format!("count/{}", resource.qualified_name()), one.clone())]);
    if resource.group.is_empty() {
        usage.insert(resource.plural.to_owned(), one);
    }
    if resource.kind == "Pod" {
        let ended = matches!(
            object["status"]["phase"].as_str(),
            Some("Succeeded" | "Failed")
        );
        if ended {
            // Pods that have ended hold nothing but their place in the store.
            usage.remove("pods");
        } else {
            add_resources(object, &mut usage);
        }
    }
    usage
}

fn add_resources(pod: &Value, usage: &mut Amounts) {
    for container in pod["spec"]["containers"].as_array().into_iter().flatten() {
        for (kind, prefix) in [("requests", "requests."), ("limits", "limits.")] {
            for (name, amount) in amounts(&container["resources"][kind]) {
                add(usage, format!("{prefix}{name}"), &amount);
                if kind == "requests" && matches!(name.as_str(), "cpu" | "memory") {
                    add(usage, name, &amount);
                }
            }
        }
    }
}

/// What the stored objects of the kind use in the namespace.
fn used(actor: &Actor, place: &Place) -> Amounts {
    let mut total = Amounts::new();
    let prefix = key::prefix(place.resource, place.namespace.as_deref());
    for item in actor.api.store.list(&prefix).iter() {
        for (what, amount) in usage(place.resource, &object::parse(&item.bytes)) {
            add(&mut total, what, &amount);
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn usage_of_a_pod() {
        let pods = find("", "v1", "pods").unwrap();
        let pod = json!({"spec": {"containers": [
            {"resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": "1"}}},
            {"resources": {"requests": {"cpu": "200m"}}},
        ]}});
        let usage = usage(pods, &pod);
        let shown: Vec<String> = usage.iter().map(|(k, v)| format!("{k}={v}")).collect();
        assert_eq!(
            shown,
            [
                "count/pods=1",
                "cpu=300m",
                "limits.cpu=1",
                "pods=1",
                "requests.cpu=300m"
            ]
        );
    }
}
