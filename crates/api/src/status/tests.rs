//! Tests of `status`.

use super::*;
use crate::resource::find;

fn daemon_sets() -> &'static Resource {
    find("apps", "v1", "daemonsets").unwrap()
}

fn pods() -> &'static Resource {
    find("", "v1", "pods").unwrap()
}

/// The body of a status is exactly this JSON.
fn check(status: &Status, wanted: &str) {
    let wanted: Value = serde_json::from_str(wanted).unwrap();
    assert_eq!(status.to_value(), wanted);
}

#[test]
fn absent_and_present_objects() {
    check(
        &Status::not_found(daemon_sets(), "zzz"),
        r#"{"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "daemonsets.apps \"zzz\" not found", "reason": "NotFound", "details": {"name": "zzz", "group": "apps", "kind": "daemonsets"}, "code": 404}"#,
    );
    check(
        &Status::already_exists(daemon_sets(), "web"),
        r#"{"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "daemonsets.apps \"web\" already exists", "reason": "AlreadyExists", "details": {"name": "web", "group": "apps", "kind": "daemonsets"}, "code": 409}"#,
    );
    assert_eq!(
        Status::being_deleted(pods(), "p").message,
        "object is being deleted: pods \"p\" already exists"
    );
    check(
        &Status::success(daemon_sets(), "web", "u1"),
        r#"{"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": {"name": "web", "group": "apps", "kind": "daemonsets", "uid": "u1"}}"#,
    );
}

#[test]
fn conflicts_say_what_is_in_the_way() {
    let message = |status: Status| status.message;
    assert_eq!(
        message(Status::stale(daemon_sets(), "web")),
        "Operation cannot be fulfilled on daemonsets.apps \"web\": the object has been modified; please apply your changes to the latest version and try again"
    );
    assert_eq!(
        message(Status::uid_conflict(
            daemon_sets(),
            "/registry/daemonsets/n/web",
            "web",
            ("a", "b")
        )),
        "Operation cannot be fulfilled on daemonsets.apps \"web\": StorageError: invalid object, Code: 4, Key: /registry/daemonsets/n/web, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: a, UID in object meta: b"
    );
    let status = Status::delete_uid_conflict(daemon_sets(), "web", ("zzz", "u"));
    assert_eq!(
        status.message,
        "Operation cannot be fulfilled on DaemonSet.apps \"web\": the UID in the precondition (zzz) does not match the UID in record (u). The object might have been deleted and then recreated"
    );
    assert_eq!(status.details.unwrap().kind, "DaemonSet");
    assert_eq!(
        message(Status::delete_version_conflict(pods(), "p", ("1", "743"))),
        "Operation cannot be fulfilled on Pod \"p\": the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (743). The object might have been modified"
    );
}

#[test]
fn validation_lists_every_error_once() {
    let errors = [
        FieldError::required(&"a", ""),
        FieldError::required(&"a", ""),
        FieldError::forbidden(&"b", "no"),
    ];
    check(
        &Status::invalid(daemon_sets(), "x1", &errors),
        r#"{"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "DaemonSet.apps \"x1\" is invalid: [a: Required value, b: Forbidden: no]", "reason": "Invalid", "details": {"name": "x1", "group": "apps", "kind": "DaemonSet", "causes": [{"reason": "FieldValueRequired", "message": "Required value", "field": "a"}, {"reason": "FieldValueRequired", "message": "Required value", "field": "a"}, {"reason": "FieldValueForbidden", "message": "Forbidden: no", "field": "b"}]}, "code": 422}"#,
    );
    check(
        &Status::version_required(find("coordination.k8s.io", "v1", "leases").unwrap(), "nope"),
        r#"{"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "leases.coordination.k8s.io \"nope\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update", "reason": "Invalid", "details": {"name": "nope", "group": "coordination.k8s.io", "kind": "leases", "causes": [{"reason": "FieldValueInvalid", "message": "Invalid value: 0: must be specified for an update", "field": "metadata.resourceVersion"}]}, "code": 422}"#,
    );
    let dry_run = FieldError::not_supported(&"dryRun", json!(["Foo"]), &["All"]);
    assert_eq!(
        Status::invalid_options("CreateOptions", &[dry_run]).message,
        "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Foo\"]: supported values: \"All\""
    );
    assert_eq!(
        Status::invalid_patch(
            "map[spec:map[replicas:5]]",
            "strict decoding error: unknown field \"spec.replicas\""
        )
        .message,
        " \"\" is invalid: patch: Invalid value: \"map[spec:map[replicas:5]]\": strict decoding error: unknown field \"spec.replicas\""
    );
}

