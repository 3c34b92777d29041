//! Writes.

use std::sync::Arc;

use crate::{Attrs, Error, Item, Payload};

/// What has to hold when a write has its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precondition {
    /// Nothing.
    Any,
    /// The key is absent.
    Absent,
    /// The object's last write has this revision.
    Revision(u64),
    /// The key is there.
    Exists,
}

impl Precondition {
    /// Whether it holds for what is there.
    pub fn holds(self, current: Option<&Item>) -> bool {
        match self {
            Self::Any => true,
            Self::Absent => current.is_none(),
            Self::Exists => current.is_some(),
            Self::Revision(revision) => current.is_some_and(|item| item.revision == revision),
        }
    }
}

/// One write.
#[derive(Debug, Clone)]
pub enum Op {
    /// Creates or replaces an object.
    Put {
        /// Its key.
        key: Arc<str>,
        /// Its bytes.
        payload: Payload,
        /// What selectors need to know of it.
        attrs: Attrs,
        /// What has to hold.
        precondition: Precondition,
    },
    /// Removes an object; one that is absent is a conflict with nothing.
    Delete {
        /// Its key.
        key: Arc<str>,
        /// What has to hold.
        precondition: Precondition,
        /// Its last state, which gets the revision of the deletion.
        last: Payload,
        /// What selectors need to know of the last state.
        attrs: Attrs,
    },
}

impl Op {
    /// The key it writes to.
    pub fn key(&self) -> &Arc<str> {
        match self {
            Self::Put { key, .. } | Self::Delete { key, .. } => key,
        }
    }

    /// Refuses what no engine could carry out.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self {
            Self::Put { key, payload, .. } => payload.check(key),
            Self::Delete { key, last, .. } => last.check(key),
        }
    }
}

/// A write that is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// The object after it; of a deletion, its last state with the deletion's revision.
    pub item: Arc<Item>,
    /// The object before it.
    pub previous: Option<Arc<Item>>,
}
