//! Keys by the time they are due.

use super::Key;
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// Each key at most once, at one time.
#[derive(Debug, Default)]
pub(super) struct Timers {
    by_time: BTreeSet<(Timestamp, Key)>,
    times: BTreeMap<Key, Timestamp>,
}

impl Timers {
    /// Sets the time of a key, instead of any earlier setting.
    pub(super) fn set(&mut self, key: Key, at: Timestamp) {
        self.clear(&key);
        self.times.insert(key.clone(), at);
        self.by_time.insert((at, key));
    }

    /// Takes a key out.
    pub(super) fn clear(&mut self, key: &Key) {
        if let Some((key, at)) = self.times.remove_entry(key) {
            self.by_time.remove(&(at, key));
        }
    }

    /// Takes the key that is due longest.
    pub(super) fn pop(&mut self, now: Timestamp) -> Option<Key> {
        if self.next()? > now {
            return None;
        }
        let (_, key) = self.by_time.pop_first()?;
        self.times.remove(&key);
        Some(key)
    }

    /// When the first key is due.
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.by_time.first().map(|(at, _)| *at)
    }
}
