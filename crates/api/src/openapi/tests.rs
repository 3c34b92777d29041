//! Tests of `openapi`.

use super::*;
use crate::resource::RESOURCES;
use std::prelude::v1::*;

fn apps() -> Value {
    document(&Schema::load(), &Docs::load(), "apps", "v1").unwrap()
}

fn refs(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            found.extend(map.get("$ref").and_then(Value::as_str).map(String::from));
            map.values().for_each(|v| refs(v, found));
        }
        Value::Array(list) => list.iter().for_each(|v| refs(v, found)),
        _ => {}
    }
}

#[test]
fn every_reference_of_every_document_leads_somewhere() {
    let (schema, docs) = (Schema::load(), Docs::load());
    for (group, version) in discovery::versions() {
        let document = document(&schema, &docs, group, version).unwrap();
        let mut found = Vec::new();
        refs(&document, &mut found);
        for reference in found {
            let pointer = reference.trim_start_matches('#');
            let target = document.pointer(pointer).unwrap_or(&Value::Null);
            assert!(target.is_object(), "{group}/{version}: {reference}");
        }
    }
}

#[test]
fn every_resource_type_is_in_its_document_under_its_kind() {
    let (schema, docs) = (Schema::load(), Docs::load());
    for resource in RESOURCES.iter().filter(|r| r.has_verb("get")) {
        let document = document(&schema, &docs, resource.group, resource.version).unwrap();
        let types = document["components"]["schemas"].as_object().unwrap();
        let gvk =
            json!({"group": resource.group, "version": resource.version, "kind": resource.kind});
        let found = types.values().any(|t| {
            t["x-kubernetes-group-version-kind"]
                .as_array()
                .is_some_and(|kinds| kinds.contains(&gvk))
        });
        assert!(found, "{}", resource.qualified_kind());
    }
}

#[test]
fn kubectl_explain_finds_its_way_to_max_surge() {
    let apps = apps();
    let get = &apps["paths"]["/apis/apps/v1/namespaces/{namespace}/daemonsets"]["get"];
    assert_eq!(get["x-kubernetes-group-version-kind"]["kind"], "DaemonSet");
    let types = &apps["components"]["schemas"];
    let surge = &types["io.k8s.api.apps.v1.RollingUpdateDaemonSet"]["properties"]["maxSurge"];
    assert!(
        surge["description"]
            .as_str()
            .unwrap()
            .contains("maximum number of nodes")
    );
    assert!(
        surge["allOf"][0]["$ref"]
            .as_str()
            .unwrap()
            .ends_with("IntOrString")
    );
    let containers = &types["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"];
    assert_eq!(containers["x-kubernetes-patch-merge-key"], "name");
}

#[test]
fn kubectl_apply_finds_field_validation_on_patch() {
    let apps = apps();
    let patch = &apps["paths"]["/apis/apps/v1/namespaces/{namespace}/daemonsets/{name}"]["patch"];
    let names: Vec<&Value> = patch["parameters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| &p["name"])
        .collect();
    assert!(names.contains(&&json!("fieldValidation")));
}

#[test]
fn the_index_leads_to_hashed_documents() {
    let index = index(|group, version| format!("{group}-{version}"));
    assert_eq!(
        index["paths"]["apis/apps/v1"]["serverRelativeURL"],
        "/openapi/v3/apis/apps/v1?hash=apps-v1"
    );
    assert!(document(&Schema::load(), &Docs::load(), "apps", "v9").is_none());
}

#[test]
fn v2_has_the_same_types_in_older_words() {
    let (schema, docs) = (Schema::load(), Docs::load());
    let v2 = v2(&schema, &docs);
    let spec = &v2["definitions"]["io.k8s.api.apps.v1.DaemonSetSpec"]["properties"]["template"];
    assert_eq!(
        spec["$ref"],
        "#/definitions/io.k8s.api.core.v1.PodTemplateSpec"
    );
    assert!(spec["description"].is_string());
    let packed = v2_protobuf(&schema, &docs);
    assert_eq!(&packed[..5], b"\x0a\x032.0");
    assert!(packed.len() > 100_000);
}
