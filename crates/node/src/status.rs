//! What a node agent reports about its node.

use crate::knobs::Knobs;
use crate::spec::{ARCH, Capacity, address_of, hash};
use jiff::Timestamp;
use pernode_core::node::{Node, NodeCondition};
use serde_json::{Map, Value, json};

/// The version simulated agents report: the Kubernetes release this project follows.
pub(crate) const KUBELET_VERSION: &str = "v1.36.2-pernode";

/// A condition that every agent reports: type, healthy status, and the reason and message of
/// the healthy and of the other state, in kubelet's words.
struct Reported {
    r#type: &'static str,
    healthy: &'static str,
    good: (&'static str, &'static str),
    bad: (&'static str, &'static str),
}

const CONDITIONS: [Reported; 4] = [
    Reported {
        r#type: "MemoryPressure",
        healthy: "False",
        good: (
            "KubeletHasSufficientMemory",
            "kubelet has sufficient memory available",
        ),
        bad: (
            "KubeletHasInsufficientMemory",
            "kubelet has insufficient memory available",
        ),
    },
    Reported {
        r#type: "DiskPressure",
        healthy: "False",
        good: ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        bad: ("KubeletHasDiskPressure", "kubelet has disk pressure"),
    },
    Reported {
        r#type: "PIDPressure",
        healthy: "False",
        good: (
            "KubeletHasSufficientPID",
            "kubelet has sufficient PID available",
        ),
        bad: (
            "KubeletHasInsufficientPID",
            "kubelet has insufficient PID available",
        ),
    },
    Reported {
        r#type: "Ready",
        healthy: "True",
        good: ("KubeletReady", "kubelet is posting ready status"),
        bad: ("KubeletNotReady", "the node is simulated as not ready"),
    },
];

impl Reported {
    fn wanted<'a>(&self, knobs: &'a Knobs) -> &'a str {
        knobs
            .conditions
            .get(self.r#type)
            .map_or(self.healthy, |status| status)
    }

    fn to_value(&self, status: &str, since: Timestamp, now: Timestamp) -> Value {
        let (reason, message) = if status == self.healthy {
            self.good
        } else {
            self.bad
        };
        json!({
            "type": self.r#type,
            "status": status,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": seconds(now),
            "lastTransitionTime": seconds(since),
        })
    }
}

/// Whether the node reads as its agent wants it to.
pub(crate) fn is_reported(node: &Node, knobs: &Knobs) -> bool {
    !node.status.allocatable.is_empty()
        && CONDITIONS
            .iter()
            .all(|c| condition(node, c.r#type).is_some_and(|seen| seen.status == c.wanted(knobs)))
}

/// The status patch that makes it read so; capacity only when the node has none yet.
pub(crate) fn report(node: &Node, knobs: &Knobs, now: Timestamp) -> Value {
    let conditions: Vec<Value> = CONDITIONS
        .iter()
        .map(|c| {
            let status = c.wanted(knobs);
            let since = condition(node, c.r#type)
                .filter(|seen| seen.status == status)
                .and_then(|seen| seen.last_transition_time)
                .unwrap_or(now);
            c.to_value(status, since, now)
        })
        .collect();
    let mut status = Map::new();
    if node.status.allocatable.is_empty() {
        status = full(&node.metadata.name, &Capacity::default(), now);
    }
    status.insert("conditions".to_owned(), conditions.into());
    json!({"status": status})
}

/// Everything an agent reports about a healthy node.
pub(crate) fn full(name: &str, capacity: &Capacity, now: Timestamp) -> Map<String, Value> {
    let conditions: Vec<Value> = CONDITIONS
        .iter()
        .map(|c| c.to_value(c.healthy, now, now))
        .collect();
    let status = json!({
        "capacity": capacity.to_value(),
        "allocatable": capacity.to_value(),
        "conditions": conditions,
        "addresses": [
            {"type": "InternalIP", "address": address_of(name)},
            {"type": "Hostname", "address": name},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
        "nodeInfo": info(name),
    });
    match status {
        Value::Object(status) => status,
        _ => Map::new(),
    }
}

fn info(name: &str) -> Value {
    json!({
        "machineID": machine_id(name, "machine"),
        "systemUUID": machine_id(name, "system"),
        "bootID": machine_id(name, "boot"),
        "kernelVersion": "6.12.0-pernode",
        "osImage": "pernode simulated node",
        "containerRuntimeVersion": "pernode://1.0.0",
        "kubeletVersion": KUBELET_VERSION,
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "architecture": ARCH,
    })
}

/// 32 hexadecimal digits that differ by node and by purpose.
fn machine_id(name: &str, purpose: &str) -> String {
    let [a, b, c, d] = [0, 1, 2, 3].map(|part| hash(&format!("{purpose}/{part}/{name}")));
    format!("{a:08x}{b:08x}{c:08x}{d:08x}")
}

fn condition<'a>(node: &'a Node, r#type: &str) -> Option<&'a NodeCondition> {
    node.status.conditions.iter().find(|c| c.r#type == r#type)
}

/// Kubernetes' Time: RFC 3339 in whole seconds.
pub(crate) fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Kubernetes' MicroTime.
pub(crate) fn micros(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + second).unwrap()
    }

    fn node(conditions: &[(&str, &str)]) -> Node {
        let conditions: Vec<Value> = conditions
            .iter()
            .map(|(t, s)| json!({"type": t, "status": s, "lastTransitionTime": seconds(at(0))}))
            .collect();
        serde_json::from_value(json!({
            "metadata": {"name": "a"},
            "status": {"allocatable": {"cpu": "4"}, "conditions": conditions},
        }))
        .unwrap()
    }

    #[test]
    fn a_node_that_was_unknown_reports_again() {
        let pressures = [
            ("MemoryPressure", "False"),
            ("DiskPressure", "False"),
            ("PIDPressure", "False"),
        ];
        let unknown = node(&[&pressures[..], &[("Ready", "Unknown")]].concat());
        let knobs = Knobs::default();
        assert!(!is_reported(&unknown, &knobs));
        let patch = report(&unknown, &knobs, at(60));
        let conditions = &patch["status"]["conditions"];
        assert_eq!(conditions[3]["status"], "True");
        assert_eq!(conditions[3]["lastTransitionTime"], seconds(at(60)));
        assert_eq!(conditions[0]["lastTransitionTime"], seconds(at(0)));
        assert_eq!(patch["status"].get("capacity"), None);
        assert!(is_reported(
            &node(&[&pressures[..], &[("Ready", "True")]].concat()),
            &knobs
        ));
    }

    #[test]
    fn a_bare_node_gets_everything() {
        let bare = serde_json::from_value(json!({"metadata": {"name": "a"}})).unwrap();
        let patch = report(&bare, &Knobs::default(), at(0));
        assert_eq!(patch["status"]["allocatable"]["cpu"], "4");
        assert_eq!(
            patch["status"]["nodeInfo"]["kubeletVersion"],
            KUBELET_VERSION
        );
        assert_eq!(patch["status"]["addresses"][1]["address"], "a");
    }

    #[test]
    fn wished_conditions_are_reported() {
        let knobs = Knobs {
            conditions: [("Ready".to_owned(), "False".to_owned())].into(),
            ..Knobs::default()
        };
        let patch = report(&node(&[]), &knobs, at(0));
        assert_eq!(
            patch["status"]["conditions"][3]["reason"],
            "KubeletNotReady"
        );
    }
}
