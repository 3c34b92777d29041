//! Watches: the backlog first, then what is published, each watcher in its own bounded buffer.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use futures::Stream;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use crate::Event;
use crate::published::lock;

/// Why a watch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WatchError {
    /// The watcher did not keep up and was cut off. Harmless: watch again from the last event seen.
    #[error("the watch was too slow and has been cut off")]
    Lagged,
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

/// A watch: all events after a revision, in order, each once.
#[derive(Debug)]
pub struct Watch {
    hub: Arc<Mutex<Hub>>,
    prefix: Arc<str>,
    id: u64,
    backlog: VecDeque<Arc<Event>>,
    live: mpsc::Receiver<Arc<Event>>,
    lagged: Arc<AtomicBool>,
    settled: Arc<AtomicU64>,
    /// The revision of the last event handed out, or that the watch started after.
    seen: u64,
}

impl Watch {
    /// The next event; waits for it. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Arc<Event>, WatchError> {
        std::future::poll_fn(|cx| self.poll_event(cx)).await
    }

    /// The next event if it is there already.
    pub fn try_next(&mut self) -> Option<Arc<Event>> {
        let event = match self.backlog.pop_front() {
            Some(event) => event,
            None => self.live.try_recv().ok()?,
        };
        self.seen = event.revision;
        Some(event)
    }

    /// The next event, for hand-written futures.
    pub fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Result<Arc<Event>, WatchError>> {
        let event = match self.backlog.pop_front() {
            Some(event) => Some(event),
            None => ready!(self.live.poll_recv(cx)),
        };
        let Some(event) = event else {
            return Poll::Ready(Err(self.end()));
        };
        self.seen = event.revision;
        Poll::Ready(Ok(event))
    }

    /// The revision up to which everything has been handed out: what a bookmark may say.
    pub fn progress(&self) -> u64 {
        // Read before the buffer is looked at: what is settled had been put there before.
        let settled = self.settled.load(Ordering::Acquire);
        if self.backlog.is_empty() && self.live.is_empty() && !self.lagged.load(Ordering::Acquire) {
            self.seen.max(settled)
        } else {
            self.seen
        }
    }

    /// Puts the events in front that were published before the watch was registered.
    pub(crate) fn fill(&mut self, backlog: VecDeque<Arc<Event>>, after: u64) {
        self.backlog = backlog;
        self.seen = after;
    }

    fn end(&self) -> WatchError {
        if self.lagged.load(Ordering::Acquire) {
            WatchError::Lagged
        } else {
            WatchError::Closed
        }
    }
}

impl Stream for Watch {
    type Item = Result<Arc<Event>, WatchError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_event(cx).map(Some)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        lock(&self.hub).remove(&self.prefix, self.id);
    }
}

/// The sending half of one watch.
#[derive(Debug)]
struct Watcher {
    events: mpsc::Sender<Arc<Event>>,
    lagged: Arc<AtomicBool>,
}

impl Watcher {
    /// Hands over an event; false when the watcher is to be cut off.
    fn deliver(&self, event: &Arc<Event>) -> bool {
        match self.events.try_send(Arc::clone(event)) {
            Ok(()) => true,
            Err(TrySendError::Full(_)) => {
                self.lagged.store(true, Ordering::Release);
                false
            }
            Err(TrySendError::Closed(_)) => false,
        }
    }
}

/// The watchers, by what they watch: an event wakes only those whose prefix its key has.
#[derive(Debug)]
pub(crate) struct Hub {
    by_prefix: BTreeMap<Arc<str>, BTreeMap<u64, Watcher>>,
    /// How many prefixes have which length: few lengths, so few look-ups per event.
    lengths: BTreeMap<usize, usize>,
    next_id: u64,
    settled: Arc<AtomicU64>,
    closed: bool,
}

impl Hub {
    pub(crate) fn new(revision: u64) -> Self {
        Self {
            by_prefix: BTreeMap::new(),
            lengths: BTreeMap::new(),
            next_id: 0,
            settled: Arc::new(AtomicU64::new(revision)),
            closed: false,
        }
    }

    /// Adds a watcher that gets what is delivered from now on.
    pub(crate) fn register(
        &mut self,
        shared: &Arc<Mutex<Self>>,
        prefix: Arc<str>,
        buffer: usize,
    ) -> Watch {
        let (events, live) = mpsc::channel(buffer.max(1));
        let lagged = Arc::new(AtomicBool::new(false));
        let id = self.next_id;
        self.next_id += 1;
        if !self.closed {
            self.insert(
                &prefix,
                id,
                Watcher {
                    events,
                    lagged: Arc::clone(&lagged),
                },
            );
        }
        Watch {
            hub: Arc::clone(shared),
            prefix,
            id,
            backlog: VecDeque::new(),
            live,
            lagged,
            settled: Arc::clone(&self.settled),
            seen: 0,
        }
    }

    /// Hands one event to those who watch its key.
    pub(crate) fn deliver(&mut self, event: &Arc<Event>) {
        let mut cut_off = Vec::new();
        for &length in self.lengths.keys() {
            let Some(prefix) = event.key.get(..length) else {
                continue;
            };
            let Some(watchers) = self.by_prefix.get(prefix) else {
                continue;
            };
            let slow = watchers
                .iter()
                .filter(|(_, watcher)| !watcher.deliver(event));
            cut_off.extend(slow.map(|(&id, _)| (length, id)));
        }
        for (length, id) in cut_off {
            self.remove(&event.key[..length], id);
        }
    }

    /// Tells the watchers that all events up to a revision have been delivered.
    pub(crate) fn settle(&self, revision: u64) {
        self.settled.store(revision, Ordering::Release);
    }

    /// Ends all watches, those still to come included.
    pub(crate) fn close(&mut self) {
        self.closed = true;
        self.by_prefix.clear();
        self.lengths.clear();
    }

    fn insert(&mut self, prefix: &Arc<str>, id: u64, watcher: Watcher) {
        let watchers = self.by_prefix.entry(Arc::clone(prefix)).or_default();
        if watchers.is_empty() {
            *self.lengths.entry(prefix.len()).or_default() += 1;
        }
        watchers.insert(id, watcher);
    }

    fn remove(&mut self, prefix: &str, id: u64) {
        let Some(watchers) = self.by_prefix.get_mut(prefix) else {
            return;
        };
        if watchers.remove(&id).is_none() || !watchers.is_empty() {
            return;
        }
        self.by_prefix.remove(prefix);
        if let Some(count) = self.lengths.get_mut(&prefix.len()) {
            *count -= 1;
            if *count == 0 {
                self.lengths.remove(&prefix.len());
            }
        }
    }
}
