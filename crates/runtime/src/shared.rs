//! One watch, many readers.

use crate::Object;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::sync::Notify;

/// Events one subscriber may have waiting before it gets a fresh `Reset` instead.
///
/// An event is a pointer, so a full backlog is about 1 MiB. At 20,000 pods a whole roll-out
/// fits; a subscriber that is further behind is better served by the present state.
const BACKLOG_MAX: usize = 65_536;

/// What a subscriber is told.
#[derive(Debug)]
pub enum Event<V> {
    /// The whole present state; whatever was known before is void. Always the first event.
    Reset(Vec<Arc<V>>),
    /// An object was created or changed.
    Apply(Arc<V>),
    /// An object is gone; its last known state.
    Delete(Arc<V>),
}

impl<V> Clone for Event<V> {
    fn clone(&self) -> Self {
        match self {
            Self::Reset(all) => Self::Reset(all.clone()),
            Self::Apply(one) => Self::Apply(one.clone()),
            Self::Delete(one) => Self::Delete(one.clone()),
        }
    }
}

/// The objects of one informer, kept up to date, shared by any number of loops.
///
/// Cloning is cheap and gives the same objects.
#[derive(Debug)]
pub struct Shared<V> {
    inner: Arc<Inner<V>>,
}

#[derive(Debug)]
struct Inner<V> {
    state: Mutex<State<V>>,
    changed: Notify,
    lagged: AtomicU64,
}

#[derive(Debug)]
struct State<V> {
    objects: BTreeMap<Box<str>, Arc<V>>,
    subscribers: Vec<Weak<Slot<V>>>,
    synced: bool,
    closed: bool,
}

#[derive(Debug)]
struct Slot<V> {
    backlog: Mutex<Backlog<V>>,
    ready: Notify,
}

#[derive(Debug)]
struct Backlog<V> {
    events: VecDeque<Event<V>>,
    reset: bool,
}

/// A loop's end of a [`Shared`].
#[derive(Debug)]
pub struct Subscription<V> {
    inner: Arc<Inner<V>>,
    slot: Arc<Slot<V>>,
}

impl<V> Clone for Shared<V> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

impl<V: Object> Default for Shared<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: Object> Shared<V> {
    /// Objects that nobody has listed yet; an informer, or a test, feeds it.
    pub fn new() -> Self {
        Self {
            inner: Arc::new(Inner {
                state: Mutex::new(State {
                    objects: BTreeMap::new(),
                    subscribers: Vec::new(),
                    synced: false,
                    closed: false,
                }),
                changed: Notify::new(),
                lagged: AtomicU64::new(0),
            }),
        }
    }

    /// Subscribes: first a `Reset` once the objects are listed, then every change in order.
    pub fn subscribe(&self) -> Subscription<V> {
        let slot = Arc::new(Slot {
            backlog: Mutex::new(Backlog {
                events: VecDeque::new(),
                reset: true,
            }),
            ready: Notify::new(),
        });
        slot.ready.notify_one();
        self.inner.state().subscribers.push(Arc::downgrade(&slot));
        Subscription {
            inner: Arc::clone(&self.inner),
            slot,
        }
    }

