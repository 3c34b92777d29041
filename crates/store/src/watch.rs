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

/// What a watch is about: keys with a prefix, and of those maybe only objects with one field value.
///
/// The field is what makes a thousand agents cheap that each watch the pods of their own node: an
/// event is handed only to the watches it concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// What the keys start with.
    pub prefix: Arc<str>,
    /// A selectable field and its value. An event counts if the object had the value before it or
    /// has it after it, so that the watcher sees objects leave.
    pub field: Option<(Box<str>, Box<str>)>,
}

impl Scope {
    /// All keys with a prefix.
    pub fn prefix(prefix: &str) -> Self {
        Self {
            prefix: prefix.into(),
            field: None,
        }
    }

    /// Of those, the objects whose field has a value.
    #[must_use]
    pub fn with_field(self, name: &str, value: &str) -> Self {
        Self {
            field: Some((name.into(), value.into())),
            ..self
        }
    }

    /// Whether an event is part of it.
    pub fn contains(&self, event: &Event) -> bool {
        let has_value = |(name, value): &(Box<str>, Box<str>)| {
            values(event, name).any(|found| found == &**value)
        };
        event.key.starts_with(&*self.prefix) && self.field.as_ref().is_none_or(has_value)
    }
}

/// The values of a field after and before an event, if they differ both of them.
fn values<'a>(event: &'a Event, name: &str) -> impl Iterator<Item = &'a str> {
    let before = event
        .previous
        .as_ref()
        .and_then(|item| item.attrs.field(name));
    let after = event.item.attrs.field(name);
    after
        .into_iter()
        .chain(before.filter(|before| after != Some(before)))
}

/// A watch: all events after a revision, in order, each once.
#[derive(Debug)]
pub struct Watch {
    hub: Arc<Mutex<Hub>>,
    scope: Scope,
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
        lock(&self.hub).remove(&self.scope, self.id);
    }
}

/// The sending half of one watch.
#[derive(Debug)]
struct Watcher {
    scope: Scope,
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

/// The watchers of one scope, by their number.
type Watchers = BTreeMap<u64, Watcher>;

/// The watchers of one prefix.
#[derive(Debug, Default)]
struct Group {
    all: Watchers,
    /// By the field they watch and its value.
    by_field: BTreeMap<Box<str>, BTreeMap<Box<str>, Watchers>>,
}

impl Group {
    fn is_empty(&self) -> bool {
        self.all.is_empty() && self.by_field.is_empty()
    }

    fn watchers(&mut self, scope: &Scope) -> &mut Watchers {
        match &scope.field {
            None => &mut self.all,
            Some((name, value)) => {
                let values = self.by_field.entry(name.clone()).or_default();
                values.entry(value.clone()).or_default()
            }
        }
    }

    fn remove(&mut self, scope: &Scope, id: u64) {
        self.watchers(scope).remove(&id);
        if let Some((name, value)) = &scope.field
            && let Some(values) = self.by_field.get_mut(name)
        {
            values.retain(|known, watchers| known != value || !watchers.is_empty());
            if values.is_empty() {
                self.by_field.remove(name);
            }
        }
    }

    /// Hands one event to those it concerns; those that are to be cut off.
    fn deliver(&self, event: &Arc<Event>, cut_off: &mut Vec<(Scope, u64)>) {
        let fields = self.by_field.iter().flat_map(|(name, by_value)| {
            values(event, name).filter_map(|value| by_value.get(value))
        });
        for watchers in std::iter::once(&self.all).chain(fields) {
            let slow = watchers
                .iter()
                .filter(|(_, watcher)| !watcher.deliver(event));
            cut_off.extend(slow.map(|(&id, watcher)| (watcher.scope.clone(), id)));
        }
    }
}

/// The watchers, by what they watch: an event wakes only those it concerns.
#[derive(Debug)]
pub(crate) struct Hub {
    by_prefix: BTreeMap<Arc<str>, Group>,
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
        scope: &Scope,
        buffer: usize,
    ) -> Watch {
        let (events, live) = mpsc::channel(buffer.max(1));
        let lagged = Arc::new(AtomicBool::new(false));
        let id = self.next_id;
        self.next_id += 1;
        if !self.closed {
            let watcher = Watcher {
                scope: scope.clone(),
                events,
                lagged: Arc::clone(&lagged),
            };
            self.insert(id, watcher);
        }
        Watch {
            hub: Arc::clone(shared),
            scope: scope.clone(),
            id,
            backlog: VecDeque::new(),
            live,
            lagged,
            settled: Arc::clone(&self.settled),
            seen: 0,
        }
    }

    /// Hands one event to those who watch it.
    pub(crate) fn deliver(&mut self, event: &Arc<Event>) {
        let mut cut_off = Vec::new();
        for &length in self.lengths.keys() {
            let group = event
                .key
                .get(..length)
                .and_then(|it| self.by_prefix.get(it));
            if let Some(group) = group {
                group.deliver(event, &mut cut_off);
            }
        }
        for (scope, id) in cut_off {
            self.remove(&scope, id);
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

    fn insert(&mut self, id: u64, watcher: Watcher) {
        let prefix = &watcher.scope.prefix;
        if !self.by_prefix.contains_key(prefix) {
            *self.lengths.entry(prefix.len()).or_default() += 1;
        }
        let group = self.by_prefix.entry(Arc::clone(prefix)).or_default();
        group.watchers(&watcher.scope.clone()).insert(id, watcher);
    }

    fn remove(&mut self, scope: &Scope, id: u64) {
        let Some(group) = self.by_prefix.get_mut(&scope.prefix) else {
            return;
        };
        group.remove(scope, id);
        if !group.is_empty() {
            return;
        }
        self.by_prefix.remove(&scope.prefix);
        let length = scope.prefix.len();
        if let Some(count) = self.lengths.get_mut(&length) {
            *count -= 1;
            if *count == 0 {
                self.lengths.remove(&length);
            }
        }
    }
}
