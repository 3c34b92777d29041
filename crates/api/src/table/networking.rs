//! Ingresses and network policies.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::Value;

use super::cell::{NONE, Object, or, text_at};
use super::workload::selector_at;
use super::{AGE, Column, NAME};

pub(super) static INGRESSES: &[Column] = &[
    NAME,
    Column::text("Class", "Who is to act on it.", |it| {
        it.text_or("/spec/ingressClassName", NONE)
    }),
    Column::text("Hosts", "Hosts that its rules are about.", hosts),
    Column::text("Address", "Where it is reached.", addresses),
    Column::text("Ports", "Ports it is reached at.", |it| {
        if it.list("/spec/tls").is_empty() {
            "80"
        } else {
            "80, 443"
        }
        .into()
    }),
    AGE,
];

/// The first three hosts; any host when there is no rule for one.
fn hosts(it: &Object<'_>) -> Value {
    let rules = it.list("/spec/rules").iter();
    let hosts: Vec<&str> = rules.map(|rule| or(text_at(rule, "/host"), "*")).collect();
    match hosts.as_slice() {
        [] => "*".into(),
        [a, b, c, rest @ ..] if !rest.is_empty() => {
            format!("{a},{b},{c} + {} more...", rest.len()).into()
        }
        all => all.join(",").into(),
    }
}

fn addresses(it: &Object<'_>) -> Value {
    let all: Vec<String> = it
        .list("/status/loadBalancer/ingress")
        .iter()
        .map(|point| or(text_at(point, "/ip"), text_at(point, "/hostname")).to_owned())
        .collect();
    all.join(",").into()
}

pub(super) static INGRESS_CLASSES: &[Column] = &[
    NAME,
    Column::text("Controller", "Who acts on its ingresses.", |it| {
        it.text("/spec/controller")
    }),
    Column::text("Parameters", "Where more is said.", |it| {
        let kind = it.str("/spec/parameters/kind");
        if kind.is_empty() {
            return NONE.into();
        }
        let group = match it.str("/spec/parameters/apiGroup") {
            "" => String::new(),
            group => format!(".{group}"),
        };
        format!("{kind}{group}/{}", it.str("/spec/parameters/name")).into()
    }),
    AGE,
];

pub(super) static NETWORK_POLICIES: &[Column] = &[
    NAME,
    Column::text("Pod-Selector", "Pods it is about.", |it| {
        selector_at(it, "/spec/podSelector")
    }),
    AGE,
];
