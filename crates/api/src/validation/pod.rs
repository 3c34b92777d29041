//! Validation of pods: what an update may change, and what a status may say.

use super::check::{self, Errors, equal};
use super::{container, pod_spec};
use crate::field_error::{FieldError, Path};
use crate::names;
use crate::object::{Object, Read, Write, each};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde_json::Value;

const UPDATABLE: &str = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// Validates the spec of a pod.
pub(super) fn pod(object: &Value, errors: &mut Errors) {
    let path = Path::new("spec");
    pod_spec::pod_spec(&object["spec"], &path, errors);
}

/// Validates what only a new pod must not have.
pub(super) fn creation(object: &Value, errors: &mut Errors) {
    let spec = &object["spec"];
    if !spec.list("ephemeralContainers").is_empty() {
        let detail = "cannot be set on create";
        errors.push(FieldError::forbidden(&"spec.ephemeralContainers", detail));
    }
    if !spec.list("schedulingGates").is_empty() && !spec.text("nodeName").is_empty() {
        let detail = "cannot be set until all schedulingGates have been cleared";
        errors.push(FieldError::forbidden(&"spec.nodeName", detail));
    }
}

/// Validates what an update of a pod changes.
pub(super) fn update(new: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::new("spec");
    let (new, old) = (&new["spec"], &old["spec"]);
    for list in ["containers", "initContainers"] {
        if new.list(list).len() != old.list(list).len() {
            let detail = "pod updates may not add or remove containers";
            errors.push(FieldError::forbidden(&path.field(list), detail));
            return;
        }
        check::each(new, list, &path, |container, at| {
            container::image(container.text("image"), &at.field("image"), errors);
        });
    }
    if !deadline(new, old, &path.field("activeDeadlineSeconds"), errors) {
        return;
    }
    added_tolerations(new, old, &path.field("tolerations"), errors);
    removed_gates(new, old, &path.field("schedulingGates"), errors);
    if equal(Some(new), Some(old)) {
        return;
    }
    let allowed = with_allowed_changes(new, old, &path, errors);
    if !equal(Some(&allowed), Some(old)) {
        let difference = difference(old, &allowed);
        let detail =
            format!("pod updates may not change fields other than {UPDATABLE}\n{difference}");
        errors.push(FieldError::forbidden(&path, detail));
    }
}

/// A deadline may come and may become shorter. Says whether to look further.
fn deadline(new: &Value, old: &Value, path: &Path<'_>, errors: &mut Errors) -> bool {
    let before = errors.len();
    let (new, old) = (
        new.int("activeDeadlineSeconds"),
        old.int("activeDeadlineSeconds"),
    );
    match (new, old) {
        (Some(new), _) if !(0..=i64::from(i32::MAX)).contains(&new) => {
            check::within(new, (0, i64::from(i32::MAX)), path, errors);
        }
        (Some(new), Some(old)) if old < new => {
            let detail = "must be less than or equal to previous value";
            errors.push(FieldError::invalid(path, new, detail));
        }
        (None, Some(_)) => {
            let detail = "must not update from a positive integer to nil value";
            errors.push(FieldError::invalid(path, Value::Null, detail));
            return true;
        }
        _ => {}
    }
    errors.len() == before
}

/// Tolerations may be added; of those there are only the seconds may change.
fn added_tolerations(new: &Value, old: &Value, path: &Path<'_>, errors: &mut Errors) {
    let same = |a: &Value, b: &Value| {
        ["key", "operator", "value", "effect"]
            .iter()
            .all(|key| a.text(key) == b.text(key))
    };
    let given = new.list("tolerations");
    let kept = |toleration: &Value| given.iter().any(|other| same(other, toleration));
    if !old.list("tolerations").iter().all(kept) {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        errors.push(FieldError::forbidden(path, detail));
    }
}

fn removed_gates(new: &Value, old: &Value, path: &Path<'_>, errors: &mut Errors) {
    let before = old.list("schedulingGates");
    for gate in new.list("schedulingGates") {
        let name = gate.text("name");
        if !before.iter().any(|old| old.text("name") == name) {
            let detail =
                format!("only deletion is allowed, but found new scheduling gate '{name}'");
            errors.push(FieldError::forbidden(path, detail));
        }
    }
}

/// The new spec with everything put back that was allowed to change.
fn with_allowed_changes(new: &Value, old: &Value, path: &Path<'_>, errors: &mut Errors) -> Value {
    let mut spec = new.as_object().cloned().unwrap_or_default();
    for list in ["containers", "initContainers"] {
        let images = old.list(list).iter().map(|container| container.at("image"));
        for (container, image) in each(&mut spec, list).zip(images) {
            container.put("image", image.cloned());
        }
    }
    for key in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
        spec.put(key, old.at(key).cloned());
    }
    let grace = "terminationGracePeriodSeconds";
    if old.int(grace).is_some_and(|before| before < 0) && new.int(grace) == Some(1) {
        spec.put(grace, old.at(grace).cloned());
    }
    if !old.list("schedulingGates").is_empty() {
        gated_changes(&mut spec, new, old, &mut Gated { path, errors });
    }
    Value::Object(spec)
}

