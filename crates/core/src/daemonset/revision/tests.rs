//! Tests of `revision`.

use super::*;

fn template(json: Value) -> Template {
    Template::from_json(json).unwrap()
}

#[track_caller]
fn check(stored: &Value, current: Value, same: bool) {
    let revision = Revision {
        data: json!({"spec": {"template": stored}}),
        ..Revision::default()
    };
    assert_eq!(describes(&revision, &template(current)), same);
}

fn plain() -> Value {
    json!({
        "metadata": {"labels": {"app": "x"}},
        "spec": {"containers": [{"name": "c", "image": "a:1", "resources": {}}]},
    })
}

#[test]
fn null_and_absent_are_the_same() {
    let mut stored = plain();
    stored["metadata"]["creationTimestamp"] = Value::Null;
    stored["$patch"] = "replace".into();
    check(&stored, plain(), true);
}

#[test]
fn defaults_and_absent_are_the_same() {
    let mut stored = plain();
    stored["spec"]["restartPolicy"] = "Always".into();
    stored["spec"]["securityContext"] = json!({});
    stored["spec"]["containers"][0]["imagePullPolicy"] = "IfNotPresent".into();
    stored["spec"]["containers"][0]["resources"] = json!({"limits": {}});
    check(&stored, plain(), true);
}

#[test]
fn a_pull_policy_that_is_not_the_default_is_a_difference() {
    let mut stored = plain();
    stored["spec"]["containers"][0]["imagePullPolicy"] = "Always".into();
    check(&stored, plain(), false);
}

#[test]
fn an_empty_object_with_a_meaning_is_a_difference() {
    let mut stored = plain();
    stored["spec"]["volumes"] = json!([{"name": "v", "emptyDir": {}}]);
    let mut current = plain();
    current["spec"]["volumes"] = json!([{"name": "v"}]);
    check(&stored, current, false);
}

#[test]
fn numbers_and_quantities_compare_by_value() {
    let mut stored = plain();
    stored["spec"]["priority"] = json!(5.0);
    stored["spec"]["containers"][0]["resources"] = json!({"limits": {"cpu": "1000m"}});
    let mut current = plain();
    current["spec"]["priority"] = json!(5);
    current["spec"]["containers"][0]["resources"] = json!({"limits": {"cpu": "1"}});
    check(&stored, current, true);
}

#[test]
fn labels_that_look_like_defaults_are_kept() {
    let mut stored = plain();
    stored["metadata"]["labels"]["protocol"] = "TCP".into();
    check(&stored, plain(), false);
}

#[test]
fn data_is_canonical() {
    let mut json = plain();
    json["metadata"]["creationTimestamp"] = Value::Null;
    assert_eq!(
        data(&template(json)).to_string(),
        concat!(
            r#"{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"x"}},"#,
            r#""spec":{"containers":[{"image":"a:1","name":"c","resources":{}}]}}}}"#
        )
    );
}

#[test]
fn the_collision_count_changes_the_hash() {
    let template = template(plain());
    let hashes = [None, Some(1), Some(2)].map(|count| hash(&template, count));
    assert_ne!(hashes[0], hashes[1]);
    assert_ne!(hashes[1], hashes[2]);
    assert!(hashes.iter().all(|h| h.len() == 10));
}
