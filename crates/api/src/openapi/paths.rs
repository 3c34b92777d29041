//! The paths of a group and version, with what each operation takes and gives.

use super::path_of;
use super::schemas::{META, full_name, reference};
use crate::resource::{RESOURCES, Resource};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde_json::{Map, Value, json};

/// Content types of objects in requests and replies.
const BODIES: [&str; 2] = ["application/json", "application/yaml"];
/// Content types of patches.
const PATCHES: [&str; 4] = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

/// All paths of a group and version.
pub(super) fn paths(group: &str, version: &str) -> Map<String, Value> {
    let mut paths = Map::new();
    for resource in RESOURCES
        .iter()
        .filter(|r| r.group == group && r.version == version)
    {
        let root = format!("/{}", path_of(group, version));
        let plural = resource.plural;
        let collection = if resource.namespaced {
            paths.insert(format!("{root}/{plural}"), collection(resource, false));
            format!("{root}/namespaces/{{namespace}}/{plural}")
        } else {
            format!("{root}/{plural}")
        };
        paths.insert(format!("{collection}/{{name}}"), item(resource));
        for sub in resource.subresources.iter().filter(|s| **s == "status") {
            paths.insert(format!("{collection}/{{name}}/{sub}"), item(resource));
        }
        paths.insert(collection, self::collection(resource, true));
    }
    paths
}

/// The operations on a collection; across namespaces nothing is created.
fn collection(resource: &Resource, one_namespace: bool) -> Value {
    let mut operations = Map::new();
    if resource.has_verb("list") {
        let list = format!("{}List", full_name(resource));
        operations.insert(
            "get".into(),
            operation(resource, "list", LISTING, answer(&list)),
        );
    }
    if one_namespace && resource.has_verb("create") {
        operations.insert(
            "post".into(),
            with_body(
                operation(resource, "post", WRITING, own(resource)),
                resource,
            ),
        );
    }
    if one_namespace && resource.has_verb("deletecollection") {
        let status = format!("{META}Status");
        operations.insert(
            "delete".into(),
            operation(resource, "deletecollection", DELETING, answer(&status)),
        );
    }
    with_path_parameters(operations, resource.namespaced && one_namespace, false)
}

/// The operations on one object.
fn item(resource: &Resource) -> Value {
    let mut operations = Map::new();
    if resource.has_verb("get") {
        operations.insert("get".into(), operation(resource, "get", &[], own(resource)));
    }
    if resource.has_verb("update") {
        operations.insert(
            "put".into(),
            with_body(operation(resource, "put", WRITING, own(resource)), resource),
        );
    }
    if resource.has_verb("patch") {
        let mut patch = operation(resource, "patch", PATCHING, own(resource));
        let schema = json!({"schema": reference(&format!("{META}Patch"))});
        let content: Map<String, Value> = PATCHES
            .iter()
            .map(|t| (String::from(*t), schema.clone()))
            .collect();
        patch["requestBody"] = json!({"content": content, "required": true});
        operations.insert("patch".into(), patch);
    }
    if resource.has_verb("delete") {
        let status = format!("{META}Status");
        operations.insert(
            "delete".into(),
            operation(resource, "delete", DELETING, answer(&status)),
        );
    }
    with_path_parameters(operations, resource.namespaced, true)
}

/// Query parameters: name, whether it is a number or a truth value, and what it is for.
type Parameters = &'static [(&'static str, &'static str, &'static str)];

