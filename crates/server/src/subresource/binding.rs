//! Binding a pod to a node.

use pernode_api::resource::find;
use pernode_api::status::Status;
use serde_json::{Value, json};

use crate::call::Call;
use crate::decode;
use crate::object::Object as _;
use crate::options::WriteOptions;
use crate::registry::{self, Part, Place};
use crate::reply::{Failure, Response};

/// `POST` to `pods/NAME/binding`.
pub(super) async fn pod(call: &Call) -> Result<Response, Failure> {
    bind(call, Some(call.name())).await
}

/// `POST` to `bindings`.
pub(super) async fn collection(call: &Call) -> Result<Response, Failure> {
    bind(call, None).await
}

async fn bind(call: &Call, name: Option<&str>) -> Result<Response, Failure> {
    let bindings = find("", "v1", "bindings").expect("bindings are in the table");
    let pods = find("", "v1", "pods").expect("pods are in the table");
    let options = WriteOptions::parse("CreateOptions", &call.query, &call.headers)?;
    let decoded = decode::object_of(call, bindings, options.validation)?;
    let binding = decoded.object;
    let place = Place::new(
        pods,
        call.namespace(),
        name.unwrap_or_else(|| binding.meta("name")),
    );
    check(&place, &binding)?;
    let edit = |pod: &mut Value| assign(pod, &binding, &format!("{:.0}", call.actor.now));
    registry::change(&call.actor, &place, Part::Other("binding"), &options, &edit).await?;
    Ok(super::done(call))
}

fn check(place: &Place, binding: &Value) -> Result<(), Status> {
    let target = &binding["target"];
    let kind = target["kind"].as_str().unwrap_or_default();
    let bindings = find("", "v1", "bindings").expect("bindings are in the table");
    let own = binding.meta("name");
    if !own.is_empty() && own != place.name {
        return Err(Status::bad_request(
            "name in URL does not match name in Binding object",
        ));
    }
    let error = if !matches!(kind, "" | "Node") {
        pernode_api::field_error::FieldError::not_supported(
            &"target.kind",
            kind,
            &["Node", "<empty>"],
        )
    } else if target["name"].as_str().unwrap_or_default().is_empty() {
        pernode_api::field_error::FieldError::required(&"target.name", "")
    } else {
        return Ok(());
    };
    Err(Status::invalid(bindings, &place.name, &[error]))
}

/// Puts a pod on its node. A pod is bound once.
fn assign(pod: &mut Value, binding: &Value, now: &str) -> Result<(), Failure> {
    let name = pod.meta("name").to_owned();
    let refuse = |why: String| Failure::from(Status::conflict_on("pods/binding", &name, &why));
    if let Some(uid) = binding["metadata"]["uid"]
        .as_str()
        .filter(|uid| !uid.is_empty())
        && uid != pod.meta("uid")
    {
        let why = format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            pod.meta("uid")
        );
        return Err(refuse(why));
    }
    if !pod.meta("deletionTimestamp").is_empty() {
        return Err(refuse(format!(
            "pod {name} is being deleted, cannot be assigned to a host"
        )));
    }
    let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
    if !node.is_empty() {
        return Err(refuse(format!(
            "pod {name} is already assigned to node {node:?}"
        )));
    }
    if pod["spec"]["schedulingGates"]
        .as_array()
        .is_some_and(|gates| !gates.is_empty())
    {
        return Err(refuse(format!(
            "pod {name} has non-empty .spec.schedulingGates"
        )));
    }
    pod["spec"]["nodeName"] = binding["target"]["name"].clone();
    merge_annotations(pod, &binding["metadata"]["annotations"]);
    set_scheduled(pod, now);
    Ok(())
}

fn merge_annotations(pod: &mut Value, annotations: &Value) {
    for (key, value) in annotations.as_object().into_iter().flatten() {
        pod["metadata"]["annotations"][key.as_str()] = value.clone();
    }
}

fn set_scheduled(pod: &mut Value, now: &str) {
    let condition = json!({
        "type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": now,
        "observedGeneration": pod["metadata"]["generation"],
    });
    if !pod["status"].is_object() {
        pod["status"] = json!({});
    }
    let conditions = &mut pod["status"]["conditions"];
    let Some(list) = conditions.as_array_mut() else {
        *conditions = json!([condition]);
        return;
    };
    match list.iter_mut().find(|c| c["type"] == "PodScheduled") {
        Some(existing) => *existing = condition,
        None => list.push(condition),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binding() -> Value {
        json!({"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}})
    }

    #[test]
    fn a_pod_is_bound_once() {
        let mut pod = json!({"metadata": {"name": "p", "uid": "u"}, "spec": {}});
        assign(&mut pod, &binding(), "2026-01-01T00:00:00Z").unwrap();
        assert_eq!(pod["spec"]["nodeName"], "n1");
        assert_eq!(pod["status"]["conditions"][0]["status"], "True");
        let again = assign(&mut pod, &binding(), "2026-01-01T00:00:00Z").unwrap_err();
        assert_eq!(
            again.status.message,
            "Operation cannot be fulfilled on pods/binding \"p\": pod p is already assigned to node \"n1\""
        );
    }

    #[test]
    fn a_pod_on_its_way_out_is_not_bound() {
        let mut pod = json!({"metadata": {"name": "p", "deletionTimestamp": "x"}, "spec": {}});
        let refused = assign(&mut pod, &binding(), "").unwrap_err();
        assert!(refused.status.message.contains("is being deleted"));
    }
}
