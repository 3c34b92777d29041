//! What is taken on one node, kept up to date pod by pod.

use super::demand::{ALL_ADDRESSES, Amounts, Demand, HostPort, PODS};
use crate::node::Node;
use crate::pod::Pod;
use crate::quantity::Quantity;
use alloc::collections::BTreeMap;
use alloc::string::String;

/// The pods on a node and what they take together.
///
/// Invariant: `used` and `ports` are the sums over `pods`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeInfo {
    pods: BTreeMap<String, Demand>,
    used: Amounts,
    /// By protocol and number, then address, how many pods hold it.
    ports: BTreeMap<(String, i32), BTreeMap<String, u32>>,
}

/// What a node offers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capacity {
    /// Amounts that pods may use.
    pub amounts: Amounts,
    /// How many pods fit.
    pub pods: i64,
}

impl Capacity {
    /// Reads `status.allocatable`.
    pub fn of(node: &Node) -> Self {
        let allocatable = &node.status.allocatable;
        let pods = allocatable.get(PODS).map(|text| Quantity::parse(text));
        Self {
            amounts: Amounts::from_api(allocatable),
            pods: pods.and_then(Result::ok).map_or(0, |q| q.value()),
        }
    }
}

impl NodeInfo {
    /// Adds a pod, in place of an earlier state of the same uid.
    pub fn add_pod(&mut self, pod: &Pod) {
        self.add(&pod.metadata.uid, Demand::of(pod));
    }

    /// Takes a pod away; nothing happens when it is not there.
    pub fn remove_pod(&mut self, uid: &str) -> Option<Demand> {
        let demand = self.pods.remove(uid)?;
        self.used.subtract(&demand.amounts);
        for port in &demand.ports {
            self.release(port);
        }
        Some(demand)
    }

    pub(super) fn add(&mut self, uid: &str, demand: Demand) {
        self.remove_pod(uid);
        self.used.add(&demand.amounts);
        for port in &demand.ports {
            let key = (port.protocol.clone(), port.port);
            let holders = self.ports.entry(key).or_default();
            *holders.entry(port.address.clone()).or_default() += 1;
        }
        self.pods.insert(uid.into(), demand);
    }

    fn release(&mut self, port: &HostPort) {
        let key = (port.protocol.clone(), port.port);
        let Some(holders) = self.ports.get_mut(&key) else {
            return;
        };
        if let Some(count) = holders.get_mut(&port.address) {
            *count -= 1;
            if *count == 0 {
                holders.remove(&port.address);
            }
        }
        if holders.is_empty() {
            self.ports.remove(&key);
        }
    }

    /// What the pods take together.
    pub fn used(&self) -> &Amounts {
        &self.used
    }

    /// How many pods there are.
    pub fn pod_count(&self) -> usize {
        self.pods.len()
    }

    /// The pods by uid.
    pub fn pods(&self) -> &BTreeMap<String, Demand> {
        &self.pods
    }

    /// Whether a port collides with one that is taken.
    pub fn is_port_taken(&self, port: &HostPort) -> bool {
        let key = (port.protocol.clone(), port.port);
        self.ports.get(&key).is_some_and(|holders| {
            port.address == ALL_ADDRESSES
                || holders.contains_key(ALL_ADDRESSES)
                || holders.contains_key(&port.address)
        })
    }
}
