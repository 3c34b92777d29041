//! Validation of events, in the old and in the new form.

use super::check::{self, Errors};
use crate::field_error::{FieldError, Path};
use crate::names;
use crate::object::Read;
use crate::resource::Resource;
use serde_json::Value;

const WORD_MAX: usize = 128;
const NOTE_MAX: usize = 1024;

/// Validates an event.
pub(super) fn event(resource: &Resource, object: &Value, is_new: bool, errors: &mut Errors) {
    let old_form = resource.group.is_empty();
    let about = &object[if old_form {
        "involvedObject"
    } else {
        "regarding"
    }];
    let namespace = object["metadata"].text("namespace");
    if object.at("eventTime").is_none() {
        agrees(about, namespace, errors);
        check::format(
            namespace,
            &Path::new("namespace"),
            names::dns1123_subdomain(namespace),
            errors,
        );
    } else {
        new_form(object, old_form, errors);
        let namespaces = ["default", "kube-system"];
        if about.text("namespace").is_empty() && !namespaces.contains(&namespace) {
            disagrees("", errors);
        }
    }
    if !old_form && is_new {
        strict(object, errors);
    }
}

/// An event lives in the namespace of what it is about.
fn agrees(about: &Value, namespace: &str, errors: &mut Errors) {
    let theirs = about.text("namespace");
    let fits = match theirs {
        "" => matches!(namespace, "" | "default"),
        theirs => theirs == namespace,
    };
    if !fits {
        disagrees(theirs, errors);
    }
}

fn disagrees(theirs: &str, errors: &mut Errors) {
    let detail = "does not match event.namespace";
    errors.push(FieldError::invalid(
        &"involvedObject.namespace",
        theirs,
        detail,
    ));
}

/// Events with a time of their own say who reports what.
fn new_form(object: &Value, old_form: bool, errors: &mut Errors) {
    let controller = if old_form {
        "reportingComponent"
    } else {
        "reportingController"
    };
    let reporter = object.text(controller);
    check::required(reporter, &Path::new(controller), errors);
    let messages = names::qualified_name(reporter);
    check::format(reporter, &Path::new(controller), messages, errors);
    for key in ["reportingInstance", "action", "reason"] {
        let text = object.text(key);
        check::required(text, &Path::new(key), errors);
        if text.len() > WORD_MAX {
            let detail = "can have at most 128 characters";
            errors.push(FieldError::invalid(&key, "", detail));
        }
    }
    let note = if old_form { "message" } else { "note" };
    if object.text(note).len() > NOTE_MAX {
        let detail = "can have at most 1024 characters";
        errors.push(FieldError::invalid(&"message", "", detail));
    }
}

/// Rules for what comes in through the new group.
fn strict(object: &Value, errors: &mut Errors) {
    if object.at("eventTime").is_none() {
        errors.push(FieldError::required(&"eventTime", ""));
    }
    let word = object.text("type");
    if !["Normal", "Warning"].contains(&word) {
        let detail = alloc::format!("has invalid value: {word}");
        errors.push(FieldError::invalid(&"type", "", detail));
    }
    let unset = "needs to be unset";
    for (key, shown) in [
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
    ] {
        if object.at(key).is_some() {
            errors.push(FieldError::invalid(&shown, "", unset));
        }
    }
    if object.int("deprecatedCount").unwrap_or(0) != 0 {
        errors.push(FieldError::invalid(&"count", "", unset));
    }
    if let Some(series) = object.at("series") {
        let path = Path::new("series");
        if series.int("count").unwrap_or(0) < 2 {
            let detail = "should be at least 2";
            errors.push(FieldError::invalid(&path.field("count"), "", detail));
        }
        if series.at("lastObservedTime").is_none() {
            errors.push(FieldError::required(&path.field("lastObservedTime"), ""));
        }
    }
}
