//! Events: one stored object, two forms. `v1` and `events.k8s.io/v1` name the same fields
//! differently (spec/apiserver.md 2.15); events are stored as `v1`.

use std::sync::Arc;

use jiff::Timestamp;
use pernode_api::resource::{Resource, find};
use pernode_api::status::Status;
use pernode_api::validation;
use pernode_store::Item;
use serde_json::{Map, Value};

use crate::api::Inner;
use crate::call::Actor;
use crate::key;
use crate::object::{self, Object as _};
use crate::options::DeleteOptions;
use crate::registry::{Place, remove};

/// Fields by their name in `v1` and in `events.k8s.io/v1`.
const RENAMED: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

fn resource(group: &str) -> &'static Resource {
    find(group, "v1", "events").expect("both kinds of events are in the table")
}

fn rename(
    object: Value,
    api_version: &str,
    new_name: impl Fn(&str) -> Option<&'static str>,
) -> Value {
    let Value::Object(fields) = object else {
        return object;
    };
    let mut renamed: Map<String, Value> = fields
        .into_iter()
        .map(|(name, value)| match new_name(&name) {
            Some(new) => (new.to_owned(), value),
            None => (name, value),
        })
        .collect();
    renamed.insert("apiVersion".to_owned(), api_version.into());
    Value::Object(renamed)
}

/// A stored event in the form of `events.k8s.io/v1`.
pub(crate) fn to_events_group(object: Value) -> Value {
    let mut object = rename(object, "events.k8s.io/v1", |name| {
        RENAMED
            .iter()
            .find(|(core, _)| *core == name)
            .map(|(_, new)| *new)
    });
    rename_in(&mut object, "series", "lastTimestamp", "lastObservedTime");
    object
}

/// An event of `events.k8s.io/v1` in its stored form. Of an update, the fields that the new form
/// does not have keep their values.
pub(crate) fn to_core_group(object: Value, old: Option<&Value>) -> Value {
    let mut object = rename(object, "v1", |name| {
        RENAMED
            .iter()
            .find(|(_, new)| *new == name)
            .map(|(core, _)| *core)
    });
    rename_in(&mut object, "series", "lastTimestamp", "lastObservedTime");
    if let Some(old) = old {
        for (field, _) in RENAMED {
            if object[field].is_null() && !old[field].is_null() {
                object[field] = old[field].clone();
            }
        }
    }
    object
}

/// Old servers named the time of a series differently; a client may still send it.
fn rename_in(object: &mut Value, outer: &str, old: &str, new: &str) {
    if let Some(fields) = object.get_mut(outer).and_then(Value::as_object_mut)
        && let Some(value) = fields.remove(old)
    {
        fields.entry(new).or_insert(value);
    }
}

/// A new event of `events.k8s.io/v1`: checked by the rules of its own form, then stored.
pub(crate) fn admit_new(object: Value) -> Result<Value, Status> {
    let own = resource("events.k8s.io");
    let errors = validation::validate_create(own, &object);
    let name = match object.meta("name") {
        // A name to come is checked when it is there.
        "" => return Ok(to_core_group(object, None)),
        name => name,
    };
    if errors.is_empty() {
        return Ok(to_core_group(object, None));
    }
    Err(Status::invalid(own, name, &errors))
}

/// The name under which a field is kept that selectors of `events.k8s.io` name.
pub(crate) fn stored_field(name: &str) -> String {
    match name.strip_prefix("regarding.") {
        Some(rest) => format!("involvedObject.{rest}"),
        None if name == "reportingController" => "reportingComponent".to_owned(),
        None => name.to_owned(),
    }
}

/// Deletes the events that nothing has happened to for longer than their time to live.
pub(crate) async fn expire(api: &Arc<Inner>, now: Timestamp) -> usize {
    let ttl =
        jiff::SignedDuration::try_from(api.options.event_ttl).unwrap_or(jiff::SignedDuration::MAX);
    let Ok(oldest) = now.checked_sub(ttl) else {
        return 0;
    };
    let resource = resource("");
    let old: Vec<Arc<Item>> = api
        .store
        .list(&key::prefix(resource, None))
        .iter()
        .filter(|item| last_seen(item).is_some_and(|time| time < oldest))
        .cloned()
        .collect();
    let actor = Actor::server(api);
    let mut expired = 0;
    for item in old {
        let mut parts = item.key.rsplit('/');
        let name = parts.next().unwrap_or_default();
        let place = Place::new(resource, parts.next(), name);
        let options = DeleteOptions {
            resource_version: Some(item.revision.to_string()),
            ..DeleteOptions::default()
        };
        expired += usize::from(remove(&actor, &place, &options).await.is_ok());
    }
    expired
}

/// When an event was written last. Writing it anew gives it a new hour, as upstream's lease does.
fn last_seen(item: &Item) -> Option<Timestamp> {
    let object = object::parse(&item.bytes);
    let managed = object["metadata"]["managedFields"].as_array();
    let written = managed.into_iter().flatten().map(|entry| &entry["time"]);
    let times = [
        &object["metadata"]["creationTimestamp"],
        &object["lastTimestamp"],
        &object["series"]["lastObservedTime"],
    ];
    times
        .into_iter()
        .chain(written)
        .filter_map(|time| time.as_str()?.parse().ok())
        .max()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_forms_say_the_same() {
        let core = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"},
            "involvedObject": {"kind": "Pod"}, "message": "m", "count": 3, "reason": "R",
            "source": {"component": "c"}, "firstTimestamp": "2026-01-01T00:00:00Z",
            "lastTimestamp": "2026-01-01T00:00:00Z", "reportingComponent": "x",
        });
        let new = to_events_group(core.clone());
        assert_eq!(new["apiVersion"], "events.k8s.io/v1");
        assert_eq!(new["regarding"]["kind"], "Pod");
        assert_eq!(new["note"], "m");
        assert_eq!(new["deprecatedCount"], 3);
        assert_eq!(new["reportingController"], "x");
        assert_eq!(to_core_group(new, None), core);
    }

    #[test]
    fn an_update_keeps_the_old_fields() {
        let old = json!({"message": "m", "count": 3});
        let new = json!({"apiVersion": "events.k8s.io/v1", "note": "n"});
        let stored = to_core_group(new, Some(&old));
        assert_eq!(
            stored,
            json!({"apiVersion": "v1", "message": "n", "count": 3})
        );
    }

    #[test]
    fn selectable_fields() {
        assert_eq!(stored_field("regarding.name"), "involvedObject.name");
        assert_eq!(stored_field("reportingController"), "reportingComponent");
        assert_eq!(stored_field("reason"), "reason");
    }
}