#[test]
fn refusals_name_user_and_scope() {
    let access = Access {
        user: "alice",
        verb: "list",
        resource: "configmaps",
        namespace: "n",
        ..Access::default()
    };
    check(
        &Status::access_denied(&access),
        r#"{"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "configmaps is forbidden: User \"alice\" cannot list resource \"configmaps\" in API group \"\" in the namespace \"n\"", "reason": "Forbidden", "details": {"kind": "configmaps"}, "code": 403}"#,
    );
    let message = |access: Access<'_>| Status::access_denied(&access).message;
    let node = Access {
        verb: "get",
        resource: "nodes",
        namespace: "",
        name: "n1",
        ..access
    };
    assert_eq!(
        message(node),
        "nodes \"n1\" is forbidden: User \"alice\" cannot get resource \"nodes\" in API group \"\" at the cluster scope"
    );
    let log = Access {
        verb: "get",
        resource: "pods",
        subresource: "log",
        name: "x",
        ..access
    };
    assert_eq!(
        message(log),
        "pods \"x\" is forbidden: User \"alice\" cannot get resource \"pods/log\" in API group \"\" in the namespace \"n\""
    );
    assert_eq!(
        Status::path_denied("system:anonymous", "get", "/api").message,
        "forbidden: User \"system:anonymous\" cannot get path \"/api\""
    );
    check(
        &Status::namespace_terminating(find("", "v1", "configmaps").unwrap(), "late", "p3"),
        r#"{"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "configmaps \"late\" is forbidden: unable to create new content in namespace p3 because it is being terminated", "reason": "Forbidden", "details": {"name": "late", "kind": "configmaps", "causes": [{"reason": "NamespaceTerminating", "message": "namespace p3 is being terminated", "field": "metadata.namespace"}]}, "code": 403}"#,
    );
}

#[test]
fn bodies_that_cannot_be_read() {
    let message = |status: Status| status.message;
    assert_eq!(
        message(Status::wrong_kind(daemon_sets(), "Deployment", "v1")),
        "Deployment in version \"v1\" cannot be handled as a DaemonSet: converting (v1.Deployment) to (apps.DaemonSet): unknown conversion"
    );
    assert_eq!(
        message(Status::unknown_version(
            daemon_sets(),
            "DaemonSet",
            "apps/v1beta9"
        )),
        "DaemonSet in version \"v1beta9\" cannot be handled as a DaemonSet: no kind \"DaemonSet\" is registered for version \"apps/v1beta9\" in scheme \"pkg/api/legacyscheme/scheme.go:30\""
    );
    assert_eq!(
        message(Status::unrecognized(
            daemon_sets(),
            "unexpected end of JSON input (<empty>)"
        )),
        "the object provided is unrecognized (must be of type DaemonSet): couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)"
    );
}

#[test]
fn states_of_the_router_have_empty_details() {
    check(
        &Status::unsupported_patch_type(),
        r#"{"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "415: Unsupported Media Type", "reason": "UnsupportedMediaType", "details": {}, "code": 415}"#,
    );
    check(
        &Status::method_not_allowed(),
        r#"{"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "the server does not allow this method on the requested resource", "reason": "MethodNotAllowed", "details": {}, "code": 405}"#,
    );
    check(
        &Status::no_such_resource(),
        r#"{"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "the server could not find the requested resource", "reason": "NotFound", "details": {}, "code": 404}"#,
    );
}

#[test]
fn versions_that_are_gone_or_to_come() {
    check(
        &Status::too_large_version(99_999_999, 986),
        r#"{"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "Timeout: Too large resource version: 99999999, current: 986", "reason": "Timeout", "details": {"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}], "retryAfterSeconds": 1}, "code": 504}"#,
    );
    let expired = Status::continue_expired("token").to_value();
    assert_eq!(expired["metadata"], json!({"continue": "token"}));
    assert_eq!(expired["code"], 410);
}
