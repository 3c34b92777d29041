//! The read model of a Node.

use crate::meta::{Meta, StringMap, null_as_default};
use crate::taint::Taint;
use alloc::string::String;
use alloc::vec::Vec;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A Node as the loops see it: everything decisions need and nothing else.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Node {
    /// Metadata.
    pub metadata: Meta,
    /// Wanted state.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: NodeSpec,
    /// Reported state.
    #[serde(deserialize_with = "null_as_default")]
    pub status: NodeStatus,
}

/// Wanted state of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSpec {
    /// Set by cordon: no new pods, except those that tolerate it.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub unschedulable: bool,
    /// Taints, in the node's order.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub taints: Vec<Taint>,
}

/// Reported state of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeStatus {
    /// What pods may use, as quantities in text form by resource name.
    #[serde(
        skip_serializing_if = "StringMap::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub allocatable: StringMap,
    /// Conditions by type.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub conditions: Vec<NodeCondition>,
}

/// A condition of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeCondition {
    /// `Ready`, `MemoryPressure`, `DiskPressure`, `PIDPressure`, `NetworkUnavailable`.
    pub r#type: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Reason in CamelCase.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// When the agent last reported it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_heartbeat_time: Option<Timestamp>,
    /// When the status last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Timestamp>,
}
