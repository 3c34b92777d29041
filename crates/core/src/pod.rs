//! The read model of a Pod.

use crate::affinity::Affinity;
use crate::meta::{Meta, StringMap, null_as_default};
use crate::taint::Toleration;
use alloc::string::String;
use alloc::vec::Vec;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A Pod as the loops see it: everything decisions need and nothing else.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pod {
    /// Metadata.
    pub metadata: Meta,
    /// Wanted state.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: PodSpec,
    /// Reported state.
    #[serde(deserialize_with = "null_as_default")]
    pub status: PodStatus,
}

/// Which pod, for a write about it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodRef {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Uid: a precondition of writes, since another pod may get the name.
    pub uid: String,
}

/// The part of a pod's spec that decisions look at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpec {
    /// Node the pod is bound to; empty while it is not.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub node_name: String,
    /// Name of the scheduler that is to place it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub scheduler_name: String,
    /// Labels its node must have.
    #[serde(
        skip_serializing_if = "StringMap::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub node_selector: StringMap,
    /// Affinity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Affinity>,
    /// Tolerations, in order.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub tolerations: Vec<Toleration>,
    /// Priority resolved by admission; 0 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// `PreemptLowerPriority` (also when empty) or `Never`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub preemption_policy: String,
    /// `Always` (also when empty), `OnFailure` or `Never`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub restart_policy: String,
    /// Whether it uses the node's network.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub host_network: bool,
    /// Seconds it gets to stop; 30 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub termination_grace_period_seconds: Option<i64>,
    /// Containers that do the work.
    #[serde(deserialize_with = "null_as_default")]
    pub containers: Vec<Container>,
    /// Containers that run before them, or beside them when their restart policy is `Always`.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub init_containers: Vec<Container>,
    /// Resources the runtime itself needs, by name.
    #[serde(
        skip_serializing_if = "StringMap::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub overhead: StringMap,
    /// Requests and limits of the pod as a whole, in place of the sums over its containers.
    #[serde(
        skip_serializing_if = "Resources::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub resources: Resources,
    /// Names of gates that keep it from being scheduled.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub scheduling_gates: Vec<SchedulingGate>,
}

/// Something that keeps a pod from being scheduled.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SchedulingGate {
    /// Name of the gate.
    pub name: String,
}

/// The part of a container that decisions look at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Container {
    /// Name, unique in the pod.
    pub name: String,
    /// Image.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub image: String,
    /// Ports.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub ports: Vec<ContainerPort>,
    /// Requests and limits.
    #[serde(deserialize_with = "null_as_default")]
    pub resources: Resources,
    /// `Always` makes an init container one that keeps running.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub restart_policy: String,
    /// When the container counts as started; at once when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup_probe: Option<Probe>,
    /// When the container counts as ready; at once when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readiness_probe: Option<Probe>,
}

/// A port of a container.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerPort {
    /// Port in the container.
    pub container_port: i32,
    /// Port on the node; 0 when none is taken.
    #[serde(skip_serializing_if = "is_zero")]
    pub host_port: i32,
    /// Address on the node; empty means all.
    #[serde(rename = "hostIP", skip_serializing_if = "String::is_empty")]
    pub host_ip: String,
    /// `TCP` (also when empty), `UDP` or `SCTP`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub protocol: String,
}

/// Requests and limits of a container, quantities in text form by resource name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Resources {
    /// What must be free on the node.
    #[serde(
        skip_serializing_if = "StringMap::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub requests: StringMap,
    /// What it may use at most.
    #[serde(
        skip_serializing_if = "StringMap::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub limits: StringMap,
}

impl Resources {
    /// Whether nothing is requested or limited.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty() && self.limits.is_empty()
    }
}

/// The timing of a probe; 0 stands for the API's default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Probe {
    /// Seconds before the first probe.
    pub initial_delay_seconds: i32,
    /// Seconds between probes; default 10.
    pub period_seconds: i32,
    /// Successes in a row that make it ready; default 1.
    pub success_threshold: i32,
}

/// Reported state of a pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodStatus {
    /// Where it is in its life.
    pub phase: Phase,
    /// Conditions by type.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub conditions: Vec<PodCondition>,
    /// Node that the scheduler is making room on for it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub nominated_node_name: String,
    /// Reason in CamelCase, for example `Evicted`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// When the node agent acknowledged it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Timestamp>,
    /// Address of the pod.
    #[serde(rename = "podIP", skip_serializing_if = "String::is_empty")]
    pub pod_ip: String,
    /// State of each container, init containers apart.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub container_statuses: Vec<ContainerStatus>,
}

/// Reported state of a container.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStatus {
    /// Name of the container.
    pub name: String,
    /// Whether it passes its readiness probe.
    pub ready: bool,
    /// How often it was started again.
    pub restart_count: i32,
    /// What it does now.
    #[serde(deserialize_with = "null_as_default")]
    pub state: ContainerState,
}

/// What a container does; at most one is present.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContainerState {
    /// It is not started, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<ContainerReason>,
    /// It runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<ContainerRunning>,
    /// It ended, and how.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminated: Option<ContainerReason>,
}

/// Why a container waits or ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContainerReason {
    /// Reason in CamelCase.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// Since when a container runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerRunning {
    /// Start of this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
}

/// Where a pod is in its life. Absent reads as `Pending`, unknown text as `Unknown`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Phase {
    /// Accepted, not all containers started.
    #[default]
    Pending,
    /// Bound and started.
    Running,
    /// All containers ended well and stay ended.
    Succeeded,
    /// All containers ended, one of them badly.
    Failed,
    /// Not known.
    #[serde(other)]
    Unknown,
}

impl Phase {
    /// Whether the pod will never run again.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

/// A condition of a pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodCondition {
    /// `PodScheduled`, `Initialized`, `ContainersReady`, `Ready`, `DisruptionTarget` …
    pub r#type: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Reason in CamelCase.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Text for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// When the status last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Timestamp>,
}

impl Pod {
    /// Which pod this is.
    pub fn reference(&self) -> PodRef {
        PodRef {
            namespace: self.metadata.namespace.clone(),
            name: self.metadata.name.clone(),
            uid: self.metadata.uid.clone(),
        }
    }

    /// The node the pod is bound to, else the one its required affinity asks for by name.
    ///
    /// `None` when it cannot be told: several terms must all ask for a name, and the first counts.
    pub fn target_node(&self) -> Option<&str> {
        if !self.spec.node_name.is_empty() {
            return Some(&self.spec.node_name);
        }
        let required = self
            .spec
            .affinity
            .as_ref()?
            .node_affinity
            .as_ref()?
            .required
            .as_ref()?;
        required
            .node_selector_terms
            .iter()
            .find_map(|term| term.node_name())
    }

    /// The `Ready` condition, if the node agent has reported one.
    pub fn ready_condition(&self) -> Option<&PodCondition> {
        self.condition("Ready")
    }

    /// The condition of a type.
    pub fn condition(&self, r#type: &str) -> Option<&PodCondition> {
        self.status.conditions.iter().find(|c| c.r#type == r#type)
    }

    /// Whether the pod passes its readiness checks now.
    pub fn is_ready(&self) -> bool {
        self.ready_condition().is_some_and(|c| c.status == "True")
    }
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(n: &i32) -> bool {
    *n == 0
}
