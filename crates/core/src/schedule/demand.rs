//! What a pod takes from a node: amounts of resources and host ports.

use crate::meta::StringMap;
use crate::pod::{Container, Pod, PodSpec};
use crate::quantity::Quantity;
use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

/// Address that stands for all addresses of a node.
pub const ALL_ADDRESSES: &str = "0.0.0.0";

/// Amounts of resources, in the grain the scheduler counts in: thousandths of a CPU, bytes and
/// whole pieces of everything else.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Amounts {
    /// Thousandths of a CPU.
    pub milli_cpu: i64,
    /// Bytes of memory.
    pub memory: i64,
    /// Bytes of scratch space.
    pub ephemeral_storage: i64,
    /// Everything else by name, such as `example.com/gpu` or `hugepages-2Mi`. No zeros.
    pub scalar: BTreeMap<String, i64>,
}

/// Name of the resource that counts pods. It is not an amount that pods ask for.
pub(super) const PODS: &str = "pods";

impl Amounts {
    /// Reads amounts as the API has them. What cannot be read counts as nothing.
    pub fn from_api(map: &StringMap) -> Self {
        let parsed = map
            .iter()
            .filter_map(|(name, text)| Some((name.as_str(), Quantity::parse(text).ok()?)));
        Self::from_exact(&parsed.collect())
    }

    fn from_exact(map: &Exact<'_>) -> Self {
        let mut amounts = Self::default();
        for (name, quantity) in map {
            match *name {
                "cpu" => amounts.milli_cpu = quantity.milli_value(),
                "memory" => amounts.memory = quantity.value(),
                "ephemeral-storage" => amounts.ephemeral_storage = quantity.value(),
                PODS => {}
                other if quantity.is_zero() => debug_assert!(!other.is_empty()),
                other => drop(amounts.scalar.insert(other.to_owned(), quantity.value())),
            }
        }
        amounts
    }

    /// Adds amounts.
    pub fn add(&mut self, other: &Self) {
        self.combine(other, i64::saturating_add);
    }

    /// Takes amounts away that were added before.
    pub fn subtract(&mut self, other: &Self) {
        self.combine(other, i64::saturating_sub);
    }

    fn combine(&mut self, other: &Self, f: fn(i64, i64) -> i64) {
        self.milli_cpu = f(self.milli_cpu, other.milli_cpu);
        self.memory = f(self.memory, other.memory);
        self.ephemeral_storage = f(self.ephemeral_storage, other.ephemeral_storage);
        for (name, amount) in &other.scalar {
            let sum = f(self.scalar.get(name).copied().unwrap_or(0), *amount);
            if sum == 0 {
                self.scalar.remove(name);
            } else {
                self.scalar.insert(name.clone(), sum);
            }
        }
    }
}

/// Sums before they are rounded to the scheduler's grain.
type Exact<'a> = BTreeMap<&'a str, Quantity>;

/// A port taken on a node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostPort {
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: String,
    /// Number.
    pub port: i32,
    /// Address; [`ALL_ADDRESSES`] collides with every other one.
    pub address: String,
}

/// What a pod takes from the node it is on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Demand {
    /// Amounts of resources.
    pub amounts: Amounts,
    /// Ports on the node.
    pub ports: Vec<HostPort>,
    /// Priority; who may take whose place.
    pub priority: i32,
}

impl Demand {
    /// Reads it from a pod.
    pub fn of(pod: &Pod) -> Self {
        Self {
            amounts: Amounts::from_exact(&requests(&pod.spec)),
            ports: host_ports(&pod.spec),
            priority: pod.spec.priority.unwrap_or(0),
        }
    }
}

/// The sum over containers and sidecars, or the largest step of the init phase if that is more;
/// then the pod's own requests in place of the sums, then the overhead (upstream `PodRequests`).
fn requests(spec: &PodSpec) -> Exact<'_> {
    let mut running = Exact::new();
    for container in &spec.containers {
        add(&mut running, &container.resources.requests);
    }
    let mut sidecars = Exact::new();
    let mut largest = Exact::new();
    for container in &spec.init_containers {
        let wanted = &container.resources.requests;
        let mut step = sidecars.clone();
        add(&mut step, wanted);
        if is_sidecar(container) {
            add(&mut running, wanted);
            sidecars = step.clone();
        }
        raise(&mut largest, &step);
    }
    raise(&mut running, &largest);
    for (name, quantity) in parsed(&spec.resources.requests) {
        running.insert(name, quantity);
    }
    add(&mut running, &spec.overhead);
    running
}

fn parsed(map: &StringMap) -> impl Iterator<Item = (&str, Quantity)> {
    map.iter()
        .filter_map(|(name, text)| Some((name.as_str(), Quantity::parse(text).ok()?)))
}

fn add<'a>(sum: &mut Exact<'a>, more: &'a StringMap) {
    for (name, quantity) in parsed(more) {
        let entry = sum.entry(name).or_default();
        *entry = entry.add(&quantity);
    }
}

fn raise<'a>(to: &mut Exact<'a>, at_least: &Exact<'a>) {
    for (name, quantity) in at_least {
        let entry = to.entry(name).or_default();
        if *entry < *quantity {
            *entry = quantity.clone();
        }
    }
}

/// An init container that keeps running beside the others.
fn is_sidecar(container: &Container) -> bool {
    container.restart_policy == "Always"
}

fn host_ports(spec: &PodSpec) -> Vec<HostPort> {
    let sidecars = spec.init_containers.iter().filter(|c| is_sidecar(c));
    spec.containers
        .iter()
        .chain(sidecars)
        .flat_map(|container| &container.ports)
        .filter(|port| port.host_port > 0)
        .map(|port| HostPort {
            protocol: or_default(&port.protocol, "TCP"),
            port: port.host_port,
            address: or_default(&port.host_ip, ALL_ADDRESSES),
        })
        .collect()
}

fn or_default(text: &str, default: &str) -> String {
    if text.is_empty() { default } else { text }.to_owned()
}
