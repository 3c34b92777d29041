//! Validation of DaemonSets and ControllerRevisions (spec/apiserver.md 2.3).

use super::check::{self, Errors, IMMUTABLE};
use super::{pod_spec, selector};
use crate::field_error::{FieldError, Path, quote};
use crate::names;
use crate::object::{Object, Read};
use alloc::format;
use alloc::string::String;
use serde_json::Value;

/// Validates the spec of a DaemonSet; `old` is the stored object of an update.
pub(super) fn daemon_set(object: &Value, old: Option<&Value>, errors: &mut Errors) {
    let path = Path::new("spec");
    let spec = &object["spec"];
    let before = old.and_then(|old| old.path(&["spec", "selector"]));
    let lenient = selector::has_malformed_values(before);
    daemon_selector(spec, lenient, &path, errors);
    let template = &spec["template"];
    let at = path.field("template");
    pod_spec::template(template, &at, errors);
    let (pod, at) = (&template["spec"], at.field("spec"));
    // The pod's rules have looked at the word; this one narrows it.
    let restart = pod.text("restartPolicy");
    check::one_of(restart, &at.field("restartPolicy"), &["Always"], errors);
    if pod.at("activeDeadlineSeconds").is_some() {
        let detail = "activeDeadlineSeconds in DaemonSet is not Supported";
        errors.push(FieldError::forbidden(
            &at.field("activeDeadlineSeconds"),
            detail,
        ));
    }
    let ready = path.field("minReadySeconds");
    check::nonnegative(spec.int("minReadySeconds"), &ready, errors);
    update_strategy(
        &spec["updateStrategy"],
        &path.field("updateStrategy"),
        errors,
    );
    let history = path.field("revisionHistoryLimit");
    check::nonnegative(spec.int("revisionHistoryLimit"), &history, errors);
}

fn daemon_selector(spec: &Value, lenient: bool, path: &Path<'_>, errors: &mut Errors) {
    let selector = spec.at("selector");
    let at = path.field("selector");
    selector::label_selector(selector, lenient, &at, errors);
    let labels = spec.path(&["template", "metadata", "labels"]);
    if selector::selects(selector, labels.and_then(Value::as_object)) == Some(false) {
        let (template, metadata) = (path.field("template"), "metadata");
        let metadata = template.field(metadata);
        errors.push(FieldError::invalid(
            &metadata.field("labels"),
            labels.cloned().unwrap_or_default(),
            "`selector` does not match template `labels`",
        ));
    }
    let empty = |s: &Value| {
        s.object("matchLabels").is_none_or(Object::is_empty)
            && s.list("matchExpressions").is_empty()
    };
    if selector.is_some_and(empty) {
        let detail = "empty selector is invalid for daemonset";
        errors.push(FieldError::invalid_text(
            &at,
            selector::show(selector),
            detail,
        ));
    }
}

fn update_strategy(strategy: &Value, path: &Path<'_>, errors: &mut Errors) {
    match strategy.text("type") {
        "OnDelete" => {}
        "RollingUpdate" => match strategy.at("rollingUpdate") {
            Some(rolling) => rolling_update(rolling, &path.field("rollingUpdate"), errors),
            None => errors.push(FieldError::required(&path.field("rollingUpdate"), "")),
        },
        other => {
            // Upstream prints its internal struct here, which has other field names.
            let rolling = show_rolling_update(strategy.at("rollingUpdate"));
            let shown = format!("{{\"Type\":{},\"RollingUpdate\":{rolling}}}", quote(other));
            let set = &["RollingUpdate", "OnDelete"];
            errors.push(FieldError::not_supported_text(path, shown, set));
        }
    }
}

fn show_rolling_update(rolling: Option<&Value>) -> String {
    let Some(rolling) = rolling else {
        return "null".into();
    };
    let zero = Value::from(0);
    let of = |key: &str| rolling.at(key).unwrap_or(&zero);
    format!(
        "{{\"MaxUnavailable\":{},\"MaxSurge\":{}}}",
        of("maxUnavailable"),
        of("maxSurge")
    )
}

