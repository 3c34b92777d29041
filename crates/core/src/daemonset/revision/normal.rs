//! The normal form of a pod template, in which equal meaning is equal JSON.
//!
//! Left out are: `null`, empty lists, empty objects where they mean nothing, and values the API server
//! would fill in by default. Whole numbers are written as integers. Empty objects stay where they do mean
//! something (`emptyDir: {}`, `labelSelector: {}`).

use crate::quantity::Quantity;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde_json::{Map, Value};

/// Text defaults: parent key, key, default. The parent of a list's item is the list's key.
const TEXTS: &[(&str, &str, &str)] = &[
    ("spec", "restartPolicy", "Always"),
    ("spec", "dnsPolicy", "ClusterFirst"),
    ("spec", "schedulerName", "default-scheduler"),
    (
        "containers",
        "terminationMessagePath",
        "/dev/termination-log",
    ),
    ("containers", "terminationMessagePolicy", "File"),
    (
        "initContainers",
        "terminationMessagePath",
        "/dev/termination-log",
    ),
    ("initContainers", "terminationMessagePolicy", "File"),
    ("ports", "protocol", "TCP"),
    ("httpGet", "scheme", "HTTP"),
    ("httpGet", "path", "/"),
    ("fieldRef", "apiVersion", "v1"),
    ("hostPath", "type", ""),
    ("grpc", "service", ""),
    ("iscsi", "iscsiInterface", "default"),
    ("rbd", "pool", "rbd"),
    ("rbd", "user", "admin"),
    ("rbd", "keyring", "/etc/ceph/keyring"),
    ("azureDisk", "cachingMode", "ReadWrite"),
    ("azureDisk", "fsType", "ext4"),
    ("azureDisk", "kind", "Shared"),
    ("scaleIO", "storageMode", "ThinProvisioned"),
    ("scaleIO", "fsType", "xfs"),
];

/// Number defaults, keyed as above.
const NUMBERS: &[(&str, &str, i64)] = &[
    ("spec", "terminationGracePeriodSeconds", 30),
    ("livenessProbe", "timeoutSeconds", 1),
    ("livenessProbe", "periodSeconds", 10),
    ("livenessProbe", "successThreshold", 1),
    ("livenessProbe", "failureThreshold", 3),
    ("readinessProbe", "timeoutSeconds", 1),
    ("readinessProbe", "periodSeconds", 10),
    ("readinessProbe", "successThreshold", 1),
    ("readinessProbe", "failureThreshold", 3),
    ("startupProbe", "timeoutSeconds", 1),
    ("startupProbe", "periodSeconds", 10),
    ("startupProbe", "successThreshold", 1),
    ("startupProbe", "failureThreshold", 3),
    ("secret", "defaultMode", 420),
    ("configMap", "defaultMode", 420),
    ("downwardAPI", "defaultMode", 420),
    ("projected", "defaultMode", 420),
    ("serviceAccountToken", "expirationSeconds", 3600),
];

/// Booleans that mean the same as absent when they have this value.
const FLAGS: &[(&str, &str, bool)] = &[
    ("spec", "hostNetwork", false),
    ("spec", "hostPID", false),
    ("spec", "hostIPC", false),
    ("spec", "enableServiceLinks", true),
    ("containers", "stdin", false),
    ("containers", "stdinOnce", false),
    ("containers", "tty", false),
    ("initContainers", "stdin", false),
    ("initContainers", "stdinOnce", false),
    ("initContainers", "tty", false),
    ("volumeMounts", "readOnly", false),
    ("iscsi", "readOnly", false),
    ("azureDisk", "readOnly", false),
];

/// Objects that mean nothing when they are empty.
const HOLLOW: &[&str] = &[
    "metadata",
    "labels",
    "annotations",
    "nodeSelector",
    "resources",
    "limits",
    "requests",
    "securityContext",
    "affinity",
    "nodeAffinity",
    "podAffinity",
    "podAntiAffinity",
    "overhead",
    "matchLabels",
    "lifecycle",
];

/// Writes a template in its normal form.
pub fn normal(template: &Value) -> Value {
    fold("template", template)
}

fn fold(parent: &str, value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(fold_object(parent, map)),
        Value::Array(items) => {
            Value::Array(items.iter().map(|v| fold(parent, v)).collect::<Vec<_>>())
        }
        Value::Number(number) => whole(number),
        Value::Null | Value::Bool(_) | Value::String(_) => value.clone(),
    }
}

fn fold_object(parent: &str, map: &Map<String, Value>) -> Map<String, Value> {
    // Keys that people choose are not field names, so no default hides behind them.
    let is_free = matches!(
        parent,
        "labels" | "annotations" | "nodeSelector" | "matchLabels"
    );
    let is_amount = matches!(parent, "limits" | "requests" | "overhead");
    let mut folded = Map::new();
    for (key, value) in map {
        if value.is_null() || (!is_free && is_alias(map, key, value)) {
            continue;
        }
        let value = if is_amount {
            amount(value)
        } else {
            fold(key, value)
        };
        if is_free || is_amount || !means_nothing(parent, key, &value, map) {
            folded.insert(key.clone(), value);
        }
    }
    folded
}

fn means_nothing(parent: &str, key: &str, value: &Value, map: &Map<String, Value>) -> bool {
    let is = |p: &str, k: &str| p == parent && k == key;
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty() && HOLLOW.contains(&key),
        Value::String(text) => {
            TEXTS
                .iter()
                .any(|(p, k, default)| is(p, k) && text == default)
                || (key == "imagePullPolicy" && map.get("image").is_some_and(|i| pull(i) == text))
        }
        Value::Number(n) => NUMBERS
            .iter()
            .any(|(p, k, default)| is(p, k) && n.as_i64() == Some(*default)),
        Value::Bool(flag) => FLAGS
            .iter()
            .any(|(p, k, default)| is(p, k) && flag == default),
        Value::Null => true,
    }
}

/// The old field `serviceAccount` repeats `serviceAccountName`.
fn is_alias(map: &Map<String, Value>, key: &str, value: &Value) -> bool {
    key == "serviceAccount" && map.get("serviceAccountName") == Some(value)
}

/// The pull policy the API server would choose: `Always` for the tag `latest` or none at all.
fn pull(image: &Value) -> &'static str {
    let image = image.as_str().unwrap_or_default();
    if image.contains('@') {
        return "IfNotPresent";
    }
    let last = image.rsplit('/').next().unwrap_or_default();
    match last.split_once(':') {
        None | Some((_, "latest")) => "Always",
        Some(_) => "IfNotPresent",
    }
}

/// A quantity in its canonical spelling; `1000m` and `1` are the same amount.
fn amount(value: &Value) -> Value {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match Quantity::parse(&text) {
        Ok(quantity) => Value::String(quantity.to_string()),
        Err(_) => value.clone(),
    }
}

fn whole(number: &serde_json::Number) -> Value {
    match number.as_f64() {
        Some(float) if !number.is_i64() && !number.is_u64() => {
            let integer = float as i64;
            // The bound keeps the conversion exact.
            if float.abs() < 9e15 && (integer as f64 - float).abs() < f64::EPSILON {
                Value::from(integer)
            } else {
                Value::Number(number.clone())
            }
        }
        Some(_) | None => Value::Number(number.clone()),
    }
}
