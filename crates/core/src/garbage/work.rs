//! What has to be judged, and when.

use super::OwnerKey;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use jiff::{SignedDuration, Timestamp};

/// First and longest wait after a write failed.
const BACKOFF: (SignedDuration, SignedDuration) = (
    SignedDuration::from_millis(100),
    SignedDuration::from_secs(30),
);
/// When an owner that nobody reports about is looked up again.
const LOOK_UP_AFTER: SignedDuration = SignedDuration::from_secs(30);

/// Invariant: a uid is in `ready` or in `resting`, not in both.
#[derive(Debug, Default)]
pub(super) struct Work {
    ready: BTreeSet<String>,
    resting: BTreeSet<(Timestamp, String)>,
    rests: BTreeMap<String, Rest>,
    look_ups: BTreeSet<(Timestamp, OwnerKey)>,
}

#[derive(Debug)]
struct Rest {
    until: Timestamp,
    failures: u32,
}

impl Work {
    pub(super) fn push(&mut self, uid: &str) {
        let rests = self.rests.get(uid);
        if rests.is_none_or(|rest| !self.resting.contains(&(rest.until, uid.into()))) {
            self.ready.insert(uid.into());
        }
    }

    pub(super) fn pop(&mut self) -> Option<String> {
        self.ready.pop_first()
    }

    pub(super) fn remove(&mut self, uid: &str) {
        self.ready.remove(uid);
        if let Some(rest) = self.rests.remove(uid) {
            self.resting.remove(&(rest.until, uid.into()));
        }
    }

    /// A write about it went well: earlier failures are forgotten.
    pub(super) fn settle(&mut self, uid: &str) {
        let rests = self.rests.get(uid);
        if rests.is_some_and(|rest| !self.resting.contains(&(rest.until, uid.into()))) {
            self.rests.remove(uid);
        }
    }

    /// It rests, longer each time.
    pub(super) fn rest(&mut self, uid: &str, now: Timestamp) {
        let failures = self.rests.get(uid).map_or(0, |rest| rest.failures);
        self.remove(uid);
        let step = 2_i32.saturating_pow(failures.min(16));
        let until = now + BACKOFF.0.saturating_mul(step).min(BACKOFF.1);
        self.resting.insert((until, uid.into()));
        let failures = failures + 1;
        self.rests.insert(uid.into(), Rest { until, failures });
    }

    pub(super) fn look_up_again(&mut self, owner: &OwnerKey, now: Timestamp) {
        self.look_ups.insert((now + LOOK_UP_AFTER, owner.clone()));
    }

    /// Lets come back what has rested; gives the owners to look up again.
    pub(super) fn advance(&mut self, now: Timestamp) -> Vec<OwnerKey> {
        while self.resting.first().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, uid)) = self.resting.pop_first() {
                self.ready.insert(uid);
            }
        }
        let mut owners = Vec::new();
        while self.look_ups.first().is_some_and(|(at, _)| *at <= now) {
            owners.extend(self.look_ups.pop_first().map(|(_, owner)| owner));
        }
        owners
    }

    pub(super) fn next(&self) -> Option<Timestamp> {
        let resting = self.resting.first().map(|(at, _)| *at);
        let look_up = self.look_ups.first().map(|(at, _)| *at);
        [resting, look_up].into_iter().flatten().min()
    }
}
