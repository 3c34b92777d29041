//! Tests of `protobuf`.

use super::*;
use serde_json::json;
use std::prelude::v1::*;
use std::vec;

/// A record of bytes.
fn bytes(number: u8, value: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    assert!(value.len() < 16384);
    if value.len() < 128 {
        out.push(value.len() as u8);
    } else {
        out.extend([value.len() as u8 & 0x7f | 0x80, (value.len() >> 7) as u8]);
    }
    out.extend(value);
    out
}

/// A record of a small number.
fn number(at: u8, value: u8) -> Vec<u8> {
    vec![at << 3, value]
}

fn envelope(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let meta = [bytes(1, api_version.as_bytes()), bytes(2, kind.as_bytes())].concat();
    [MAGIC.to_vec(), bytes(1, &meta), bytes(2, raw)].concat()
}

fn check(api_version: &str, kind: &str, raw: &[u8], expected: Value) {
    let object = decode_envelope(&Schema::load(), &envelope(api_version, kind, raw)).unwrap();
    assert_eq!(object, expected);
}

#[test]
fn a_namespace_as_kubectl_creates_it() {
    // Go writes empty texts of fields without a pointer; they are not in JSON.
    let metadata = [bytes(1, b"demo"), bytes(2, b""), bytes(8, b"")].concat();
    let raw = [bytes(1, &metadata), bytes(2, b""), bytes(3, &bytes(1, b""))].concat();
    check(
        "v1",
        "Namespace",
        &raw,
        json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "demo"}, "spec": {}, "status": {},
        }),
    );
}

#[test]
fn embedded_structs_are_flattened_and_maps_collected() {
    let secret = bytes(6, &bytes(1, b"s"));
    let volume = [bytes(1, b"v"), bytes(2, &secret)].concat();
    let spec = bytes(1, &volume);
    let label = |k: &[u8], v: &[u8]| bytes(11, &[bytes(1, k), bytes(2, v)].concat());
    let metadata = [bytes(1, b"p"), label(b"a", b"1"), label(b"b", b"")].concat();
    let raw = [bytes(1, &metadata), bytes(2, &spec)].concat();
    check(
        "v1",
        "Pod",
        &raw,
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"a": "1", "b": ""}},
            "spec": {"containers": null, "volumes": [{"name": "v", "secret": {"secretName": "s"}}]}, "status": {},
        }),
    );
}

#[test]
fn pointers_keep_zero_and_times_have_seconds() {
    let spec = [
        bytes(1, b""),
        number(2, 0),
        bytes(4, &[number(1, 5), number(2, 0)].concat()),
    ]
    .concat();
    let raw = [bytes(1, &bytes(1, b"l")), bytes(2, &spec)].concat();
    check(
        "coordination.k8s.io/v1",
        "Lease",
        &raw,
        json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"},
            "spec": {"holderIdentity": "", "leaseDurationSeconds": 0, "renewTime": "1970-01-01T00:00:05.000000Z"},
        }),
    );
}

#[test]
fn delete_options_travel_under_any_group() {
    let raw = [
        number(1, 0),
        bytes(2, &bytes(1, b"u")),
        bytes(4, b"Background"),
    ]
    .concat();
    let object =
        decode_envelope(&Schema::load(), &envelope("apps/v1", "DeleteOptions", &raw)).unwrap();
    assert_eq!(object["gracePeriodSeconds"], 0);
    assert_eq!(object["preconditions"], json!({"uid": "u"}));
    assert_eq!(object["propagationPolicy"], "Background");
}

#[test]
fn a_revision_carries_json() {
    let raw = [
        bytes(1, &bytes(1, b"r")),
        bytes(2, &bytes(1, br#"{"spec":{"a":1}}"#)),
        number(3, 7),
    ]
    .concat();
    check(
        "apps/v1",
        "ControllerRevision",
        &raw,
        json!({
            "apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "r"},
            "data": {"spec": {"a": 1}}, "revision": 7,
        }),
    );
}

#[test]
fn damage_is_an_error_and_never_a_panic() {
    let schema = Schema::load();
    let whole = envelope("v1", "Pod", &bytes(1, &bytes(1, b"name")));
    for length in 0..whole.len() {
        // A cut may still be a message, with less in it.
        drop(decode_envelope(&schema, &whole[..length]));
    }
    for text in ["", "{}", "k8s\0\x0b"] {
        assert!(
            decode_envelope(&schema, text.as_bytes()).is_err(),
            "{text:?}"
        );
    }
    let unknown = decode_envelope(&schema, &envelope("v1", "Nothing", b"")).unwrap_err();
    assert!(unknown.to_string().contains("no kind \"Nothing\""));
}
