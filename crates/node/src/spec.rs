//! What a simulated node's object says when it joins.

use crate::{SIMULATED, status};
use jiff::Timestamp;
use pernode_core::meta::Meta;
use serde_json::{Map, Value, json};

/// What a simulated node can hold, as Kubernetes quantities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capacity {
    /// CPUs.
    pub cpu: String,
    /// Memory.
    pub memory: String,
    /// Number of pods.
    pub pods: u32,
}

impl Default for Capacity {
    /// 4 CPUs, 8 GiB and 110 pods, the last being kubelet's own limit.
    fn default() -> Self {
        Self {
            cpu: "4".to_owned(),
            memory: "8Gi".to_owned(),
            pods: 110,
        }
    }
}

impl Capacity {
    pub(crate) fn to_value(&self) -> Value {
        json!({
            "cpu": self.cpu,
            "ephemeral-storage": "100Gi",
            "memory": self.memory,
            "pods": self.pods.to_string(),
        })
    }
}

/// Builds the Node object of a simulated node, as its agent would register it.
#[derive(Debug, Clone)]
pub struct NodeSpec {
    manifest: Value,
    capacity: Capacity,
}

const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";

impl NodeSpec {
    /// A worker.
    pub fn worker(name: &str, capacity: &Capacity) -> Self {
        Self::from_manifest(json!({"metadata": {"name": name}}), capacity)
    }

    /// A node of the control plane: its role label, and the taint that keeps work away.
    pub fn control_plane(name: &str, capacity: &Capacity) -> Self {
        let mut spec = Self::worker(name, capacity);
        spec.set_label(CONTROL_PLANE, "");
        spec.set_label(
            "node.kubernetes.io/exclude-from-external-load-balancers",
            "",
        );
        spec.add_taint(json!({"key": CONTROL_PLANE, "effect": "NoSchedule"}));
        spec
    }

    /// A node as a manifest describes it; what the manifest leaves open gets the usual values.
    pub fn from_manifest(manifest: Value, capacity: &Capacity) -> Self {
        let mut spec = Self {
            manifest,
            capacity: capacity.clone(),
        };
        if !spec.manifest.is_object() {
            spec.manifest = json!({});
        }
        spec.manifest["apiVersion"] = "v1".into();
        spec.manifest["kind"] = "Node".into();
        let name = spec.name().to_owned();
        for (key, value) in [
            ("beta.kubernetes.io/arch", ARCH),
            ("beta.kubernetes.io/os", "linux"),
            ("kubernetes.io/arch", ARCH),
            ("kubernetes.io/hostname", &*name),
            ("kubernetes.io/os", "linux"),
        ] {
            spec.default_label(key, value);
        }
        spec.annotate(SIMULATED, "true");
        spec
    }