struct Gated<'a, 'b> {
    path: &'a Path<'a>,
    errors: &'b mut Errors,
}

/// A pod that waits at a gate may still become choosier about its node.
fn gated_changes(spec: &mut Object, new: &Value, old: &Value, at: &mut Gated<'_, '_>) {
    let key = "nodeSelector";
    let (given, before) = (new.object(key), old.object(key));
    let kept = before
        .into_iter()
        .flatten()
        .all(|(name, value)| given.is_some_and(|given| given.get(name) == Some(value)));
    if !kept {
        let detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        let value = new.at(key).cloned().unwrap_or_default();
        at.errors
            .push(FieldError::invalid(&at.path.field(key), value, detail));
    }
    spec.put(key, old.at(key).cloned());
    if let (Some(given), None) = (new.at("affinity"), old.path(&["affinity", "nodeAffinity"])) {
        let mut affinity = given.as_object().cloned().unwrap_or_default();
        affinity.remove("nodeAffinity");
        let rest = Some(affinity)
            .filter(|rest| !rest.is_empty())
            .map(Value::Object);
        spec.put("affinity", rest.or_else(|| old.at("affinity").cloned()));
    }
}

/// The lines in which two specs differ, as a hunk of a unified diff.
fn difference(old: &Value, new: &Value) -> String {
    const CONTEXT: usize = 3;
    let print = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
    let (old, new) = (print(old), print(new));
    let old: Vec<&str> = old.lines().collect();
    let new: Vec<&str> = new.lines().collect();
    let common =
        |a: &mut dyn Iterator<Item = (&&str, &&str)>| a.take_while(|(a, b)| a == b).count();
    let head = common(&mut old.iter().zip(&new));
    let most = old.len().min(new.len()) - head;
    let tail = common(&mut old.iter().rev().zip(new.iter().rev())).min(most);
    let start = head.saturating_sub(CONTEXT);
    let after = tail.saturating_sub(CONTEXT);
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let mut text = format!(
        "@@ -{},{} +{},{} @@\n",
        start + 1,
        old.len() - after - start,
        start + 1,
        new.len() - after - start
    );
    let parts = [
        (" ", &old[start..head]),
        ("-", &old[head..old_end]),
        ("+", &new[head..new_end]),
        (" ", &old[old_end..old.len() - after]),
    ];
    for (mark, lines) in parts {
        for line in lines {
            text.push_str(mark);
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// Validates the status of a pod.
pub(super) fn status(new: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::new("status");
    let (status, before) = (&new["status"], &old["status"]);
    check::each(status, "conditions", &path, |condition, at| {
        let word = condition.text("type");
        check::format(word, &at.field("type"), names::qualified_name(word), errors);
    });
    let nominated = status.text("nominatedNodeName");
    if nominated != before.text("nominatedNodeName") && !nominated.is_empty() {
        let at = path.field("nominatedNodeName");
        check::format(nominated, &at, names::dns1123_subdomain(nominated), errors);
    }
    if !before.text("qosClass").is_empty() {
        check::immutable(status, before, "qosClass", &path.field("qosClass"), errors);
    }
    let restart = new["spec"].text("restartPolicy").to_owned();
    if restart != "Always" {
        transitions(status, before, restart == "OnFailure", &path, errors);
    }
    for list in ["podIPs", "hostIPs"] {
        check::each(status, list, &path, |address, at| {
            let ip = address.text("ip");
            check::format(ip, &at.field("ip"), names::ip(ip), errors);
        });
    }
}

/// What has ended for good does not run again.
fn transitions(
    new: &Value,
    old: &Value,
    restarts_failures: bool,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let list = "containerStatuses";
    for before in old.list(list) {
        let Some(ended) = before.path(&["state", "terminated"]) else {
            continue;
        };
        if restarts_failures && ended.int("exitCode").unwrap_or(0) != 0 {
            continue;
        }
        let name = before.text("name");
        check::each(new, list, path, |status, at| {
            let running = status.path(&["state", "terminated"]).is_none();
            if status.text("name") == name && running && status.at("state").is_some() {
                let detail = "may not be transitioned to non-terminated state";
                errors.push(FieldError::forbidden(&at.field("state"), detail));
            }
        });
    }
}

/// Validates the template that a PodTemplate holds.
pub(super) fn pod_template(object: &Value, errors: &mut Errors) {
    let path = Path::new("template");
    pod_spec::template(&object["template"], &path, errors);
}
