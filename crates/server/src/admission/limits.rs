//! LimitRanges: defaults and bounds for the containers of new pods.

use pernode_api::resource::find;
use pernode_api::status::Status;
use pernode_core::quota::{Amounts, add, amounts};
use serde_json::Value;

use crate::call::Actor;
use crate::key;
use crate::object;
use crate::registry::Place;

/// Fills in default requests and limits, then checks all bounds.
pub(super) fn admit(actor: &Actor, place: &Place, pod: &mut Value) -> Result<(), Status> {
    let resource = find("", "v1", "limitranges").expect("limit ranges are in the table");
    let ranges: Vec<Value> = actor
        .api
        .store
        .list(&key::prefix(resource, place.namespace.as_deref()))
        .iter()
        .map(|item| object::parse(&item.bytes))
        .collect();
    let limits: Vec<&Value> = ranges
        .iter()
        .flat_map(|range| range["spec"]["limits"].as_array().into_iter().flatten())
        .collect();
    if limits.is_empty() {
        return Ok(());
    }
    set_defaults(&limits, pod);
    let refusals = refusals(&limits, pod);
    if refusals.is_empty() {
        return Ok(());
    }
    let why = match refusals.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    };
    Err(Status::forbidden(place.resource, &place.name, &why))
}

fn containers<'a>(pod: &'a Value, list: &str) -> impl Iterator<Item = &'a Value> {
    pod["spec"][list].as_array().into_iter().flatten()
}

/// Sets what containers leave open, and says so in an annotation, as upstream does.
fn set_defaults(limits: &[&Value], pod: &mut Value) {
    let mut notes = Vec::new();
    for (list, word) in [
        ("containers", "container"),
        ("initContainers", "init container"),
    ] {
        let containers = pod["spec"][list].as_array_mut();
        for container in containers.into_iter().flatten() {
            for limit in limits.iter().filter(|limit| limit["type"] == "Container") {
                default_one(container, limit, word, &mut notes);
            }
        }
    }
    if !notes.is_empty() {
        let text = format!("LimitRanger plugin set: {}", notes.join("; "));
        pod["metadata"]["annotations"]["kubernetes.io/limit-ranger"] = text.into();
    }
}

fn default_one(container: &mut Value, limit: &Value, word: &str, notes: &mut Vec<String>) {
    let name = container["name"].as_str().unwrap_or_default().to_owned();
    // The requests that come from limits come first: a default request does not replace them.
    let own_limits = container["resources"]["limits"].as_object().cloned();
    for (kind, field, shown) in [
        ("requests", "defaultRequest", "request"),
        ("limits", "default", "limit"),
    ] {
        let mut set = Vec::new();
        for (resource, value) in limit[field].as_object().into_iter().flatten() {
            let limited = kind == "requests"
                && own_limits
                    .as_ref()
                    .is_some_and(|limits| limits.contains_key(resource));
            if limited || !container["resources"][kind][resource].is_null() {
                continue;
            }
            container["resources"][kind][resource] = value.clone();
            set.push(resource.as_str());
        }
        if !set.is_empty() {
            notes.push(format!("{} {shown} for {word} {name}", set.join(", ")));
        }
    }
}

fn refusals(limits: &[&Value], pod: &Value) -> Vec<String> {
    let mut refused = Vec::new();
    for limit in limits {
        let kind = limit["type"].as_str().unwrap_or_default();
        match kind {
            "Container" => {
                for list in ["containers", "initContainers"] {
                    for container in containers(pod, list) {
                        let requests = amounts(&container["resources"]["requests"]);
                        let own = amounts(&container["resources"]["limits"]);
                        check(kind, limit, (&requests, &own), &mut refused);
                    }
                }
            }
            "Pod" => {
                let requests = sum(pod, "requests");
                let own = sum(pod, "limits");
                check(kind, limit, (&requests, &own), &mut refused);
            }
            _ => {}
        }
    }
    refused
}

/// What the containers of a pod have together.
fn sum(pod: &Value, kind: &str) -> Amounts {
    let mut total = Amounts::new();
    for container in containers(pod, "containers") {
        for (name, amount) in amounts(&container["resources"][kind]) {
            add(&mut total, name, &amount);
        }
    }
    total
}

fn check(
    kind: &str,
    limit: &Value,
    (requests, own): (&Amounts, &Amounts),
    refused: &mut Vec<String>,
) {
    for (name, min) in amounts(&limit["min"]) {
        let shown = &limit["min"][&name];
        match requests.get(&name) {
            None => refused.push(format!(
                "minimum {name} usage per {kind} is {}.  No request is specified",
                text(shown)
            )),
            Some(request) if *request < min => refused.push(format!(
                "minimum {name} usage per {kind} is {}, but request is {request}",
                text(shown)
            )),
            Some(_) => {}
        }
    }
    for (name, max) in amounts(&limit["max"]) {
        let shown = &limit["max"][&name];
        match own.get(&name) {
            None => refused.push(format!(
                "maximum {name} usage per {kind} is {}.  No limit is specified",
                text(shown)
            )),
            Some(limit) if *limit > max => refused.push(format!(
                "maximum {name} usage per {kind} is {}, but limit is {limit}",
                text(shown)
            )),
            Some(_) => {}
        }
    }
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn range() -> Value {
        json!({"type": "Container", "default": {"cpu": "200m"}, "defaultRequest": {"cpu": "100m"}, "max": {"cpu": "1"}})
    }

    #[test]
    fn defaults_and_their_annotation() {
        let range = range();
        let mut pod = json!({"metadata": {}, "spec": {"containers": [{"name": "c"}]}});
        set_defaults(&[&range], &mut pod);
        assert_eq!(
            pod["spec"]["containers"][0]["resources"],
            json!({"limits": {"cpu": "200m"}, "requests": {"cpu": "100m"}})
        );
        assert_eq!(
            pod["metadata"]["annotations"]["kubernetes.io/limit-ranger"],
            "LimitRanger plugin set: cpu request for container c; cpu limit for container c"
        );
    }

    #[test]
    fn bounds() {
        let range = range();
        let mut pod =
            json!({"spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "2"}}}]}});
        assert_eq!(
            refusals(&[&range], &pod),
            ["maximum cpu usage per Container is 1, but limit is 2"]
        );
        pod["spec"]["containers"][0]["resources"]["limits"]["cpu"] = json!("1");
        assert!(refusals(&[&range], &pod).is_empty());
        assert!(amounts(&json!({})).is_empty());
    }
}
