//! The engine that keeps one directory.
//!
//! | file | what |
//! |---|---|
//! | `store.redb` | the objects and the revision, in a B-tree with checksums that is safe at any instant |
//! | `LOCK` | held by the process that has the directory open, and its process id |
//!
//! One thread writes. It takes all writes that wait, decides them one after the other, writes them
//! in one transaction with one fsync, shows them to readers and watchers and only then acknowledges
//! them. When the disk fails, the whole batch is refused and the file is opened anew before the
//! next one: what readers see was never ahead of the disk, so it is what the file is put back to.
//!
//! The event window is not kept: after a start the oldest revision is the one the store stopped at,
//! and clients that watched from before it list again, as they do after any compaction.

mod directory;
mod disk;
mod guarded;
#[cfg(test)]
mod tests;
mod writer;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::{Semaphore, mpsc, oneshot, watch as latest};

use crate::published::Published;
use crate::{Attrs, Committed, Error, Item, Op, Scope, Snapshot, Store, Watch, Window};
use directory::Directory;
use disk::{Disk, Medium};
use writer::{Request, Writer};

/// The revision of a store that has never been written to.
///
/// Not 0, which clients send to mean "any revision".
pub(crate) const FIRST_REVISION: u64 = 1;

/// Most writes that wait for their turn; more wait to be let in.
const WAITING_MAX: usize = 8192;

/// Makes the attributes of an object again from its key and bytes, when the store is opened.
pub type Indexer = Arc<dyn Fn(&str, &[u8]) -> Attrs + Send + Sync>;

/// How to open a directory.
#[derive(Clone)]
pub struct Options {
    /// How much of the past is kept.
    pub window: Window,
    /// What makes attributes from bytes. Default: nothing has any.
    pub indexer: Indexer,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            window: Window::default(),
            indexer: Arc::new(|_, _| Attrs::default()),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("window", &self.window)
            .finish_non_exhaustive()
    }
}

/// Opens a directory, which is made if it is absent; checks all of it, so it takes a moment.
///
/// A damaged file is refused with [`Error::Corrupt`] and stays as it is.
pub fn open(dir: &Path, options: &Options) -> Result<Embedded, Error> {
    let directory = Directory::lock(dir)?;
    let medium = Box::new(directory.data_file());
    Embedded::start(medium, Some(directory), options)
}

/// A store in one directory.
#[derive(Debug)]
pub struct Embedded {
    published: Arc<Published>,
    requests: mpsc::UnboundedSender<Request>,
    /// One permit for each write that waits: the channel is unbounded so that closing never waits.
    room: Arc<Semaphore>,
    stopped: latest::Receiver<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Embedded {
    fn start(
        medium: Box<dyn Medium>,
        directory: Option<Directory>,
        options: &Options,
    ) -> Result<Self, Error> {
        let path = medium.path().to_path_buf();
        let (disk, map, revision) = Disk::open(medium, &options.indexer)?;
        let published = Arc::new(Published::new(options.window, map, revision));
        let (requests, queue) = mpsc::unbounded_channel();
        let (stop, stopped) = latest::channel(false);
        let writer = Writer::new(disk, Arc::clone(&published), queue);
        let thread = std::thread::Builder::new()
            .name("pernode-store".into())
            .spawn(move || {
                writer.run();
                // The lock goes last: whoever gets it finds a file that is closed.
                drop(directory);
                stop.send_replace(true);
            })
            .map_err(|source| Error::Io {
                doing: "start the thread that writes",
                path,
                source: Arc::new(source),
            })?;
        let room = Arc::new(Semaphore::new(WAITING_MAX));
        Ok(Self {
            published,
            requests,
            room,
            stopped,
            thread: Some(thread),
        })
    }
}

impl Store for Embedded {
    fn revision(&self) -> u64 {
        self.published.revision()
    }

    fn revisions(&self) -> latest::Receiver<u64> {
        self.published.revisions()
    }

    fn get(&self, key: &str) -> Option<Arc<Item>> {
        self.published.get(key)
    }

    fn list(&self, prefix: &str) -> Snapshot {
        self.published.list(prefix)
    }

    fn list_at(&self, prefix: &str, revision: u64) -> Result<Snapshot, Error> {
        self.published.list_at(prefix, revision)
    }

    fn commit(&self, op: Op) -> BoxFuture<'static, Result<Committed, Error>> {
        let requests = self.requests.clone();
        let room = Arc::clone(&self.room);
        async move {
            let permit = room.acquire_owned().await.map_err(|_| Error::Closed)?;
            let (reply, outcome) = oneshot::channel();
            let request = Request::Write { op, reply, permit };
            requests.send(request).map_err(|_| Error::Closed)?;
            outcome.await.map_err(|_| Error::Closed)?
        }
        .boxed()
    }

    fn watch_scope(&self, scope: &Scope, after: u64) -> Result<Watch, Error> {
        self.published.watch(scope, after)
    }

    fn compact(&self, revision: u64) {
        self.published.compact(revision);
    }

    fn close(&self) -> BoxFuture<'static, Result<(), Error>> {
        // Whoever comes second only waits for the first.
        let _ = self.requests.send(Request::Close);
        let mut stopped = self.stopped.clone();
        async move {
            // An error means that the thread is gone, which is what is waited for.
            let _ = stopped.wait_for(|stopped| *stopped).await;
            Ok(())
        }
        .boxed()
    }
}

impl Drop for Embedded {
    /// Finishes what was accepted: at most a few transactions.
    fn drop(&mut self) {
        let _ = self.requests.send(Request::Close);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
