//! Admission: what the cluster's state says about a write. Defaults from other objects go in
//! first, refusals come after.

mod escalation;
mod limits;
mod namespace;
mod node;
mod pod;
pub(crate) mod quota;
pub(crate) mod service;

use pernode_api::status::Status;
use serde_json::Value;

use crate::call::Actor;
use crate::options::WriteOptions;
use crate::registry::{Part, Place};
use crate::reply::Failure;

/// Admits a new object; what it lacks is filled in.
pub(crate) async fn create(
    actor: &Actor,
    place: &Place,
    object: &mut Value,
    options: &WriteOptions,
) -> Result<Vec<String>, Failure> {
    namespace::check_create(actor, place)?;
    match (place.resource.group, place.resource.kind) {
        ("", "Pod") => {
            pod::admit(actor, place, object)?;
            limits::admit(actor, place, object)?;
            node::check_pod(actor, place, object)?;
        }
        ("", "Node") => node::admit(actor, place, object)?,
        ("", "Service") => service::admit(actor, place, (None, object))?,
        ("rbac.authorization.k8s.io", _) => escalation::check(actor, place, object)?,
        _ => {}
    }
    let _ = options;
    Ok(Vec::new())
}

/// Admits an update, with server-owned fields in place.
pub(crate) async fn update(
    actor: &Actor,
    place: &Place,
    part: Part,
    (old, new): (&Value, &mut Value),
) -> Result<Vec<String>, Failure> {
    match (place.resource.group, place.resource.kind) {
        ("", "Node") => node::check_update(actor, place, (old, new))?,
        ("", "Service") if part == Part::Main => service::admit(actor, place, (Some(old), new))?,
        ("rbac.authorization.k8s.io", _) if changed(old, new) => {
            escalation::check(actor, place, new)?;
        }
        _ => {}
    }
    Ok(Vec::new())
}

fn changed(old: &Value, new: &Value) -> bool {
    ["rules", "roleRef", "subjects", "aggregationRule"]
        .iter()
        .any(|field| old[field] != new[field])
}

/// Admits a deletion.
pub(crate) fn delete(actor: &Actor, place: &Place) -> Result<(), Status> {
    namespace::check_delete(place)?;
    node::check_delete(actor, place)
}
