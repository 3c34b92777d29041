//! Validation of security contexts.

use super::check::{self, Errors};
use crate::field_error::{FieldError, Path};
use crate::names;
use crate::object::Read;
use serde_json::Value;

/// Validates the security context of a pod; fields of the spec that concern the host included.
pub(super) fn pod(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let context = &spec["securityContext"];
    let at = path.field("securityContext");
    if spec.flag("shareProcessNamespace") && spec.flag("hostPID") {
        errors.push(FieldError::invalid(
            &path.field("shareProcessNamespace"),
            true,
            "ShareProcessNamespace and HostPID cannot both be enabled",
        ));
    }
    for key in ["fsGroup", "runAsUser", "runAsGroup"] {
        id(context.int(key), &at.field(key), errors);
    }
    check::each(context, "supplementalGroups", &at, |group, at| {
        id(group.as_i64(), at, errors);
    });
    check::each(context, "sysctls", &at, |sysctl, at| {
        self::sysctl(sysctl.text("name"), &at.field("name"), errors);
    });
    optional_word(
        context,
        "fsGroupChangePolicy",
        &["OnRootMismatch", "Always"],
        &at,
        errors,
    );
    optional_word(
        context,
        "supplementalGroupsPolicy",
        &["Merge", "Strict"],
        &at,
        errors,
    );
    optional_word(
        context,
        "seLinuxChangePolicy",
        &["MountOption", "Recursive"],
        &at,
        errors,
    );
    profiles(context, &at, errors);
}

/// Validates the security context of a container.
pub(super) fn container(container: &Value, path: &Path<'_>, errors: &mut Errors) {
    let Some(context) = container.at("securityContext") else {
        return;
    };
    let at = path.field("securityContext");
    id(context.int("runAsUser"), &at.field("runAsUser"), errors);
    id(context.int("runAsGroup"), &at.field("runAsGroup"), errors);
    optional_word(context, "procMount", &["Default", "Unmasked"], &at, errors);
    if context.at("allowPrivilegeEscalation") == Some(&Value::Bool(false)) {
        escalation(context, &at, errors);
    }
    profiles(context, &at, errors);
}

fn escalation(context: &Value, path: &Path<'_>, errors: &mut Errors) {
    let at = path.field("allowPrivilegeEscalation");
    if context.flag("privileged") {
        let detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
        errors.push(FieldError::invalid(&at, false, detail));
    }
    let added = context
        .at("capabilities")
        .map_or(&[][..], |c| c.list("add"));
    if added.iter().any(|name| name == "CAP_SYS_ADMIN") {
        let detail =
            "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
        errors.push(FieldError::invalid(&at, false, detail));
    }
}

fn profiles(context: &Value, path: &Path<'_>, errors: &mut Errors) {
    for key in ["seccompProfile", "appArmorProfile"] {
        if let Some(found) = context.at(key) {
            profile(found, &path.field(key), errors);
        }
    }
}

fn profile(profile: &Value, path: &Path<'_>, errors: &mut Errors) {
    let kind = profile.text("type");
    let set = &["Localhost", "RuntimeDefault", "Unconfined"];
    check::required_one_of(kind, &path.field("type"), set, errors);
    let file = profile.text("localhostProfile");
    let at = path.field("localhostProfile");
    if kind == "Localhost" {
        if file.is_empty() {
            let detail = "must be set when type is Localhost";
            errors.push(FieldError::required(&at, detail));
        } else {
            super::volume::local_path(file, &at, errors);
        }
    } else if profile.at("localhostProfile").is_some() {
        let detail = "can only be set when type is Localhost";
        errors.push(FieldError::invalid(&at, file, detail));
    }
}

fn id(id: Option<i64>, path: &Path<'_>, errors: &mut Errors) {
    if let Some(id) = id {
        for message in names::user_id(id) {
            errors.push(FieldError::invalid(path, id, message));
        }
    }
}

fn sysctl(name: &str, path: &Path<'_>, errors: &mut Errors) {
    let segment = |part: &str| {
        let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_".contains(&b);
        let end = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        part.bytes().all(inner) && end(part.bytes().next()) && end(part.bytes().last())
    };
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if name.len() > 253 || !name.split(['.', '/']).all(segment) {
        let detail = "must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
        errors.push(FieldError::invalid(path, name, detail));
    }
}

fn optional_word(holder: &Value, key: &str, set: &[&str], path: &Path<'_>, errors: &mut Errors) {
    if holder.at(key).is_some() {
        check::one_of(holder.text(key), &path.field(key), set, errors);
    }
}
