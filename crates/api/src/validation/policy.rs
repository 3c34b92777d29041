//! Validation of what limits, ranks and locks: budgets, quotas, priorities, leases.

use super::check::{self, Errors, Unique};
use super::{apps, resources, selector};
use crate::field_error::{FieldError, Path};
use crate::names;
use crate::object::Read;
use alloc::format;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// The highest priority that users may define.
const PRIORITY_MAX: i64 = 1_000_000_000;
/// Priority classes that exist from the start.
pub(super) const SYSTEM_PRIORITIES: &[(&str, i64)] = &[
    ("system-node-critical", 2_000_001_000),
    ("system-cluster-critical", 2_000_000_000),
];

/// Validates a PodDisruptionBudget.
pub(super) fn budget(object: &Value, errors: &mut Errors) {
    let path = Path::new("spec");
    let spec = &object["spec"];
    let (least, most) = (spec.at("minAvailable"), spec.at("maxUnavailable"));
    if least.is_some() && most.is_some() {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        errors.push(FieldError::invalid(&path, spec.clone(), detail));
    }
    for (key, value) in [("minAvailable", least), ("maxUnavailable", most)] {
        if let Some(value) = value {
            let at = path.field(key);
            apps::int_or_percent(value, &at, errors);
            apps::not_above_hundred_percent(value, &at, errors);
        }
    }
    selector::label_selector(spec.at("selector"), false, &path.field("selector"), errors);
    let key = "unhealthyPodEvictionPolicy";
    if spec.at(key).is_some() {
        let set = &["AlwaysAllow", "IfHealthyBudget"];
        check::one_of(spec.text(key), &path.field(key), set, errors);
    }
}

/// Validates the status of a PodDisruptionBudget.
pub(super) fn budget_status(object: &Value, errors: &mut Errors) {
    let path = Path::new("status");
    for key in [
        "disruptionsAllowed",
        "currentHealthy",
        "desiredHealthy",
        "expectedPods",
    ] {
        check::nonnegative(object["status"].int(key), &path.field(key), errors);
    }
}

/// Validates a PriorityClass.
pub(super) fn priority_class(object: &Value, errors: &mut Errors) {
    let name = object["metadata"].text("name");
    let value = object.int("value").unwrap_or(0);
    let known = SYSTEM_PRIORITIES.iter().find(|(known, _)| *known == name);
    if name.starts_with("system-") {
        let wrong = match known {
            None => Some(format!("{name} is not a known system priority class")),
            Some((_, wanted)) if *wanted != value => {
                Some(format!("value of {name} PriorityClass must be {wanted}"))
            }
            Some(_) if object.flag("globalDefault") => Some(format!(
                "globalDefault of {name} PriorityClass must be false"
            )),
            Some(_) => None,
        };
        if let Some(wrong) = wrong {
            let detail = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {wrong}"
            );
            errors.push(FieldError::forbidden(&"metadata.name", detail));
        }
    } else if value > PRIORITY_MAX {
        let detail = format!("maximum allowed value of a user defined priority is {PRIORITY_MAX}");
        errors.push(FieldError::forbidden(&"value", detail));
    }
    let policy = object.text("preemptionPolicy");
    let set = &["Never", "PreemptLowerPriority"];
    check::required_one_of(policy, &Path::new("preemptionPolicy"), set, errors);
}

/// Validates what an update of a PriorityClass must not change.
pub(super) fn priority_class_update(new: &Value, old: &Value, errors: &mut Errors) {
    if new.int("value") != old.int("value") {
        errors.push(FieldError::forbidden(
            &"value",
            "may not be changed in an update.",
        ));
    }
    let at = Path::new("preemptionPolicy");
    check::immutable(new, old, "preemptionPolicy", &at, errors);
}

/// Validates a RuntimeClass.
pub(super) fn runtime_class(object: &Value, errors: &mut Errors) {
    let handler = object.text("handler");
    let at = Path::new("handler");
    check::format(handler, &at, names::dns1123_label(handler), errors);
    let overhead = Path::new("overhead");
    let fixed = overhead.field("podFixed");
    let amounts = object
        .path(&["overhead", "podFixed"])
        .and_then(Value::as_object);
    for (name, value) in amounts.into_iter().flatten() {
        let at = fixed.key(name);
        resources::resource_name(name, &at, errors);
        resources::resource_value(name, value, &at, errors);
    }
}

/// Validates what an update of a RuntimeClass must not change.
pub(super) fn runtime_class_update(new: &Value, old: &Value, errors: &mut Errors) {
    check::immutable(new, old, "handler", &Path::new("handler"), errors);
}

/// Validates a Lease.
pub(super) fn lease(object: &Value, errors: &mut Errors) {
    let path = Path::new("spec");
    let spec = &object["spec"];
    let key = "leaseDurationSeconds";
    check::positive(spec.int(key), &path.field(key), errors);
    let key = "leaseTransitions";
    check::nonnegative(spec.int(key), &path.field(key), errors);
    let strategy = spec.text("strategy");
    if spec.at("strategy").is_some() && strategy != "OldestEmulationVersion" {
        let at = path.field("strategy");
        check::format(strategy, &at, names::qualified_name(strategy), errors);
    }
    if !spec.text("preferredHolder").is_empty() && strategy.is_empty() {
        let detail = "strategy must be specified if preferredHolder is specified";
        let at = path.field("preferredHolder");
        errors.push(FieldError::forbidden(&at, detail));
    }
}

