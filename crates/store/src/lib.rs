//! A revisioned key-value store with watch.
//!
//! One counter numbers every write of the whole store; an object's revision is the number of its
//! last write, and Kubernetes clients see it as `resourceVersion`. Reads, lists and watches are
//! answered from memory: a list is a persistent map, so it is a consistent snapshot for free and
//! never blocks a writer. A write is acknowledged when the engine has made it durable.
//!
//! ```text
//! commit(Op) ──► sequencer ──► (disk, one fsync for many writes) ──► publish ──► watchers
//!                 decides conflicts                                   │
//!                 and revisions            get, list, list_at ◄── published map + event window
//! ```
//!
//! Engines: [`memory`] keeps nothing, [`embedded`] keeps one directory. Both pass the same
//! conformance suite, `tests/conformance.rs`.

pub mod embedded;
mod error;
mod item;
pub mod memory;
mod op;
mod published;
mod sequence;
mod snapshot;
mod watch;

pub use error::Error;
pub use item::{Attrs, Event, EventKind, Item, Payload};
pub use op::{Committed, Op, Precondition};
pub use published::Window;
pub use snapshot::Snapshot;
pub use watch::{Scope, Watch, WatchError};

use std::sync::Arc;

use futures::future::BoxFuture;

/// A revisioned key-value store.
///
/// Objects are bytes under keys such as `/registry/pods/default/web`. The store knows nothing of
/// their contents but the [`Attrs`] it is given with them.
pub trait Store: Send + Sync + std::fmt::Debug {
    /// The revision of the last write that readers can see.
    fn revision(&self) -> u64;

    /// The revisions as they are published, for those who wait for one.
    fn revisions(&self) -> tokio::sync::watch::Receiver<u64>;

    /// One object as it is now.
    fn get(&self, key: &str) -> Option<Arc<Item>>;

    /// All objects whose key starts with a prefix, as they are now.
    fn list(&self, prefix: &str) -> Snapshot;

    /// All objects whose key starts with a prefix, as they were at a revision.
    ///
    /// The past is made by undoing the events of the window, so it reaches as far back as a watch:
    /// [`Error::Compacted`] below that, [`Error::TooFar`] above the present.
    fn list_at(&self, prefix: &str, revision: u64) -> Result<Snapshot, Error>;

    /// Writes, and resolves when the write is durable and readers can see it.
    ///
    /// Writes are decided in the order in which their futures were first polled. A future that is
    /// dropped after that is still written: its outcome is only not heard of.
    fn commit(&self, op: Op) -> BoxFuture<'static, Result<Committed, Error>>;

    /// All events after a revision on keys that start with a prefix, in order, without end.
    ///
    /// [`Error::Compacted`] when the window no longer reaches back that far, [`Error::TooFar`] when
    /// the revision is still to come.
    fn watch(&self, prefix: &str, after: u64) -> Result<Watch, Error> {
        self.watch_scope(&Scope::prefix(prefix), after)
    }

    /// The same for a narrower scope: a watcher is not woken for what it does not want.
    fn watch_scope(&self, scope: &Scope, after: u64) -> Result<Watch, Error>;

    /// Forgets the events up to a revision; reading the past and watching start after it.
    fn compact(&self, revision: u64);

    /// Finishes the writes that were accepted, makes them durable and ends all watches.
    ///
    /// Later writes are refused with [`Error::Closed`]; reads go on.
    fn close(&self) -> BoxFuture<'static, Result<(), Error>>;
}
