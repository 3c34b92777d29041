//! Deciding writes: which hold, which revision they get and what they do.

use std::sync::Arc;

use crate::snapshot::Map;
use crate::{Attrs, Committed, Error, Event, EventKind, Item, Op, Payload, Precondition};

/// The state that the writes of one batch are decided against, not yet seen by readers.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) map: Map,
    pub(crate) revision: u64,
    pub(crate) events: Vec<Arc<Event>>,
}

impl Draft {
    pub(crate) fn new(map: Map, revision: u64) -> Self {
        Self {
            map,
            revision,
            events: Vec::new(),
        }
    }

    /// Decides one write: a conflict changes nothing and takes no revision.
    pub(crate) fn apply(&mut self, op: Op) -> Result<Committed, Error> {
        op.check()?;
        let event = match op {
            Op::Put {
                key,
                payload,
                attrs,
                precondition,
            } => self.put(key, &payload, attrs, precondition)?,
            Op::Delete {
                key,
                precondition,
                last,
                attrs,
            } => self.delete(&key, precondition, &last, attrs)?,
        };
        let committed = Committed {
            item: Arc::clone(&event.item),
            previous: event.previous.clone(),
        };
        self.revision = event.revision;
        self.events.push(Arc::new(event));
        Ok(committed)
    }

    fn put(
        &mut self,
        key: Arc<str>,
        payload: &Payload,
        attrs: Attrs,
        precondition: Precondition,
    ) -> Result<Event, Error> {
        let previous = self.admit(&key, precondition)?;
        let revision = self.revision + 1;
        // One allocation for a key, however often it is written.
        let key = previous.as_ref().map_or(key, |item| Arc::clone(&item.key));
        let item = Arc::new(Item {
            key: Arc::clone(&key),
            revision,
            created: previous.as_ref().map_or(revision, |item| item.created),
            bytes: payload.splice(revision),
            attrs: share_attrs(attrs, previous.as_deref()),
        });
        self.map.insert(Arc::clone(&key), Arc::clone(&item));
        let kind = if previous.is_some() {
            EventKind::Updated
        } else {
            EventKind::Created
        };
        Ok(Event {
            revision,
            key,
            kind,
            item,
            previous,
        })
    }

    fn delete(
        &mut self,
        key: &Arc<str>,
        precondition: Precondition,
        last: &Payload,
        attrs: Attrs,
    ) -> Result<Event, Error> {
        let Some(previous) = self.admit(key, precondition)? else {
            return Err(Error::Conflict { current: None });
        };
        let revision = self.revision + 1;
        let item = Arc::new(Item {
            key: Arc::clone(&previous.key),
            revision,
            created: previous.created,
            bytes: last.splice(revision),
            attrs: share_attrs(attrs, Some(&previous)),
        });
        self.map.remove(key);
        Ok(Event {
            revision,
            key: Arc::clone(&previous.key),
            kind: EventKind::Deleted,
            item,
            previous: Some(previous),
        })
    }

    /// What is there, if the precondition holds for it.
    fn admit(
        &self,
        key: &Arc<str>,
        precondition: Precondition,
    ) -> Result<Option<Arc<Item>>, Error> {
        let current = self.map.get(&**key).cloned();
        if precondition.holds(current.as_deref()) {
            Ok(current)
        } else {
            Err(Error::Conflict { current })
        }
    }
}

/// Most writes change neither labels nor fields: those keep the memory of the write before.
fn share_attrs(attrs: Attrs, previous: Option<&Item>) -> Arc<Attrs> {
    match previous {
        Some(item) if *item.attrs == attrs => Arc::clone(&item.attrs),
        _ => Arc::new(attrs),
    }
}
