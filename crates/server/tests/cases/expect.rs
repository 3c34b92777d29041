//! Comparing an answer with what a case expects of it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::answer::Answer;

/// Everything that is not as expected; nothing for an answer that is.
pub(super) fn problems(answer: &Answer, expected: &Value) -> Vec<String> {
    let mut found = Vec::new();
    if expected.get("code").is_none() && !(200..300).contains(&answer.code) {
        found.push(format!("code is {}, expected success", answer.code));
    }
    for (key, value) in expected.as_object().into_iter().flatten() {
        check(answer, key, value, &mut found);
    }
    found
}

fn check(answer: &Answer, key: &str, expected: &Value, found: &mut Vec<String>) {
    let body = &answer.body;
    match key {
        "code" => check_code(answer.code, expected, found),
        "reason" | "message" => compare(&body[key], expected, &format!("/{key}"), found),
        "message_contains" => check_parts(&body["message"], expected, found),
        "body" => compare(body, expected, "", found),
        "exact" | "differs" | "present" | "absent" | "count" | "matches" => {
            check_pointers(body, key, expected, found);
        }
        "names" => {
            let items = body["items"].as_array().into_iter().flatten();
            let names: Value = items.map(|item| item["metadata"]["name"].clone()).collect();
            check_equal(&names, expected, "names", found);
        }
        "warnings" => check_equal(&answer.warnings().into(), expected, "warnings", found),
        "content_type" => {
            let header = answer.headers.get(http::header::CONTENT_TYPE);
            let header = header.and_then(|it| it.to_str().ok()).unwrap_or_default();
            check_equal(&header.into(), expected, "content type", found);
        }
        "causes" => check_causes(body, expected, found),
        "empty" => {
            let pointers = expected
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str);
            let values = pointers.filter_map(|it| body.pointer(it).map(|value| (it, value)));
            let full = values.filter(|(_, value)| !is_empty(value) && *value != 0);
            found.extend(full.map(|(pointer, value)| format!("{pointer} is {value}")));
        }
        "any" => {
            let all = expected.as_array().into_iter().flatten();
            let all: Vec<_> = all.map(|it| problems(answer, it)).collect();
            if all.iter().all(|it| !it.is_empty()) {
                found.extend(all.into_iter().flatten().map(|it| format!("neither: {it}")));
            }
        }
        "events" => check_events(answer, expected, found),
        other => found.push(format!("the case expects {other:?}, which nobody knows")),
    }
}

fn check_code(code: u16, expected: &Value, found: &mut Vec<String>) {
    let holds = match expected.as_u64() {
        // The reference has no better mapping there: any refusal will do.
        Some(500) => code >= 400,
        Some(expected) => u64::from(code) == expected,
        None => false,
    };
    if !holds {
        found.push(format!("code is {code}, expected {expected}"));
    }
}

/// The fields that are refused and why, in any order; several causes of a kind count once.
fn check_causes(body: &Value, expected: &Value, found: &mut Vec<String>) {
    let of = |list: Option<&Value>| -> BTreeSet<String> {
        let causes = list.and_then(Value::as_array).into_iter().flatten();
        causes
            .map(|it| format!("{} {}", it["field"], it["reason"]))
            .collect()
    };
    let (actual, expected) = (of(body.pointer("/details/causes")), of(Some(expected)));
    if actual != expected {
        found.push(format!("causes are {actual:?}, expected {expected:?}"));
    }
}

fn check_parts(message: &Value, parts: &Value, found: &mut Vec<String>) {
    let message = message.as_str().unwrap_or_default();
    let parts = parts
        .as_array()
        .map_or(std::slice::from_ref(parts), Vec::as_slice);
    for part in parts.iter().filter_map(Value::as_str) {
        if !message.contains(part) {
            found.push(format!("message {message:?} does not contain {part:?}"));
        }
    }
}

fn check_equal(actual: &Value, expected: &Value, what: &str, found: &mut Vec<String>) {
    if actual != expected {
        found.push(format!("{what} is {actual}, expected {expected}"));
    }
}

