//! Discovery: which groups, versions and resources there are (spec/apiserver.md 1.0).
//!
//! Two forms of the same facts, both made from [`RESOURCES`]: the aggregated one that current
//! clients ask for, and the legacy one with a document for each group and version.

use crate::resource::{RESOURCES, Resource};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde_json::{Map, Value, json};

/// Groups and versions, in the order of the table, each once.
pub fn versions() -> Vec<(&'static str, &'static str)> {
    let mut versions: Vec<_> = Vec::new();
    for resource in RESOURCES {
        if !versions.contains(&(resource.group, resource.version)) {
            versions.push((resource.group, resource.version));
        }
    }
    versions
}

fn of_version(group: &str, version: &str) -> impl Iterator<Item = &'static Resource> {
    RESOURCES
        .iter()
        .filter(move |r| r.group == group && r.version == version)
}

/// `APIVersions`, the legacy answer of `/api`; `address` is where clients reach the server.
pub fn core_versions(address: &str) -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    })
}

/// `APIGroupList`, the legacy answer of `/apis`.
pub fn group_list() -> Value {
    let mut names: Vec<&str> = Vec::new();
    for (group, _) in versions() {
        if !group.is_empty() && !names.contains(&group) {
            names.push(group);
        }
    }
    let groups: Vec<Value> = names.into_iter().filter_map(bare_group).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `APIGroup`, the legacy answer of `/apis/GROUP`; `None` for a group that is not served.
pub fn group(name: &str) -> Option<Value> {
    let mut group = bare_group(name)?;
    group["kind"] = "APIGroup".into();
    group["apiVersion"] = "v1".into();
    Some(group)
}

fn bare_group(name: &str) -> Option<Value> {
    let versions: Vec<Value> = versions()
        .into_iter()
        .filter(|(group, _)| *group == name && !group.is_empty())
        .map(|(group, version)| json!({"groupVersion": format!("{group}/{version}"), "version": version}))
        .collect();
    let preferred = versions.first()?.clone();
    Some(json!({"name": name, "versions": versions, "preferredVersion": preferred}))
}

/// `APIResourceList`, the legacy answer of `/api/v1` and `/apis/GROUP/VERSION`.
pub fn resource_list(group: &str, version: &str) -> Option<Value> {
    let mut resources = Vec::new();
    let mut api_version = None;
    for resource in of_version(group, version) {
        api_version = Some(resource.api_version());
        resources.push(legacy(resource));
        resources.extend(
            resource
                .subresources
                .iter()
                .map(|name| legacy_sub(resource, name)),
        );
    }
    Some(json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": api_version?,
        "resources": resources,
    }))
}

fn legacy(resource: &Resource) -> Value {
    let mut entry = json!({
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": resource.verbs,
    });
    add_names(&mut entry, resource);
    entry
}

fn legacy_sub(resource: &Resource, name: &str) -> Value {
    let sub = Sub::of(resource, name);
    let mut entry = json!({
        "name": format!("{}/{name}", resource.plural),
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": sub.kind,
        "verbs": sub.verbs,
    });
    if !sub.version.is_empty() {
        entry["group"] = sub.group.into();
        entry["version"] = sub.version.into();
    }
    entry
}

fn add_names(entry: &mut Value, resource: &Resource) {
    if !resource.short_names.is_empty() {
        entry["shortNames"] = resource.short_names.into();
    }
    if !resource.categories.is_empty() {
        entry["categories"] = resource.categories.into();
    }
}

/// What a subresource answers with; no version means that of its resource.
struct Sub {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    verbs: &'static [&'static str],
}

impl Sub {
    fn of(resource: &Resource, name: &str) -> Self {
        const STATUS: &[&str] = &["get", "patch", "update"];
        let same = |kind, verbs| Self {
            group: "",
            version: "",
            kind,
            verbs,
        };
        match name {
            "binding" => same("Binding", &["create"]),
            "eviction" => Self {
                group: "policy",
                version: "v1",
                kind: "Eviction",
                verbs: &["create"],
            },
            "token" => Self {
                group: "authentication.k8s.io",
                version: "v1",
                kind: "TokenRequest",
                verbs: &["create"],
            },
            "log" => same("Pod", &["get"]),
            "finalize" => same("Namespace", &["update"]),
            _ => same(resource.kind, STATUS),
        }
    }
}

