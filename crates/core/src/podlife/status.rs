//! The status an agent reports, as a patch against the one that is stored.

use super::Host;
use super::containers::{State, Wanted};
use crate::meta::seconds;
use crate::pod::{ContainerStatus, Phase, Pod};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// What is to be reported about a pod.
#[derive(Debug)]
pub(super) struct Report<'a> {
    pub(super) pod: &'a Pod,
    pub(super) host: &'a Host<'a>,
    pub(super) seen: Timestamp,
    pub(super) containers: &'a [Wanted<'a>],
    pub(super) now: Timestamp,
}

/// A condition as it should be.
struct Condition {
    r#type: &'static str,
    holds: bool,
    reason: &'static str,
    message: String,
}

impl Report<'_> {
    /// The strategic merge patch; `None` when the pod reads right already.
    pub(super) fn patch(&self) -> Option<Value> {
        let phase = self.phase();
        let conditions = self.conditions(phase);
        let status = &self.pod.status;
        let right = status.phase == phase
            && status.start_time.is_some()
            && conditions.iter().all(|c| self.is_reported(c))
            && self.main().all(|wanted| self.is_shown(wanted));
        if right {
            return None;
        }
        let mut patch = Map::new();
        patch.insert("phase".into(), json!(phase));
        let changed: Vec<Value> = conditions
            .iter()
            .filter(|c| !self.is_reported(c))
            .map(|c| self.condition_value(c))
            .collect();
        if !changed.is_empty() {
            patch.insert("conditions".into(), changed.into());
        }
        let statuses = |init| -> Vec<Value> {
            let these = self.containers.iter().filter(|c| c.init == init);
            these.map(|c| self.container_value(c)).collect()
        };
        patch.insert("containerStatuses".into(), statuses(false).into());
        if self.containers.iter().any(|c| c.init) {
            patch.insert("initContainerStatuses".into(), statuses(true).into());
        }
        self.addresses(&mut patch);
        if status.start_time.is_none() {
            patch.insert("startTime".into(), seconds(self.seen).into());
        }
        if self.pod.metadata.generation > 0 {
            let generation = self.pod.metadata.generation;
            patch.insert("observedGeneration".into(), generation.into());
        }
        Some(json!({"metadata": {"uid": self.pod.metadata.uid}, "status": patch}))
    }

    fn main(&self) -> impl Iterator<Item = &Wanted<'_>> {
        self.containers.iter().filter(|c| !c.init)
    }

    fn phase(&self) -> Phase {
        let not_started = |c: &Wanted<'_>| matches!(c.state, State::Creating | State::Pull { .. });
        if self.main().any(not_started) {
            return Phase::Pending;
        }
        let policy = &self.pod.spec.restart_policy;
        let ended = |c: &Wanted<'_>| match c.state {
            State::Exited { code, .. } if !super::containers::runs_again(policy, code) => {
                Some(code)
            }
            _ => None,
        };
        let codes: Option<Vec<i32>> = self.main().map(ended).collect();
        match codes {
            None => Phase::Running,
            Some(codes) if codes.iter().all(|code| *code == 0) => Phase::Succeeded,
            Some(_) => Phase::Failed,
        }
    }

    fn conditions(&self, phase: Phase) -> Vec<Condition> {
        let sandbox = self.containers.iter().any(|c| c.state != State::Creating);
        let (ready, reason, message) = self.readiness(phase);
        let initialized = sandbox || self.containers.iter().all(|c| !c.init);
        let (init_reason, init_message) = if initialized {
            ("", String::new())
        } else {
            let names = names(self.containers.iter().filter(|c| c.init));
            let message = format!("containers with incomplete status: [{names}]");
            ("ContainersNotInitialized", message)
        };
        let of = |r#type, holds, reason, message| Condition {
            r#type,
            holds,
            reason,
            message,
        };
        let mut conditions = alloc::vec![
            of(
                "PodReadyToStartContainers",
                sandbox && !phase.is_terminal(),
                "",
                String::new()
            ),
            of("Initialized", initialized, init_reason, init_message),
            of("Ready", ready, reason, message.clone()),
            of("ContainersReady", ready, reason, message),
        ];
        if self.pod.condition("PodScheduled").is_none() {
            conditions.push(of("PodScheduled", true, "", String::new()));
        }
        conditions
    }

    fn readiness(&self, phase: Phase) -> (bool, &'static str, String) {
        match phase {
            Phase::Succeeded => return (false, "PodCompleted", String::new()),
            Phase::Failed => return (false, "PodFailed", String::new()),
            _ => {}
        }
        let counted = self.containers.iter().filter(|c| c.counts_for_ready());
        let unready = names(counted.filter(|c| !c.ready));
        if unready.is_empty() {
            return (true, "", String::new());
        }
        let message = format!("containers with unready status: [{unready}]");
        (false, "ContainersNotReady", message)
    }

    fn is_reported(&self, wanted: &Condition) -> bool {
        self.pod.condition(wanted.r#type).is_some_and(|seen| {
            seen.status == status_text(wanted.holds)
                && seen.reason == wanted.reason
                && seen.message == wanted.message
        })
    }

    fn condition_value(&self, wanted: &Condition) -> Value {
        let seen = self.pod.condition(wanted.r#type);
        let status = status_text(wanted.holds);
        let since = seen
            .filter(|seen| seen.status == status)
            .and_then(|seen| seen.last_transition_time)
            .unwrap_or(self.now);
        let mut value = json!({
            "type": wanted.r#type,
            "status": status,
            "lastProbeTime": null,
            "lastTransitionTime": seconds(since),
        });
        let texts = [("reason", wanted.reason), ("message", &wanted.message)];
        for (key, text) in texts {
            if !text.is_empty() {
                value[key] = text.into();
            } else if seen.is_some() {
                // In a merge patch, null takes the old text away.
                value[key] = Value::Null;
            }
        }
        if self.pod.metadata.generation > 0 {
            value["observedGeneration"] = self.pod.metadata.generation.into();
        }
        value
    }

    /// Whether the stored status of a container says what it should.
    fn is_shown(&self, wanted: &Wanted<'_>) -> bool {
        let name = &wanted.container.name;
        let mut statuses = self.pod.status.container_statuses.iter();
        statuses.any(|seen| {
            seen.name == *name
                && seen.ready == wanted.ready
                && seen.restart_count == wanted.restarts
                && same_state(seen, wanted.state)
        })
    }

    fn addresses(&self, patch: &mut Map<String, Value>) {
        let pod = self.pod;
        let sandbox = self.containers.iter().any(|c| c.state != State::Creating);
        if !pod.status.pod_ip.is_empty() {
            return;
        }
        patch.insert("hostIP".into(), self.host.ip.into());
        patch.insert("hostIPs".into(), json!([{"ip": self.host.ip}]));
        if sandbox {
            let ip = if pod.spec.host_network {
                self.host.ip.into()
            } else {
                address_of(&pod.metadata.uid)
            };
            patch.insert("podIP".into(), ip.clone().into());
            patch.insert("podIPs".into(), json!([{"ip": ip}]));
        }
    }

    fn container_value(&self, wanted: &Wanted<'_>) -> Value {
        let container = wanted.container;
        let mut value = json!({
            "name": container.name,
            "image": container.image,
            "imageID": "",
            "state": {},
            "lastState": {},
            "ready": wanted.ready,
            "started": wanted.started,
            "restartCount": wanted.restarts,
        });
        if !matches!(wanted.state, State::Creating | State::Pull { .. }) {
            value["imageID"] = format!(
                "{}@sha256:{}",
                repository(container),
                digest(&[&container.image])
            )
            .into();
            value["containerID"] = self.container_id(wanted, wanted.restarts).into();
        }
        let (state, last) = self.state_value(wanted);
        value["state"] = state;
        value["lastState"] = last;
        value
    }

    fn container_id(&self, wanted: &Wanted<'_>, run: i32) -> String {
        let parts = [
            &*self.pod.metadata.uid,
            &*wanted.container.name,
            &*run.to_string(),
        ];
        format!("containerd://{}", digest(&parts))
    }

    /// The state and the last state.
    fn state_value(&self, wanted: &Wanted<'_>) -> (Value, Value) {
        let container = wanted.container;
        let waiting = |reason: &str, message: String| {
            let mut value = json!({"waiting": {"reason": reason}});
            if !message.is_empty() {
                value["waiting"]["message"] = message.into();
            }
            value
        };
        let state = match wanted.state {
            State::Creating if self.containers.iter().any(|c| c.init) => {
                waiting("PodInitializing", String::new())
            }
            State::Creating => waiting("ContainerCreating", String::new()),
            State::Pull { backoff: false } => waiting("ErrImagePull", pull_error(&container.image)),
            State::Pull { backoff: true } => {
                let image = &container.image;
                let error = pull_error(image);
                let message = format!("Back-off pulling image \"{image}\": ErrImagePull: {error}");
                waiting("ImagePullBackOff", message)
            }
            State::Running { since } => json!({"running": {"startedAt": seconds(since)}}),
            State::Exited { code, at } => self.ended(wanted, code, at, wanted.restarts),
            State::BackOff { code, at, delay } => {
                let meta = &self.pod.metadata;
                let message = format!(
                    "back-off {} restarting failed container={} pod={}_{}({})",
                    go_duration(delay.as_secs()),
                    container.name,
                    meta.name,
                    meta.namespace,
                    meta.uid
                );
                let last = self.ended(wanted, code, at, wanted.restarts);
                return (waiting("CrashLoopBackOff", message), last);
            }
        };
        (state, json!({}))
    }

    fn ended(&self, wanted: &Wanted<'_>, code: i32, at: Timestamp, run: i32) -> Value {
        json!({"terminated": {
            "exitCode": code,
            "reason": if code == 0 { "Completed" } else { "Error" },
            "startedAt": seconds(at),
            "finishedAt": seconds(at),
            "containerID": self.container_id(wanted, run),
        }})
    }
}

