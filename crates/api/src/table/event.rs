//! Events, of both groups: the same columns read from fields with different names.

use alloc::format;
use alloc::string::String;

use jiff::Timestamp;
use serde_json::Value;

use super::cell::{Object, int_at, or, text_at, time_at};
use super::{Column, NAME};

pub(super) static EVENTS: &[Column] = &[
    Column::text("Last Seen", "Time since it was last seen.", |it| {
        it.since(last_seen(it)).into()
    }),
    Column::text("Type", "Normal or Warning.", |it| it.text("/type")),
    Column::text("Reason", "Short reason, for programs.", |it| {
        it.text("/reason")
    }),
    Column::text("Object", "What it is about.", about),
    Column::text("Subobject", "Part of the object it is about.", |it| {
        either(it, "/involvedObject/fieldPath", "/regarding/fieldPath").into()
    })
    .wide(),
    Column::text("Source", "Who reported it.", source).wide(),
    Column::text("Message", "What happened.", |it| {
        either(it, "/message", "/note").trim().into()
    }),
    Column::text("First Seen", "Time since it was first seen.", |it| {
        it.since(first_seen(it)).into()
    })
    .wide(),
    Column::text("Count", "How often it was seen.", count).wide(),
    NAME.wide(),
];

/// The text of the core group's field, or of the other group's.
fn either<'a>(object: &Object<'a>, core: &str, events: &str) -> &'a str {
    or(object.str(core), object.str(events))
}

fn first_seen(object: &Object<'_>) -> Option<Timestamp> {
    time_at(object.value, "/firstTimestamp")
        .or_else(|| object.time("/deprecatedFirstTimestamp"))
        .or_else(|| object.time("/eventTime"))
}

fn last_seen(object: &Object<'_>) -> Option<Timestamp> {
    if object.at("/series").is_some_and(Value::is_object) {
        return object.time("/series/lastObservedTime");
    }
    object
        .time("/lastTimestamp")
        .or_else(|| object.time("/deprecatedLastTimestamp"))
        .or_else(|| first_seen(object))
}

fn count(object: &Object<'_>) -> Value {
    if object.at("/series").is_some_and(Value::is_object) {
        return object.number("/series/count");
    }
    let counted = int_at(object.value, "/count").max(int_at(object.value, "/deprecatedCount"));
    counted.max(1).into()
}

fn about(object: &Object<'_>) -> Value {
    let kind = either(object, "/involvedObject/kind", "/regarding/kind").to_lowercase();
    match either(object, "/involvedObject/name", "/regarding/name") {
        "" => kind.into(),
        name => format!("{kind}/{name}").into(),
    }
}

/// The component, and the host or instance it ran on.
fn source(object: &Object<'_>) -> Value {
    let part = |names: [&str; 4]| -> String {
        let texts = names.map(|name| text_at(object.value, name));
        texts
            .into_iter()
            .find(|it| !it.is_empty())
            .unwrap_or_default()
            .into()
    };
    let component = part([
        "/source/component",
        "/deprecatedSource/component",
        "/reportingComponent",
        "/reportingController",
    ]);
    let host = part([
        "/source/host",
        "/deprecatedSource/host",
        "/reportingInstance",
        "",
    ]);
    if host.is_empty() {
        component.into()
    } else {
        format!("{component}, {host}").into()
    }
}
