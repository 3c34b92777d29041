//! Tests of `validation`.

use super::*;
use crate::defaults::apply_defaults;
use crate::resource::find_kind;
use crate::status::Status;
use crate::strategy::{prepare_create, prepare_status_update, prepare_update};
use alloc::string::{String, ToString};

mod core_kinds;
mod networking;
mod pods;

fn parse(text: &str) -> (&'static Resource, Value) {
    let mut object: Value = serde_saphyr::from_str(text).unwrap();
    let api_version = object["apiVersion"].as_str().unwrap();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kind = object["kind"].as_str().unwrap();
    let resource = find_kind(group, version, kind).unwrap();
    apply_defaults(resource, &mut object);
    (resource, object)
}

fn texts(errors: &[FieldError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

/// Validates a new object, after defaults and preparation.
fn check(object: &str, wanted: &[&str]) {
    let (resource, mut object) = parse(object);
    prepare_create(resource, &mut object);
    assert_eq!(texts(&validate_create(resource, &object)), wanted);
}

/// Validates an update. What errors in the metadata say twice is shown once.
fn check_update(old: &str, new: &str, wanted: &[&str]) {
    let (_, old) = parse(old);
    let (resource, mut new) = parse(new);
    prepare_update(resource, &mut new, &old);
    let mut found = texts(&validate_update(resource, &new, &old));
    found.dedup();
    assert_eq!(found, wanted);
}

/// Validates an update through `/status`.
fn check_status(old: &str, new: &str, wanted: &[&str]) {
    let (_, old) = parse(old);
    let (resource, mut new) = parse(new);
    prepare_status_update(resource, &mut new, &old);
    assert_eq!(texts(&validate_status_update(resource, &new, &old)), wanted);
}

/// A DaemonSet with something put into its spec.
fn daemon_set(more: &str) -> String {
    let base = "selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}";
    alloc::format!(
        "{{apiVersion: apps/v1, kind: DaemonSet, metadata: {{name: x1, namespace: ns, resourceVersion: '1'}}, spec: {{{base}{more}}}}}"
    )
}

#[test]
fn strategies_of_daemon_sets() {
    let strategy = |strategy: &str, wanted: &[&str]| {
        check(
            &daemon_set(&alloc::format!(", updateStrategy: {strategy}")),
            wanted,
        );
    };
    strategy("{type: OnDelete, rollingUpdate: {maxUnavailable: 0}}", &[]);
    strategy(
        "{rollingUpdate: {maxSurge: 1}}",
        &[
            "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero",
        ],
    );
    strategy(
        "{rollingUpdate: {maxUnavailable: 150%}}",
        &[
            "spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: \"150%\": must not be greater than 100%",
        ],
    );
    strategy(
        "{rollingUpdate: {maxUnavailable: abc}}",
        &[
            "spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: \"abc\": a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
            "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0",
        ],
    );
    strategy(
        "{rollingUpdate: {maxUnavailable: -1}}",
        &[
            "spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: -1: must be greater than or equal to 0",
        ],
    );
    strategy(
        "{type: Recreate}",
        &[
            "spec.updateStrategy: Unsupported value: {\"Type\":\"Recreate\",\"RollingUpdate\":null}: supported values: \"RollingUpdate\", \"OnDelete\"",
        ],
    );
}

#[test]
fn selectors_of_daemon_sets() {
    let selector = |selector: &str, wanted: &[&str]| {
        let object = daemon_set("").replacen("{matchLabels: {app: web}}", selector, 1);
        check(&object, wanted);
    };
    selector(
        "{matchLabels: {app: other}}",
        &[
            "spec.template.metadata.labels: Invalid value: {\"app\":\"web\"}: `selector` does not match template `labels`",
        ],
    );
    selector(
        "{}",
        &["spec.selector: Invalid value: {}: empty selector is invalid for daemonset"],
    );
    selector(
        "{matchExpressions: [{key: app, operator: Foo}]}",
        &[
            "spec.selector.matchExpressions[0].operator: Invalid value: \"Foo\": not a valid selector operator",
        ],
    );
    selector(
        "{matchExpressions: [{key: app, operator: In}]}",
        &[
            "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
        ],
    );
    check_update(
        &daemon_set(""),
        &daemon_set("").replace("app: web", "app: web2"),
        &["spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"web2\"}}: field is immutable"],
    );
    check(
        "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: x1, namespace: ns}}",
        &[
            "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`",
            "spec.template.spec.containers: Required value",
        ],
    );
}

#[test]
fn numbers_and_pods_of_daemon_sets() {
    check(
        &daemon_set(", minReadySeconds: -1, revisionHistoryLimit: -2"),
        &[
            "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0",
            "spec.revisionHistoryLimit: Invalid value: -2: must be greater than or equal to 0",
        ],
    );
    let pod = |more: &str, wanted: &[&str]| {
        let object =
            daemon_set("").replacen("image: i}]", &alloc::format!("image: i}}], {more}"), 1);
        check(&object, wanted);
    };
    pod(
        "restartPolicy: Bogus",
        &[
            "spec.template.spec.restartPolicy: Unsupported value: \"Bogus\": supported values: \"Always\", \"OnFailure\", \"Never\"",
            "spec.template.spec.restartPolicy: Unsupported value: \"Bogus\": supported values: \"Always\"",
        ],
    );
    pod(
        "activeDeadlineSeconds: 10",
        &[
            "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in DaemonSet is not Supported",
        ],
    );
    pod(
        "tolerations: [{operator: Equals, key: a}]",
        &[
            "spec.template.spec.tolerations[0].operator: Unsupported value: \"Equals\": supported values: \"Equal\", \"Exists\"",
        ],
    );
}

#[test]
fn statuses_of_daemon_sets() {
    let object = daemon_set("");
    let with = |more: &str| {
        let (head, _) = object.rsplit_once('}').unwrap();
        alloc::format!("{head}, status: {more}}}")
    };
    check_status(
        &with("{collisionCount: 2}"),
        &with("{numberReady: -1, collisionCount: 1}"),
        &[
            "status.numberReady: Invalid value: -1: must be greater than or equal to 0",
            "status.collisionCount: Invalid value: 1: cannot be decremented",
        ],
    );
}

#[test]
fn controller_revisions_hold_objects() {
    let revision = |more: &str| {
        alloc::format!(
            "{{apiVersion: apps/v1, kind: ControllerRevision, metadata: {{name: r, namespace: ns, resourceVersion: '1'}}, {more}}}"
        )
    };
    check(
        &revision("data: null, revision: -1"),
        &[
            "revision: Invalid value: -1: must be greater than or equal to 0",
            "data: Required value: data is mandatory",
        ],
    );
    check(
        &revision("data: [1]"),
        &["data: Required value: data must be a valid JSON object"],
    );
    check_update(
        &revision("revision: 1, data: {spec: {a: 1}}"),
        &revision("revision: 2, data: {spec: {a: 2}}"),
        &["data: Invalid value: {\"spec\":{\"a\":2}}: field is immutable"],
    );
    check_update(
        &revision("revision: 1, data: {spec: {a: 1}}"),
        &revision("revision: 2, data: {spec: {a: 1}}"),
        &[],
    );
}

#[test]
fn repeated_errors_are_one_in_the_message_and_all_in_the_causes() {
    let old = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: ns, uid: u, resourceVersion: '1'}}";
    let (resource, old_object) = parse(old);
    let mut new = old_object.clone();
    new["metadata"]["uid"] = "x".into();
    let errors = validate_update(resource, &new, &old_object);
    let status = Status::invalid(resource, "c", &errors);
    assert_eq!(
        status.message,
        "ConfigMap \"c\" is invalid: metadata.uid: Invalid value: \"x\": field is immutable"
    );
    assert_eq!(status.details.unwrap().causes.len(), 2);
}
