//! What `kubectl get` prints: the columns of each kind, and the cells of an object.
//!
//! One list of columns per kind, each column with the function that makes its cell, so that the
//! two cannot disagree. Ages and other times are texts relative to `now`. Names, types, priorities
//! and cells are those of Kubernetes 1.36 (spec/apiserver.md 2.16, cases `printing.yaml`).

mod age;
mod cell;
mod cluster;
mod core_kinds;
mod event;
mod networking;
mod node;
mod pod;
mod policy;
#[cfg(test)]
mod tests;
mod workload;

use alloc::vec::Vec;

use jiff::Timestamp;
use serde_json::{Value, json};

pub use age::human_duration;
use cell::Object;

use crate::resource::Resource;

/// One column of a kind's table.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its heading.
    pub name: &'static str,
    /// Type of its cells: `string`, `integer`, `boolean` or `date`.
    pub kind: &'static str,
    /// `name` for the column that tells objects apart, else empty.
    pub format: &'static str,
    /// What it shows.
    pub description: &'static str,
    /// 0 to be always shown, 1 for wide output only.
    pub priority: i32,
    cell: fn(&Object<'_>) -> Value,
}

impl Column {
    const fn new(
        kind: &'static str,
        name: &'static str,
        description: &'static str,
        cell: fn(&Object<'_>) -> Value,
    ) -> Self {
        Self {
            name,
            kind,
            format: "",
            description,
            priority: 0,
            cell,
        }
    }

    const fn text(
        name: &'static str,
        description: &'static str,
        cell: fn(&Object<'_>) -> Value,
    ) -> Self {
        Self::new("string", name, description, cell)
    }

    const fn integer(
        name: &'static str,
        description: &'static str,
        cell: fn(&Object<'_>) -> Value,
    ) -> Self {
        Self::new("integer", name, description, cell)
    }

    const fn boolean(
        name: &'static str,
        description: &'static str,
        cell: fn(&Object<'_>) -> Value,
    ) -> Self {
        Self::new("boolean", name, description, cell)
    }

    /// Shown in wide output only.
    const fn wide(self) -> Self {
        Self {
            priority: 1,
            ..self
        }
    }

    /// Has a name in its cells.
    const fn named(self) -> Self {
        Self {
            format: "name",
            ..self
        }
    }

    fn definition(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.kind,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        })
    }
}

const NAME: Column = Column::text("Name", "Name of the object.", cell::name).named();
const AGE: Column = Column::text("Age", "Time since the object was created.", cell::age);
const CREATED_AT: Column = Column::new(
    "date",
    "Created At",
    "When the object was created.",
    cell::created,
);

/// What a kind without columns of its own shows.
static PLAIN: &[Column] = &[NAME, CREATED_AT];
static NAME_AND_AGE: &[Column] = &[NAME, AGE];

/// The columns of a kind.
pub fn columns_of(resource: &Resource) -> &'static [Column] {
    match (resource.group, resource.kind) {
        ("", kind) => of_core(kind),
        ("apps" | "batch" | "autoscaling", kind) => of_workloads(kind),
        ("events.k8s.io", "Event") => event::EVENTS,
        ("storage.k8s.io", kind) => of_storage(kind),
        (_, kind) => of_others(kind),
    }
}

fn of_core(kind: &str) -> &'static [Column] {
    match kind {
        "ConfigMap" => core_kinds::CONFIG_MAPS,
        "Endpoints" => core_kinds::ENDPOINTS,
        "Event" => event::EVENTS,
        "Namespace" => core_kinds::NAMESPACES,
        "Node" => node::NODES,
        "PersistentVolume" => core_kinds::PERSISTENT_VOLUMES,
        "PersistentVolumeClaim" => core_kinds::PERSISTENT_VOLUME_CLAIMS,
        "Pod" => pod::PODS,
        "PodTemplate" => workload::POD_TEMPLATES,
        "ReplicationController" => workload::REPLICA_SETS,
        "ResourceQuota" => core_kinds::RESOURCE_QUOTAS,
        "Secret" => core_kinds::SECRETS,
        "Service" => core_kinds::SERVICES,
        "ServiceAccount" => NAME_AND_AGE,
        _ => PLAIN,
    }
}

fn of_workloads(kind: &str) -> &'static [Column] {
    match kind {
        "ControllerRevision" => workload::CONTROLLER_REVISIONS,
        "CronJob" => workload::CRON_JOBS,
        "DaemonSet" => workload::DAEMON_SETS,
        "Deployment" => workload::DEPLOYMENTS,
        "HorizontalPodAutoscaler" => workload::AUTOSCALERS,
        "Job" => workload::JOBS,
        "ReplicaSet" => workload::REPLICA_SETS,
        "StatefulSet" => workload::STATEFUL_SETS,
        _ => PLAIN,
    }
}

fn of_storage(kind: &str) -> &'static [Column] {
    match kind {
        "CSIDriver" => cluster::CSI_DRIVERS,
        "CSINode" => cluster::CSI_NODES,
        "StorageClass" => cluster::STORAGE_CLASSES,
        "VolumeAttachment" => cluster::VOLUME_ATTACHMENTS,
        "VolumeAttributesClass" => cluster::VOLUME_ATTRIBUTES_CLASSES,
        _ => PLAIN,
    }
}

fn of_others(kind: &str) -> &'static [Column] {
    match kind {
        "CertificateSigningRequest" => policy::SIGNING_REQUESTS,
        "ClusterRoleBinding" | "RoleBinding" => policy::ROLE_BINDINGS,
        "DeviceClass" | "ResourceClaimTemplate" => NAME_AND_AGE,
        "EndpointSlice" => core_kinds::ENDPOINT_SLICES,
        "Ingress" => networking::INGRESSES,
        "IngressClass" => networking::INGRESS_CLASSES,
        "Lease" => cluster::LEASES,
        "NetworkPolicy" => networking::NETWORK_POLICIES,
        "PodDisruptionBudget" => policy::DISRUPTION_BUDGETS,
        "PriorityClass" => policy::PRIORITY_CLASSES,
        "ResourceClaim" => cluster::RESOURCE_CLAIMS,
        "ResourceSlice" => cluster::RESOURCE_SLICES,
        "RuntimeClass" => cluster::RUNTIME_CLASSES,
        _ => PLAIN,
    }
}

/// The columns of a kind as a Table's `columnDefinitions`.
pub fn columns(resource: &Resource) -> Value {
    columns_of(resource)
        .iter()
        .map(Column::definition)
        .collect()
}

/// The cells of one object, in the order of the columns.
pub fn row_cells(resource: &Resource, object: &Value, now: Timestamp) -> Vec<Value> {
    let object = Object { value: object, now };
    columns_of(resource)
        .iter()
        .map(|column| (column.cell)(&object))
        .collect()
}

/// One row of a Table; its `object` is null, for the caller to fill in as it was asked to.
///
/// A pod that has ended has a condition by which clients can hide the row.
pub fn row(resource: &Resource, object: &Value, now: Timestamp) -> Value {
    let mut row = json!({"cells": row_cells(resource, object, now), "object": null});
    if resource.group.is_empty()
        && resource.kind == "Pod"
        && let Some(conditions) = pod::row_conditions(object)
    {
        row["conditions"] = conditions;
    }
    row
}
