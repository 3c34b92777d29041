//! Kinds of the core group that are neither pods nor nodes, and the slices of Endpoints.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde_json::Value;

use super::cell::{NONE, Object, Or, UNSET, first_three, int_at, list_at, or, scalar, text_at};
use super::{AGE, Column, NAME};

const STORAGE_CLASS_ANNOTATION: &str =
    "/metadata/annotations/volume.beta.kubernetes.io~1storage-class";

pub(super) static CONFIG_MAPS: &[Column] = &[
    NAME,
    Column::text("Data", "How many keys it has.", |it| {
        (it.count("/data") + it.count("/binaryData")).into()
    }),
    AGE,
];

pub(super) static SECRETS: &[Column] = &[
    NAME,
    Column::text("Type", "What it is for.", |it| it.text("/type")),
    Column::text("Data", "How many keys it has.", |it| {
        it.count("/data").into()
    }),
    AGE,
];

pub(super) static NAMESPACES: &[Column] = &[
    NAME,
    Column::text(
        "Status",
        "Active, or Terminating while it is emptied.",
        |it| it.text("/status/phase"),
    ),
    AGE,
];

pub(super) static ENDPOINTS: &[Column] = &[
    NAME,
    Column::text("Endpoints", "Addresses and ports.", endpoints),
    AGE,
];

pub(super) static ENDPOINT_SLICES: &[Column] = &[
    NAME,
    Column::text("AddressType", "Kind of its addresses.", |it| {
        it.text("/addressType")
    }),
    Column::text("Ports", "Ports of each address.", |it| {
        let ports: Vec<_> = it.list("/ports").iter().map(slice_port).collect();
        first_three(&ports).or(UNSET)
    }),
    Column::text("Endpoints", "Addresses.", |it| {
        let endpoints = it.list("/endpoints").iter();
        let all: Vec<_> = endpoints
            .flat_map(|it| list_at(it, "/addresses"))
            .map(scalar)
            .collect();
        first_three(&all).or(UNSET)
    }),
    AGE,
];

pub(super) static SERVICES: &[Column] = &[
    NAME,
    Column::text("Type", "How it is reached.", |it| it.text("/spec/type")),
    Column::text("Cluster-IP", "Address inside of the cluster.", |it| {
        it.text_or("/spec/clusterIP", NONE)
    }),
    Column::text(
        "External-IP",
        "Addresses outside of the cluster.",
        external_ip,
    ),
    Column::text("Port(s)", "Ports and protocols.", |it| {
        let ports: Vec<_> = it.list("/spec/ports").iter().map(service_port).collect();
        ports.join(",").or(NONE)
    }),
    AGE,
    Column::text("Selector", "Which pods answer.", |it| {
        it.labels("/spec/selector")
    })
    .wide(),
];

pub(super) static RESOURCE_QUOTAS: &[Column] = &[
    NAME,
    Column::text("Request", "Used and allowed, of all but limits.", |it| {
        quota(it, false)
    }),
    Column::text("Limit", "Used and allowed, of limits.", |it| {
        quota(it, true)
    }),
    AGE,
];

pub(super) static PERSISTENT_VOLUME_CLAIMS: &[Column] = &[
    NAME,
    Column::text("Status", "Phase of the claim.", phase),
    Column::text("Volume", "The volume it is bound to.", |it| {
        it.text("/spec/volumeName")
    }),
    Column::text("Capacity", "Size of the volume.", |it| {
        bound(it, "/status/capacity/storage")
    }),
    Column::text("Access Modes", "How the volume may be mounted.", |it| {
        if it.str("/spec/volumeName").is_empty() {
            "".into()
        } else {
            modes(it, "/status")
        }
    }),
    Column::text("StorageClass", "Class of the volume.", storage_class),
    Column::text("VolumeAttributesClass", "Attributes of the volume.", |it| {
        it.text_or("/spec/volumeAttributesClassName", UNSET)
    }),
    AGE,
    VOLUME_MODE,
];