    /// The object of a name; cluster-scoped ones have the namespace `""`.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Arc<V>> {
        self.inner
            .state()
            .objects
            .get(&*key(namespace, name))
            .cloned()
    }

    /// All objects, ordered by namespace and name.
    pub fn list(&self) -> Vec<Arc<V>> {
        self.inner.state().objects.values().cloned().collect()
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.inner.state().objects.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the objects have been listed once.
    pub fn is_synced(&self) -> bool {
        self.inner.state().synced
    }

    /// How many times a subscriber was too slow and got a `Reset` instead of its events.
    pub fn lagged(&self) -> u64 {
        self.inner.lagged.load(Ordering::Relaxed)
    }

    /// Waits until the objects have been listed once; `false` when the informer stopped first.
    pub async fn synced(&self) -> bool {
        loop {
            let changed = self.inner.changed.notified();
            {
                let state = self.inner.state();
                if state.synced || state.closed {
                    return state.synced;
                }
            }
            changed.await;
        }
    }

    /// Replaces everything by a fresh list; subscribers are told the differences.
    ///
    /// An object whose uid changed is reported as gone and created, because to every index it
    /// is another one.
    pub fn replace(&self, listed: Vec<V>) {
        let mut state = self.inner.state();
        let mut gone = std::mem::take(&mut state.objects);
        for object in listed {
            let key = key(&object.meta().namespace, &object.meta().name);
            let object = Arc::new(object);
            let old = gone.remove(&key);
            let same = old
                .as_ref()
                .is_some_and(|o| o.meta().resource_version == object.meta().resource_version);
            if let Some(old) = old
                && old.meta().uid != object.meta().uid
            {
                self.inner.tell(&mut state, &Event::Delete(old));
            }
            if !same {
                self.inner
                    .tell(&mut state, &Event::Apply(Arc::clone(&object)));
            }
            state.objects.insert(key, object);
        }
        for (_, object) in gone {
            self.inner.tell(&mut state, &Event::Delete(object));
        }
        let first = !std::mem::replace(&mut state.synced, true);
        if first {
            state.wake();
            self.inner.changed.notify_waiters();
        }
    }

    /// Takes an object that was created or changed.
    pub fn apply(&self, object: V) {
        let object = Arc::new(object);
        let mut state = self.inner.state();
        let key = key(&object.meta().namespace, &object.meta().name);
        let old = state.objects.insert(key, Arc::clone(&object));
        if let Some(old) = old
            && old.meta().uid != object.meta().uid
        {
            self.inner.tell(&mut state, &Event::Delete(old));
        }
        self.inner.tell(&mut state, &Event::Apply(object));
    }

    /// Takes the last state of an object that is gone.
    pub fn delete(&self, object: V) {
        let mut state = self.inner.state();
        let key = key(&object.meta().namespace, &object.meta().name);
        if state.objects.remove(&key).is_some() {
            self.inner
                .tell(&mut state, &Event::Delete(Arc::new(object)));
        }
    }

    /// Ends all subscriptions: the informer stopped.
    pub fn close(&self) {
        let mut state = self.inner.state();
        state.closed = true;
        state.wake();
        self.inner.changed.notify_waiters();
    }
}

impl<V> Inner<V> {
    fn state(&self) -> MutexGuard<'_, State<V>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues an event for all subscribers; before the first list nobody needs any.
    fn tell(&self, state: &mut State<V>, event: &Event<V>) {
        if !state.synced {
            return;
        }
        state.subscribers.retain(|slot| {
            let Some(slot) = slot.upgrade() else {
                return false;
            };
            if slot.push(event.clone()) {
                self.lagged.fetch_add(1, Ordering::Relaxed);
            }
            slot.ready.notify_one();
            true
        });
    }
}

impl<V> State<V> {
    fn wake(&self) {
        for slot in self.subscribers.iter().filter_map(Weak::upgrade) {
            slot.ready.notify_one();
        }
    }
}

impl<V> Slot<V> {
    fn backlog(&self) -> MutexGuard<'_, Backlog<V>> {
        self.backlog.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the event was one too many.
    fn push(&self, event: Event<V>) -> bool {
        let mut backlog = self.backlog();
        if backlog.reset {
            return false;
        }
        if backlog.events.len() >= BACKLOG_MAX {
            backlog.events = VecDeque::new();
            backlog.reset = true;
            return true;
        }
        backlog.events.push_back(event);
        false
    }
}

impl<V: Object> Subscription<V> {
    /// The next event; `None` once the informer stopped and all events were read.
    ///
    /// Cancel safe: an event is taken only when it is returned.
    pub async fn next(&mut self) -> Option<Event<V>> {
        loop {
            if let Some(event) = self.try_next() {
                return Some(event);
            }
            if self.inner.state().closed {
                return None;
            }
            self.slot.ready.notified().await;
        }
    }

    /// The next event if one is waiting.
    pub fn try_next(&mut self) -> Option<Event<V>> {
        // The state is locked first, as whoever queues events does: nothing can come between
        // the snapshot of a reset and the events after it.
        let state = self.inner.state();
        let mut backlog = self.slot.backlog();
        if backlog.reset {
            if !state.synced {
                return None;
            }
            backlog.reset = false;
            return Some(Event::Reset(state.objects.values().cloned().collect()));
        }
        drop(state);
        backlog.events.pop_front()
    }

    /// Waits for an event and takes all that are waiting; empty once the informer stopped.
    ///
    /// For loops that plan once after a burst.
    pub async fn next_batch(&mut self) -> Vec<Event<V>> {
        let Some(first) = self.next().await else {
            return Vec::new();
        };
        let mut batch = vec![first];
        while let Some(event) = self.try_next() {
            batch.push(event);
        }
        batch
    }
}

fn key(namespace: &str, name: &str) -> Box<str> {
    if namespace.is_empty() {
        name.into()
    } else {
        format!("{namespace}/{name}").into()
    }
}

#[cfg(test)]
mod tests;
