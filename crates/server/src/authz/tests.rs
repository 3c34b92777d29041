//! Rules, by text: `verb group/resource/subresource name` or `verb path`.

use serde_json::{Value, json};

use super::*;

fn wanted(text: &str) -> Attributes<'_> {
    let (verb, rest) = text.split_once(' ').unwrap();
    if rest.starts_with('/') {
        return Attributes {
            verb,
            path: rest,
            ..Attributes::default()
        };
    }
    let (what, name) = rest.split_once(' ').unwrap_or((rest, ""));
    let (group, what) = what.split_once(':').unwrap_or(("", what));
    let (resource, subresource) = what.split_once('/').unwrap_or((what, ""));
    Attributes {
        verb,
        group,
        resource,
        subresource,
        name,
        ..Attributes::default()
    }
}

fn check(rule: Value, yes: &[&str], no: &[&str]) {
    let rule: Rule = serde_json::from_value(rule).unwrap();
    for text in yes {
        assert!(allows(&rule, &wanted(text)), "{text}");
    }
    for text in no {
        assert!(!allows(&rule, &wanted(text)), "{text}");
    }
}

#[test]
fn resources() {
    check(
        json!({"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods", "pods/log"]}),
        &["get pods", "list pods x", "get pods/log"],
        &[
            "delete pods",
            "get pods/exec",
            "get apps:pods",
            "get nodes",
            "get /pods",
        ],
    );
    check(
        json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*/status"]}),
        &["update pods/status", "patch apps:daemonsets/status"],
        &["update pods"],
    );
    check(
        json!({"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a"]}),
        &["get secrets a"],
        &["get secrets b", "get secrets"],
    );
}

#[test]
fn paths() {
    check(
        json!({"verbs": ["get"], "nonResourceURLs": ["/healthz", "/apis/*"]}),
        &["get /healthz", "get /apis/apps"],
        &["get /healthz/x", "get /apis", "post /healthz", "get pods"],
    );
}

#[test]
fn subjects() {
    let subject = |kind: &str, name: &str, namespace: &str| Subject {
        kind: kind.to_owned(),
        name: name.to_owned(),
        namespace: namespace.to_owned(),
    };
    let user = User::service_account("n", "sa", "u");
    assert!(subject("ServiceAccount", "sa", "n").is(&user, ""));
    assert!(subject("ServiceAccount", "sa", "").is(&user, "n"));
    assert!(!subject("ServiceAccount", "sa", "m").is(&user, ""));
    assert!(subject("Group", "system:serviceaccounts:n", "").is(&user, ""));
    assert!(subject("User", "system:serviceaccount:n:sa", "").is(&user, ""));
    assert!(!subject("User", "sa", "").is(&user, ""));
}

#[test]
fn nobody_gives_more_than_they_have() {
    let rules = |value: Value| -> Vec<Rule> { serde_json::from_value(value).unwrap() };
    let own = rules(json!([{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}]));
    assert_eq!(uncovered(&own, &own), None);
    let more =
        rules(json!([{"verbs": ["get", "delete"], "apiGroups": [""], "resources": ["pods"]}]));
    assert_eq!(
        uncovered(&own, &more).unwrap(),
        r#"{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}"#
    );
    let all = rules(json!([{"verbs": ["*"], "apiGroups": [""], "resources": ["pods"]}]));
    assert!(uncovered(&own, &all).is_some());
    assert_eq!(uncovered(&everything(), &all), None);
}

#[test]
fn bootstrap_roles_are_well_formed() {
    for role in roles::cluster_roles() {
        let parsed: Role = serde_json::from_value(role.clone()).unwrap();
        for rule in parsed.rules.unwrap_or_default() {
            assert!(!rule.verbs.is_empty(), "{role}");
            assert_ne!(
                rule.resources.is_empty(),
                rule.non_resource_urls.is_empty(),
                "{role}"
            );
        }
    }
    let names: Vec<String> = roles::cluster_roles()
        .iter()
        .map(|role| role["metadata"]["name"].as_str().unwrap().to_owned())
        .collect();
    for binding in roles::cluster_role_bindings() {
        let role = binding["roleRef"]["name"].as_str().unwrap().to_owned();
        assert!(names.contains(&role), "{role}");
    }
}
