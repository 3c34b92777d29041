//! What the containers of a pod do at a time.

use super::Run;
use crate::pod::{Container, Pod, PodSpec, Probe};
use alloc::string::String;
use alloc::vec::Vec;
use jiff::{SignedDuration, Timestamp};

/// Default of a probe's `periodSeconds`.
const PERIOD_DEFAULT: i32 = 10;

/// What a container does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Not started yet.
    Creating,
    /// Its image cannot be pulled; further attempts are put off or not.
    Pull { backoff: bool },
    /// It runs.
    Running { since: Timestamp },
    /// It ended.
    Exited { code: i32, at: Timestamp },
    /// It ended and waits for its next run.
    BackOff {
        code: i32,
        at: Timestamp,
        delay: SignedDuration,
    },
}

/// What is to be reported about a container.
#[derive(Debug)]
pub(super) struct Wanted<'a> {
    pub(super) container: &'a Container,
    pub(super) init: bool,
    pub(super) state: State,
    pub(super) started: bool,
    pub(super) ready: bool,
    pub(super) restarts: i32,
}

impl<'a> Wanted<'a> {
    pub(super) fn of(container: &'a Container, state: State) -> Self {
        Self {
            container,
            init: false,
            state,
            started: false,
            ready: false,
            restarts: 0,
        }
    }

    /// An init container that keeps running.
    pub(super) fn is_sidecar(&self) -> bool {
        self.init && self.container.restart_policy == "Always"
    }

    /// Whether the pod's readiness depends on it.
    pub(super) fn counts_for_ready(&self) -> bool {
        !self.init || self.is_sidecar()
    }
}

/// All containers before their start.
pub(super) fn creating(spec: &PodSpec) -> Vec<Wanted<'_>> {
    let init = spec.init_containers.iter().map(|container| Wanted {
        init: true,
        ..Wanted::of(container, State::Creating)
    });
    let others = spec
        .containers
        .iter()
        .map(|container| Wanted::of(container, State::Creating));
    init.chain(others).collect()
}

/// Init containers once the others run: finished at once, or running beside them.
pub(super) fn init(spec: &PodSpec, start: Timestamp) -> Vec<Wanted<'_>> {
    let wanted = spec.init_containers.iter().map(|container| {
        let sidecar = container.restart_policy == "Always";
        let state = if sidecar {
            State::Running { since: start }
        } else {
            State::Exited { code: 0, at: start }
        };
        Wanted {
            init: true,
            started: sidecar,
            ready: !sidecar,
            ..Wanted::of(container, state)
        }
    });
    wanted.collect()
}

/// Whether a container that ended with a code is run again.
pub(super) fn runs_again(restart_policy: &str, code: i32) -> bool {
    match restart_policy {
        "Never" => false,
        "OnFailure" => code != 0,
        _ => true,
    }
}

/// The state between two runs.
pub(super) fn exited(restart_policy: &str, code: i32, run: Run) -> State {
    if run.restarts == 0 || !runs_again(restart_policy, code) {
        return State::Exited { code, at: run.at };
    }
    State::BackOff {
        code,
        at: run.at,
        delay: run.backoff(),
    }
}

/// When the startup probe has passed.
pub(super) fn started_at(container: &Container, since: Timestamp) -> Timestamp {
    container
        .startup_probe
        .as_ref()
        .map_or(since, |probe| since + first_pass(probe))
}

/// When the container is ready: its readiness probe has passed, which is not asked before the
/// startup probe has.
pub(super) fn ready_at(container: &Container, since: Timestamp) -> Timestamp {
    let probed = container
        .readiness_probe
        .as_ref()
        .map_or(since, |probe| since + first_pass(probe));
    probed.max(started_at(container, since))
}

/// From the start of a container that is well to the moment its probe counts as passed.
fn first_pass(probe: &Probe) -> SignedDuration {
    let period = if probe.period_seconds > 0 {
        probe.period_seconds
    } else {
        PERIOD_DEFAULT
    };
    let further = probe.success_threshold.max(1) - 1;
    let seconds =
        i64::from(probe.initial_delay_seconds.max(0)) + i64::from(further) * i64::from(period);
    SignedDuration::from_secs(seconds)
}

/// How often the container was started again.
pub(super) fn restarts(pod: &Pod, wanted: &Wanted<'_>) -> i32 {
    let statuses = &pod.status.container_statuses;
    let seen = statuses.iter().find(|c| c.name == wanted.container.name);
    let Some(seen) = seen else { return 0 };
    let ended = seen.state.terminated.is_some()
        || seen
            .state
            .waiting
            .as_ref()
            .is_some_and(|w| w.reason == "CrashLoopBackOff");
    match wanted.state {
        // It runs after it had ended: one more run.
        State::Running { .. } if ended => seen.restart_count + 1,
        _ => seen.restart_count,
    }
}

/// Whether an image is one of those that cannot be pulled.
pub(super) fn is_missing(image: &str, patterns: &[String]) -> bool {
    patterns.iter().any(|pattern| matches(pattern, image))
}

/// Whether a text fits a pattern in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(rest) = text.strip_prefix(head) else {
        return false;
    };
    let mut ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
    ends.any(|at| matches(tail, &rest[at..]))
}
