//! Validation of where a pod may run: affinity, tolerations, spreading.

use super::check::{self, Errors, Unique};
use super::{meta, selector};
use crate::field_error::{FieldError, Path};
use crate::names;
use crate::object::Read;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde_json::Value;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
/// The effects that a taint can have.
pub(super) const EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// Validates what decides about a pod's node.
pub(super) fn placement(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let Some(affinity) = spec.at("affinity") else {
        return;
    };
    let path = path.field("affinity");
    if let Some(node) = affinity.at("nodeAffinity") {
        node_affinity(node, &path.field("nodeAffinity"), errors);
    }
    for key in ["podAffinity", "podAntiAffinity"] {
        if let Some(pods) = affinity.at(key) {
            pod_affinity(pods, &path.field(key), errors);
        }
    }
}

fn node_affinity(affinity: &Value, path: &Path<'_>, errors: &mut Errors) {
    if let Some(required) = affinity.at(REQUIRED) {
        selector::node_selector(required, &path.field(REQUIRED), errors);
    }
    check::each(affinity, PREFERRED, path, |term, at| {
        weight(term, at, errors);
        selector::node_selector_term(&term["preference"], &at.field("preference"), errors);
    });
}

fn pod_affinity(affinity: &Value, path: &Path<'_>, errors: &mut Errors) {
    check::each(affinity, REQUIRED, path, |term, at| {
        pod_affinity_term(term, at, errors);
    });
    check::each(affinity, PREFERRED, path, |term, at| {
        weight(term, at, errors);
        pod_affinity_term(
            &term["podAffinityTerm"],
            &at.field("podAffinityTerm"),
            errors,
        );
    });
}

fn weight(term: &Value, path: &Path<'_>, errors: &mut Errors) {
    let weight = term.int("weight").unwrap_or(0);
    if !(1..=100).contains(&weight) {
        let detail = "must be in the range 1-100";
        errors.push(FieldError::invalid(&path.field("weight"), weight, detail));
    }
}

fn pod_affinity_term(term: &Value, path: &Path<'_>, errors: &mut Errors) {
    for key in ["labelSelector", "namespaceSelector"] {
        selector::label_selector(term.at(key), false, &path.field(key), errors);
    }
    for name in term.list("namespaces").iter().filter_map(Value::as_str) {
        check::format(
            name,
            &path.field("namespace"),
            names::dns1123_label(name),
            errors,
        );
    }
    let key = term.text("topologyKey");
    let at = path.field("topologyKey");
    if key.is_empty() {
        errors.push(FieldError::required(&at, "can not be empty"));
    }
    check::format(key, &at, names::qualified_name(key), errors);
}

/// Validates tolerations.
pub(super) fn tolerations(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    check::each(spec, "tolerations", path, |toleration, at| {
        self::toleration(toleration, at, errors);
    });
}

fn toleration(toleration: &Value, path: &Path<'_>, errors: &mut Errors) {
    let key = toleration.text("key");
    let operator = toleration.text("operator");
    let effect = toleration.text("effect");
    let at = path.field("operator");
    if !key.is_empty() {
        check::format(key, &path.field("key"), names::qualified_name(key), errors);
    } else if operator != "Exists" {
        let detail = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        errors.push(FieldError::invalid(&at, operator, detail));
    }
    if toleration.at("tolerationSeconds").is_some() && effect != "NoExecute" {
        let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        errors.push(FieldError::invalid(&path.field("effect"), effect, detail));
    }
    let value = toleration.text("value");
    match operator {
        "" | "Equal" => {
            let messages = names::label_value(value);
            if !messages.is_empty() {
                errors.push(FieldError::invalid(&at, value, messages.join(";")));
            }
        }
        "Exists" if !value.is_empty() => {
            let detail = "value must be empty when `operator` is 'Exists'";
            errors.push(FieldError::invalid(&at, toleration.clone(), detail));
        }
        "Exists" => {}
        other => errors.push(FieldError::not_supported(&at, other, &["Equal", "Exists"])),
    }
    if !effect.is_empty() {
        check::one_of(effect, &path.field("effect"), EFFECTS, errors);
    }
}

/// Validates how pods spread over domains.
pub(super) fn spreading(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let mut seen: Vec<String> = Vec::new();
    check::each(spec, "topologySpreadConstraints", path, |constraint, at| {
        for (key, required) in [("maxSkew", true), ("minDomains", false)] {
            let number = constraint.int(key).or_else(|| required.then_some(0));
            if let Some(number) = number.filter(|&n| n <= 0) {
                let detail = "must be greater than zero";
                errors.push(FieldError::invalid(&at.field(key), number, detail));
            }
        }
        let topology = constraint.text("topologyKey");
        let key_at = at.field("topologyKey");
        if topology.is_empty() {
            errors.push(FieldError::required(&key_at, "can not be empty"));
        } else {
            check::format(topology, &key_at, names::qualified_name(topology), errors);
        }
        let when = constraint.text("whenUnsatisfiable");
        let set = &["DoNotSchedule", "ScheduleAnyway"];
        check::one_of(when, &at.field("whenUnsatisfiable"), set, errors);
        let pair = format!("{{{topology}, {when}}}");
        if seen.contains(&pair) {
            let pair_at = at.field("{topologyKey, whenUnsatisfiable}");
            errors.push(FieldError::duplicate(&pair_at, pair.clone()));
        }
        seen.push(pair);
        for key in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            if constraint.at(key).is_some() {
                let word = constraint.text(key);
                check::one_of(word, &at.field(key), &["Honor", "Ignore"], errors);
            }
        }
        let labels = constraint.at("labelSelector");
        selector::label_selector(labels, false, &at.field("labelSelector"), errors);
    });
}

/// Validates the gates that hold a pod back from scheduling, and those of its readiness.
pub(super) fn gates(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    check::each(spec, "readinessGates", path, |gate, at| {
        let word = gate.text("conditionType");
        check::format(
            word,
            &at.field("conditionType"),
            names::qualified_name(word),
            errors,
        );
    });
    let mut seen = Unique::default();
    let list = path.field("schedulingGates");
    for (index, gate) in spec.list("schedulingGates").iter().enumerate() {
        let name = gate.text("name");
        let at = list.index(index);
        check::format(name, &at.field("name"), names::qualified_name(name), errors);
        seen.check(name, &at, errors);
    }
}

/// Validates the node selector of a pod.
pub(super) fn node_selector(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    meta::labels(
        spec.object("nodeSelector"),
        &path.field("nodeSelector"),
        errors,
    );
}
