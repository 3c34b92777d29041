//! Validation of network policies.

use super::check::{self, Errors};
use super::{probe, selector};
use crate::field_error::{FieldError, Path};
use crate::names;
use crate::object::Read;
use core::net::IpAddr;
use serde_json::Value;

/// Validates a NetworkPolicy.
pub(super) fn network_policy(object: &Value, errors: &mut Errors) {
    let path = Path::new("spec");
    let spec = &object["spec"];
    let pods = path.field("podSelector");
    selector::label_selector(spec.at("podSelector"), false, &pods, errors);
    for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
        check::each(spec, rules, &path, |rule, at| {
            check::each(rule, "ports", at, |port, at| ports(port, at, errors));
            check::each(rule, peers, at, |peer, at| self::peer(peer, at, errors));
        });
    }
    types(spec, &path, errors);
}

fn types(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    if spec.list("policyTypes").len() > 2 {
        let value = spec["policyTypes"].clone();
        let detail = "may not specify more than two policyTypes";
        errors.push(FieldError::invalid(
            &path.field("policyTypes"),
            value,
            detail,
        ));
        return;
    }
    check::each(spec, "policyTypes", path, |kind, at| {
        let kind = kind.as_str().unwrap_or_default();
        check::one_of(kind, at, &["Ingress", "Egress"], errors);
    });
}

/// A port, or a range of them.
fn ports(port: &Value, path: &Path<'_>, errors: &mut Errors) {
    let set = &["TCP", "UDP", "SCTP"];
    if port.at("protocol").is_some() {
        let at = path.field("protocol");
        check::one_of(port.text("protocol"), &at, set, errors);
    }
    let at = path.field("port");
    if port.at("port").is_some() {
        probe::port(port.at("port"), &at, errors);
    }
    let Some(end) = port.int("endPort") else {
        return;
    };
    let at = path.field("endPort");
    match port.at("port") {
        None => {
            let detail = "may not be specified when `port` is not specified";
            errors.push(FieldError::invalid(&at, end, detail));
        }
        Some(Value::String(_)) => {
            let detail = "may not be specified when `port` is non-numeric";
            errors.push(FieldError::invalid(&at, end, detail));
        }
        Some(start) => {
            let start = start.as_i64().unwrap_or(0);
            if end < start {
                let detail = "must be greater than or equal to `port`";
                errors.push(FieldError::invalid(&at, start, detail));
            }
            check::within(end, (1, 65535), &at, errors);
        }
    }
}

fn peer(peer: &Value, path: &Path<'_>, errors: &mut Errors) {
    let selectors = ["podSelector", "namespaceSelector"];
    for key in selectors {
        selector::label_selector(peer.at(key), false, &path.field(key), errors);
    }
    let selects = selectors.iter().any(|key| peer.at(key).is_some());
    match peer.at("ipBlock") {
        Some(_) if selects => {
            let detail = "may not specify both ipBlock and another peer";
            errors.push(FieldError::forbidden(path, detail));
        }
        Some(block) => ip_block(block, &path.field("ipBlock"), errors),
        None if !selects => errors.push(FieldError::required(path, "must specify a peer")),
        None => {}
    }
}

fn ip_block(block: &Value, path: &Path<'_>, errors: &mut Errors) {
    let whole = block.text("cidr");
    let at = path.field("cidr");
    if whole.is_empty() {
        errors.push(FieldError::required(&at, ""));
        return;
    }
    let wrong = names::cidr(whole);
    if !wrong.is_empty() {
        return check::format(whole, &at, wrong, errors);
    }
    check::each(block, "except", path, |part, at| {
        let part = part.as_str().unwrap_or_default();
        let wrong = names::cidr(part);
        if !wrong.is_empty() {
            check::format(part, at, wrong, errors);
        } else if !is_strict_part(part, whole) {
            let detail = "must be a strict subset of `cidr`";
            errors.push(FieldError::invalid(at, part, detail));
        }
    });
}

/// The bits of an address, whether it is a short one, and how many of the bits count.
fn block(text: &str) -> Option<(u128, bool, u32)> {
    let (address, bits) = text.split_once('/')?;
    let bits: u32 = bits.parse().ok()?;
    Some(match address.parse::<IpAddr>().ok()? {
        // On the left, so that both kinds compare from the same end.
        IpAddr::V4(address) => (u128::from(u32::from(address)) << 96, true, bits),
        IpAddr::V6(address) => (address.into(), false, bits),
    })
}

fn is_strict_part(part: &str, whole: &str) -> bool {
    let (Some(part), Some(whole)) = (block(part), block(whole)) else {
        return false;
    };
    let shared = |address: u128| address.checked_shr(128 - whole.2).unwrap_or(0);
    part.1 == whole.1 && part.2 > whole.2 && shared(part.0) == shared(whole.0)
}
