//! What readers see: the map, the event window and the watchers; shared by the engines.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use imbl::Vector;
use tokio::sync::watch as latest;

use crate::snapshot::Map;
use crate::watch::Hub;
use crate::{Error, Event, EventKind, Scope, Snapshot, Watch};

/// How much of the past is kept for lists at a revision and for watches that resume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Most events kept. Default: 100,000.
    pub events: usize,
    /// Most bytes of objects kept in events. Default: 128 MiB.
    pub bytes: usize,
    /// Most events that wait for one watcher before it is cut off. Default: 10,000.
    pub watch_buffer: usize,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            events: 100_000,
            bytes: 128 << 20,
            watch_buffer: 10_000,
        }
    }
}

/// The present and the near past.
#[derive(Debug, Clone)]
struct State {
    map: Map,
    revision: u64,
    /// Events after `floor`, in order.
    events: Vector<Arc<Event>>,
    /// Bytes of the items of `events`.
    bytes: usize,
    /// The oldest revision that can be listed or watched from.
    floor: u64,
}

/// What readers see.
///
/// Two locks, always taken in this order: `hub` is held while a batch is published and handed to
/// the watchers, so that a watch starts between two batches; `state` is held only for as long as it
/// takes to clone or to replace a few pointers, so that reads never wait for the fan-out.
#[derive(Debug)]
pub(crate) struct Published {
    window: Window,
    hub: Arc<Mutex<Hub>>,
    state: RwLock<State>,
    revisions: latest::Sender<u64>,
}

impl Published {
    pub(crate) fn new(window: Window, map: Map, revision: u64) -> Self {
        Self {
            window,
            hub: Arc::new(Mutex::new(Hub::new(revision))),
            state: RwLock::new(State {
                map,
                revision,
                events: Vector::new(),
                bytes: 0,
                floor: revision,
            }),
            revisions: latest::Sender::new(revision),
        }
    }

    /// The map and its revision, to decide writes against.
    pub(crate) fn present(&self) -> (Map, u64) {
        let state = self.read();
        (state.map.clone(), state.revision)
    }

    pub(crate) fn revision(&self) -> u64 {
        self.read().revision
    }

    pub(crate) fn revisions(&self) -> latest::Receiver<u64> {
        self.revisions.subscribe()
    }

    pub(crate) fn get(&self, key: &str) -> Option<Arc<crate::Item>> {
        self.read().map.get(key).cloned()
    }

    pub(crate) fn list(&self, prefix: &str) -> Snapshot {
        let (map, revision) = self.present();
        Snapshot {
            map,
            prefix: prefix.into(),
            revision,
        }
    }

    pub(crate) fn list_at(&self, prefix: &str, revision: u64) -> Result<Snapshot, Error> {
        let state = self.read().clone();
        state.check_reachable(revision)?;
        let mut map = state.map;
        for event in state.events.iter().rev() {
            if event.revision <= revision {
                break;
            }
            if event.key.starts_with(prefix) {
                undo(&mut map, event);
            }
        }
        Ok(Snapshot {
            map,
            prefix: prefix.into(),
            revision,
        })
    }

    pub(crate) fn watch(&self, scope: &Scope, after: u64) -> Result<Watch, Error> {
        let (events, mut watch) = {
            let mut hub = lock(&self.hub);
            let state = self.read();
            state.check_reachable(after)?;
            let watch = hub.register(&self.hub, scope, self.window.watch_buffer);
            (state.events.clone(), watch)
        };
        // Outside of the locks: a backlog can be long.
        let first = match events.binary_search_by(|event| event.revision.cmp(&after)) {
            Ok(index) => index + 1,
            Err(index) => index,
        };
        let backlog = events
            .iter()
            .skip(first)
            .filter(|event| scope.contains(event));
        watch.fill(backlog.cloned().collect(), after);
        Ok(watch)
    }

    /// Shows a decided batch to readers, then to watchers.
    pub(crate) fn publish(&self, map: Map, revision: u64, events: &[Arc<Event>]) {
        let mut hub = lock(&self.hub);
        let replaced = self.write().advance(map, revision, events, self.window);
        for event in events {
            hub.deliver(event);
        }
        hub.settle(revision);
        drop(hub);
        self.revisions.send_replace(revision);
        // The nodes only the old map had are freed here, where no reader waits.
        drop(replaced);
    }

    pub(crate) fn compact(&self, revision: u64) {
        let mut state = self.write();
        let until = revision.min(state.revision);
        while state
            .events
            .front()
            .is_some_and(|event| event.revision <= until)
        {
            state.forget_oldest();
        }
        state.floor = state.floor.max(until);
    }

    /// Ends all watches.
    pub(crate) fn close(&self) {
        lock(&self.hub).close();
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        // Every change of the state is made of assignments that cannot panic half way.
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn check_reachable(&self, revision: u64) -> Result<(), Error> {
        if revision > self.revision {
            return Err(Error::TooFar {
                requested: revision,
                current: self.revision,
            });
        }
        if revision < self.floor {
            return Err(Error::Compacted {
                requested: revision,
                oldest: self.floor,
            });
        }
        Ok(())
    }

    /// Moves on; returns the map that was replaced.
    fn advance(&mut self, map: Map, revision: u64, events: &[Arc<Event>], window: Window) -> Map {
        for event in events {
            self.bytes += event.item.bytes.len();
            self.events.push_back(Arc::clone(event));
        }
        while self.events.len() > window.events || self.bytes > window.bytes {
            self.forget_oldest();
        }
        self.revision = revision;
        std::mem::replace(&mut self.map, map)
    }

    fn forget_oldest(&mut self) {
        if let Some(event) = self.events.pop_front() {
            self.bytes -= event.item.bytes.len();
            self.floor = event.revision;
        }
    }
}

/// Takes one event back.
fn undo(map: &mut Map, event: &Event) {
    match (event.kind, &event.previous) {
        (EventKind::Updated | EventKind::Deleted, Some(previous)) => {
            map.insert(Arc::clone(&event.key), Arc::clone(previous));
        }
        _ => {
            map.remove(&*event.key);
        }
    }
}

/// Locks; what it protects is never left half changed by a panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
