//! What selectors need to know of stored objects, read back from their bytes.

use std::sync::Arc;

use pernode_store::Attrs;

use crate::key;
use crate::registry::attrs_of;

/// Reads the attributes of an object from its key and bytes, for an engine that opens its files.
pub fn indexer() -> Arc<dyn Fn(&str, &[u8]) -> Attrs + Send + Sync> {
    Arc::new(|key, bytes| {
        let Some(resource) = key::resource_of(key) else {
            return Attrs::default();
        };
        serde_json::from_slice(bytes)
            .map(|object| attrs_of(resource, &object))
            .unwrap_or_default()
    })
}
