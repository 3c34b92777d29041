//! Who may do what, and what goes first.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::Value;

use super::cell::{NONE, Object, scalar, text_at};
use super::{AGE, Column, NAME, human_duration};

pub(super) static PRIORITY_CLASSES: &[Column] = &[
    NAME,
    Column::integer("Value", "Priority of its pods; more goes first.", |it| {
        it.number("/value")
    }),
    Column::boolean(
        "Global-Default",
        "Whether pods without a class get it.",
        |it| it.truth_or("/globalDefault", false),
    ),
    AGE,
    Column::text(
        "PreemptionPolicy",
        "Whether its pods push others out.",
        |it| it.text_or("/preemptionPolicy", "PreemptLowerPriority"),
    ),
];

pub(super) static DISRUPTION_BUDGETS: &[Column] = &[
    NAME,
    Column::text("Min Available", "Pods that have to stay.", |it| {
        amount(it, "/spec/minAvailable")
    }),
    Column::text("Max Unavailable", "Pods that may be missing.", |it| {
        amount(it, "/spec/maxUnavailable")
    }),
    Column::integer(
        "Allowed Disruptions",
        "Pods that may be evicted now.",
        |it| it.number("/status/disruptionsAllowed"),
    ),
    AGE,
];

pub(super) static ROLE_BINDINGS: &[Column] = &[
    NAME,
    Column::text("Role", "The role it gives.", |it| {
        format!("{}/{}", it.str("/roleRef/kind"), it.str("/roleRef/name")).into()
    }),
    AGE,
    Column::text("Users", "Users that get it.", |it| subjects(it, "User")).wide(),
    Column::text("Groups", "Groups that get it.", |it| subjects(it, "Group")).wide(),
    Column::text("ServiceAccounts", "Service accounts that get it.", |it| {
        subjects(it, "ServiceAccount")
    })
    .wide(),
];

pub(super) static SIGNING_REQUESTS: &[Column] = &[
    NAME,
    AGE,
    Column::text("SignerName", "Who is asked to sign.", |it| {
        it.text("/spec/signerName")
    }),
    Column::text("Requestor", "Who asks.", |it| it.text("/spec/username")),
    Column::text(
        "RequestedDuration",
        "How long the certificate should last.",
        |it| {
            let seconds = it.at("/spec/expirationSeconds").and_then(Value::as_i64);
            seconds.map_or_else(|| NONE.into(), |seconds| human_duration(seconds).into())
        },
    ),
    Column::text("Condition", "What has been decided.", signing_condition),
];

fn amount(object: &Object<'_>, pointer: &str) -> Value {
    object
        .at(pointer)
        .map_or_else(|| "N/A".into(), scalar)
        .into()
}

fn subjects(object: &Object<'_>, kind: &str) -> Value {
    let of_kind = object
        .list("/subjects")
        .iter()
        .filter(|it| text_at(it, "/kind") == kind);
    let names: Vec<String> = of_kind
        .map(|it| match text_at(it, "/namespace") {
            namespace if kind == "ServiceAccount" => {
                format!("{namespace}/{}", text_at(it, "/name"))
            }
            _ => text_at(it, "/name").into(),
        })
        .collect();
    names.join(", ").into()
}

fn signing_condition(object: &Object<'_>) -> Value {
    let conditions = object.list("/status/conditions");
    let has = |kind: &str| conditions.iter().any(|it| text_at(it, "/type") == kind);
    let decision = match (has("Denied"), has("Approved")) {
        (true, _) => "Denied",
        (false, true) => "Approved",
        (false, false) => "Pending",
    };
    let failed = if has("Failed") { ",Failed" } else { "" };
    let issued = if object.str("/status/certificate").is_empty() {
        ""
    } else {
        ",Issued"
    };
    format!("{decision}{failed}{issued}").into()
}