/// Validates a ResourceQuota.
pub(super) fn quota(object: &Value, errors: &mut Errors) {
    let path = Path::new("spec");
    amounts(&object["spec"], "hard", &path, errors);
    let known = [
        "Terminating",
        "NotTerminating",
        "BestEffort",
        "NotBestEffort",
        "PriorityClass",
        "CrossNamespacePodAffinity",
        "VolumeAttributesClass",
    ];
    let scopes = object["spec"].list("scopes");
    for scope in scopes.iter().filter_map(Value::as_str) {
        if !known.contains(&scope) {
            let detail = "unsupported scope";
            errors.push(FieldError::invalid(
                &path.field("scopes"),
                scopes.to_vec(),
                detail,
            ));
        }
    }
}

/// Validates the status of a ResourceQuota.
pub(super) fn quota_status(object: &Value, errors: &mut Errors) {
    let path = Path::new("status");
    amounts(&object["status"], "hard", &path, errors);
    amounts(&object["status"], "used", &path, errors);
}

fn amounts(holder: &Value, key: &str, path: &Path<'_>, errors: &mut Errors) {
    let list = path.field(key);
    for (name, value) in holder.object(key).into_iter().flatten() {
        let at = list.key(name);
        resources::resource_name(name, &at, errors);
        resources::resource_value(name, value, &at, errors);
    }
}

/// Validates a LimitRange.
pub(super) fn limit_range(object: &Value, errors: &mut Errors) {
    let path = Path::new("spec");
    check::each(&object["spec"], "limits", &path, |item, at| {
        let kind = item.text("type");
        check::format(kind, &at.field("type"), names::qualified_name(kind), errors);
        for key in [
            "max",
            "min",
            "default",
            "defaultRequest",
            "maxLimitRequestRatio",
        ] {
            amounts(item, key, at, errors);
        }
        if kind == "Pod" {
            for key in ["default", "defaultRequest"] {
                if item.object(key).is_some_and(|list| !list.is_empty()) {
                    let detail = "may not be specified when `type` is 'Pod'";
                    errors.push(FieldError::forbidden(&at.field(key), detail));
                }
            }
        }
        limits_in_order(item, at, errors);
    });
}

/// In a limit range min ≤ defaultRequest ≤ default ≤ max.
fn limits_in_order(item: &Value, path: &Path<'_>, errors: &mut Errors) {
    let pairs = [
        ("min", "max", "min", "min value", "max value"),
        (
            "min",
            "defaultRequest",
            "defaultRequest",
            "min value",
            "default request value",
        ),
        (
            "defaultRequest",
            "max",
            "defaultRequest",
            "default request value",
            "max value",
        ),
        (
            "defaultRequest",
            "default",
            "defaultRequest",
            "default request value",
            "default limit value",
        ),
        ("min", "default", "default", "min value", "default value"),
        ("default", "max", "default", "default value", "max value"),
    ];
    for (low, high, field, low_word, high_word) in pairs {
        let (lows, highs) = (item.object(low), item.object(high));
        for (name, value) in lows.into_iter().flatten() {
            let Some(limit) = highs.and_then(|highs| highs.get(name)) else {
                continue;
            };
            let above = resources::quantity(value) > resources::quantity(limit);
            if above {
                let (value, limit) = (text(value), text(limit));
                let detail = format!("{low_word} {value} is greater than {high_word} {limit}");
                let list = path.field(field);
                errors.push(FieldError::invalid(&list.key(name), value, detail));
            }
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// What a certificate may be used for.
const USAGES: &[&str] = &[
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

/// Whether base64 text holds a request in PEM form; what is in the block is the signer's to read.
fn is_certificate_request(encoded: &str) -> bool {
    let bytes = STANDARD.decode(encoded).unwrap_or_default();
    let text = core::str::from_utf8(&bytes).unwrap_or_default();
    let begin = "-----BEGIN CERTIFICATE REQUEST-----";
    text.trim_start().starts_with(begin) && text.contains("-----END CERTIFICATE REQUEST-----")
}

/// Validates a CertificateSigningRequest.
pub(super) fn signing_request(object: &Value, errors: &mut Errors) {
    let path = Path::new("spec");
    let spec = &object["spec"];
    if !is_certificate_request(spec.text("request")) {
        let detail = "PEM block type must be CERTIFICATE REQUEST";
        errors.push(FieldError::invalid(&path.field("request"), "", detail));
    }
    if spec.list("usages").is_empty() {
        errors.push(FieldError::required(
            &path.field("usages"),
            "usages must be provided",
        ));
    }
    let list = path.field("usages");
    let mut seen = Unique::default();
    for (index, usage) in spec.list("usages").iter().enumerate() {
        let usage = usage.as_str().unwrap_or_default();
        check::one_of(usage, &list.index(index), USAGES, errors);
        seen.check(usage, &list.index(index), errors);
    }
    let signer = spec.text("signerName");
    let at = path.field("signerName");
    check::required(signer, &at, errors);
    if !signer.is_empty() && !signer.contains('/') {
        let detail =
            "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        errors.push(FieldError::invalid(&at, signer, detail));
    }
    let key = "expirationSeconds";
    if let Some(seconds) = spec.int(key).filter(|&seconds| seconds < 600) {
        let detail = "may not specify a duration less than 600 seconds (10 minutes)";
        errors.push(FieldError::invalid(&path.field(key), seconds, detail));
    }
}