/// The aggregated answer of `/api`.
pub fn aggregated_core() -> Value {
    aggregated(str::is_empty)
}

/// The aggregated answer of `/apis`.
pub fn aggregated_groups() -> Value {
    aggregated(|group| !group.is_empty())
}

fn aggregated(wanted: impl Fn(&str) -> bool) -> Value {
    let mut groups: Vec<(&str, Vec<Value>)> = Vec::new();
    for (group, version) in versions().into_iter().filter(|(group, _)| wanted(group)) {
        let resources: Vec<Value> = of_version(group, version).map(discovered).collect();
        let entry = json!({"version": version, "resources": resources, "freshness": "Current"});
        match groups.iter_mut().find(|(name, _)| *name == group) {
            Some((_, versions)) => versions.push(entry),
            None => groups.push((group, alloc::vec![entry])),
        }
    }
    let items: Vec<Value> = groups
        .into_iter()
        .map(|(name, versions)| json!({"metadata": named(name), "versions": versions}))
        .collect();
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    })
}

/// The core group has no name.
fn named(name: &str) -> Value {
    let mut metadata = Map::new();
    if !name.is_empty() {
        metadata.insert(String::from("name"), name.into());
    }
    Value::Object(metadata)
}

fn discovered(resource: &'static Resource) -> Value {
    let mut entry = json!({
        "resource": resource.plural,
        "responseKind": {"group": "", "version": "", "kind": resource.kind},
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": resource.verbs,
    });
    add_names(&mut entry, resource);
    let subresources: Vec<Value> = resource
        .subresources
        .iter()
        .map(|name| {
            let Sub {
                group,
                version,
                kind,
                verbs,
            } = Sub::of(resource, name);
            json!({
                "subresource": name,
                "responseKind": {"group": group, "version": version, "kind": kind},
                "verbs": verbs,
            })
        })
        .collect();
    if !subresources.is_empty() {
        entry["subresources"] = subresources.into();
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::prelude::v1::*;

    #[test]
    fn daemonsets_have_no_scale() {
        let list = resource_list("apps", "v1").unwrap();
        let names: Vec<&str> = list["resources"]
            .as_array()
            .unwrap()
            .iter()
            .map(|r| r["name"].as_str().unwrap())
            .collect();
        assert!(names.contains(&"daemonsets/status") && !names.contains(&"daemonsets/scale"));
        assert_eq!(list["groupVersion"], "apps/v1");
        assert!(resource_list("apps", "v9").is_none() && group("nothing").is_none());
    }

    #[test]
    fn the_core_group_is_aggregated_without_a_name() {
        let core = aggregated_core();
        assert_eq!(core["items"][0]["metadata"], json!({}));
        let resources = core["items"][0]["versions"][0]["resources"]
            .as_array()
            .unwrap();
        let pods = resources.iter().find(|r| r["resource"] == "pods").unwrap();
        assert_eq!(pods["shortNames"], json!(["po"]));
        assert!(
            pods["subresources"]
                .as_array()
                .unwrap()
                .iter()
                .any(|s| s["responseKind"]["kind"] == "Eviction")
        );
    }

    #[test]
    fn both_forms_name_the_same_groups() {
        let legacy = group_list();
        let names = |list: &Value, pointer: &str| -> Vec<String> {
            let items = list.pointer(pointer).unwrap().as_array().unwrap().clone();
            items
                .iter()
                .map(|i| {
                    i.get("name")
                        .or(i["metadata"].get("name"))
                        .unwrap()
                        .to_string()
                })
                .collect()
        };
        assert_eq!(
            names(&legacy, "/groups"),
            names(&aggregated_groups(), "/items")
        );
    }
}
