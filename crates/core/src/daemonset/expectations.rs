//! Writes of our own that the watch has not shown yet.
//!
//! A plan made from a view without them would do the same again. So nothing is planned until they were
//! seen, or until five minutes have passed: then the view is trusted again, as upstream does.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use jiff::{SignedDuration, Timestamp};

/// After this time an unseen write no longer holds anything up.
pub const PATIENCE: SignedDuration = SignedDuration::from_secs(5 * 60);

/// What the watch has to show of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Awaited {
    /// That it exists.
    Present,
    /// That it is being deleted, or gone.
    Leaving,
    /// Another resource version than this one.
    Changed(String),
}

/// The unseen writes of one DaemonSet, by uid of the written object.
///
/// While a batch is being sent the watch may be faster than the answer, so everything seen meanwhile is
/// remembered from [`Self::begin`] to [`Self::end`].
#[derive(Debug, Clone, Default)]
pub struct Expectations {
    awaited: BTreeMap<String, (Awaited, Timestamp)>,
    in_flight: bool,
    gone_meanwhile: BTreeSet<String>,
    seen_meanwhile: BTreeMap<String, Seen>,
}

#[derive(Debug, Clone)]
struct Seen {
    version: String,
    leaving: bool,
}

impl Expectations {
    /// A batch is about to be sent.
    pub fn begin(&mut self) {
        self.in_flight = true;
    }

    /// All answers of the batch are there.
    pub fn end(&mut self) {
        self.in_flight = false;
        self.gone_meanwhile.clear();
        self.seen_meanwhile.clear();
    }

    /// Whether a batch is being sent.
    pub fn is_in_flight(&self) -> bool {
        self.in_flight
    }

    /// Notes a write that was answered; nothing happens if the watch has shown it already.
    pub fn expect(&mut self, uid: &str, awaited: Awaited, now: Timestamp) {
        let shown = self.gone_meanwhile.contains(uid)
            || self
                .seen_meanwhile
                .get(uid)
                .is_some_and(|seen| fulfils(&awaited, seen));
        if !shown {
            self.awaited.insert(uid.to_string(), (awaited, now));
        }
    }

    /// The watch showed an object. True when that was awaited.
    pub fn saw(&mut self, uid: &str, version: &str, leaving: bool) -> bool {
        let seen = Seen {
            version: version.to_string(),
            leaving,
        };
        let met = self
            .awaited
            .get(uid)
            .is_some_and(|(awaited, _)| fulfils(awaited, &seen));
        if met {
            self.awaited.remove(uid);
        }
        if self.in_flight {
            self.seen_meanwhile.insert(uid.to_string(), seen);
        }
        met
    }

    /// The watch showed that an object is gone. True when it was awaited.
    pub fn saw_gone(&mut self, uid: &str) -> bool {
        if self.in_flight {
            self.gone_meanwhile.insert(uid.to_string());
        }
        self.awaited.remove(uid).is_some()
    }

    /// The view was replaced by a fresh list: it holds every write that was answered before.
    pub fn reset(&mut self) {
        self.awaited.clear();
    }

    /// Whether acting has to wait.
    pub fn is_waiting(&self, now: Timestamp) -> bool {
        self.in_flight
            || self
                .awaited
                .values()
                .any(|(_, since)| is_patient(*since, now))
    }

    /// When patience ends, if something is awaited.
    pub fn next(&self, now: Timestamp) -> Option<Timestamp> {
        let waiting = self
            .awaited
            .values()
            .filter(|(_, since)| is_patient(*since, now));
        waiting
            .filter_map(|(_, since)| since.saturating_add(PATIENCE).ok())
            .max()
    }

    /// Number of unseen writes.
    pub fn len(&self) -> usize {
        self.awaited.len()
    }

    /// Whether every write was seen.
    pub fn is_empty(&self) -> bool {
        self.awaited.is_empty()
    }
}

fn is_patient(since: Timestamp, now: Timestamp) -> bool {
    now.duration_since(since) < PATIENCE
}

fn fulfils(awaited: &Awaited, seen: &Seen) -> bool {
    match awaited {
        Awaited::Present => true,
        Awaited::Leaving => seen.leaving,
        Awaited::Changed(old) => *old != seen.version,
    }
}
