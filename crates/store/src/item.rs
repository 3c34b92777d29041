//! What the store holds: objects at rest, and what happened to them.

use std::sync::Arc;

use bytes::Bytes;

use crate::Error;

/// What selectors need to know of an object, so that nobody has to parse its bytes for them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attrs {
    /// Labels, by key.
    pub labels: Vec<(Box<str>, Box<str>)>,
    /// Fields the object's kind can be selected by, such as `spec.nodeName`.
    pub fields: Vec<(Box<str>, Box<str>)>,
}

impl Attrs {
    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        value_of(&self.labels, key)
    }

    /// The value of a selectable field.
    pub fn field(&self, name: &str) -> Option<&str> {
        value_of(&self.fields, name)
    }
}

/// A handful of pairs at most: looking at each is faster than any index.
fn value_of<'a>(pairs: &'a [(Box<str>, Box<str>)], key: &str) -> Option<&'a str> {
    pairs
        .iter()
        .find(|(name, _)| &**name == key)
        .map(|(_, value)| &**value)
}

/// An object at rest: its bytes, and what selectors need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its key.
    pub key: Arc<str>,
    /// The revision of its last write.
    pub revision: u64,
    /// The revision of the write that created it.
    pub created: u64,
    /// The object as clients get it, its revision included.
    pub bytes: Bytes,
    /// Labels and selectable fields.
    pub attrs: Arc<Attrs>,
}

/// An object's bytes with a gap for its revision, which is known only when the write has its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// The bytes before and after the gap.
    pub bytes: Vec<u8>,
    /// Where the decimal revision goes.
    pub revision_at: usize,
}

impl Payload {
    /// Bytes with a gap.
    pub fn new(bytes: Vec<u8>, revision_at: usize) -> Self {
        Self { bytes, revision_at }
    }

    /// The bytes with the decimal revision in the gap.
    pub(crate) fn splice(&self, revision: u64) -> Bytes {
        let digits = revision.to_string();
        let (head, tail) = self.bytes.split_at(self.revision_at);
        let mut bytes = Vec::with_capacity(self.bytes.len() + digits.len());
        bytes.extend_from_slice(head);
        bytes.extend_from_slice(digits.as_bytes());
        bytes.extend_from_slice(tail);
        bytes.into()
    }

    /// Refuses a gap outside of the bytes, so that [`Payload::splice`] cannot fail later.
    pub(crate) fn check(&self, key: &Arc<str>) -> Result<(), Error> {
        if self.revision_at <= self.bytes.len() {
            return Ok(());
        }
        Err(Error::Payload {
            key: Arc::clone(key),
            len: self.bytes.len(),
            revision_at: self.revision_at,
        })
    }
}

/// What a write did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// The key was absent before.
    Created,
    /// The key was there before and still is.
    Updated,
    /// The key is gone.
    Deleted,
}

/// One write, as watchers see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The revision of the write.
    pub revision: u64,
    /// The key written to.
    pub key: Arc<str>,
    /// What it did.
    pub kind: EventKind,
    /// The object after the write; of a deletion, its last state with the deletion's revision.
    pub item: Arc<Item>,
    /// The object before the write.
    pub previous: Option<Arc<Item>>,
}
