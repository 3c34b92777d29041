//! The contract cases about what is accepted and stored, as requests.
//!
//! They are written for whoever validates objects; here they go through the whole server, so that
//! decoding, defaulting, validation and the answer's causes are seen to fit together.

use serde_json::{Value, json};

use super::runner::case::{Case, read};

/// Cases whose stored object no client can create: only tests below HTTP can have it.
const NOT_CREATABLE: [&str; 1] = ["update-keeps-tolerated-selector"];

/// The cases of `validation.yaml`.
pub(crate) fn validation() -> Vec<Case> {
    let cases = read(&super::runner::contract(), "validation");
    let cases = cases.iter().filter(|case| {
        let id = case["id"].as_str().unwrap_or_default();
        !NOT_CREATABLE.contains(&id)
    });
    cases
        .map(|case| Case::from_parts("validation", case, &given(case), &verdict(case)))
        .collect()
}

/// The cases of `defaults.yaml` that create: the others need a stored object with a past.
pub(crate) fn defaults() -> Vec<Case> {
    let cases = read(&super::runner::contract(), "defaults");
    let creates = cases
        .iter()
        .filter(|case| case["given"]["operation"] == "create");
    let expected = |case: &Value| {
        let empty = case["expect"]["absent"].as_array().into_iter().flatten();
        let empty: Value = empty.filter_map(Value::as_str).map(pointer).collect();
        json!([{"code": 201, "body": in_namespace(&case["expect"]["stored"]), "empty": empty}])
    };
    creates
        .map(|case| Case::from_parts("defaults", case, &given(case), &expected(case)))
        .collect()
}

/// The objects and the requests of a case.
fn given(case: &Value) -> Value {
    let given = &case["given"];
    let object = &given["object"];
    let plural = match object["kind"].as_str() {
        Some("DaemonSet") => "daemonsets",
        _ => "controllerrevisions",
    };
    let collection = format!("/apis/apps/v1/namespaces/${{ns}}/{plural}");
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let one = format!("{collection}/{name}");
    let put = |path: &str, object: &Value| {
        let do_it = format!("PUT {path}");
        json!({"do": do_it, "body": as_update(object)})
    };
    match given["operation"].as_str() {
        Some("update") => {
            json!({"objects": [as_create(&given["stored"])], "steps": [put(&one, object)]})
        }
        Some("updateStatus") => {
            let status = format!("{one}/status");
            // The first request stores the status that the case starts with.
            let mut stored = given["stored"].clone();
            let mut object = object.clone();
            for object in [&mut stored, &mut object] {
                without(object, &["resourceVersion"]);
            }
            let steps = json!([put(&status, &stored), put(&status, &object)]);
            json!({"objects": [as_create(&stored)], "steps": steps})
        }
        _ => json!({"steps": [{"do": format!("POST {collection}"), "body": in_namespace(object)}]}),
    }
}

/// What the last request of a case is answered.
fn verdict(case: &Value) -> Value {
    let expect = &case["expect"];
    let is_create = case["given"]["operation"] == "create";
    let last = if expect["accepted"] == true {
        json!({"code": if is_create { 201 } else { 200 }})
    } else if let Some(code) = expect.get("httpStatus") {
        json!({"code": code})
    } else {
        let errors = expect["errors"].as_array().into_iter().flatten();
        let causes: Value = errors
            .map(|error| {
                let kind = error["type"].as_str().unwrap_or_default();
                json!({"field": error["field"], "reason": format!("FieldValue{kind}")})
            })
            .collect();
        json!({"code": 422, "reason": "Invalid", "causes": causes})
    };
    if case["given"]["operation"] == "updateStatus" {
        json!([null, last])
    } else {
        json!([last])
    }
}

fn in_namespace(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(namespace) = object.pointer_mut("/metadata/namespace") {
        *namespace = "${ns}".into();
    }
    object
}

/// Without what the server gives to an object.
fn as_create(object: &Value) -> Value {
    let mut object = in_namespace(object);
    without(&mut object, &["uid", "resourceVersion", "generation"]);
    object
}

/// With the version that the server gave.
fn as_update(object: &Value) -> Value {
    let mut object = in_namespace(object);
    without(&mut object, &["uid", "generation"]);
    let version = format!(
        "${{{}.rv}}",
        object["metadata"]["name"].as_str().unwrap_or_default()
    );
    if let Some(own) = object.pointer_mut("/metadata/resourceVersion") {
        *own = version.into();
    }
    object
}

fn without(object: &mut Value, fields: &[&str]) {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for field in fields {
            metadata.remove(*field);
        }
    }
}

/// `a.b[0].c` as a JSON pointer.
fn pointer(path: &str) -> String {
    format!("/{}", path.replace(['.', '['], "/").replace(']', ""))
}
