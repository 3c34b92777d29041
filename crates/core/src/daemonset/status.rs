//! The status of a DaemonSet (section 7) and how it is written.

use super::tally::Tally;
use super::view::{DaemonSet, DaemonSetStatus};

/// The status that follows from the counters.
///
/// `observed` says whether the spec was acted on; while our own writes are unseen it was not. None for a
/// DaemonSet that is being deleted: its status is left alone.
pub fn of(set: &DaemonSet, tally: &Tally, observed: bool) -> Option<DaemonSetStatus> {
    if set.metadata.is_deleting() {
        return None;
    }
    let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    Some(DaemonSetStatus {
        current_number_scheduled: count(tally.current),
        number_misscheduled: count(tally.misscheduled),
        desired_number_scheduled: count(tally.desired),
        number_ready: count(tally.ready),
        observed_generation: if observed {
            set.metadata.generation
        } else {
            set.status.observed_generation
        },
        updated_number_scheduled: count(tally.updated),
        number_available: count(tally.available),
        number_unavailable: count(tally.desired) - count(tally.available),
        collision_count: set.status.collision_count,
        conditions: set.status.conditions.clone(),
    })
}

/// Seconds after which a DaemonSet with Ready but unavailable pods is looked at again in any case.
///
/// The plan knows the exact moment by the pod's own clock; this guards against clocks that disagree.
pub fn guard_seconds(set: &DaemonSet, status: &DaemonSetStatus) -> Option<i64> {
    let waits = status.number_ready != status.number_available;
    (set.spec.min_ready_seconds > 0 && waits).then_some(set.spec.min_ready_seconds)
}

/// How a status is written: an update, and after a failure one more on a fresh copy.
///
/// One retry is enough: a further failure is met by the next round, with a newer status.
#[derive(Debug, Clone, Copy, Default)]
pub struct StatusWrite {
    failed_updates: u32,
}

/// What a [`StatusWrite`] does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Send the status.
    Update,
    /// Read the object afresh.
    Read,
    /// The status is written.
    Done,
    /// The last update failed for good.
    UpdateFailed,
    /// The read in between failed.
    ReadFailed,
}

impl StatusWrite {
    /// Updates that are tried in all.
    const UPDATES_MAX: u32 = 2;

    /// What follows an update.
    pub fn after_update(&mut self, succeeded: bool) -> Next {
        if succeeded {
            return Next::Done;
        }
        self.failed_updates += 1;
        if self.failed_updates < Self::UPDATES_MAX {
            Next::Read
        } else {
            Next::UpdateFailed
        }
    }

    /// What follows a read.
    pub fn after_read(self, succeeded: bool) -> Next {
        if succeeded {
            Next::Update
        } else {
            Next::ReadFailed
        }
    }
}

/// Which of two failures a round reports: acting on pods comes first.
///
/// The status is attempted in any case, so both can happen.
pub fn first_failure<E>(acting: Option<E>, status: Option<E>) -> Option<E> {
    acting.or(status)
}