const DRY_RUN: (&str, &str, &str) = (
    "dryRun",
    "string",
    "With the value All nothing is stored; everything else is done.",
);
const MANAGER: (&str, &str, &str) = (
    "fieldManager",
    "string",
    "Who the changed fields belong to; at most 128 characters.",
);
const VALIDATION: (&str, &str, &str) = (
    "fieldValidation",
    "string",
    "What is done about unknown and duplicate fields: Ignore, Warn (the default) or Strict.",
);
const FORCE: (&str, &str, &str) = (
    "force",
    "boolean",
    "Whether an apply takes fields that belong to others.",
);
const WRITING: Parameters = &[DRY_RUN, MANAGER, VALIDATION];
const PATCHING: Parameters = &[DRY_RUN, MANAGER, VALIDATION, FORCE];
const DELETING: Parameters = &[
    DRY_RUN,
    (
        "gracePeriodSeconds",
        "integer",
        "Seconds the object gets before it is gone.",
    ),
    (
        "propagationPolicy",
        "string",
        "What happens to dependents: Orphan, Background or Foreground.",
    ),
];
const LISTING: Parameters = &[
    (
        "allowWatchBookmarks",
        "boolean",
        "Whether a watch may send bookmarks.",
    ),
    ("continue", "string", "The token of the next page."),
    (
        "fieldSelector",
        "string",
        "Selects objects by their fields.",
    ),
    (
        "labelSelector",
        "string",
        "Selects objects by their labels.",
    ),
    ("limit", "integer", "Most objects in one answer."),
    (
        "resourceVersion",
        "string",
        "The version to read at or to watch from.",
    ),
    (
        "resourceVersionMatch",
        "string",
        "How the version is meant: Exact or NotOlderThan.",
    ),
    (
        "sendInitialEvents",
        "boolean",
        "Whether a watch begins with the present objects.",
    ),
    (
        "timeoutSeconds",
        "integer",
        "When the answer ends at the latest.",
    ),
    (
        "watch",
        "boolean",
        "Whether changes are sent instead of a list.",
    ),
];

fn parameter(place: &str, (name, r#type, description): (&str, &str, &str)) -> Value {
    json!({"name": name, "in": place, "description": description, "schema": {"type": r#type, "uniqueItems": true}})
}

fn operation(resource: &Resource, action: &str, parameters: Parameters, answer: Value) -> Value {
    let scope = if resource.namespaced {
        "Namespaced"
    } else {
        ""
    };
    let group = resource.group.replace('.', "_");
    let mut operation = json!({
        "tags": [format!("{}_{}", if group.is_empty() { "core" } else { &group }, resource.version)],
        "description": format!("{action} {}", resource.kind),
        "operationId": format!("{action}{}{scope}{}", group, resource.kind),
        "responses": {"200": answer, "401": {"description": "Unauthorized"}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": {
            "group": resource.group, "version": resource.version, "kind": resource.kind,
        },
    });
    if !parameters.is_empty() {
        let list: Vec<Value> = parameters.iter().map(|p| parameter("query", *p)).collect();
        operation["parameters"] = list.into();
    }
    operation
}

fn own(resource: &Resource) -> Value {
    answer(&full_name(resource))
}

fn content(name: &str) -> Map<String, Value> {
    BODIES
        .iter()
        .map(|t| (String::from(*t), json!({"schema": reference(name)})))
        .collect()
}

fn answer(name: &str) -> Value {
    json!({"description": "OK", "content": content(name)})
}

fn with_body(mut operation: Value, resource: &Resource) -> Value {
    operation["requestBody"] = json!({"content": content(&full_name(resource)), "required": true});
    operation
}

fn with_path_parameters(mut operations: Map<String, Value>, namespace: bool, name: bool) -> Value {
    let mut parameters = Vec::new();
    if name {
        parameters.push(("name", "string", "Name of the object."));
    }
    if namespace {
        parameters.push(("namespace", "string", "Namespace of the object."));
    }
    let mut parameters: Vec<Value> = parameters
        .into_iter()
        .map(|p| parameter("path", p))
        .collect();
    for parameter in &mut parameters {
        parameter["required"] = true.into();
    }
    parameters.push(parameter(
        "query",
        ("pretty", "string", "Whether the answer is indented."),
    ));
    operations.insert("parameters".into(), parameters.into());
    Value::Object(operations)
}