fn rolling_update(rolling: &Value, path: &Path<'_>, errors: &mut Errors) {
    let zero = Value::from(0);
    let unavailable = rolling.at("maxUnavailable").unwrap_or(&zero);
    let surge = rolling.at("maxSurge").unwrap_or(&zero);
    let (at_unavailable, at_surge) = (path.field("maxUnavailable"), path.field("maxSurge"));
    int_or_percent(unavailable, &at_unavailable, errors);
    int_or_percent(surge, &at_surge, errors);
    match (is_positive(unavailable), is_positive(surge)) {
        (true, true) => errors.push(FieldError::invalid(
            &at_surge,
            surge.clone(),
            "may not be set when maxUnavailable is non-zero",
        )),
        (false, false) => errors.push(FieldError::required(
            &at_unavailable,
            "cannot be 0 when maxSurge is 0",
        )),
        _ => {}
    }
    not_above_hundred_percent(unavailable, &at_unavailable, errors);
    not_above_hundred_percent(surge, &at_surge, errors);
}

/// Validates a number or a percentage that must not be negative.
pub(super) fn int_or_percent(value: &Value, path: &Path<'_>, errors: &mut Errors) {
    match value {
        Value::String(text) => check::format(text, path, names::percent(text), errors),
        other => check::nonnegative(other.as_i64(), path, errors),
    }
}

/// Validates that a percentage is at most 100.
pub(super) fn not_above_hundred_percent(value: &Value, path: &Path<'_>, errors: &mut Errors) {
    if percentage(value).is_some_and(|percent| percent > 100) {
        let detail = "must not be greater than 100%";
        errors.push(FieldError::invalid(path, value.clone(), detail));
    }
}

fn percentage(value: &Value) -> Option<i64> {
    let text = value.as_str()?;
    names::percent(text).is_empty().then_some(())?;
    // More digits than a number has are more than any limit.
    Some(text.trim_end_matches('%').parse().unwrap_or(i64::MAX))
}

/// Malformed text counts as zero.
fn is_positive(value: &Value) -> bool {
    value.as_i64().or_else(|| percentage(value)).unwrap_or(0) != 0
}

/// Validates what an update of a DaemonSet must not change.
pub(super) fn daemon_set_update(new: &Value, old: &Value, errors: &mut Errors) {
    let (new, old) = (
        new.path(&["spec", "selector"]),
        old.path(&["spec", "selector"]),
    );
    if !check::equal(new, old) {
        let shown = selector::show(new);
        errors.push(FieldError::invalid_text(&"spec.selector", shown, IMMUTABLE));
    }
}

/// Validates the status of a DaemonSet.
pub(super) fn daemon_set_status(new: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::new("status");
    let (status, before) = (&new["status"], &old["status"]);
    for key in [
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
    ] {
        check::nonnegative(status.int(key), &path.field(key), errors);
    }
    let count = path.field("collisionCount");
    check::nonnegative(status.int("collisionCount"), &count, errors);
    if let Some(before) = before.int("collisionCount") {
        let now = status.int("collisionCount").unwrap_or(0);
        if now < before {
            errors.push(FieldError::invalid(&count, now, "cannot be decremented"));
        }
    }
}

/// Validates a ControllerRevision.
pub(super) fn controller_revision(object: &Value, errors: &mut Errors) {
    check::nonnegative(object.int("revision"), &Path::new("revision"), errors);
    match object.at("data") {
        None => errors.push(FieldError::required(&"data", "data is mandatory")),
        Some(data) if !data.is_object() => {
            errors.push(FieldError::required(
                &"data",
                "data must be a valid JSON object",
            ));
        }
        Some(_) => {}
    }
}

/// Validates what an update of a ControllerRevision must not change.
pub(super) fn controller_revision_update(new: &Value, old: &Value, errors: &mut Errors) {
    if new.get("data") != old.get("data") {
        let value = new.at("data").cloned().unwrap_or_default();
        errors.push(FieldError::invalid(&"data", value, IMMUTABLE));
    }
}
