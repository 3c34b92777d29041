//! Tests of `decode`.

use super::*;
use crate::resource::find;
use serde_json::json;
use std::prelude::v1::*;

fn decode(plural: &str, text: &str) -> Result<Decoded, DecodeError> {
    let schema = Schema::load();
    let group = if plural == "daemonsets" { "apps" } else { "" };
    let id = schema.type_of(find(group, "v1", plural).unwrap());
    decode_json(&schema, id, text.as_bytes())
}

fn check_error(plural: &str, text: &str, message: &str) {
    assert_eq!(decode(plural, text).unwrap_err().to_string(), message);
}

#[test]
fn wrong_types_are_told_as_go_tells_them() {
    check_error(
        "daemonsets",
        r#"{"spec":{"minReadySeconds":"5"}}"#,
        "json: cannot unmarshal string into Go struct field DaemonSetSpec.spec.minReadySeconds of type int32",
    );
    check_error(
        "daemonsets",
        r#"{"spec":{"template":{"spec":{"nodeSelector":{"k42":true}}}}}"#,
        "json: cannot unmarshal bool into Go struct field PodSpec.spec.template.spec.nodeSelector of type string",
    );
    check_error(
        "pods",
        r#"{"spec":{"containers":{"name":"c"}}}"#,
        "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container",
    );
    check_error(
        "pods",
        r#"{"spec":{"terminationGracePeriodSeconds":1.5}}"#,
        "json: cannot unmarshal number 1.5 into Go struct field PodSpec.spec.terminationGracePeriodSeconds of type int64",
    );
}

#[test]
fn unknown_and_duplicate_fields_come_in_the_order_of_the_text() {
    let found = decode(
        "pods",
        r#"{"metadata":{"name":"a","name":"b","zz":1},"spec":{"aa":1,"aa":2,"containers":[{"name":"c","xx":{}}]}}"#,
    )
    .unwrap();
    assert_eq!(found.object["metadata"], json!({"name": "b"}));
    assert_eq!(
        found.unknown,
        [
            "duplicate field \"metadata.name\"",
            "unknown field \"metadata.zz\"",
            "unknown field \"spec.aa\"",
            "unknown field \"spec.containers[0].xx\"",
        ]
    );
}

#[test]
fn an_object_has_the_fields_go_would_write() {
    let pod = decode(
        "pods",
        r#"{"metadata":{"creationTimestamp":null,"labels":{}},"spec":{"hostNetwork":false,"terminationGracePeriodSeconds":0,
            "nodeName":"","containers":[{"name":"c","resources":{"requests":{"cpu":0.5}}}]},
            "status":{"conditions":[{"type":"Ready","status":"True"}]}}"#,
    )
    .unwrap()
    .object;
    assert_eq!(
        pod,
        json!({
            "metadata": {},
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "500m"}}}], "terminationGracePeriodSeconds": 0},
            "status": {"conditions": [{"type": "Ready", "status": "True", "lastProbeTime": null, "lastTransitionTime": null}]},
        })
    );
}

#[test]
fn decoding_again_changes_nothing() {
    let schema = Schema::load();
    let text = r#"{"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"spec":{"containers":[null]}}}}"#;
    let once = decode("daemonsets", text).unwrap().object;
    let mut twice = once.clone();
    let id = schema.type_of(find("apps", "v1", "daemonsets").unwrap());
    assert_eq!(check_value(&schema, id, &mut twice), Ok(vec![]));
    assert_eq!(twice, once);
}

#[test]
fn text_that_is_no_json_is_a_syntax_error() {
    assert!(decode("pods", "{").unwrap_err().is_syntax());
    let deep = "[".repeat(1000);
    assert!(decode("pods", &deep).unwrap_err().is_syntax());
}

#[test]
fn a_patch_is_read_with_its_duplicates() {
    let parsed = parse_json(br#"{"spec":{"a":1,"a":2,"b":[{"c":1,"c":2}]}}"#).unwrap();
    assert_eq!(parsed.value, json!({"spec": {"a": 2, "b": [{"c": 2}]}}));
    assert_eq!(
        parsed.duplicates,
        [
            "duplicate field \"spec.a\"",
            "duplicate field \"spec.b[0].c\""
        ]
    );
}
