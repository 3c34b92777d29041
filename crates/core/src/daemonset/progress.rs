//! How far a rollout is, as `kubectl rollout status` reads it from one DaemonSet.

use super::view::DaemonSet;

/// Where a rollout stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The controller has not seen the newest spec, so the numbers say nothing.
    SpecNotObserved,
    /// Some nodes still have a pod of an old template.
    Updating {
        /// Updated pods.
        have: i64,
        /// Nodes that should run one.
        want: i64,
    },
    /// All are updated, some are not available.
    WaitingAvailable {
        /// Available pods.
        have: i64,
        /// Nodes that should run one.
        want: i64,
    },
    /// Nothing is left to wait for.
    Complete,
}

/// The question makes no sense for this DaemonSet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("rollout status is only available for RollingUpdate strategy type")]
pub struct StrategyNotSupported;

/// Reads the progress of a rollout.
///
/// # Errors
/// When pods are not replaced by the controller: there is no rollout to wait for.
pub fn of(set: &DaemonSet) -> Result<Progress, StrategyNotSupported> {
    if !set.spec.update_strategy.is_rolling() {
        return Err(StrategyNotSupported);
    }
    let status = &set.status;
    let want = status.desired_number_scheduled;
    Ok(if set.metadata.generation > status.observed_generation {
        Progress::SpecNotObserved
    } else if status.updated_number_scheduled < want {
        Progress::Updating {
            have: status.updated_number_scheduled,
            want,
        }
    } else if status.number_available < want {
        Progress::WaitingAvailable {
            have: status.number_available,
            want,
        }
    } else {
        Progress::Complete
    })
}
