//! The nodes a cluster starts with.

use crate::Error;
use futures::{StreamExt, TryStreamExt};
use http::Request;
use jiff::Timestamp;
use pernode_node::{Capacity, NodeSpec};
use serde_json::Value;

/// Workers of a cluster for which nobody asked for a number.
const WORKERS: u32 = 4;
/// Name of the node of the control plane.
const CONTROL_PLANE: &str = "control-plane";
/// Nodes that join at the same time.
const JOINING_MAX: usize = 64;

/// Which nodes a cluster starts with. Nodes it has from an earlier start stay in any case.
#[derive(Debug, Clone, Default)]
pub enum Nodes {
    /// A control plane and four workers, unless the cluster has nodes already.
    #[default]
    Default,
    /// A control plane and at least this many workers: `worker`, `worker2`, `worker3` …
    Workers(u32),
    /// Nodes as manifests describe them, and no others.
    Manifests(Vec<NodeManifest>),
    /// No nodes but those it has: tests bring their own.
    None,
}

/// The Node object of a simulated node.
#[derive(Debug, Clone)]
pub struct NodeManifest(NodeSpec);

impl NodeManifest {
    /// A worker.
    pub fn worker(name: &str, capacity: &Capacity) -> Self {
        Self(NodeSpec::worker(name, capacity))
    }

    /// A node as a manifest describes it; what it leaves open gets the usual values.
    ///
    /// # Errors
    /// The value is no Node of version v1, or has no name.
    pub fn from_value(manifest: Value, capacity: &Capacity) -> Result<Self, Error> {
        let text = |pointer: &str| {
            manifest
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let (version, kind, name) = (text("/apiVersion"), text("/kind"), text("/metadata/name"));
        let reason = match (version, kind, name) {
            ("v1", "Node", "") => "metadata.name is missing".to_owned(),
            ("v1", "Node", _) => return Ok(Self(NodeSpec::from_manifest(manifest, capacity))),
            _ => format!("is a {kind:?} of {version:?}, but has to be a Node of v1"),
        };
        Err(Error::Node {
            name: name.to_owned(),
            reason,
        })
    }

    /// Sets a label.
    pub fn set_label(&mut self, key: &str, value: &str) {
        self.0.set_label(key, value);
    }

    /// Adds a taint, in its API form.
    pub fn add_taint(&mut self, taint: Value) {
        self.0.add_taint(taint);
    }

    /// The object to create.
    pub fn into_value(self) -> Value {
        self.0.into_manifest(Timestamp::now())
    }
}

/// Whether a Node object is one that is simulated here.
pub fn is_simulated(node: &Value) -> bool {
    node["metadata"]["annotations"][pernode_node::SIMULATED] == "true"
}

/// Lets the wanted nodes join that are not there yet, and returns how many joined.
pub(crate) async fn join(
    client: &kube::Client,
    wanted: Nodes,
    capacity: &Capacity,
) -> Result<usize, Error> {
    let there = names(client).await?;
    let manifests = match wanted {
        Nodes::Default if there.is_empty() => workers(WORKERS, capacity),
        Nodes::Default | Nodes::None => Vec::new(),
        Nodes::Workers(number) => workers(number, capacity),
        Nodes::Manifests(manifests) => manifests,
    };
    let missing: Vec<_> = manifests
        .into_iter()
        .filter(|m| {
            there
                .binary_search_by(|n| n.as_str().cmp(m.0.name()))
                .is_err()
        })
        .collect();
    let number = missing.len();
    futures::stream::iter(missing)
        .map(|manifest| create(client, manifest))
        .buffer_unordered(JOINING_MAX)
        .try_collect::<()>()
        .await?;
    Ok(number)
}

fn workers(number: u32, capacity: &Capacity) -> Vec<NodeManifest> {
    let workers = (1..=number).map(|n| {
        let name = if n == 1 {
            "worker".to_owned()
        } else {
            format!("worker{n}")
        };
        NodeManifest::worker(&name, capacity)
    });
    let control_plane = NodeManifest(NodeSpec::control_plane(CONTROL_PLANE, capacity));
    std::iter::once(control_plane).chain(workers).collect()
}

async fn create(client: &kube::Client, manifest: NodeManifest) -> Result<(), Error> {
    let name = manifest.0.name().to_owned();
    let refused = |reason: String| Error::Node {
        name: name.clone(),
        reason,
    };
    let body = serde_json::to_vec(&manifest.into_value()).map_err(|e| refused(e.to_string()))?;
    let request = Request::post("/api/v1/nodes?fieldManager=kubelet")
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(body)
        .map_err(|e| refused(e.to_string()))?;
    match client.request::<Value>(request).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) => Err(refused(status.message.clone())),
        Err(error) => Err(refused(error.to_string())),
    }
}

/// Names of all nodes, sorted.
pub(crate) async fn names(client: &kube::Client) -> Result<Vec<String>, Error> {
    let request = Request::get("/api/v1/nodes")
        .body(Vec::new())
        .map_err(Error::step("list the nodes"))?;
    let list: Value = client
        .request(request)
        .await
        .map_err(Error::step("list the nodes"))?;
    let items = list["items"].as_array().into_iter().flatten();
    let mut names: Vec<String> = items
        .filter_map(|n| n["metadata"]["name"].as_str().map(str::to_owned))
        .collect();
    names.sort_unstable();
    Ok(names)
}
