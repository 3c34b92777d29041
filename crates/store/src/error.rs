//! Why the store refuses.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::Item;

/// Why the store refuses.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The precondition of a write does not hold; nothing was written.
    #[error("the precondition of the write does not hold")]
    Conflict {
        /// What is there instead.
        current: Option<Arc<Item>>,
    },
    /// A past that the event window no longer reaches. Harmless: list again.
    #[error("the requested revision {requested} has been compacted: the oldest is {oldest}")]
    Compacted {
        /// The revision asked for.
        requested: u64,
        /// The oldest revision that can still be listed or watched from.
        oldest: u64,
    },
    /// A revision that is still to come.
    #[error("the requested revision {requested} is larger than the current one, {current}")]
    TooFar {
        /// The revision asked for.
        requested: u64,
        /// The revision of the last write.
        current: u64,
    },
    /// A write whose payload has no place for its revision: a mistake of the caller.
    #[error("the payload of {key} has {len} bytes and no place {revision_at} for the revision")]
    Payload {
        /// The key that was to be written.
        key: Arc<str>,
        /// Length of the payload.
        len: usize,
        /// Where the revision was to go.
        revision_at: usize,
    },
    /// The disk failed; the write was refused and nothing that was acknowledged is lost.
    ///
    /// Later writes work again as soon as the disk does, for example when it has space again.
    #[error("cannot {doing} {}", path.display())]
    Io {
        /// What was tried, such as "write to".
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: Arc<io::Error>,
    },
    /// The data file is not what this program wrote. It is left as it is.
    #[error(
        "the data file {} is corrupt ({detail}); it was not changed. Restore it from a backup, \
         or move it away to start with an empty cluster",
        path.display()
    )]
    Corrupt {
        /// The data file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// The data directory belongs to a process that is running.
    #[error(
        "the data directory {} is in use by another process{}; stop that one first, \
         or choose another directory",
        path.display(),
        holder.map(|pid| format!(" (pid {pid})")).unwrap_or_default()
    )]
    InUse {
        /// The data directory.
        path: PathBuf,
        /// The process that holds it, as it noted itself.
        holder: Option<u32>,
    },
    /// The store has been closed.
    #[error("the store is closed")]
    Closed,
}

impl Error {
    /// The object that stood in the way, when this is a conflict with one.
    pub fn conflicting(&self) -> Option<&Arc<Item>> {
        match self {
            Self::Conflict { current } => current.as_ref(),
            _ => None,
        }
    }
}