/// Contained: maps may have more keys; everything else is equal.
fn compare(actual: &Value, expected: &Value, path: &str, found: &mut Vec<String>) {
    match (actual, expected) {
        (Value::Object(actual), Value::Object(expected)) => {
            for (key, expected) in expected {
                let path = format!("{path}/{key}");
                match actual.get(key) {
                    Some(actual) => compare(actual, expected, &path, found),
                    None => found.push(format!("{path} is missing, expected {expected}")),
                }
            }
        }
        (Value::Array(actual), Value::Array(expected)) if actual.len() == expected.len() => {
            for (index, (actual, expected)) in actual.iter().zip(expected).enumerate() {
                compare(actual, expected, &format!("{path}/{index}"), found);
            }
        }
        _ => check_equal(actual, expected, path, found),
    }
}

fn check_pointers(body: &Value, key: &str, expected: &Value, found: &mut Vec<String>) {
    for pointer in expected
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        let value = body.pointer(pointer);
        match key {
            "present" if value.is_none_or(is_empty) => found.push(format!("{pointer} is absent")),
            "absent" if value.is_some() => {
                found.push(format!(
                    "{pointer} is there: {}",
                    value.unwrap_or(&Value::Null)
                ));
            }
            _ => {}
        }
    }
    for (pointer, expected) in expected.as_object().into_iter().flatten() {
        let value = body.pointer(pointer).unwrap_or(&Value::Null);
        match key {
            "exact" => check_equal(value, expected, pointer, found),
            "differs" if value == expected => found.push(format!("{pointer} still is {value}")),
            "count" => {
                let count = value.as_array().map_or(0, Vec::len);
                check_equal(
                    &count.into(),
                    expected,
                    &format!("length of {pointer}"),
                    found,
                );
            }
            "matches" => check_matches(value, expected, pointer, found),
            _ => {}
        }
    }
}

fn check_matches(value: &Value, expected: &Value, pointer: &str, found: &mut Vec<String>) {
    let pattern = regex::Regex::new(expected.as_str().unwrap_or_default());
    let text = value.as_str().unwrap_or_default();
    if !pattern.is_ok_and(|it| it.is_match(text)) {
        found.push(format!(
            "{pointer} is {value}, expected to match {expected}"
        ));
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The events of a watch, one by one.
fn check_events(answer: &Answer, expected: &Value, found: &mut Vec<String>) {
    let events: Vec<_> = answer.events.iter().filter(|event| counts(event)).collect();
    let expected = expected.as_array().map_or(&[][..], Vec::as_slice);
    if events.len() != expected.len() {
        found.push(format!(
            "{} events, expected {}",
            events.len(),
            expected.len()
        ));
    }
    for (index, (event, expected)) in events.iter().zip(expected).enumerate() {
        let mut own = Vec::new();
        check_event(event, expected, &mut own);
        found.extend(
            own.into_iter()
                .map(|problem| format!("event {index}: {problem}")),
        );
    }
}

/// Bookmarks come when they like, except for the one that ends the initial events.
fn counts(event: &Value) -> bool {
    const END: &str = "/metadata/annotations/k8s.io~1initial-events-end";
    let ends = |object: Option<&Value>| object.and_then(|it| it.pointer(END)).is_some();
    event["type"] != "BOOKMARK"
        || ends(event.get("object"))
        || ends(event.pointer("/object/rows/0/object"))
}

fn check_event(event: &Value, expected: &Value, found: &mut Vec<String>) {
    let object = &event["object"];
    for (key, value) in expected.as_object().into_iter().flatten() {
        match key.as_str() {
            "type" => check_equal(&event["type"], value, "type", found),
            "object" => compare(object, value, "", found),
            "absent" | "present" => check_pointers(object, key, value, found),
            "newer_than" | "older_than" | "newer_or_equal" => {
                check_version(object, key, value, found);
            }
            other => found.push(format!("the case expects {other:?}, which nobody knows")),
        }
    }
}

fn check_version(object: &Value, key: &str, than: &Value, found: &mut Vec<String>) {
    let number = |value: &Value| value.as_str().and_then(|it| it.parse::<u64>().ok());
    let (actual, than) = (number(&object["metadata"]["resourceVersion"]), number(than));
    let holds = match (actual, than, key) {
        (Some(actual), Some(than), "newer_than") => than < actual,
        (Some(actual), Some(than), "newer_or_equal") => than <= actual,
        (Some(actual), Some(than), _) => actual < than,
        _ => false,
    };
    if !holds {
        found.push(format!("version {actual:?} is not {key} {than:?}"));
    }
}
