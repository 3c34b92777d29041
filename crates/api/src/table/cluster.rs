//! Leases, storage, devices and runtimes.

use alloc::format;
use alloc::vec::Vec;

use serde_json::Value;

use super::cell::{NONE, Object, Or, UNSET, scalar, text_at};
use super::{AGE, Column, NAME};

pub(super) static LEASES: &[Column] = &[
    NAME,
    Column::text("Holder", "Who holds it.", |it| {
        it.text("/spec/holderIdentity")
    }),
    AGE,
];

pub(super) static RUNTIME_CLASSES: &[Column] = &[
    NAME,
    Column::text("Handler", "The runtime's own name for it.", |it| {
        it.text("/handler")
    }),
    AGE,
];

pub(super) static CSI_DRIVERS: &[Column] = &[
    NAME,
    Column::boolean(
        "AttachRequired",
        "Whether volumes have to be attached first.",
        |it| it.truth_or("/spec/attachRequired", true),
    ),
    Column::boolean(
        "PodInfoOnMount",
        "Whether it is told which pod mounts.",
        |it| it.truth_or("/spec/podInfoOnMount", false),
    ),
    Column::boolean("StorageCapacity", "Whether it reports capacities.", |it| {
        it.truth_or("/spec/storageCapacity", false)
    }),
    Column::text("TokenRequests", "Audiences of the tokens it wants.", |it| {
        let requests = it.list("/spec/tokenRequests").iter();
        let audiences: Vec<_> = requests
            .map(|request| text_at(request, "/audience"))
            .collect();
        audiences.join(",").or(UNSET)
    }),
    Column::boolean(
        "RequiresRepublish",
        "Whether it refreshes mounted volumes.",
        |it| it.truth_or("/spec/requiresRepublish", false),
    ),
    Column::text("Modes", "Kinds of volumes it offers.", |it| {
        let modes: Vec<_> = it
            .list("/spec/volumeLifecycleModes")
            .iter()
            .map(scalar)
            .collect();
        modes.join(",").or(NONE)
    }),
    AGE,
];

pub(super) static CSI_NODES: &[Column] = &[
    NAME,
    Column::integer("Drivers", "How many drivers the node has.", |it| {
        it.count("/spec/drivers").into()
    }),
    AGE,
];

pub(super) static STORAGE_CLASSES: &[Column] = &[
    Column::text("Name", "Name of the object.", |it| {
        marked_default(
            it,
            &[
                "storageclass.kubernetes.io",
                "storageclass.beta.kubernetes.io",
            ],
        )
    })
    .named(),
    Column::text("Provisioner", "Who makes its volumes.", |it| {
        it.text("/provisioner")
    }),
    Column::text(
        "ReclaimPolicy",
        "What happens to a volume without its claim.",
        |it| it.text_or("/reclaimPolicy", "Delete"),
    ),
    Column::text("VolumeBindingMode", "When volumes are made.", |it| {
        it.text_or("/volumeBindingMode", "Immediate")
    }),
    Column::text("AllowVolumeExpansion", "Whether volumes can grow.", |it| {
        it.truth_or("/allowVolumeExpansion", false)
    }),
    AGE,
];

pub(super) static VOLUME_ATTACHMENTS: &[Column] = &[
    NAME,
    Column::text("Attacher", "Who attaches it.", |it| {
        it.text("/spec/attacher")
    })
    .named(),
    Column::text("PV", "The volume.", |it| {
        it.text("/spec/source/persistentVolumeName")
    }),
    Column::text("Node", "Where it is attached.", |it| {
        it.text("/spec/nodeName")
    }),
    Column::boolean("Attached", "Whether it is attached by now.", |it| {
        it.truth_or("/status/attached", false)
    }),
    AGE,
];

pub(super) static VOLUME_ATTRIBUTES_CLASSES: &[Column] = &[
    Column::text("Name", "Name of the object.", |it| {
        marked_default(it, &["volumeattributesclass.alpha.kubernetes.io"])
    })
    .named(),
    Column::text("DriverName", "The driver it is for.", |it| {
        it.text("/driverName")
    }),
    AGE,
];

pub(super) static RESOURCE_CLAIMS: &[Column] = &[
    NAME,
    Column::text("State", "How far the claim has come.", claim_state),
    AGE,
];

pub(super) static RESOURCE_SLICES: &[Column] = &[
    NAME,
    Column::text("Node", "Where its devices are.", |it| {
        let all = it.truth_or("/spec/allNodes", false) == Value::Bool(true);
        it.text_or(
            "/spec/nodeName",
            if all { "<all nodes>" } else { "<some nodes>" },
        )
    }),
    Column::text("Driver", "Who reports its devices.", |it| {
        it.text("/spec/driver")
    }),
    Column::text("Pool", "The pool of devices it is part of.", |it| {
        it.text("/spec/pool/name")
    }),
    AGE,
];

/// The name, and whether an annotation makes it the default of its kind.
fn marked_default(object: &Object<'_>, prefixes: &[&str]) -> Value {
    let is_default = prefixes.iter().any(|prefix| {
        let annotation = format!("/metadata/annotations/{prefix}~1is-default-class");
        object.str(&annotation) == "true"
    });
    let name = object.str("/metadata/name");
    if is_default {
        format!("{name} (default)").into()
    } else {
        name.into()
    }
}

fn claim_state(object: &Object<'_>) -> Value {
    let mut states = Vec::new();
    if object.is_terminating() {
        states.push("deleted");
    }
    if object.at("/status/allocation").is_some() {
        states.push("allocated");
        if object.count("/status/reservedFor") > 0 {
            states.push("reserved");
        }
    } else if !object.is_terminating() {
        states.push("pending");
    }
    states.join(",").into()
}
