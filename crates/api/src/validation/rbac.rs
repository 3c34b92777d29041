//! Validation of roles and of who has them.

use super::check::{self, Errors};
use crate::field_error::{FieldError, Path};
use crate::names;
use crate::object::Read;
use crate::resource::Resource;
use serde_json::Value;

const GROUP: &str = "rbac.authorization.k8s.io";

/// Validates a Role or a ClusterRole.
pub(super) fn role(resource: &Resource, object: &Value, errors: &mut Errors) {
    let rules = Path::new("rules");
    for (index, rule) in object.list("rules").iter().enumerate() {
        self::rule(rule, resource.namespaced, &rules.index(index), errors);
    }
    if let Some(aggregation) = object.at("aggregationRule") {
        let path = Path::new("aggregationRule");
        if aggregation.list("clusterRoleSelectors").is_empty() {
            let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
            errors.push(FieldError::required(
                &path.field("clusterRoleSelectors"),
                detail,
            ));
        }
        check::each(
            aggregation,
            "clusterRoleSelectors",
            &path,
            |selector, at| {
                super::selector::label_selector(Some(selector), false, at, errors);
            },
        );
    }
}

fn rule(rule: &Value, namespaced: bool, path: &Path<'_>, errors: &mut Errors) {
    if rule.list("verbs").is_empty() {
        let detail = "verbs must contain at least one value";
        errors.push(FieldError::required(&path.field("verbs"), detail));
    }
    let urls = rule.list("nonResourceURLs");
    let is_empty = |key: &str| rule.list(key).is_empty();
    if !urls.is_empty() {
        let at = path.field("nonResourceURLs");
        if namespaced {
            let detail = "namespaced rules cannot apply to non-resource URLs";
            errors.push(FieldError::invalid(&at, urls.to_vec(), detail));
        }
        if !["apiGroups", "resources", "resourceNames"]
            .iter()
            .all(|key| is_empty(key))
        {
            let detail = "rules cannot apply to both regular resources and non-resource URLs";
            errors.push(FieldError::invalid(&at, urls.to_vec(), detail));
        }
        return;
    }
    for (key, detail) in [
        (
            "apiGroups",
            "resource rules must supply at least one api group",
        ),
        (
            "resources",
            "resource rules must supply at least one resource",
        ),
    ] {
        if is_empty(key) {
            errors.push(FieldError::required(&path.field(key), detail));
        }
    }
}

/// Validates a RoleBinding or a ClusterRoleBinding.
pub(super) fn binding(resource: &Resource, object: &Value, errors: &mut Errors) {
    let path = Path::new("roleRef");
    let role = &object["roleRef"];
    check::one_of(
        role.text("apiGroup"),
        &path.field("apiGroup"),
        &[GROUP],
        errors,
    );
    let kinds: &[&str] = if resource.namespaced {
        &["Role", "ClusterRole"]
    } else {
        &["ClusterRole"]
    };
    check::one_of(role.text("kind"), &path.field("kind"), kinds, errors);
    let name = role.text("name");
    let at = path.field("name");
    check::required(name, &at, errors);
    check::format(name, &at, names::path_segment(name), errors);
    let subjects = Path::new("subjects");
    for (index, subject) in object.list("subjects").iter().enumerate() {
        self::subject(subject, resource.namespaced, &subjects.index(index), errors);
    }
}

fn subject(subject: &Value, namespaced: bool, path: &Path<'_>, errors: &mut Errors) {
    let name = subject.text("name");
    check::required(name, &path.field("name"), errors);
    let group = path.field("apiGroup");
    match subject.text("kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                let messages = names::dns1123_subdomain(name);
                check::format(name, &path.field("name"), messages, errors);
            }
            check::one_of(subject.text("apiGroup"), &group, &[""], errors);
            if !namespaced && subject.text("namespace").is_empty() {
                errors.push(FieldError::required(&path.field("namespace"), ""));
            }
        }
        "User" | "Group" => check::one_of(subject.text("apiGroup"), &group, &[GROUP], errors),
        other => {
            let set = &["ServiceAccount", "User", "Group"];
            errors.push(FieldError::not_supported(&path.field("kind"), other, set));
        }
    }
}

/// Validates what an update of a binding must not change.
pub(super) fn binding_update(new: &Value, old: &Value, errors: &mut Errors) {
    let (role, before) = (new.at("roleRef"), old.at("roleRef"));
    if !check::equal(role, before) {
        let value = role.cloned().unwrap_or_default();
        errors.push(FieldError::invalid(
            &"roleRef",
            value,
            "cannot change roleRef",
        ));
    }
}
