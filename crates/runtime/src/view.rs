//! Read models: what a loop keeps of an object.

use crate::Resource;
use jiff::Timestamp;
use pernode_core::meta::{Meta, null_as_default};
use pernode_core::node::Node;
use pernode_core::pod::Pod;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Anything read from the API that has metadata.
///
/// Fields that a view leaves out are skipped while parsing and never allocated, so an
/// informer's memory is that of its view and not of the object.
pub trait Object: DeserializeOwned + Send + Sync + 'static {
    /// The object's metadata.
    fn meta(&self) -> &Meta;
}

/// A read model of one kind.
pub trait View: Object {
    /// The kind it is read from.
    const RESOURCE: Resource;
}

/// Metadata alone, of any kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Partial {
    /// Metadata.
    pub metadata: Meta,
}

impl Object for Partial {
    fn meta(&self) -> &Meta {
        &self.metadata
    }
}

impl Object for Node {
    fn meta(&self) -> &Meta {
        &self.metadata
    }
}

impl View for Node {
    const RESOURCE: Resource = Resource::cluster("", "v1", "nodes", "Node");
}

impl Object for Pod {
    fn meta(&self) -> &Meta {
        &self.metadata
    }
}

impl View for Pod {
    const RESOURCE: Resource = Resource::namespaced("", "v1", "pods", "Pod");
}

/// A Lease: a node's sign of life, or who leads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Lease {
    /// Metadata.
    pub metadata: Meta,
    /// Who holds it, and since when.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: LeaseSpec,
}

/// Who holds a lease and since when.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LeaseSpec {
    /// Who holds it; empty when nobody does.
    #[serde(deserialize_with = "null_as_default")]
    pub holder_identity: String,
    /// For how long after `renew_time` it is held.
    pub lease_duration_seconds: Option<i64>,
    /// When the present holder took it.
    pub acquire_time: Option<Timestamp>,
    /// When it was renewed last.
    pub renew_time: Option<Timestamp>,
    /// How many times it changed hands.
    pub lease_transitions: Option<i64>,
}

impl Object for Lease {
    fn meta(&self) -> &Meta {
        &self.metadata
    }
}

impl View for Lease {
    const RESOURCE: Resource = Resource::namespaced("coordination.k8s.io", "v1", "leases", "Lease");
}
