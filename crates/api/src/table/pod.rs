//! Pods: their status is a story told by phase, conditions, init containers and containers.

use alloc::format;
use alloc::string::{String, ToString};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::cell::{NONE, Object, int_at, list_at, or, text_at, time_at};
use super::{AGE, Column, NAME};

pub(super) static PODS: &[Column] = &[
    NAME,
    Column::text("Ready", "Containers that are ready, of all.", |it| {
        let story = tell(it.value);
        format!("{}/{}", story.ready, story.total).into()
    }),
    Column::text(
        "Status",
        "Phase of the pod, or what keeps it from running.",
        |it| tell(it.value).reason.into(),
    ),
    Column::text(
        "Restarts",
        "Restarts of its containers, and when the last one was.",
        restarts,
    ),
    AGE,
    Column::text("IP", "First IP address of the pod.", |it| {
        it.text_or("/status/podIPs/0/ip", NONE)
    })
    .wide(),
    Column::text("Node", "Node it is bound to.", |it| {
        it.text_or("/spec/nodeName", NONE)
    })
    .wide(),
    Column::text(
        "Nominated Node",
        "Node where room is being made for it.",
        |it| it.text_or("/status/nominatedNodeName", NONE),
    )
    .wide(),
    Column::text(
        "Readiness Gates",
        "Readiness gates that are true, of all.",
        readiness_gates,
    )
    .wide(),
];

/// What the columns of a pod tell.
#[derive(Debug, Default)]
struct Story {
    reason: String,
    ready: usize,
    total: usize,
    restarts: i64,
    last_restart: Option<Timestamp>,
}

impl Story {
    /// Counts what a container has been through.
    fn count_restarts(&mut self, status: &Value) {
        self.restarts += int_at(status, "/restartCount");
        let ended = time_at(status, "/lastState/terminated/finishedAt");
        self.last_restart = self.last_restart.max(ended);
    }
}

/// Reads the whole pod: later parts overrule what earlier ones said.
fn tell(pod: &Value) -> Story {
    let sidecars = list_at(pod, "/spec/initContainers")
        .iter()
        .filter(|it| is_sidecar(it));
    let mut story = Story {
        reason: phase_reason(pod).into(),
        total: list_at(pod, "/spec/containers").len() + sidecars.count(),
        ..Story::default()
    };
    let initializing = tell_init_containers(pod, &mut story);
    if !initializing || has_condition(pod, "Initialized") {
        tell_containers(pod, &mut story);
    }
    let phase = text_at(pod, "/status/phase");
    if !text_at(pod, "/metadata/deletionTimestamp").is_empty() {
        if text_at(pod, "/status/reason") == "NodeLost" {
            story.reason = "Unknown".into();
        } else if !matches!(phase, "Succeeded" | "Failed") {
            story.reason = "Terminating".into();
        }
    }
    story
}

/// The phase, unless the pod or its scheduling gates give a reason.
fn phase_reason(pod: &Value) -> &str {
    let gated = list_at(pod, "/status/conditions").iter().any(|condition| {
        text_at(condition, "/type") == "PodScheduled"
            && text_at(condition, "/reason") == "SchedulingGated"
    });
    if gated {
        return "SchedulingGated";
    }
    or(
        text_at(pod, "/status/reason"),
        text_at(pod, "/status/phase"),
    )
}

/// Goes through the init containers up to the one that has not done its part; whether there is one.
fn tell_init_containers(pod: &Value, story: &mut Story) -> bool {
    let specs = list_at(pod, "/spec/initContainers");
    for (index, status) in list_at(pod, "/status/initContainerStatuses")
        .iter()
        .enumerate()
    {
        story.count_restarts(status);
        let terminated = status.pointer("/state/terminated");
        if terminated.is_some_and(|it| int_at(it, "/exitCode") == 0) {
            continue;
        }
        if is_sidecar_status(specs, status) && truth(status, "/started") {
            story.ready += usize::from(truth(status, "/ready"));
            continue;
        }
        let waiting = text_at(status, "/state/waiting/reason");
        story.reason = match terminated {
            Some(terminated) => format!("Init:{}", ended(terminated)),
            None if !waiting.is_empty() && waiting != "PodInitializing" => {
                format!("Init:{waiting}")
            }
            None => format!("Init:{index}/{}", specs.len()),
        };
        return true;
    }
    false
}

