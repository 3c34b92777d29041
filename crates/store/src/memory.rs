//! The engine that keeps nothing: for tests and for clusters that live as long as their process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::watch as latest;

use crate::published::{Published, lock};
use crate::sequence::Draft;
use crate::snapshot::Map;
use crate::{Committed, Error, Item, Op, Scope, Snapshot, Store, Watch, Window};

/// A store in memory. A clone is the same store.
#[derive(Debug, Clone)]
pub struct Memory {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// Held while a write is decided and published: that is what orders writes.
    sequencer: Mutex<()>,
    published: Published,
    closed: AtomicBool,
}

impl Memory {
    /// An empty store at revision 1, so that no object has the revision 0, which means "any".
    pub fn new(window: Window) -> Self {
        Self {
            inner: Arc::new(Inner {
                sequencer: Mutex::new(()),
                published: Published::new(window, Map::new(), crate::embedded::FIRST_REVISION),
                closed: AtomicBool::new(false),
            }),
        }
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new(Window::default())
    }
}

impl Inner {
    fn commit(&self, op: Op) -> Result<Committed, Error> {
        let _turn = lock(&self.sequencer);
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::Closed);
        }
        let (map, revision) = self.published.present();
        let mut draft = Draft::new(map, revision);
        let committed = draft.apply(op)?;
        self.published
            .publish(draft.map, draft.revision, &draft.events);
        Ok(committed)
    }

    fn close(&self) {
        let _turn = lock(&self.sequencer);
        self.closed.store(true, Ordering::Release);
        self.published.close();
    }
}

impl Store for Memory {
    fn revision(&self) -> u64 {
        self.inner.published.revision()
    }

    fn revisions(&self) -> latest::Receiver<u64> {
        self.inner.published.revisions()
    }

    fn get(&self, key: &str) -> Option<Arc<Item>> {
        self.inner.published.get(key)
    }

    fn list(&self, prefix: &str) -> Snapshot {
        self.inner.published.list(prefix)
    }

    fn list_at(&self, prefix: &str, revision: u64) -> Result<Snapshot, Error> {
        self.inner.published.list_at(prefix, revision)
    }

    fn commit(&self, op: Op) -> BoxFuture<'static, Result<Committed, Error>> {
        let inner = Arc::clone(&self.inner);
        async move { inner.commit(op) }.boxed()
    }

    fn watch_scope(&self, scope: &Scope, after: u64) -> Result<Watch, Error> {
        self.inner.published.watch(scope, after)
    }

    fn compact(&self, revision: u64) {
        self.inner.published.compact(revision);
    }

    fn close(&self) -> BoxFuture<'static, Result<(), Error>> {
        let inner = Arc::clone(&self.inner);
        async move {
            inner.close();
            Ok(())
        }
        .boxed()
    }
}