pub(super) static PERSISTENT_VOLUMES: &[Column] = &[
    NAME,
    Column::text("Capacity", "Size of the volume.", |it| {
        it.text("/spec/capacity/storage")
    }),
    Column::text("Access Modes", "How it may be mounted.", |it| {
        modes(it, "/spec")
    }),
    Column::text(
        "Reclaim Policy",
        "What happens to it without its claim.",
        |it| it.text("/spec/persistentVolumeReclaimPolicy"),
    ),
    Column::text("Status", "Phase of the volume.", phase),
    Column::text("Claim", "The claim that has it.", |it| {
        match it.str("/spec/claimRef/name") {
            "" => "".into(),
            name => format!("{}/{name}", it.str("/spec/claimRef/namespace")).into(),
        }
    }),
    Column::text("StorageClass", "Class of the volume.", storage_class),
    Column::text("VolumeAttributesClass", "Attributes of the volume.", |it| {
        it.text_or("/spec/volumeAttributesClassName", UNSET)
    }),
    Column::text("Reason", "Why it is in its phase.", |it| {
        it.text("/status/reason")
    }),
    AGE,
    VOLUME_MODE,
];

const VOLUME_MODE: Column = Column::text("VolumeMode", "File system or block device.", |it| {
    it.text_or("/spec/volumeMode", UNSET)
})
.wide();

fn endpoints(object: &Object<'_>) -> Value {
    let mut all = Vec::new();
    for subset in object.list("/subsets") {
        let addresses = list_at(subset, "/addresses")
            .iter()
            .map(|it| text_at(it, "/ip"));
        let ports = list_at(subset, "/ports");
        if ports.is_empty() {
            all.extend(addresses.map(String::from));
            continue;
        }
        for port in ports {
            let port = int_at(port, "/port");
            all.extend(addresses.clone().map(|ip| socket(ip, port)));
        }
    }
    first_three(&all).or(NONE)
}

/// Address and port; an IPv6 address has brackets around it.
fn socket(ip: &str, port: i64) -> String {
    if ip.contains(':') {
        format!("[{ip}]:{port}")
    } else {
        format!("{ip}:{port}")
    }
}

fn slice_port(port: &Value) -> String {
    match port.get("port").and_then(Value::as_i64) {
        Some(number) => number.to_string(),
        None => or(text_at(port, "/name"), "*").into(),
    }
}

fn service_port(port: &Value) -> String {
    let (number, node) = (int_at(port, "/port"), int_at(port, "/nodePort"));
    let protocol = text_at(port, "/protocol");
    if node == 0 {
        format!("{number}/{protocol}")
    } else {
        format!("{number}:{node}/{protocol}")
    }
}

fn external_ip(object: &Object<'_>) -> Value {
    let ingress = object.list("/status/loadBalancer/ingress").iter();
    let balanced = ingress.map(|it| or(text_at(it, "/ip"), text_at(it, "/hostname")));
    let own = object
        .list("/spec/externalIPs")
        .iter()
        .filter_map(Value::as_str);
    match object.str("/spec/type") {
        "ExternalName" => object.text("/spec/externalName"),
        "LoadBalancer" => balanced
            .chain(own)
            .collect::<Vec<_>>()
            .join(",")
            .or("<pending>"),
        _ => own.collect::<Vec<_>>().join(",").or(NONE),
    }
}

fn quota(object: &Object<'_>, limits: bool) -> Value {
    let hard = object.map("/status/hard").into_iter().flatten();
    let used = object.map("/status/used");
    let entries = hard.filter(|(name, _)| name.starts_with("limits.") == limits);
    let entries: Vec<_> = entries
        .map(|(name, hard)| {
            let used = used
                .and_then(|used| used.get(name))
                .map_or_else(|| "0".into(), scalar);
            format!("{name}: {used}/{}", scalar(hard))
        })
        .collect();
    entries.join(", ").into()
}

fn phase(object: &Object<'_>) -> Value {
    if object.is_terminating() {
        "Terminating".into()
    } else {
        object.text("/status/phase")
    }
}

fn bound(object: &Object<'_>, pointer: &str) -> Value {
    if object.str("/spec/volumeName").is_empty() {
        "".into()
    } else {
        object.text(pointer)
    }
}

/// Access modes by their short names.
fn modes(object: &Object<'_>, parent: &str) -> Value {
    let short = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let has = object.list(&format!("{parent}/accessModes"));
    let names: Vec<_> = short
        .iter()
        .filter(|(mode, _)| has.iter().any(|it| it.as_str() == Some(mode)))
        .map(|(_, short)| *short)
        .collect();
    names.join(",").into()
}

fn storage_class(object: &Object<'_>) -> Value {
    or(
        object.str(STORAGE_CLASS_ANNOTATION),
        object.str("/spec/storageClassName"),
    )
    .into()
}
