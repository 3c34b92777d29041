//! New pods: service account, priority, tolerations.

use pernode_api::resource::find;
use pernode_api::status::Status;
use serde_json::{Map, Value, json};

use crate::call::Actor;
use crate::key;
use crate::object;
use crate::registry::Place;

/// Fills in what other objects say about a pod.
pub(super) fn admit(actor: &Actor, place: &Place, pod: &mut Value) -> Result<(), Status> {
    service_account(actor, place, pod)?;
    priority(actor, place, pod)?;
    tolerations(pod);
    Ok(())
}

fn spec(pod: &mut Value) -> &mut Map<String, Value> {
    if !pod["spec"].is_object() {
        pod["spec"] = json!({});
    }
    pod["spec"]
        .as_object_mut()
        .expect("the spec was just made an object")
}

/// A pod runs as a service account: the namespace's default one if it names none.
///
/// The token volume is left out: simulated pods read no files, and a token can be requested.
fn service_account(actor: &Actor, place: &Place, pod: &mut Value) -> Result<(), Status> {
    let is_mirror = !pod["metadata"]["annotations"]["kubernetes.io/config.mirror"].is_null();
    if is_mirror {
        return Ok(());
    }
    let spec = spec(pod);
    let name = match spec.get("serviceAccountName").and_then(Value::as_str) {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => "default".to_owned(),
    };
    for field in ["serviceAccount", "serviceAccountName"] {
        spec.insert(field.to_owned(), name.as_str().into());
    }
    let resource = find("", "v1", "serviceaccounts").expect("service accounts are in the table");
    let namespace = place.namespace.as_deref().unwrap_or_default();
    match actor
        .api
        .store
        .get(&key::key(resource, Some(namespace), &name))
    {
        Some(account) => {
            add_pull_secrets(spec, &account.bytes);
            Ok(())
        }
        None if !actor.api.options.require_service_account => Ok(()),
        None => {
            let why = format!(
                "error looking up service account {namespace}/{name}: serviceaccount {name:?} not found"
            );
            Err(Status::forbidden(place.resource, &place.name, &why))
        }
    }
}

/// A pod without secrets of its own for pulling images has those of its account.
fn add_pull_secrets(spec: &mut Map<String, Value>, account: &[u8]) {
    let own = spec.get("imagePullSecrets").and_then(Value::as_array);
    if own.is_some_and(|list| !list.is_empty())
        || memchr::memmem::find(account, b"\"imagePullSecrets\"").is_none()
    {
        return;
    }
    let account = object::parse(account);
    if account["imagePullSecrets"]
        .as_array()
        .is_some_and(|list| !list.is_empty())
    {
        spec.insert(
            "imagePullSecrets".to_owned(),
            account["imagePullSecrets"].clone(),
        );
    }
}

/// What a priority class says.
struct Class {
    name: String,
    value: i64,
    preemption: String,
}

impl Class {
    fn read(class: &Value) -> Self {
        Self {
            name: class["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            value: class["value"].as_i64().unwrap_or_default(),
            preemption: class["preemptionPolicy"]
                .as_str()
                .unwrap_or("PreemptLowerPriority")
                .to_owned(),
        }
    }
}

/// Resolves the pod's priority class to a number; nobody else may set the number.
fn priority(actor: &Actor, place: &Place, pod: &mut Value) -> Result<(), Status> {
    let given = pod["spec"]["priority"].as_i64();
    let name = pod["spec"]["priorityClassName"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let refuse = |why: &str| Status::forbidden(place.resource, &place.name, why);
    let class = if name.is_empty() {
        default_class(actor)
    } else {
        let class = named_class(actor, &name)
            .ok_or_else(|| refuse(&format!("no PriorityClass with name {name} was found")))?;
        Some(class)
    };
    let value = class.as_ref().map_or(0, |class| class.value);
    if given.is_some_and(|given| given != value) {
        return Err(refuse(&format!(
            "the integer value of priority ({}) must not be provided in pod spec; priority admission controller computed {value} from the given PriorityClass name",
            given.unwrap_or_default()
        )));
    }
    let spec = spec(pod);
    let policy = class
        .as_ref()
        .map_or("PreemptLowerPriority", |c| &c.preemption);
    let asked = spec.get("preemptionPolicy").and_then(Value::as_str);
    if asked.is_some_and(|asked| asked != policy) {
        return Err(refuse(&format!(
            "the string value of PreemptionPolicy ({}) must not be provided in pod spec; priority admission controller computed {policy} from the given PriorityClass name",
            asked.unwrap_or_default()
        )));
    }
    spec.insert("preemptionPolicy".to_owned(), policy.into());
    spec.insert("priority".to_owned(), value.into());
    if let Some(class) = class {
        spec.insert("priorityClassName".to_owned(), class.name.into());
    }
    Ok(())
}

fn named_class(actor: &Actor, name: &str) -> Option<Class> {
    let resource = find("scheduling.k8s.io", "v1", "priorityclasses")?;
    let item = actor.api.store.get(&key::key(resource, None, name))?;
    Some(Class::read(&object::parse(&item.bytes)))
}

/// The class of pods that name none: of several marked so, the one with the lowest value.
fn default_class(actor: &Actor) -> Option<Class> {
    let resource = find("scheduling.k8s.io", "v1", "priorityclasses")?;
    actor
        .api
        .store
        .list(&key::prefix(resource, None))
        .iter()
        .filter(|item| memchr::memmem::find(&item.bytes, b"\"globalDefault\":true").is_some())
        .map(|item| object::parse(&item.bytes))
        .filter(|class| class["globalDefault"] == true)
        .map(|class| Class::read(&class))
        .min_by_key(|class| class.value)
}

/// Pods stay five minutes on a node that is not ready or cannot be reached, unless they say
/// something about that themselves.
fn tolerations(pod: &mut Value) {
    let spec = spec(pod);
    let list = spec
        .entry("tolerations")
        .or_insert_with(|| Value::Array(Vec::new()));
    let Some(list) = list.as_array_mut() else {
        return;
    };
    for key in [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ] {
        if !list.iter().any(|toleration| speaks_about(toleration, key)) {
            list.push(json!({
                "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300,
            }));
        }
    }
}

fn speaks_about(toleration: &Value, key: &str) -> bool {
    let text = |field: &str| toleration[field].as_str().unwrap_or_default();
    matches!(text("key"), "" | "*") && text("operator") == "Exists" && effect_fits(text("effect"))
        || text("key") == key && effect_fits(text("effect"))
}

fn effect_fits(effect: &str) -> bool {
    matches!(effect, "" | "NoExecute")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerations_are_added_once() {
        let mut pod = json!({"spec": {"tolerations": [
            {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"},
        ]}});
        tolerations(&mut pod);
        tolerations(&mut pod);
        let keys: Vec<_> = pod["spec"]["tolerations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|t| (t["key"].as_str().unwrap(), t["tolerationSeconds"].as_i64()))
            .collect();
        assert_eq!(
            keys,
            [
                ("node.kubernetes.io/not-ready", None),
                ("node.kubernetes.io/unreachable", Some(300)),
            ]
        );
        let mut all = json!({"spec": {"tolerations": [{"operator": "Exists"}]}});
        tolerations(&mut all);
        assert_eq!(all["spec"]["tolerations"].as_array().unwrap().len(), 1);
    }
}
