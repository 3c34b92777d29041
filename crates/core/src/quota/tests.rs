//! Tests of `quota`.

use super::*;
use serde_json::json;

fn kind(plural: &str) -> Counted<'_> {
    match plural.split_once('.') {
        Some((plural, group)) => Counted { group, plural },
        None => Counted { group: "", plural },
    }
}

fn text(amounts: &Amounts) -> String {
    let one = |(k, v): (&String, &Quantity)| format!("{k}={v}");
    amounts.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check_usage(plural: &str, object: &Value, expected: &str) {
    assert_eq!(text(&usage(kind(plural), object)), expected);
}

fn container(resources: &Value) -> Value {
    json!({"name": "c", "resources": resources})
}

#[test]
fn a_pod_uses_its_containers_or_the_greediest_init_container() {
    let a = container(&json!({"requests": {"cpu": "100m"}, "limits": {"cpu": "1"}}));
    let b = container(&json!({"requests": {"cpu": "200m", "x.io/gpu": "1"}}));
    let first = container(&json!({"requests": {"cpu": "1", "memory": "1Gi"}}));
    let pod = json!({"spec": {"containers": [a, b]}});
    check_usage(
        "pods",
        &pod,
        "count/pods=1 cpu=300m limits.cpu=1 pods=1 requests.cpu=300m requests.x.io/gpu=1",
    );
    let pod = json!({"spec": {"containers": [b], "initContainers": [first]}});
    check_usage(
        "pods",
        &pod,
        "count/pods=1 cpu=1 memory=1Gi pods=1 requests.cpu=1 requests.memory=1Gi requests.x.io/gpu=1",
    );
    let mut ended = pod;
    ended["status"] = json!({"phase": "Failed"});
    check_usage("pods", &ended, "count/pods=1");
}

#[test]
fn other_kinds_count_themselves() {
    check_usage("daemonsets.apps", &json!({}), "count/daemonsets.apps=1");
    check_usage("secrets", &json!({}), "count/secrets=1 secrets=1");
    let service = json!({"spec": {"type": "LoadBalancer", "ports": [{}, {}]}});
    check_usage(
        "services",
        &service,
        "count/services=1 services=1 services.loadbalancers=1 services.nodeports=2",
    );
    let claim = json!({"spec": {"resources": {"requests": {"storage": "1Gi"}}}});
    check_usage(
        "persistentvolumeclaims",
        &claim,
        "count/persistentvolumeclaims=1 persistentvolumeclaims=1 requests.storage=1Gi",
    );
}

#[track_caller]
fn check_scope(spec: &Value, pod: &Value, expected: bool) {
    let found = speaks_of(&json!({"spec": spec}), kind("pods"), pod);
    assert_eq!(found, expected, "{spec} {pod}");
}

#[test]
fn scopes_choose_pods() {
    let plain = json!({"spec": {"containers": [container(&json!({}))]}});
    let mut asking = json!({"spec": {"containers": [container(&json!({"limits": {"cpu": "1"}}))]}});
    asking["spec"]["priorityClassName"] = json!("high");
    asking["spec"]["activeDeadlineSeconds"] = json!(9);
    for (scope, of_plain) in [("BestEffort", true), ("NotTerminating", true)] {
        check_scope(&json!({"scopes": [scope]}), &plain, of_plain);
        check_scope(&json!({"scopes": [scope]}), &asking, !of_plain);
    }
    for scope in ["NotBestEffort", "Terminating", "PriorityClass"] {
        check_scope(&json!({"scopes": [scope]}), &plain, false);
        check_scope(&json!({"scopes": [scope]}), &asking, true);
    }
    let select = |operator: &str, values: Value| {
        let one = json!({"scopeName": "PriorityClass", "operator": operator, "values": values});
        json!({"scopeSelector": {"matchExpressions": [one]}})
    };
    check_scope(&select("In", json!(["high"])), &asking, true);
    check_scope(&select("NotIn", json!(["high"])), &asking, false);
    check_scope(&select("Exists", json!([])), &plain, false);
    check_scope(&select("DoesNotExist", json!([])), &plain, true);
    let secrets = speaks_of(
        &json!({"spec": {"scopes": ["BestEffort"]}}),
        kind("secrets"),
        &plain,
    );
    assert!(!secrets);
}

#[track_caller]
fn check_charge(hard: &Value, used: &Value, asked: &Value, expected: Result<&str, &str>) {
    let found = charge("q", &amounts(hard), &amounts(used), &amounts(asked));
    let found = found.as_ref().map(text);
    assert_eq!(
        found.as_deref().map_err(|e| e.as_str()),
        expected,
        "{hard} {used} {asked}"
    );
}

#[test]
fn one_more_fits_or_is_refused() {
    let hard = json!({"pods": "2", "cpu": "1"});
    check_charge(
        &hard,
        &json!({"pods": "1", "cpu": "0"}),
        &json!({"pods": "1", "cpu": "500m", "memory": "1"}),
        Ok("cpu=500m pods=2"),
    );
    check_charge(
        &hard,
        &json!({"pods": "2"}),
        &json!({"pods": "1", "cpu": "2"}),
        Err(
            "exceeded quota: q, requested: cpu=2,pods=1, used: cpu=0,pods=2, limited: cpu=1,pods=2",
        ),
    );
    // It asks for nothing of what is exceeded.
    check_charge(
        &hard,
        &json!({"cpu": "9"}),
        &json!({"pods": "1", "cpu": "0"}),
        Ok("cpu=9 pods=1"),
    );
}

#[test]
fn a_pod_names_what_is_bounded() {
    let hard = amounts(&json!({"requests.cpu": "1", "limits.memory": "1", "pods": "1"}));
    let mut pod = json!({"spec": {"containers": [container(&json!({})), {"name": "b", "resources": {"requests": {"cpu": "1"}}}]}});
    assert_eq!(
        unnamed(&hard, &pod).as_deref(),
        Some("must specify limits.memory for: b,c; requests.cpu for: c")
    );
    let all = json!({"requests": {"cpu": "1"}, "limits": {"memory": "1"}});
    pod["spec"]["containers"] = json!([container(&all)]);
    assert_eq!(unnamed(&hard, &pod), None);
}

#[test]
fn which_kinds_a_quota_bounds() {
    for (what, plural, expected) in [
        ("pods", "pods", true),
        ("cpu", "pods", true),
        ("requests.storage", "pods", false),
        ("requests.storage", "persistentvolumeclaims", true),
        ("services.nodeports", "services", true),
        ("count/daemonsets.apps", "daemonsets.apps", true),
        ("count/daemonsets.apps", "pods", false),
    ] {
        let hard = amounts(&json!({what: "1"}));
        assert_eq!(bounds(&hard, kind(plural)), expected, "{what} {plural}");
    }
}
