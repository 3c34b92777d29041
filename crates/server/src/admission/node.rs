//! Nodes: the taint of new ones, and what a node's own credentials may write.

use pernode_api::status::Status;
use serde_json::{Value, json};

use crate::call::Actor;
use crate::object::Object as _;
use crate::registry::Place;

const NOT_READY: &str = "node.kubernetes.io/not-ready";

/// A new node takes no pods until a loop has seen it ready.
pub(super) fn admit(actor: &Actor, place: &Place, node: &mut Value) -> Result<(), Status> {
    if let Some(own) = actor.user.node() {
        if own != place.name {
            return Err(refuse_other(place, own));
        }
        check_labels(place, &Value::Null, node)?;
    }
    if !actor.api.options.taint_new_nodes {
        return Ok(());
    }
    if !node["spec"].is_object() {
        node["spec"] = json!({});
    }
    let has = node["spec"]["taints"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|taint| taint["key"] == NOT_READY && taint["effect"] == "NoSchedule");
    if !has {
        let taint = json!({"key": NOT_READY, "effect": "NoSchedule"});
        match node["spec"]["taints"].as_array_mut() {
            Some(taints) => taints.push(taint),
            None => node["spec"]["taints"] = json!([taint]),
        }
    }
    Ok(())
}

fn refuse_other(place: &Place, own: &str) -> Status {
    let why = format!(
        "node {own:?} is not allowed to modify node {:?}",
        place.name
    );
    Status::forbidden(place.resource, &place.name, &why)
}

/// A node's credentials change that node only, and not the labels that say what may run there.
pub(super) fn check_update(
    actor: &Actor,
    place: &Place,
    (old, new): (&Value, &Value),
) -> Result<(), Status> {
    let Some(own) = actor.user.node() else {
        return Ok(());
    };
    if own != place.name {
        return Err(refuse_other(place, own));
    }
    if old["spec"]["taints"] != new["spec"]["taints"] {
        let why = format!("node {own:?} is not allowed to modify taints");
        return Err(Status::forbidden(place.resource, &place.name, &why));
    }
    check_labels(place, old, new)
}

/// Labels with Kubernetes' own prefixes that a node may set on itself.
const OWN_LABELS: [&str; 9] = [
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "beta.kubernetes.io/instance-type",
];

fn check_labels(place: &Place, old: &Value, new: &Value) -> Result<(), Status> {
    let labels = |node: &Value| {
        node["metadata"]["labels"]
            .as_object()
            .cloned()
            .unwrap_or_default()
    };
    let (old, new) = (labels(old), labels(new));
    let mut refused: Vec<&str> = old
        .keys()
        .chain(new.keys())
        .filter(|key| old.get(*key) != new.get(*key) && is_reserved(key))
        .map(String::as_str)
        .collect();
    refused.sort_unstable();
    refused.dedup();
    if refused.is_empty() {
        return Ok(());
    }
    let why = format!("is not allowed to modify labels: {}", refused.join(", "));
    Err(Status::forbidden(place.resource, &place.name, &why))
}

fn is_reserved(key: &str) -> bool {
    let Some((prefix, _)) = key.split_once('/') else {
        return false;
    };
    let under = |domain: &str| prefix == domain || prefix.ends_with(&format!(".{domain}"));
    let kubelets = under("kubelet.kubernetes.io") || under("node.kubernetes.io");
    (under("kubernetes.io") || under("k8s.io")) && !kubelets && !OWN_LABELS.contains(&key)
}

/// A node's credentials delete that node only.
pub(super) fn check_delete(actor: &Actor, place: &Place) -> Result<(), Status> {
    let Some(own) = actor.user.node() else {
        return Ok(());
    };
    match place.resource.kind {
        "Node" if own != place.name => Err(refuse_other(place, own)),
        "Pod" => {
            let item = place.read(actor)?;
            if item.attrs.field("spec.nodeName") == Some(own) {
                return Ok(());
            }
            let why = format!("node {own:?} can only delete pods with spec.nodeName set to itself");
            Err(Status::forbidden(place.resource, &place.name, &why))
        }
        _ => Ok(()),
    }
}

/// A node's credentials create mirrors of the node's own static pods only.
pub(super) fn check_pod(actor: &Actor, place: &Place, pod: &Value) -> Result<(), Status> {
    let Some(own) = actor.user.node() else {
        return Ok(());
    };
    let is_mirror = !pod["metadata"]["annotations"]["kubernetes.io/config.mirror"].is_null();
    if is_mirror && pod["spec"]["nodeName"] == own {
        return Ok(());
    }
    let why = format!(
        "pod does not have \"kubernetes.io/config.mirror\" annotation, node {own:?} can only create mirror pods"
    );
    let name = if place.name.is_empty() {
        pod.meta("name")
    } else {
        &place.name
    };
    Err(Status::forbidden(place.resource, name, &why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_labels() {
        assert!(is_reserved("node-role.kubernetes.io/x"));
        assert!(is_reserved("kubernetes.io/x"));
        assert!(is_reserved("node-restriction.kubernetes.io/x"));
        assert!(!is_reserved("kubernetes.io/hostname"));
        assert!(!is_reserved("node.kubernetes.io/x"));
        assert!(!is_reserved("example.com/x"));
        assert!(!is_reserved("zone"));
    }
}
