//! What annotations ask of a simulated pod.

use crate::meta::StringMap;
use jiff::SignedDuration;

/// Annotation: time between the pod's arrival at its node and the start of its containers.
pub const START_DELAY: &str = "sim.pernode.dev/start-delay";
/// Annotation: time the containers take to stop, at most the grace period.
pub const STOP_DELAY: &str = "sim.pernode.dev/stop-delay";
/// Annotation: how the pod fails, see [`Failure`].
pub const FAIL: &str = "sim.pernode.dev/fail";

/// Default of [`START_DELAY`].
pub const START_DELAY_DEFAULT: SignedDuration = SignedDuration::from_millis(50);

/// How a pod fails on demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// `image-pull`: the image cannot be pulled.
    ImagePull,
    /// `crash`: containers exit with code 1 as soon as they run.
    Crash,
    /// `never-ready`: containers run but no readiness probe passes.
    NeverReady,
    /// `exit-0`: containers exit with code 0 as soon as they run.
    ExitZero,
}

/// The wishes for one pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Knobs {
    /// Time before the containers start.
    pub start_delay: SignedDuration,
    /// Time the containers take to stop.
    pub stop_delay: SignedDuration,
    /// How it fails, if it does.
    pub fail: Option<Failure>,
}

impl Default for Knobs {
    fn default() -> Self {
        Self {
            start_delay: START_DELAY_DEFAULT,
            stop_delay: SignedDuration::ZERO,
            fail: None,
        }
    }
}

impl Knobs {
    /// Reads the annotations of a pod and of its node; the pod's own come first.
    ///
    /// What cannot be read counts as absent: a typing error must not change more than it says.
    pub fn read(pod: &StringMap, node: &StringMap) -> Self {
        let default = Self::default();
        let text = |key: &'static str| [pod, node].into_iter().filter_map(move |map| map.get(key));
        let duration = |key| text(key).find_map(|t| parse_duration(t));
        Self {
            start_delay: duration(START_DELAY).unwrap_or(default.start_delay),
            stop_delay: duration(STOP_DELAY).unwrap_or(default.stop_delay),
            fail: text(FAIL).find_map(|t| Failure::parse(t)).flatten(),
        }
    }
}

impl Failure {
    /// Reads a failure; `none` says that there is none, whatever the node says.
    #[allow(
        clippy::option_option,
        reason = "not readable and explicitly none are different things"
    )]
    fn parse(text: &str) -> Option<Option<Self>> {
        Some(match text.trim() {
            "none" => None,
            "image-pull" => Some(Self::ImagePull),
            "crash" => Some(Self::Crash),
            "never-ready" => Some(Self::NeverReady),
            "exit-0" => Some(Self::ExitZero),
            _ => return None,
        })
    }
}

/// Longest duration that can be asked for: what is longer is as good as never.
const DURATION_MAX: SignedDuration = SignedDuration::from_hours(24 * 365);

/// Reads `50ms`, `1.5s`, `1m30s` or `0`, the notation of Go.
pub fn parse_duration(text: &str) -> Option<SignedDuration> {
    let mut rest = text.trim();
    if rest == "0" {
        return Some(SignedDuration::ZERO);
    }
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(digits);
        let unit = tail
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit);
        seconds += number.parse::<f64>().ok()? * seconds_in(unit)?;
        rest = tail;
    }
    let given = !text.trim().is_empty() && seconds <= DURATION_MAX.as_secs_f64();
    given.then(|| SignedDuration::from_nanos((seconds * 1e9 + 0.5) as i64))
}

fn seconds_in(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    })
}
