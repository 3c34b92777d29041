//! Namespaces: nothing is made in one that is absent or going, and some never go.

use pernode_api::resource::find;
use pernode_api::status::Status;

use crate::call::Actor;
use crate::key;
use crate::registry::Place;

/// The namespaces without which the cluster does not work.
const PROTECTED: [&str; 3] = ["default", "kube-system", "kube-public"];

/// A new object needs a namespace that exists and is not being deleted.
pub(super) fn check_create(actor: &Actor, place: &Place) -> Result<(), Status> {
    let Some(namespace) = place.namespace.as_deref() else {
        return Ok(());
    };
    let resource = find("", "v1", "namespaces").expect("namespaces are in the table");
    let item = actor
        .api
        .store
        .get(&key::key(resource, None, namespace))
        .ok_or_else(|| Status::not_found(resource, namespace))?;
    if item.attrs.field("status.phase") == Some("Terminating") {
        return Err(Status::namespace_terminating(
            place.resource,
            &place.name,
            namespace,
        ));
    }
    Ok(())
}

/// Some namespaces may not be deleted.
pub(super) fn check_delete(place: &Place) -> Result<(), Status> {
    if place.resource.kind == "Namespace" && PROTECTED.contains(&place.name.as_str()) {
        let why = "this namespace may not be deleted";
        return Err(Status::forbidden(place.resource, &place.name, why));
    }
    Ok(())
}
