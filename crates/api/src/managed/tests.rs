//! Tests of `managed`. The contract cases about apply run against the server.

use super::*;
use crate::resource::find;
use serde_json::json;
use std::prelude::v1::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn writer(manager: &str, second: i64) -> Writer<'_> {
    Writer {
        manager,
        subresource: "",
        now: at(second),
    }
}

fn daemonset() -> (Schema, TypeId) {
    let schema = Schema::load();
    let id = schema.type_of(find("apps", "v1", "daemonsets").unwrap());
    (schema, id)
}

fn object(min_ready: i64) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d"}, "spec": {"minReadySeconds": min_ready}})
}

fn owners(object: &Value) -> Vec<(&str, &str)> {
    let entries = object["metadata"]["managedFields"].as_array().unwrap();
    entries
        .iter()
        .map(|e| {
            (
                e["manager"].as_str().unwrap(),
                e["operation"].as_str().unwrap(),
            )
        })
        .collect()
}

#[test]
fn a_change_takes_the_field_from_its_owner() {
    let (schema, id) = daemonset();
    let mut first = object(1);
    track_update(&schema, id, None, &mut first, &writer("a", 1));
    assert_eq!(owners(&first), [("a", "Update")]);
    let mut second = first.clone();
    second["spec"]["minReadySeconds"] = 2.into();
    track_update(&schema, id, Some(&first), &mut second, &writer("b", 2));
    assert_eq!(owners(&second), [("b", "Update")]);
}

#[test]
fn a_write_without_a_change_is_none() {
    let (schema, id) = daemonset();
    let mut first = object(1);
    track_update(&schema, id, None, &mut first, &writer("a", 1));
    let mut again = first.clone();
    track_update(&schema, id, Some(&first), &mut again, &writer("a", 9));
    assert!(is_same(&first, &again));
    again["spec"]["minReadySeconds"] = 5.into();
    assert!(!is_same(&first, &again));
}

#[test]
fn applying_over_a_change_of_somebody_else_is_a_conflict_unless_forced() {
    let (schema, id) = daemonset();
    let applied = apply(&schema, id, None, &object(1), &writer("gitops", 1), false).unwrap();
    let mut changed = applied.clone();
    changed["spec"]["minReadySeconds"] = 2.into();
    track_update(&schema, id, Some(&applied), &mut changed, &writer("me", 2));
    let refused = apply(
        &schema,
        id,
        Some(&changed),
        &object(3),
        &writer("gitops", 3),
        false,
    );
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("conflict with \"me\""), "{message}");
    let forced = apply(
        &schema,
        id,
        Some(&changed),
        &object(3),
        &writer("gitops", 3),
        true,
    )
    .unwrap();
    assert_eq!(forced["spec"]["minReadySeconds"], 3);
    assert_eq!(owners(&forced), [("gitops", "Apply")]);
}
