//! Tests of `patch`.

use super::*;
use crate::resource::find;
use crate::schema::Schema;
use proptest::prelude::*;
use serde_json::json;
use std::prelude::v1::*;

#[test]
fn go_shows_maps_sorted_and_texts_bare() {
    let value = json!({"b": [1, "x", null], "a": {"k": true}});
    assert_eq!(go_map_text(&value), "map[a:map[k:true] b:[1 x <nil>]]");
}

#[test]
fn the_order_of_kubectl_apply_is_kept() {
    let schema = Schema::load();
    let pods = schema.type_of(find("", "v1", "pods").unwrap());
    let object =
        json!({"spec": {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]}});
    let patch = json!({"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}], "containers": [{"name": "a", "image": "2"}]}});
    let merged = strategic_merge(&schema, pods, &object, &patch).unwrap();
    assert_eq!(
        merged["spec"]["containers"],
        json!([{"name": "b", "image": "1"}, {"name": "a", "image": "2"}])
    );
}

#[test]
fn odd_members_of_operations_are_reported() {
    let patch = json!([{"op": "add", "path": "/a", "value": 1, "foo": 2}]);
    assert_eq!(
        json_patch_findings(&patch),
        ["json patch unknown field \"[0].foo\""]
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..3_i64).prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map("[a-c]", inner, 0..3)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn a_merge_patch_applied_twice_is_applied_once(object in any_json(), patch in any_json()) {
        let once = merge_patch(&object, &patch);
        prop_assert_eq!(merge_patch(&once, &patch), once);
    }

    #[test]
    fn an_empty_patch_changes_nothing(object in proptest::collection::btree_map("[a-c]", any_json(), 0..3)) {
        let object = Value::Object(object.into_iter().collect());
        prop_assert_eq!(merge_patch(&object, &json!({})), object.clone());
        let schema = Schema::load();
        let id = schema.type_of(find("", "v1", "configmaps").unwrap());
        prop_assert_eq!(strategic_merge(&schema, id, &object, &json!({})).unwrap(), object);
    }

    #[test]
    fn no_json_patch_panics(object in any_json(), path in "(/[a-c0-2-]){0,3}", value in any_json()) {
        for op in ["add", "remove", "replace", "test", "move", "copy"] {
            let patch = json!([{"op": op, "path": path, "from": "/a", "value": value}]);
            drop(json_patch(&object, &patch));
        }
    }
}
