//! Where objects are kept: `/registry/<group or core>/<plural>/<namespace>/<name>`.

use pernode_api::resource::{Resource, find};

/// The group under which events are stored, whichever group they are written through.
const EVENTS: (&str, &str, &str) = ("", "v1", "events");

/// The resource whose form a resource is stored in: its own, except that events of
/// `events.k8s.io` are stored as core events.
pub(crate) fn stored_as(resource: &'static Resource) -> &'static Resource {
    if resource.plural == EVENTS.2 {
        let (group, version, plural) = EVENTS;
        return find(group, version, plural).expect("core events are in the table");
    }
    resource
}

/// The prefix of a collection, with a slash at its end.
pub(crate) fn prefix(resource: &'static Resource, namespace: Option<&str>) -> String {
    let stored = stored_as(resource);
    let group = if stored.group.is_empty() {
        "core"
    } else {
        stored.group
    };
    let mut prefix = format!("/registry/{group}/{}/", stored.plural);
    if let Some(namespace) = namespace.filter(|_| resource.namespaced) {
        prefix.push_str(namespace);
        prefix.push('/');
    }
    prefix
}

/// The key of an object.
pub(crate) fn key(resource: &'static Resource, namespace: Option<&str>, name: &str) -> String {
    let mut key = prefix(resource, namespace);
    key.push_str(name);
    key
}

/// The resource that a key belongs to.
pub(crate) fn resource_of(key: &str) -> Option<&'static Resource> {
    let mut parts = key.strip_prefix("/registry/")?.splitn(3, '/');
    let (group, plural) = (parts.next()?, parts.next()?);
    let group = if group == "core" { "" } else { group };
    pernode_api::resource::RESOURCES
        .iter()
        .find(|resource| resource.group == group && resource.plural == plural)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        let pods = find("", "v1", "pods").unwrap();
        let nodes = find("", "v1", "nodes").unwrap();
        let events = find("events.k8s.io", "v1", "events").unwrap();
        let sets = find("apps", "v1", "daemonsets").unwrap();
        assert_eq!(key(pods, Some("n"), "p"), "/registry/core/pods/n/p");
        assert_eq!(key(nodes, None, "n1"), "/registry/core/nodes/n1");
        assert_eq!(key(events, Some("n"), "e"), "/registry/core/events/n/e");
        assert_eq!(prefix(sets, None), "/registry/apps/daemonsets/");
        assert_eq!(resource_of("/registry/apps/daemonsets/n/d"), Some(sets));
        assert_eq!(resource_of("/registry/core/pods/n/p"), Some(pods));
        assert_eq!(resource_of("/other"), None);
    }
}
