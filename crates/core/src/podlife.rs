//! The life of a pod on a simulated node: what its node agent would report, and when.
//!
//! ```text
//! bound ─ start-delay ─▶ containers run ─ probes ─▶ ready ─ deleted ─ stop-delay ─▶ removed
//!                            │  ▲
//!                            └──┘ crash, exit-0: back-off and run again
//! ```
//!
//! A [`Life`] remembers what the API does not keep: times finer than a second. Everything else is
//! read from the pod, so that an agent that was restarted goes on where the old one stopped.
//! Each step compares what should be reported with what is, and a status is written only when
//! they differ. With default knobs and without probes that is one write in a pod's whole life.

mod containers;
mod knobs;
mod status;

#[cfg(test)]
mod tests;

use crate::meta::StringMap;
use crate::pod::{Container, Pod};
use containers::{State, Wanted};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use alloc::string::String;
use alloc::vec::Vec;

pub use knobs::{
    FAIL, Failure, Knobs, START_DELAY, START_DELAY_DEFAULT, STOP_DELAY, parse_duration,
};
pub use status::address_of;

/// A start delay from which on the waiting itself is reported, as `ContainerCreating`.
const CREATING_SHOWN_FROM: SignedDuration = SignedDuration::from_secs(1);
/// From a failed pull to the report that further ones are put off (kubelet's next sync).
const PULL_BACKOFF_SHOWN_AFTER: SignedDuration = SignedDuration::from_secs(10);
/// From the first exit to the second run, which kubelet does not put off (its next sync).
const FIRST_RESTART_AFTER: SignedDuration = SignedDuration::from_secs(1);
/// First and longest wait before a further run (kubelet: back-off of containers).
const RESTART_BACKOFF: (SignedDuration, SignedDuration) = (
    SignedDuration::from_secs(10),
    SignedDuration::from_secs(300),
);

/// What the agent does now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Nothing until this time, or until the pod changes.
    Wait(Option<Timestamp>),
    /// Write this strategic merge patch of the status; then look again.
    Status(Value),
    /// The containers have stopped: delete the pod with grace period 0 and its uid as
    /// precondition.
    Remove,
}

/// The node agent's side of a pod's life.
#[derive(Debug, Clone, Copy)]
pub struct Host<'a> {
    /// Address of the node.
    pub ip: &'a str,
    /// Annotations of the node, for knobs that hold for all its pods.
    pub annotations: &'a StringMap,
    /// Images that cannot be pulled, `*` standing for any text: `foo:*`.
    pub missing_images: &'a [String],
}

/// What an agent remembers of a pod.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Life {
    /// When the agent first saw it.
    seen: Option<Timestamp>,
    /// Start of the containers' run.
    started: Option<Timestamp>,
    /// When the agent first saw that it is to be deleted.
    stopping: Option<Timestamp>,
    /// The way of failing the times are about.
    fail: Option<Failure>,
    /// The last run of containers that do not keep running.
    run: Option<Run>,
}

/// A run of containers that exit at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    /// How many runs there were before.
    restarts: i32,
    at: Timestamp,
}

impl Run {
    fn backoff(self) -> SignedDuration {
        if self.restarts == 0 {
            return FIRST_RESTART_AFTER;
        }
        let doubled = 2_i32.saturating_pow(self.restarts.min(16).unsigned_abs() - 1);
        RESTART_BACKOFF
            .0
            .saturating_mul(doubled)
            .min(RESTART_BACKOFF.1)
    }
}

impl Life {
    /// Decides on a pod that is bound to the agent's node.
    ///
    /// Call it when the pod or the node changed, and when the time of the last [`Step::Wait`] has
    /// come. After [`Step::Status`] and [`Step::Remove`], when the watch has shown the write.
    pub fn step(&mut self, pod: &Pod, host: &Host<'_>, now: Timestamp) -> Step {
        let knobs = Knobs::read(&pod.metadata.annotations, host.annotations);
        let fresh = self.seen.is_none();
        let seen = *self.seen.get_or_insert(now);
        if pod.metadata.is_deleting() {
            return self.stop(pod, &knobs, fresh, now);
        }
        if pod.status.phase.is_terminal() {
            return Step::Wait(None);
        }
        self.resume(pod, knobs.fail, fresh, now);
        let start = *self.started.get_or_insert(seen + knobs.start_delay);
        let mut next = None;
        let containers = if now < start {
            next = Some(start);
            if knobs.start_delay < CREATING_SHOWN_FROM {
                return Step::Wait(next);
            }
            containers::creating(&pod.spec)
        } else {
            self.run(pod, host, start, now, &mut next)
        };
        let report = status::Report {
            pod,
            host,
            seen,
            containers: &containers,
            now,
        };
        match report.patch() {
            Some(patch) => Step::Status(patch),
            None => Step::Wait(next),
        }
    }

