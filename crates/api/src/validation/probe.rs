//! Validation of probes and lifecycle handlers.

use super::check::{self, Errors};
use crate::field_error::{FieldError, Path};
use crate::names;
use crate::object::Read;
use serde_json::Value;

const HANDLERS: &[&str] = &["exec", "httpGet", "tcpSocket", "grpc", "sleep"];

/// Validates the probes and lifecycle handlers of a container; `grace` is the pod's grace period.
pub(super) fn container(container: &Value, grace: i64, path: &Path<'_>, errors: &mut Errors) {
    if let Some(lifecycle) = container.at("lifecycle") {
        let at = path.field("lifecycle");
        for key in ["postStart", "preStop"] {
            if let Some(found) = lifecycle.at(key) {
                handler(found, grace, &at.field(key), errors);
            }
        }
    }
    for key in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(found) = container.at(key) else {
            continue;
        };
        let at = path.field(key);
        probe(found, grace, &at, errors);
        let once = found.int("successThreshold").unwrap_or(1) == 1;
        if key != "readinessProbe" && !once {
            let value = found.int("successThreshold").unwrap_or(0);
            let success = at.field("successThreshold");
            errors.push(FieldError::invalid(&success, value, "must be 1"));
        }
        if key == "readinessProbe" && found.at("terminationGracePeriodSeconds").is_some() {
            let value = found.at("terminationGracePeriodSeconds").cloned();
            let detail = "must not be set for readinessProbes";
            let grace = at.field("terminationGracePeriodSeconds");
            errors.push(FieldError::invalid(
                &grace,
                value.unwrap_or_default(),
                detail,
            ));
        }
    }
}

fn probe(probe: &Value, grace: i64, path: &Path<'_>, errors: &mut Errors) {
    handler(probe, grace, path, errors);
    for key in [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ] {
        check::nonnegative(probe.int(key), &path.field(key), errors);
    }
    let key = "terminationGracePeriodSeconds";
    check::positive(probe.int(key), &path.field(key), errors);
}

fn handler(handler: &Value, grace: i64, path: &Path<'_>, errors: &mut Errors) {
    let mut given = 0;
    for kind in HANDLERS {
        let Some(action) = handler.at(kind) else {
            continue;
        };
        let at = path.field(kind);
        given += 1;
        if given > 1 {
            let detail = "may not specify more than 1 handler type";
            errors.push(FieldError::forbidden(&at, detail));
            continue;
        }
        match *kind {
            "exec" if action.list("command").is_empty() => {
                errors.push(FieldError::required(&at.field("command"), ""));
            }
            "httpGet" => http_get(action, &at, errors),
            "tcpSocket" | "grpc" => port(action.at("port"), &at.field("port"), errors),
            "sleep" => sleep(action, grace, &at, errors),
            _ => {}
        }
    }
    if given == 0 {
        errors.push(FieldError::required(path, "must specify a handler type"));
    }
}

fn http_get(action: &Value, path: &Path<'_>, errors: &mut Errors) {
    check::required(action.text("path"), &path.field("path"), errors);
    port(action.at("port"), &path.field("port"), errors);
    let scheme = path.field("scheme");
    check::one_of(action.text("scheme"), &scheme, &["HTTP", "HTTPS"], errors);
    check::each(action, "httpHeaders", path, |header, at| {
        let name = header.text("name");
        let token = |b: u8| b.is_ascii_alphanumeric() || b"-".contains(&b);
        if name.is_empty() || !name.bytes().all(token) {
            let detail = "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')";
            errors.push(FieldError::invalid(&at.field("name"), name, detail));
        }
    });
}

fn sleep(action: &Value, grace: i64, path: &Path<'_>, errors: &mut Errors) {
    let seconds = action.int("seconds").unwrap_or(0);
    if seconds < 0 || seconds > grace {
        let detail = alloc::format!(
            "must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        );
        errors.push(FieldError::invalid(&path.field("seconds"), seconds, detail));
    }
}

/// Validates a port that is given by number or by name.
pub(super) fn port(port: Option<&Value>, path: &Path<'_>, errors: &mut Errors) {
    match port {
        Some(Value::String(name)) => check::format(name, path, names::port_name(name), errors),
        other => {
            let number = other.and_then(Value::as_i64).unwrap_or(0);
            check::within(number, (1, 65535), path, errors);
        }
    }
}
