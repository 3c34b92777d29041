//! Keys that need work.

use crate::Backoff;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// A work queue: each key at most once, never worked on twice at the same time.
///
/// A key added while it is being worked on comes back after [`Queue::done`]. Cloning is cheap
/// and gives the same queue.
#[derive(Debug)]
pub struct Queue<K> {
    inner: Arc<Inner<K>>,
}

#[derive(Debug)]
struct Inner<K> {
    state: Mutex<State<K>>,
    ready: Notify,
    base: Duration,
    max: Duration,
}

#[derive(Debug)]
struct State<K> {
    ready: VecDeque<K>,
    /// Waiting, or being worked on and added again.
    dirty: BTreeSet<K>,
    working: BTreeSet<K>,
    delayed: BTreeSet<(Instant, K)>,
    due: BTreeMap<K, Instant>,
    failures: BTreeMap<K, u32>,
    closed: bool,
}

impl<K> Clone for Queue<K> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

impl<K: Ord + Clone> Queue<K> {
    /// A queue whose failed keys wait from `base`, doubling up to `max`.
    pub fn new(base: Duration, max: Duration) -> Self {
        Self {
            inner: Arc::new(Inner {
                state: Mutex::new(State {
                    ready: VecDeque::new(),
                    dirty: BTreeSet::new(),
                    working: BTreeSet::new(),
                    delayed: BTreeSet::new(),
                    due: BTreeMap::new(),
                    failures: BTreeMap::new(),
                    closed: false,
                }),
                ready: Notify::new(),
                base,
                max,
            }),
        }
    }

    /// Adds a key; nothing happens if it waits already.
    pub fn add(&self, key: K) {
        let mut state = self.inner.state();
        state.add(key);
        drop(state);
        self.inner.ready.notify_one();
    }

    /// Adds a key after a delay; if it is delayed already, the earlier time counts.
    pub fn add_after(&self, key: K, delay: Duration) {
        if delay.is_zero() {
            return self.add(key);
        }
        let mut state = self.inner.state();
        state.delay(key, Instant::now() + delay);
        drop(state);
        self.inner.ready.notify_one();
    }

    /// Adds a key that failed after its backoff, and gives that delay.
    pub fn retry(&self, key: K) -> Duration {
        let mut state = self.inner.state();
        let failures = state.failures.entry(key.clone()).or_insert(0);
        let delay = Backoff::delay(self.inner.base, self.inner.max, *failures);
        *failures = failures.saturating_add(1);
        state.delay(key, Instant::now() + delay);
        drop(state);
        self.inner.ready.notify_one();
        delay
    }

    /// Forgets a key's failures after it succeeded.
    pub fn forget(&self, key: &K) {
        self.inner.state().failures.remove(key);
    }

    /// The next key to work on; `None` once the queue is closed. Call [`Self::done`] after.
    ///
    /// Cancel safe.
    pub async fn next(&self) -> Option<K> {
        loop {
            let (key, due) = {
                let mut state = self.inner.state();
                if state.closed {
                    return None;
                }
                state.take(Instant::now())
            };
            if key.is_some() {
                // Another worker may be asleep although more is ready.
                self.inner.ready.notify_one();
                return key;
            }
            let ready = self.inner.ready.notified();
            match due {
                Some(due) => drop(tokio::time::timeout_at(due, ready).await),
                None => ready.await,
            }
        }
    }

    /// Ends the work on a key.
    pub fn done(&self, key: &K) {
        let mut state = self.inner.state();
        state.working.remove(key);
        if state.dirty.contains(key) {
            state.ready.push_back(key.clone());
            drop(state);
            self.inner.ready.notify_one();
        }
    }

    /// How many keys are ready.
    pub fn len(&self) -> usize {
        self.inner.state().ready.len()
    }

    /// Whether no key is ready.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ends the queue: [`Self::next`] gives `None` from now on.
    pub fn close(&self) {
        self.inner.state().closed = true;
        self.inner.ready.notify_one();
        self.inner.ready.notify_waiters();
    }
}

impl<K> Inner<K> {
    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Ord + Clone> State<K> {
    fn add(&mut self, key: K) {
        if let Some(due) = self.due.remove(&key) {
            self.delayed.remove(&(due, key.clone()));
        }
        if !self.dirty.insert(key.clone()) {
            return;
        }
        if !self.working.contains(&key) {
            self.ready.push_back(key);
        }
    }

    fn delay(&mut self, key: K, at: Instant) {
        if let Some(due) = self.due.get(&key).copied() {
            if due <= at {
                return;
            }
            self.delayed.remove(&(due, key.clone()));
        }
        self.due.insert(key.clone(), at);
        self.delayed.insert((at, key));
    }

    /// A ready key, or the time when the next delayed one is.
    fn take(&mut self, now: Instant) -> (Option<K>, Option<Instant>) {
        while let Some((at, key)) = self.delayed.first().cloned() {
            if at > now {
                break;
            }
            self.add(key);
        }
        let key = self.ready.pop_front();
        if let Some(key) = &key {
            self.dirty.remove(key);
            self.working.insert(key.clone());
        }
        (key, self.delayed.first().map(|(at, _)| *at))
    }
}

#[cfg(test)]
mod tests;
