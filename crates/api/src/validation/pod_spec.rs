//! Validation of the spec of a pod, on its own and in templates.

use super::check::{self, Errors};
use super::{container, meta, resources, scheduling, security, volume};
use crate::field_error::{FieldError, Path};
use crate::names;
use crate::object::Read;
use serde_json::Value;

/// Validates a pod template.
pub(super) fn template(template: &Value, path: &Path<'_>, errors: &mut Errors) {
    // The paths leave out the word metadata, as upstream's do.
    let metadata = &template["metadata"];
    meta::labels(metadata.object("labels"), &path.field("labels"), errors);
    meta::annotations(
        metadata.object("annotations"),
        &path.field("annotations"),
        errors,
    );
    let spec = &template["spec"];
    let at = path.field("spec");
    pod_spec(spec, &at, errors);
    if !spec.list("ephemeralContainers").is_empty() {
        let detail = "ephemeral containers not allowed in pod template";
        errors.push(FieldError::forbidden(
            &at.field("ephemeralContainers"),
            detail,
        ));
    }
}

/// Validates the spec of a pod.
pub(super) fn pod_spec(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    volume::volumes(spec, path, errors);
    container::containers(spec, path, errors);
    if let Some(found) = spec.at("resources") {
        resources::requirements(found, &path.field("resources"), errors);
    }
    policies(spec, path, errors);
    scheduling::node_selector(spec, path, errors);
    security::pod(spec, path, errors);
    scheduling::placement(spec, path, errors);
    dns_config(spec, path, errors);
    scheduling::gates(spec, path, errors);
    scheduling::spreading(spec, path, errors);
    host_users(spec, path, errors);
    words(spec, path, errors);
    scheduling::tolerations(spec, path, errors);
    host_aliases(spec, path, errors);
    classes(spec, path, errors);
}

fn policies(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let restart = path.field("restartPolicy");
    let set = &["Always", "OnFailure", "Never"];
    check::required_one_of(spec.text("restartPolicy"), &restart, set, errors);
    let dns = path.field("dnsPolicy");
    let set = &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    check::required_one_of(spec.text("dnsPolicy"), &dns, set, errors);
}

/// Fields that are names.
fn words(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    for key in ["serviceAccountName", "nodeName"] {
        let name = spec.text(key);
        if !name.is_empty() {
            check::format(
                name,
                &path.field(key),
                names::dns1123_subdomain(name),
                errors,
            );
        }
    }
    if let Some(seconds) = spec.int("activeDeadlineSeconds") {
        let at = path.field("activeDeadlineSeconds");
        check::within(seconds, (1, i64::from(i32::MAX)), &at, errors);
    }
    for key in ["hostname", "subdomain"] {
        let name = spec.text(key);
        if !name.is_empty() {
            check::format(name, &path.field(key), names::dns1123_label(name), errors);
        }
    }
}

fn classes(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let priority = spec.text("priorityClassName");
    if !priority.is_empty() {
        let at = path.field("priorityClassName");
        check::format(priority, &at, names::dns1123_subdomain(priority), errors);
    }
    if spec.at("runtimeClassName").is_some() {
        let class = spec.text("runtimeClassName");
        let at = path.field("runtimeClassName");
        check::format(class, &at, names::dns1123_subdomain(class), errors);
    }
    if spec.at("preemptionPolicy").is_some() {
        let at = path.field("preemptionPolicy");
        let set = &["Never", "PreemptLowerPriority"];
        check::required_one_of(spec.text("preemptionPolicy"), &at, set, errors);
    }
    let overhead = path.field("overhead");
    for (name, value) in spec.object("overhead").into_iter().flatten() {
        let at = overhead.key(name);
        resources::resource_name(name, &at, errors);
        resources::resource_value(name, value, &at, errors);
    }
    if let Some(os) = spec.at("os") {
        let (os_at, name) = (path.field("os"), os.text("name"));
        check::required_one_of(name, &os_at.field("name"), &["linux", "windows"], errors);
    }
}

fn dns_config(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let at = path.field("dnsConfig");
    let own = spec.text("dnsPolicy") == "None";
    let Some(config) = spec.at("dnsConfig") else {
        if own {
            let detail = "must provide `dnsConfig` when `dnsPolicy` is None";
            errors.push(FieldError::required(&at, detail));
        }
        return;
    };
    let (servers, searches) = (config.list("nameservers"), config.list("searches"));
    let servers_at = at.field("nameservers");
    if own && servers.is_empty() {
        let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
        errors.push(FieldError::required(&servers_at, detail));
    }
    if servers.len() > 3 {
        let detail = "must not have more than 3 nameservers";
        errors.push(FieldError::invalid(&servers_at, servers.to_vec(), detail));
    }
    check::each(config, "nameservers", &at, |server, at| {
        let server = server.as_str().unwrap_or_default();
        check::format(server, at, names::ip(server), errors);
    });
    if searches.len() > 32 {
        let detail = "must not have more than 32 search paths";
        let searches_at = at.field("searches");
        errors.push(FieldError::invalid(&searches_at, searches.to_vec(), detail));
    }
    check::each(config, "searches", &at, |search, at| {
        let search = search.as_str().unwrap_or_default();
        // The root alone is a search path too.
        if search != "." {
            let name = search.strip_suffix('.').unwrap_or(search);
            check::format(name, at, names::dns1123_subdomain(name), errors);
        }
    });
    check::each(config, "options", &at, |option, at| {
        if option.text("name").is_empty() {
            errors.push(FieldError::required(at, "must not be empty"));
        }
    });
}

fn host_users(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    if spec.at("hostUsers") != Some(&Value::Bool(false)) {
        return;
    }
    for key in ["hostNetwork", "hostPID", "hostIPC"] {
        if spec.flag(key) {
            let detail = "when `hostUsers` is false";
            errors.push(FieldError::forbidden(&path.field(key), detail));
        }
    }
}

fn host_aliases(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    check::each(spec, "hostAliases", path, |alias, at| {
        let ip = alias.text("ip");
        check::format(ip, &at.field("ip"), names::ip(ip), errors);
        for name in alias.list("hostnames").iter().filter_map(Value::as_str) {
            let messages = names::dns1123_subdomain(name);
            check::format(name, &at.field("hostnames"), messages, errors);
        }
    });
}
