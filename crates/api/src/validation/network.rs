//! Validation of services and endpoints.

use super::check::{self, Errors, IMMUTABLE, Unique, equal};
use super::{meta, probe};
use crate::field_error::{FieldError, Path};
use crate::names;
use crate::object::Read;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde_json::Value;

const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];

/// Validates a Service.
pub(super) fn service(object: &Value, errors: &mut Errors) {
    let path = Path::new("spec");
    let spec = &object["spec"];
    let kind = spec.text("type");
    let headless = spec.text("clusterIP") == "None";
    ports(spec, kind, headless, &path, errors);
    meta::labels(spec.object("selector"), &path.field("selector"), errors);
    let affinity = path.field("sessionAffinity");
    let set = &["ClientIP", "None"];
    check::required_one_of(spec.text("sessionAffinity"), &affinity, set, errors);
    let set = &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    check::required_one_of(kind, &path.field("type"), set, errors);
    addresses(spec, kind, headless, &path, errors);
    for key in ["externalTrafficPolicy", "internalTrafficPolicy"] {
        if spec.at(key).is_some() {
            check::one_of(
                spec.text(key),
                &path.field(key),
                &["Cluster", "Local"],
                errors,
            );
        }
    }
    if let Some(seconds) = spec
        .path(&["sessionAffinityConfig", "clientIP", "timeoutSeconds"])
        .and_then(Value::as_i64)
    {
        let at = "spec.sessionAffinityConfig.clientIP.timeoutSeconds";
        check::within(seconds, (1, 86400), &Path::new(at), errors);
    }
}

fn addresses(spec: &Value, kind: &str, headless: bool, path: &Path<'_>, errors: &mut Errors) {
    let ip = spec.text("clusterIP");
    match kind {
        "ExternalName" => {
            if !ip.is_empty() {
                let detail = "may not be set for ExternalName services";
                let at = path.field("clusterIPs");
                let value = spec.at("clusterIPs").cloned().unwrap_or_default();
                errors.push(FieldError::invalid(&at, value, detail));
            }
            let name = spec.text("externalName");
            let at = path.field("externalName");
            if name.is_empty() {
                errors.push(FieldError::required(&at, ""));
            } else {
                let name = name.strip_suffix('.').unwrap_or(name);
                check::format(name, &at, names::dns1123_subdomain(name), errors);
            }
        }
        "LoadBalancer" | "NodePort" if headless => {
            let detail = format!("may not be set to 'None' for {kind} services");
            let list = path.field("clusterIPs");
            errors.push(FieldError::invalid(&list.index(0), "None", detail));
        }
        _ if !headless && !ip.is_empty() => {
            let list = path.field("clusterIPs");
            check::format(ip, &list.index(0), names::ip(ip), errors);
        }
        _ => {}
    }
    check::each(spec, "externalIPs", path, |ip, at| {
        let ip = ip.as_str().unwrap_or_default();
        check::format(ip, at, names::ip(ip), errors);
    });
}

fn ports(spec: &Value, kind: &str, headless: bool, path: &Path<'_>, errors: &mut Errors) {
    let ports = spec.list("ports");
    if ports.is_empty() && !headless && kind != "ExternalName" {
        errors.push(FieldError::required(&path.field("ports"), ""));
    }
    let list = path.field("ports");
    let mut names = Unique::default();
    let mut numbers: Vec<String> = Vec::new();
    for (index, port) in ports.iter().enumerate() {
        let at = list.index(index);
        service_port(port, ports.len() > 1, headless, &at, errors);
        let name = port.text("name");
        if !name.is_empty() {
            names.check(name, &at.field("name"), errors);
        }
        let number = port.int("port").unwrap_or(0);
        let key = format!("{number}/{}", port.text("protocol"));
        if numbers.contains(&key) {
            errors.push(FieldError::duplicate(&at, port.clone()));
        }
        numbers.push(key);
        if kind == "ClusterIP" && port.int("nodePort").unwrap_or(0) != 0 {
            let detail = "may not be used when `type` is 'ClusterIP'";
            errors.push(FieldError::forbidden(&at.field("nodePort"), detail));
        }
    }
}

