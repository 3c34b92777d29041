//! What is under way for each DaemonSet, and how long failures hold it up.

use pernode_core::daemonset::Key;
use pernode_core::meta::Meta;
use pernode_runtime::Backoff;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// What is under way for one DaemonSet.
#[derive(Debug)]
pub(super) struct Progress {
    uid: String,
    generation: i64,
    /// Until when a failed round is not repeated.
    not_before: Option<Instant>,
    /// Whether a status is being written.
    pub(super) writes_status: bool,
    /// When the next status may be written.
    pub(super) status_due: Option<Instant>,
    /// Delays after failed status writes.
    pub(super) status_failures: Backoff,
}

impl Progress {
    fn new(meta: &Meta) -> Self {
        Self {
            uid: meta.uid.clone(),
            generation: meta.generation,
            not_before: None,
            writes_status: false,
            status_due: None,
            status_failures: Backoff::new(Duration::from_millis(20), Duration::from_secs(30)),
        }
    }

    /// How long acting has to wait after a failure.
    pub(super) fn delay(&self) -> Option<Duration> {
        let delay = self.not_before?.saturating_duration_since(Instant::now());
        (!delay.is_zero()).then_some(delay)
    }

    /// A round went well.
    pub(super) fn succeeded(&mut self) {
        self.not_before = None;
    }

    /// A round failed: no event makes the next one come earlier than the delay, or else a refused
    /// create whose event wakes the DaemonSet would be a hot loop.
    pub(super) fn failed(&mut self, delay: Duration) {
        self.not_before = Some(Instant::now() + delay);
    }
}

/// The progress of all DaemonSets.
#[derive(Debug, Default)]
pub(super) struct Table(BTreeMap<Key, Progress>);

impl Table {
    /// The entry of a DaemonSet. Another uid starts afresh, and a new spec is acted on at once.
    pub(super) fn of(&mut self, key: &Key, meta: &Meta) -> &mut Progress {
        let progress = self
            .0
            .entry(key.clone())
            .or_insert_with(|| Progress::new(meta));
        if progress.uid != meta.uid {
            *progress = Progress::new(meta);
        }
        if progress.generation != meta.generation {
            progress.generation = meta.generation;
            progress.not_before = None;
        }
        progress
    }

    /// The entry, if there is one.
    pub(super) fn get(&mut self, key: &Key) -> Option<&mut Progress> {
        self.0.get_mut(key)
    }

    /// The DaemonSet is gone.
    pub(super) fn forget(&mut self, key: &Key) {
        self.0.remove(key);
    }
}
