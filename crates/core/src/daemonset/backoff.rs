//! How long a pod that ended is kept before it is replaced again.
//!
//! A pod that fails again and again on one node must not be made and deleted in a hot loop. The first
//! removal is immediate; after a removal the next one has to wait 1 s, then 2 s, 4 s … up to 15 min.
//! An entry that was not used for twice the longest delay starts afresh.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use jiff::{SignedDuration, Timestamp};

/// Shortest delay.
pub const DELAY_MIN: SignedDuration = SignedDuration::from_secs(1);
/// Longest delay.
pub const DELAY_MAX: SignedDuration = SignedDuration::from_secs(15 * 60);

/// What kind of end a delay is about; the two are counted apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// Phase Failed.
    Failed,
    /// Phase Succeeded.
    Succeeded,
}

/// The delays of one DaemonSet, per observed generation and node.
///
/// The generation is part of the key so that a new template starts with a clean slate.
#[derive(Debug, Clone, Default)]
pub struct Backoff {
    generation: i64,
    entries: BTreeMap<(Arc<str>, End), Entry>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    delay: SignedDuration,
    since: Timestamp,
}

impl Entry {
    fn has_expired(self, now: Timestamp) -> bool {
        now.duration_since(self.since) > DELAY_MAX * 2
    }
}

impl Backoff {
    /// Says which generation was observed last; another one forgets all delays.
    pub fn observe(&mut self, generation: i64) {
        if generation != self.generation {
            self.generation = generation;
            self.entries.clear();
        }
    }

    /// When a pod that ended on a node may be removed, if that is after `now`.
    pub fn waits_until(&self, node: &str, end: End, now: Timestamp) -> Option<Timestamp> {
        let entry = self.entries.get(&(Arc::from(node), end))?;
        let until = entry.since.saturating_add(entry.delay).ok()?;
        (!entry.has_expired(now) && now < until).then_some(until)
    }

    /// Notes a removal and doubles the delay for the next one.
    pub fn record(&mut self, node: &str, end: End, now: Timestamp) {
        let key = (Arc::from(node), end);
        let delay = match self.entries.get(&key) {
            Some(entry) if !entry.has_expired(now) => DELAY_MAX.min(entry.delay * 2),
            Some(_) | None => DELAY_MIN,
        };
        self.entries.insert(key, Entry { delay, since: now });
    }

    /// Forgets a node that is gone.
    pub fn forget(&mut self, node: &str) {
        for end in [End::Failed, End::Succeeded] {
            self.entries.remove(&(Arc::from(node), end));
        }
    }

    /// Drops entries that would start afresh anyway, so that the table stays small.
    pub fn sweep(&mut self, now: Timestamp) {
        self.entries.retain(|_, entry| !entry.has_expired(now));
    }

    /// Number of nodes and ends that are remembered.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// The words events use for an end.
impl End {
    /// `failed` or `succeeded`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Succeeded => "succeeded",
        }
    }
}

/// A removal that is to be recorded when it is carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// The node.
    pub node: Arc<str>,
    /// Kind of end.
    pub end: End,
    /// Name of the pod, for the event.
    pub pod: String,
}
