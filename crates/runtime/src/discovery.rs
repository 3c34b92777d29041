//! Which kinds a server has.

use crate::writer::{answer, exchange};
use crate::{Error, Resource, Writer};
use http::{Request, header};
use kube::client::Body;
use pernode_core::meta::null_as_default;
use serde::Deserialize;
use std::borrow::Cow;

/// A kind that the server has, and what can be done with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovered {
    /// The kind.
    pub resource: Resource,
    /// Verbs, such as `list` and `deletecollection`.
    pub verbs: Vec<String>,
}

impl Discovered {
    /// Whether all these verbs can be used.
    pub fn can(&self, verbs: &[&str]) -> bool {
        verbs
            .iter()
            .all(|verb| self.verbs.iter().any(|has| has == verb))
    }
}

/// Aggregated discovery, in the stable form and the one of Kubernetes 1.27 to 1.29.
const ACCEPT: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                      application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Groups {
    #[serde(deserialize_with = "null_as_default")]
    items: Vec<Group>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Group {
    metadata: Named,
    #[serde(deserialize_with = "null_as_default")]
    versions: Vec<Version>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Named {
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Version {
    version: String,
    #[serde(deserialize_with = "null_as_default")]
    resources: Vec<Kind>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Kind {
    resource: String,
    response_kind: Gvk,
    scope: String,
    #[serde(deserialize_with = "null_as_default")]
    verbs: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Gvk {
    kind: String,
}

/// All kinds of a server, each in its group's preferred version.
///
/// Two requests, whatever the number of groups.
pub async fn discover(writer: &Writer) -> Result<Vec<Discovered>, Error> {
    let mut all = Vec::new();
    for path in ["/api", "/apis"] {
        let request = Request::get(path)
            .header(header::ACCEPT, ACCEPT)
            .body(Body::empty())
            .map_err(Error::Request)?;
        let groups: Groups = answer(&exchange(writer.client(), request).await?)?;
        all.extend(groups.items.into_iter().flat_map(kinds));
    }
    Ok(all)
}

fn kinds(group: Group) -> Vec<Discovered> {
    let name = group.metadata.name;
    // Versions come in order of preference; a kind may be missing from the first.
    let mut all: Vec<Discovered> = Vec::new();
    for version in group.versions {
        for kind in version.resources {
            if all.iter().any(|seen| seen.resource.plural == kind.resource) {
                continue;
            }
            all.push(Discovered {
                resource: Resource {
                    group: Cow::Owned(name.clone()),
                    version: Cow::Owned(version.version.clone()),
                    plural: Cow::Owned(kind.resource),
                    kind: Cow::Owned(kind.response_kind.kind),
                    namespaced: kind.scope == "Namespaced",
                },
                verbs: kind.verbs,
            });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preferred_version_wins() {
        let group: Group = serde_json::from_str(
            r#"{"metadata":{"name":"apps"},"versions":[
                {"version":"v1","resources":[{"resource":"daemonsets","scope":"Namespaced",
                 "responseKind":{"group":"apps","version":"v1","kind":"DaemonSet"},
                 "verbs":["get","list"]}]},
                {"version":"v1beta1","resources":[
                 {"resource":"daemonsets","scope":"Namespaced","verbs":["get"]},
                 {"resource":"old","scope":"Cluster","verbs":["get"]}]}]}"#,
        )
        .unwrap();
        let found = kinds(group);
        assert_eq!(
            found[0].resource,
            Resource::namespaced("apps", "v1", "daemonsets", "DaemonSet")
        );
        assert!(found[0].can(&["list"]) && !found[0].can(&["list", "delete"]));
        assert_eq!(found[1].resource.version, "v1beta1");
        assert_eq!(found.len(), 2);
    }
}