    /// Picks the life up from what is reported, after a restart of the agent or a change of the
    /// way of failing.
    fn resume(&mut self, pod: &Pod, fail: Option<Failure>, fresh: bool, now: Timestamp) {
        let statuses = &pod.status.container_statuses;
        if fresh {
            let running = statuses.iter().filter_map(|c| c.state.running.as_ref());
            self.started = running.filter_map(|r| r.started_at).min();
            let restarts = statuses.iter().map(|c| c.restart_count).max().unwrap_or(0);
            let exited = |s: &crate::pod::ContainerState| {
                s.terminated.is_some()
                    || s.waiting
                        .as_ref()
                        .is_some_and(|w| w.reason == "CrashLoopBackOff")
            };
            if statuses.iter().any(|c| exited(&c.state)) {
                self.started = Some(now);
                self.run = Some(Run { restarts, at: now });
            }
        } else if self.fail != fail && self.started.is_some_and(|at| at <= now) {
            // Running containers go on as they are where the new way lets them.
            let keeps_running = |way| matches!(way, None | Some(Failure::NeverReady));
            if !keeps_running(self.fail) || !keeps_running(fail) {
                self.started = Some(now);
                self.run = None;
            }
        }
        self.fail = fail;
    }

    /// What the containers do once their start has come.
    #[allow(
        clippy::too_many_arguments,
        reason = "each is one thing the decision depends on"
    )]
    fn run<'a>(
        &mut self,
        pod: &'a Pod,
        host: &Host<'_>,
        start: Timestamp,
        now: Timestamp,
        next: &mut Option<Timestamp>,
    ) -> Vec<Wanted<'a>> {
        let mut at = |time: Timestamp| {
            if time > now {
                *next = Some(next.map_or(time, |n: Timestamp| n.min(time)));
            }
        };
        let exit = match self.fail {
            Some(Failure::Crash) => Some(1),
            Some(Failure::ExitZero) => Some(0),
            _ => None,
        };
        let exit = exit.map(|code| {
            let run = self.advance(&pod.spec.restart_policy, code, start, now);
            if containers::runs_again(&pod.spec.restart_policy, code) {
                at(run.at + run.backoff());
            }
            (code, run)
        });
        let mut wanted: Vec<Wanted<'a>> = containers::init(&pod.spec, start);
        for container in &pod.spec.containers {
            let missing = containers::is_missing(&container.image, host.missing_images);
            let state = if missing || self.fail == Some(Failure::ImagePull) {
                let backoff_from = start + PULL_BACKOFF_SHOWN_AFTER;
                at(backoff_from);
                State::Pull {
                    backoff: now >= backoff_from,
                }
            } else {
                match exit {
                    Some((code, run)) => containers::exited(&pod.spec.restart_policy, code, run),
                    None => State::Running { since: start },
                }
            };
            let mut probed = self.probed(pod, container, state, now, &mut at);
            if let Some((_, run)) = exit.filter(|_| !missing) {
                probed.restarts = probed.restarts.max(run.restarts);
            }
            wanted.push(probed);
        }
        for sidecar in wanted.iter_mut().filter(|w| w.is_sidecar()) {
            let ready_at = containers::ready_at(sidecar.container, start);
            sidecar.ready = now >= ready_at;
            at(ready_at);
        }
        wanted
    }

    /// A container with what its probes say.
    #[allow(
        clippy::too_many_arguments,
        reason = "each is one thing the decision depends on"
    )]
    fn probed<'a>(
        &self,
        pod: &Pod,
        container: &'a Container,
        state: State,
        now: Timestamp,
        at: &mut impl FnMut(Timestamp),
    ) -> Wanted<'a> {
        let mut wanted = Wanted::of(container, state);
        wanted.restarts = containers::restarts(pod, &wanted);
        let State::Running { since } = wanted.state else {
            return wanted;
        };
        let started_at = containers::started_at(container, since);
        wanted.started = now >= started_at;
        at(started_at);
        if self.fail != Some(Failure::NeverReady) {
            let ready_at = containers::ready_at(container, since);
            wanted.ready = now >= ready_at;
            at(ready_at);
        }
        wanted
    }

    /// The last run of containers that exit at once.
    fn advance(&mut self, policy: &str, code: i32, start: Timestamp, now: Timestamp) -> Run {
        let first = Run {
            restarts: 0,
            at: start,
        };
        let run = self.run.get_or_insert(first);
        while containers::runs_again(policy, code) && run.at + run.backoff() <= now {
            *run = Run {
                restarts: run.restarts + 1,
                at: run.at + run.backoff(),
            };
        }
        *run
    }

    /// A pod that is to go: its containers take their time to stop, at most the grace period.
    fn stop(&mut self, pod: &Pod, knobs: &Knobs, fresh: bool, now: Timestamp) -> Step {
        let meta = &pod.metadata;
        let grace = SignedDuration::from_secs(meta.deletion_grace_period_seconds.unwrap_or(0));
        // An agent that comes late counts from the request, which the API keeps in seconds.
        let requested = meta
            .deletion_timestamp
            .map_or(now, |at| at - grace)
            .min(now);
        let stopping = *self
            .stopping
            .get_or_insert(if fresh { requested } else { now });
        let runs = pod.status.container_statuses.iter();
        let any_runs = runs.clone().any(|c| c.state.running.is_some());
        let stopped = stopping + knobs.stop_delay.min(grace);
        if any_runs && now < stopped {
            return Step::Wait(Some(stopped));
        }
        Step::Remove
    }
}