fn service_port(port: &Value, named: bool, headless: bool, path: &Path<'_>, errors: &mut Errors) {
    let name = port.text("name");
    if !name.is_empty() {
        check::format(
            name,
            &path.field("name"),
            names::dns1123_label(name),
            errors,
        );
    } else if named {
        errors.push(FieldError::required(&path.field("name"), ""));
    }
    let number = port.int("port").unwrap_or(0);
    check::within(number, (1, 65535), &path.field("port"), errors);
    let protocol = path.field("protocol");
    check::required_one_of(port.text("protocol"), &protocol, PROTOCOLS, errors);
    if port.at("targetPort").is_some() && !headless {
        probe::port(port.at("targetPort"), &path.field("targetPort"), errors);
    }
}

/// Validates what an update of a Service must not change.
pub(super) fn service_update(new: &Value, old: &Value, errors: &mut Errors) {
    let (spec, before) = (&new["spec"], &old["spec"]);
    let has_address = |spec: &Value| spec.text("type") != "ExternalName";
    let address = before.text("clusterIP");
    if has_address(spec)
        && has_address(before)
        && !address.is_empty()
        && spec.text("clusterIP") != address
    {
        let value = spec.at("clusterIPs").cloned().unwrap_or_default();
        let detail = "may not change once set";
        errors.push(FieldError::invalid(&"spec.clusterIPs[0]", value, detail));
    }
}

/// Validates Endpoints.
pub(super) fn endpoints(object: &Value, errors: &mut Errors) {
    let subsets = Path::new("subsets");
    for (index, subset) in object.list("subsets").iter().enumerate() {
        let path = subsets.index(index);
        let lists = ["addresses", "notReadyAddresses"];
        if lists.iter().all(|list| subset.list(list).is_empty()) {
            let detail = "must specify `addresses` or `notReadyAddresses`";
            errors.push(FieldError::required(&path, detail));
        }
        for list in lists {
            check::each(subset, list, &path, |address, at| {
                let ip = address.text("ip");
                check::format(ip, &at.field("ip"), names::ip(ip), errors);
            });
        }
        let several = subset.list("ports").len() > 1;
        check::each(subset, "ports", &path, |port, at| {
            endpoint_port(port, several, at, errors);
        });
    }
}

fn endpoint_port(port: &Value, named: bool, path: &Path<'_>, errors: &mut Errors) {
    let name = port.text("name");
    if !name.is_empty() {
        check::format(
            name,
            &path.field("name"),
            names::dns1123_label(name),
            errors,
        );
    } else if named {
        errors.push(FieldError::required(&path.field("name"), ""));
    }
    let number = port.int("port").unwrap_or(0);
    check::within(number, (1, 65535), &path.field("port"), errors);
    let protocol = path.field("protocol");
    check::required_one_of(port.text("protocol"), &protocol, PROTOCOLS, errors);
}

/// Validates an EndpointSlice.
pub(super) fn endpoint_slice(object: &Value, errors: &mut Errors) {
    let kind = object.text("addressType");
    let set = &["FQDN", "IPv4", "IPv6"];
    check::required_one_of(kind, &Path::new("addressType"), set, errors);
    let list = Path::new("endpoints");
    let endpoints = object.list("endpoints");
    if endpoints.len() > 1000 {
        errors.push(FieldError::too_many(&list, endpoints.len(), 1000));
    }
    for (index, endpoint) in endpoints.iter().enumerate() {
        let at = list.index(index);
        if endpoint.list("addresses").is_empty() {
            let detail = "must contain at least 1 address";
            errors.push(FieldError::required(&at.field("addresses"), detail));
        }
        check::each(endpoint, "addresses", &at, |address, at| {
            let address = address.as_str().unwrap_or_default();
            let messages = match kind {
                "FQDN" => names::dns1123_subdomain(address),
                _ => names::ip(address),
            };
            check::format(address, at, messages, errors);
        });
    }
    let list = Path::new("ports");
    let mut seen = Unique::default();
    for (index, port) in object.list("ports").iter().enumerate() {
        let at = list.index(index);
        let name = port.text("name");
        seen.check(name, &at.field("name"), errors);
        if !name.is_empty() {
            check::format(name, &at.field("name"), names::dns1123_label(name), errors);
        }
        let protocol = at.field("protocol");
        check::required_one_of(port.text("protocol"), &protocol, PROTOCOLS, errors);
    }
}

/// Validates what an update of an EndpointSlice must not change.
pub(super) fn endpoint_slice_update(new: &Value, old: &Value, errors: &mut Errors) {
    if !equal(new.get("addressType"), old.get("addressType")) {
        let value = new.text("addressType");
        errors.push(FieldError::invalid(&"addressType", value, IMMUTABLE));
    }
}
