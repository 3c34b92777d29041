//! Nobody gives out rights they do not have: writes of roles and bindings.

use pernode_api::status::Status;
use serde_json::Value;

use crate::authz::{Attributes, Rule, uncovered};
use crate::call::Actor;
use crate::registry::Place;

/// Refuses a role or binding that gives more than its writer has.
pub(super) fn check(actor: &Actor, place: &Place, object: &Value) -> Result<(), Status> {
    let api = &actor.api;
    let namespace = place.namespace.as_deref().unwrap_or_default();
    let is_binding = place.resource.kind.ends_with("Binding");
    let role = &object["roleRef"];
    let text = |field: &str| role[field].as_str().unwrap_or_default();
    let (verb, resource, name) = if is_binding {
        let resource = if text("kind") == "ClusterRole" {
            "clusterroles"
        } else {
            "roles"
        };
        ("bind", resource, text("name"))
    } else {
        ("escalate", place.resource.plural, place.name.as_str())
    };
    let may_skip = Attributes {
        verb,
        group: place.resource.group,
        resource,
        namespace,
        name,
        ..Attributes::default()
    };
    if api
        .authorizer
        .allowed(&*api.store, &actor.user, &may_skip)
        .is_some()
    {
        return Ok(());
    }
    let given: Vec<Rule> = if is_binding {
        api.authorizer
            .rules_of_role(&*api.store, text("kind"), text("name"), namespace)
            .unwrap_or_default()
    } else {
        serde_json::from_value(object["rules"].clone()).unwrap_or_default()
    };
    let own = api.authorizer.rules(&*api.store, &actor.user, namespace);
    match uncovered(&own, &given) {
        None => Ok(()),
        Some(extra) => {
            let why = format!(
                "user {:?} (groups={:?}) is attempting to grant RBAC permissions not currently held:\n{extra}",
                actor.user.name, actor.user.groups
            );
            Err(Status::forbidden(place.resource, &place.name, &why))
        }
    }
}
