//! Tests of `schema`.

use super::*;
use crate::resource::{RESOURCES, find};

#[test]
fn every_resource_has_a_type_with_metadata() {
    let schema = Schema::load();
    for resource in RESOURCES {
        let def = schema.def(schema.type_of(resource));
        assert!(def.field("apiVersion").is_some(), "{}", def.name);
        assert!(
            def.field("kind").unwrap().protobuf.is_empty(),
            "{}",
            def.name
        );
        assert_eq!(def.short_name(), resource.kind);
    }
}

#[test]
fn merge_keys_and_numbers_are_those_of_the_sources() {
    let schema = Schema::load();
    let pod_spec = schema.def(schema.type_named("io.k8s.api.core.v1.PodSpec").unwrap());
    let containers = pod_spec.field("containers").unwrap();
    assert_eq!(containers.merge_key.as_deref(), Some("name"));
    assert_eq!(containers.list_type, ListType::Map);
    assert_eq!(containers.protobuf, [2]);
    let tolerations = pod_spec.field("tolerations").unwrap();
    assert!(!tolerations.merge && tolerations.list_type == ListType::Atomic);
    let volumes = pod_spec.field("volumes").unwrap();
    assert!(volumes.merge && volumes.retain_keys);
    let volume = schema.def(schema.type_named("io.k8s.api.core.v1.Volume").unwrap());
    assert_eq!(volume.field("hostPath").unwrap().protobuf, [2, 1]);
    assert!(pod_spec.field("Containers").is_none());
}

#[test]
fn go_names_are_as_errors_show_them() {
    let schema = Schema::load();
    let spec = schema.def(schema.type_of(find("apps", "v1", "daemonsets").unwrap()));
    assert_eq!(
        spec.field("spec").unwrap().go_type_name(&schema),
        "v1.DaemonSetSpec"
    );
    let pod_spec = schema.def(schema.type_named("io.k8s.api.core.v1.PodSpec").unwrap());
    assert_eq!(
        pod_spec.field("dnsPolicy").unwrap().go_type_name(&schema),
        "v1.DNSPolicy"
    );
    assert_eq!(
        pod_spec.field("containers").unwrap().go_type_name(&schema),
        "[]v1.Container"
    );
    assert_eq!(
        pod_spec
            .field("nodeSelector")
            .unwrap()
            .go_type_name(&schema),
        "map[string]string"
    );
}

#[test]
fn descriptions_are_there_when_asked_for() {
    let docs = Docs::load();
    assert!(
        docs.of_field("io.k8s.api.apps.v1.RollingUpdateDaemonSet", "maxSurge")
            .contains("maximum")
    );
    assert_eq!(docs.of_type("nothing"), "");
}
