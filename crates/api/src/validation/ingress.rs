//! Validation of ingresses and their classes.

use super::check::{self, Errors};
use crate::field_error::{FieldError, Path};
use crate::names;
use crate::object::Read;
use alloc::vec::Vec;
use serde_json::Value;

/// The annotation that named the class before there was a field.
pub(crate) const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";

/// Validates an Ingress.
pub(super) fn ingress(object: &Value, new: bool, errors: &mut Errors) {
    let path = Path::new("spec");
    let spec = &object["spec"];
    let class = spec.text("ingressClassName");
    let annotation = object.path(&["metadata", "annotations", CLASS_ANNOTATION]);
    if let Some(annotation) = annotation.and_then(Value::as_str)
        && new
        && !class.is_empty()
        && annotation != class
    {
        let at = Path::new("annotations");
        let detail = "must match `ingressClassName` when both are specified";
        let at = at.field(CLASS_ANNOTATION);
        errors.push(FieldError::invalid(&at, annotation, detail));
    }
    let default = spec.at("defaultBackend");
    if default.is_none() && spec.list("rules").is_empty() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        errors.push(FieldError::invalid(&path, Value::Null, detail));
    }
    if let Some(default) = default {
        backend(default, &path.field("defaultBackend"), errors);
    }
    check::each(spec, "rules", &path, |rule, at| {
        self::rule(rule, at, errors);
    });
    check::each(spec, "tls", &path, |tls, at| self::tls(tls, at, errors));
    if spec.at("ingressClassName").is_some() {
        let at = path.field("ingressClassName");
        check::format(class, &at, names::dns1123_subdomain(class), errors);
    }
}

fn rule(rule: &Value, path: &Path<'_>, errors: &mut Errors) {
    let host = rule.text("host");
    let at = path.field("host");
    if host.is_empty() {
        // Any host.
    } else if names::ip(host).is_empty() {
        let detail = "must be a DNS name, not an IP address";
        errors.push(FieldError::invalid(&at, host, detail));
    } else {
        check::format(host, &at, host_name(host), errors);
    }
    let Some(http) = rule.at("http") else { return };
    let at = path.field("http");
    if http.list("paths").is_empty() {
        errors.push(FieldError::required(&at.field("paths"), ""));
    }
    check::each(http, "paths", &at, |path, at| http_path(path, at, errors));
}

fn host_name(host: &str) -> Vec<alloc::string::String> {
    if host.contains('*') {
        names::wildcard_subdomain(host)
    } else {
        names::dns1123_subdomain(host)
    }
}

/// What may not be in a path, also not in disguise: the path is compared part by part.
const NOT_WITHIN: &[&str] = &["//", "/./", "/../", "%2f", "%2F"];
/// What a path may not end in.
const NOT_LAST: &[&str] = &["/..", "/."];

fn http_path(object: &Value, path: &Path<'_>, errors: &mut Errors) {
    let kind = object.text("pathType");
    let text = object.text("path");
    let at = path.field("path");
    match kind {
        _ if object.at("pathType").is_none() => {
            let detail = "pathType must be specified";
            return errors.push(FieldError::required(&path.field("pathType"), detail));
        }
        "Exact" | "Prefix" => {
            if !text.starts_with('/') {
                errors.push(FieldError::invalid(&at, text, "must be an absolute path"));
            }
            let within = NOT_WITHIN.iter().filter(|part| text.contains(**part));
            for part in within {
                let detail = alloc::format!("must not contain '{part}'");
                errors.push(FieldError::invalid(&at, text, detail));
            }
            for part in NOT_LAST.iter().filter(|part| text.ends_with(**part)) {
                let detail = alloc::format!("cannot end with '{part}'");
                errors.push(FieldError::invalid(&at, text, detail));
            }
        }
        "ImplementationSpecific" => {
            if !text.is_empty() && !text.starts_with('/') {
                errors.push(FieldError::invalid(&at, text, "must be an absolute path"));
            }
        }
        _ => {
            let set = &["Exact", "ImplementationSpecific", "Prefix"];
            check::one_of(kind, &path.field("pathType"), set, errors);
        }
    }
    let null = Value::Null;
    let target = object.at("backend").unwrap_or(&null);
    backend(target, &path.field("backend"), errors);
}

