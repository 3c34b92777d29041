//! The kinds the controller reads beside nodes and pods, as an informer sees them.

use pernode_core::daemonset::{DaemonSet, Revision};
use pernode_core::meta::Meta;
use pernode_runtime::{Object, Resource, View};
use serde::Deserialize;
use std::sync::Arc;

/// DaemonSets in the API.
pub(crate) const DAEMON_SETS: Resource =
    Resource::namespaced("apps", "v1", "daemonsets", "DaemonSet");
/// ControllerRevisions in the API.
pub(crate) const REVISIONS: Resource =
    Resource::namespaced("apps", "v1", "controllerrevisions", "ControllerRevision");
/// Pods in the API.
pub(crate) const PODS: Resource = Resource::namespaced("", "v1", "pods", "Pod");

/// A DaemonSet; the index shares it with the informer.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub struct DaemonSetView(pub Arc<DaemonSet>);

impl Object for DaemonSetView {
    fn meta(&self) -> &Meta {
        &self.0.metadata
    }
}

impl View for DaemonSetView {
    const RESOURCE: Resource = DAEMON_SETS;
}

/// A ControllerRevision; the index shares it with the informer.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub struct RevisionView(pub Arc<Revision>);

impl Object for RevisionView {
    fn meta(&self) -> &Meta {
        &self.0.metadata
    }
}

impl View for RevisionView {
    const RESOURCE: Resource = REVISIONS;
}
