//! What a list sees.

use std::ops::Bound;
use std::sync::Arc;

use imbl::OrdMap;

use crate::Item;

/// All objects, by key. Clones share their nodes.
pub(crate) type Map = OrdMap<Arc<str>, Arc<Item>>;

/// The objects under a prefix at one revision; cheap to make, to clone and to keep.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub(crate) map: Map,
    pub(crate) prefix: Arc<str>,
    pub(crate) revision: u64,
}

impl Snapshot {
    /// The revision it shows.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The objects in key order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Item>> {
        self.range(Bound::Included(&*self.prefix))
    }

    /// The objects after a key, in key order: the next page of a list.
    pub fn after<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a Arc<Item>> {
        // A key before the prefix would start in a neighbour's objects.
        if key < &*self.prefix {
            self.range(Bound::Included(&*self.prefix))
        } else {
            self.range(Bound::Excluded(key))
        }
    }

    /// The objects from a key on, in key order.
    pub fn from<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a Arc<Item>> {
        self.range(Bound::Included(key.max(&*self.prefix)))
    }

    /// How many objects there are; counts them.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    fn range<'a>(&'a self, start: Bound<&'a str>) -> impl Iterator<Item = &'a Arc<Item>> {
        self.map
            .range::<_, str>((start, Bound::Unbounded))
            .take_while(|(key, _)| key.starts_with(&*self.prefix))
            .map(|(_, item)| item)
    }
}