fn backend(object: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (service, resource) = (object.at("service"), object.at("resource"));
    let refuse = |detail: &str| FieldError::invalid(path, "", detail);
    match (service, resource) {
        (Some(_), Some(_)) => errors.push(refuse("cannot set both resource and service backends")),
        (None, None) => errors.push(refuse("resource or service backend is required")),
        (None, Some(resource)) => {
            let at = path.field("resource");
            for key in ["kind", "name"] {
                check::required(resource.text(key), &at.field(key), errors);
            }
        }
        (Some(service), None) => backend_service(service, path, errors),
    }
}

fn backend_service(service: &Value, path: &Path<'_>, errors: &mut Errors) {
    let at = path.field("service");
    let name = service.text("name");
    if name.is_empty() {
        errors.push(FieldError::required(&at.field("name"), ""));
    } else {
        let wrong = names::dns1123_label(name);
        check::format(name, &at.field("name"), wrong, errors);
    }
    let port = &service["port"];
    let (name, number) = (port.text("name"), port.int("number").unwrap_or(0));
    let at = at.field("port");
    match (name, number) {
        ("", 0) => {
            let detail = "port name or number is required";
            errors.push(FieldError::required(path, detail));
        }
        ("", number) => check::within(number, (1, 65535), &at.field("number"), errors),
        (name, 0) => check::format(name, &at.field("name"), names::port_name(name), errors),
        _ => {
            let detail = "cannot set both port name & port number";
            errors.push(FieldError::invalid(path, "", detail));
        }
    }
}

fn tls(tls: &Value, path: &Path<'_>, errors: &mut Errors) {
    check::each(tls, "hosts", path, |host, at| {
        let host = host.as_str().unwrap_or_default();
        check::format(host, at, host_name(host), errors);
    });
    let secret = tls.text("secretName");
    if !secret.is_empty() {
        let at = path.field("secretName");
        check::format(secret, &at, names::dns1123_subdomain(secret), errors);
    }
}

/// Validates an IngressClass.
pub(super) fn ingress_class(object: &Value, errors: &mut Errors) {
    let path = Path::new("spec");
    let spec = &object["spec"];
    let controller = spec.text("controller");
    let at = path.field("controller");
    if controller.is_empty() {
        errors.push(FieldError::required(&at, ""));
    } else if !is_prefixed_path(controller) {
        let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        errors.push(FieldError::invalid(&at, controller, detail));
    }
    if let Some(parameters) = spec.at("parameters") {
        self::parameters(parameters, &path.field("parameters"), errors);
    }
}

fn is_prefixed_path(text: &str) -> bool {
    text.split_once('/').is_some_and(|(domain, path)| {
        names::dns1123_subdomain(domain).is_empty() && !path.is_empty()
    })
}

fn parameters(parameters: &Value, path: &Path<'_>, errors: &mut Errors) {
    if parameters.at("apiGroup").is_some() {
        let group = parameters.text("apiGroup");
        let wrong = names::dns1123_subdomain(group);
        check::format(group, &path.field("apiGroup"), wrong, errors);
    }
    for key in ["kind", "name"] {
        let (text, at) = (parameters.text(key), path.field(key));
        if text.is_empty() {
            errors.push(FieldError::required(&at, ""));
        } else {
            check::format(text, &at, names::path_segment(text), errors);
        }
    }
    let (scope, at) = (parameters.text("scope"), path.field("namespace"));
    let given = parameters.at("namespace").is_some();
    match scope {
        "Cluster" if given => {
            let detail = "`parameters.scope` is set to 'Cluster'";
            errors.push(FieldError::forbidden(&at, detail));
        }
        "Namespace" if !given => {
            let detail = "`parameters.scope` is set to 'Namespace'";
            errors.push(FieldError::required(&at, detail));
        }
        "Cluster" | "Namespace" => {}
        _ => check::one_of(
            scope,
            &path.field("scope"),
            &["Cluster", "Namespace"],
            errors,
        ),
    }
}

/// Validates what an update of an IngressClass must not change.
pub(super) fn ingress_class_update(new: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::new("spec");
    let at = path.field("controller");
    check::immutable(&new["spec"], &old["spec"], "controller", &at, errors);
}