fn status_text(holds: bool) -> &'static str {
    if holds { "True" } else { "False" }
}

fn names<'a>(containers: impl Iterator<Item = &'a Wanted<'a>>) -> String {
    let names: Vec<&str> = containers.map(|c| &*c.container.name).collect();
    names.join(" ")
}

fn same_state(seen: &ContainerStatus, wanted: State) -> bool {
    let waits = |reason: &str| {
        seen.state
            .waiting
            .as_ref()
            .is_some_and(|w| w.reason == reason)
    };
    match wanted {
        State::Creating => waits("ContainerCreating") || waits("PodInitializing"),
        State::Pull { backoff: false } => waits("ErrImagePull"),
        State::Pull { backoff: true } => waits("ImagePullBackOff"),
        State::Running { .. } => seen.state.running.is_some(),
        State::Exited { .. } => seen.state.terminated.is_some(),
        State::BackOff { .. } => waits("CrashLoopBackOff"),
    }
}

fn pull_error(image: &str) -> String {
    format!(
        "failed to pull and unpack image \"{image}\": failed to resolve reference \"{image}\": \
         {image}: not found"
    )
}

/// An image's name without tag and digest.
fn repository(container: &crate::pod::Container) -> &str {
    let image = container.image.split('@').next().unwrap_or_default();
    match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => name,
        _ => image,
    }
}

fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let mut text = String::with_capacity(64);
    for byte in hash.finalize() {
        write!(text, "{byte:02x}").expect("a String takes all that is written to it");
    }
    text
}

/// Whole seconds as Go prints a duration: `10s`, `2m40s`, `5m0s`.
fn go_duration(seconds: i64) -> String {
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds}s"),
        (minutes, seconds) => format!("{minutes}m{seconds}s"),
    }
}

/// An address for a pod, the same each time it is asked for: one of 10.128.0.0/9.
pub fn address_of(uid: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(uid.as_bytes());
    let bytes = hash.finalize();
    // The last byte is neither 0 nor 255, which people take for a network and a broadcast.
    let last = bytes[2] % 254 + 1;
    format!("10.{}.{}.{last}", bytes[0] | 128, bytes[1])
}
