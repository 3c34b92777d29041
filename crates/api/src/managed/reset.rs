//! Fields that a writer cannot own: the server's own, and those that a path ignores.

use super::field_set::FieldSet;
use crate::schema::TypeDef;

/// Metadata that the server or the path decides (upstream: `stripMetaManager`).
const METADATA: &[&str] = &[
    "f:name",
    "f:namespace",
    "f:creationTimestamp",
    "f:selfLink",
    "f:uid",
    "f:clusterName",
    "f:generation",
    "f:managedFields",
    "f:resourceVersion",
];

/// Removes what no manager owns.
pub(super) fn strip_metadata(fields: &mut FieldSet) {
    for root in ["f:apiVersion", "f:kind", "f:metadata"] {
        fields.remove(&[root]);
    }
    for name in METADATA {
        fields.remove(&["f:metadata", name]);
    }
}

/// Removes what writes through a path do not change: the status on the main path, all else
/// through `/status` (upstream: `GetResetFields` of each kind's strategy).
pub(super) fn drop_ignored(def: &TypeDef, subresource: &str, fields: &mut FieldSet) {
    for path in ignored(def, subresource) {
        fields.remove_tree(path);
    }
}

const STATUS: &[&[&str]] = &[&["f:status"]];
const SPEC: &[&[&str]] = &[&["f:spec"]];

fn ignored(def: &TypeDef, subresource: &str) -> &'static [&'static [&'static str]] {
    let kind = def.short_name();
    match (kind, subresource) {
        // A kubelet registers its node together with the status, but does not own that.
        (
            "Node"
            | "Pod"
            | "Namespace"
            | "Service"
            | "PersistentVolume"
            | "PersistentVolumeClaim"
            | "ResourceQuota"
            | "DaemonSet"
            | "Deployment"
            | "ReplicaSet"
            | "StatefulSet"
            | "Job"
            | "CronJob"
            | "PodDisruptionBudget"
            | "CertificateSigningRequest"
            | "VolumeAttachment"
            | "HorizontalPodAutoscaler",
            "",
        ) => STATUS,
        ("Namespace", "finalize") => STATUS,
        ("Pod", "status") => &[
            &["f:spec"],
            &["f:metadata", "f:deletionTimestamp"],
            &["f:metadata", "f:ownerReferences"],
        ],
        ("Deployment", "status") => &[&["f:spec"], &["f:metadata", "f:labels"]],
        ("VolumeAttachment", "status") => &[&["f:metadata"], &["f:spec"]],
        ("CertificateSigningRequest", "status") => &[&["f:spec"], &["f:status", "f:conditions"]],
        ("CertificateSigningRequest", "approval") => &[&["f:spec"], &["f:status", "f:certificate"]],
        (_, "status") => SPEC,
        _ => &[],
    }
}