/// Goes through the containers from last to first, so that the first one has the last word.
fn tell_containers(pod: &Value, story: &mut Story) {
    // Restarts of init containers that are done with no longer matter; those of sidecars do.
    (story.restarts, story.last_restart) = (0, None);
    let specs = list_at(pod, "/spec/initContainers");
    for status in list_at(pod, "/status/initContainerStatuses") {
        if is_sidecar_status(specs, status) {
            story.count_restarts(status);
        }
    }
    let (mut running, mut failure) = (false, None);
    for status in list_at(pod, "/status/containerStatuses").iter().rev() {
        story.count_restarts(status);
        let waiting = text_at(status, "/state/waiting/reason");
        if !waiting.is_empty() {
            story.reason = waiting.into();
        } else if let Some(terminated) = status.pointer("/state/terminated") {
            story.reason = ended(terminated);
            if int_at(terminated, "/exitCode") != 0 {
                failure = Some(story.reason.clone());
            }
        } else if truth(status, "/ready") && status.pointer("/state/running").is_some() {
            running = true;
            story.ready += 1;
        }
    }
    if story.reason == "Completed" {
        // What ended well says nothing of the pod while others have failed or still run.
        story.reason = match failure {
            Some(failure) => failure,
            None if !running => return,
            None if has_condition(pod, "Ready") => "Running".into(),
            None => "NotReady".into(),
        };
    }
}

/// How a container ended.
fn ended(terminated: &Value) -> String {
    let reason = text_at(terminated, "/reason");
    let signal = int_at(terminated, "/signal");
    if !reason.is_empty() {
        reason.into()
    } else if signal != 0 {
        format!("Signal:{signal}")
    } else {
        format!("ExitCode:{}", int_at(terminated, "/exitCode"))
    }
}

/// Whether an init container keeps running beside the others.
fn is_sidecar(container: &Value) -> bool {
    text_at(container, "/restartPolicy") == "Always"
}

fn is_sidecar_status(specs: &[Value], status: &Value) -> bool {
    let name = text_at(status, "/name");
    specs
        .iter()
        .any(|spec| text_at(spec, "/name") == name && is_sidecar(spec))
}

fn has_condition(pod: &Value, kind: &str) -> bool {
    list_at(pod, "/status/conditions")
        .iter()
        .any(|it| text_at(it, "/type") == kind && text_at(it, "/status") == "True")
}

fn truth(value: &Value, pointer: &str) -> bool {
    value
        .pointer(pointer)
        .and_then(Value::as_bool)
        .unwrap_or_default()
}

fn restarts(object: &Object<'_>) -> Value {
    let story = tell(object.value);
    match story.last_restart {
        Some(_) if story.restarts != 0 => format!(
            "{} ({} ago)",
            story.restarts,
            object.since(story.last_restart)
        )
        .into(),
        _ => story.restarts.to_string().into(),
    }
}

fn readiness_gates(object: &Object<'_>) -> Value {
    let gates = object.list("/spec/readinessGates");
    if gates.is_empty() {
        return NONE.into();
    }
    let is_true = |gate: &&Value| has_condition(object.value, text_at(gate, "/conditionType"));
    format!("{}/{}", gates.iter().filter(is_true).count(), gates.len()).into()
}

/// The condition of the row of a pod that has ended.
pub(super) fn row_conditions(pod: &Value) -> Option<Value> {
    let (reason, message) = match text_at(pod, "/status/phase") {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!([{"type": "Completed", "status": "True", "reason": reason, "message": message}]))
}