    /// The node's name.
    pub fn name(&self) -> &str {
        self.manifest["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
    }

    /// Sets a label.
    pub fn set_label(&mut self, key: &str, value: &str) {
        object(&mut self.manifest, &["metadata", "labels"]).insert(key.to_owned(), value.into());
    }

    /// Sets an annotation.
    pub fn annotate(&mut self, key: &str, value: &str) {
        object(&mut self.manifest, &["metadata", "annotations"])
            .insert(key.to_owned(), value.into());
    }

    /// Adds a taint, in its API form.
    pub fn add_taint(&mut self, taint: Value) {
        let spec = object(&mut self.manifest, &["spec"]);
        match spec.entry("taints") {
            serde_json::map::Entry::Occupied(mut taints) if taints.get().is_array() => {
                if let Some(taints) = taints.get_mut().as_array_mut() {
                    taints.push(taint);
                }
            }
            entry => {
                entry.or_insert(Value::Null);
                spec.insert("taints".to_owned(), json!([taint]));
            }
        }
    }

    fn default_label(&mut self, key: &str, value: &str) {
        object(&mut self.manifest, &["metadata", "labels"])
            .entry(key)
            .or_insert_with(|| value.into());
    }

    /// The Node to create: with the status its agent reports first, so that joining is one write.
    pub fn into_manifest(self, now: Timestamp) -> Value {
        let name = self.name().to_owned();
        let mut manifest = self.manifest;
        let reported = status::full(&name, &self.capacity, now);
        let status = object(&mut manifest, &["status"]);
        for (key, value) in reported {
            status.entry(key).or_insert(value);
        }
        if let Some(capacity) = status.get("capacity").cloned()
            && status["allocatable"] == self.capacity.to_value()
        {
            status.insert("allocatable".to_owned(), capacity);
        }
        manifest
    }
}

/// Architecture that simulated nodes report: the one this program was built for.
pub(crate) const ARCH: &str = if cfg!(target_arch = "aarch64") {
    "arm64"
} else {
    "amd64"
};

/// Whether a node is one that is played here.
pub fn is_simulated(meta: &Meta) -> bool {
    meta.annotations.get(SIMULATED).is_some_and(|v| v == "true")
}

/// The address of a simulated node, out of the range for carrier-grade NAT (100.64.0.0/10).
///
/// It follows from the name alone, so that a restart gives the same one and nothing has to be
/// remembered. Nobody listens there.
pub fn address_of(name: &str) -> String {
    let [_, a, b, c] = hash(name).to_be_bytes();
    format!("100.{}.{b}.{}", 64 + (a & 63), c.clamp(1, 254))
}

/// FNV-1a, 32 bits: stable over releases, unlike the standard library's.
pub(crate) fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

/// The object at a path, made where it is missing or something else.
fn object<'a>(value: &'a mut Value, path: &[&str]) -> &'a mut Map<String, Value> {
    let mut at = value;
    for step in path {
        if !at[*step].is_object() {
            at[*step] = json!({});
        }
        at = &mut at[*step];
    }
    at.as_object_mut().expect("made an object just now")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        "2026-01-02T03:04:05Z".parse().unwrap()
    }

    #[test]
    fn a_control_plane_has_its_role_and_taint() {
        let node = NodeSpec::control_plane("cp", &Capacity::default()).into_manifest(now());
        assert_eq!(node["metadata"]["labels"][CONTROL_PLANE], "");
        assert_eq!(node["metadata"]["labels"]["kubernetes.io/hostname"], "cp");
        assert_eq!(node["metadata"]["annotations"][SIMULATED], "true");
        assert_eq!(
            node["spec"]["taints"],
            json!([{"key": CONTROL_PLANE, "effect": "NoSchedule"}])
        );
        assert_eq!(node["status"]["allocatable"]["pods"], "110");
    }

    #[test]
    fn a_manifest_keeps_what_it_says() {
        let manifest = json!({
            "metadata": {"name": "a", "labels": {"kubernetes.io/arch": "riscv64", "zone": "b"}},
            "spec": {"taints": [{"key": "k", "effect": "NoExecute"}]},
            "status": {"capacity": {"cpu": "1", "memory": "1Gi", "pods": "5"}},
        });
        let mut spec = NodeSpec::from_manifest(manifest, &Capacity::default());
        spec.add_taint(json!({"key": "l", "effect": "NoSchedule"}));
        let node = spec.into_manifest(now());
        assert_eq!(node["metadata"]["labels"]["kubernetes.io/arch"], "riscv64");
        assert_eq!(node["metadata"]["labels"]["kubernetes.io/os"], "linux");
        assert_eq!(node["spec"]["taints"].as_array().unwrap().len(), 2);
        assert_eq!(node["status"]["allocatable"]["cpu"], "1");
    }

    #[test]
    fn addresses_are_stable() {
        assert_eq!(address_of("worker"), address_of("worker"));
        assert_ne!(address_of("worker"), address_of("worker2"));
        assert!(address_of("worker").starts_with("100."));
    }
}
