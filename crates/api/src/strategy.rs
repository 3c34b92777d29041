//! What the server keeps, resets and counts when an object is written.
//!
//! The order for a create is: decode, [`crate::defaults::apply_defaults`], [`prepare_create`],
//! [`fill_system_fields`], admission, [`crate::validation::validate_create`]. For an update:
//! decode, defaults, [`prepare_update`] or [`prepare_status_update`], admission, validation; then
//! [`deletion::is_finished`] says whether the object goes instead of being stored.

pub mod deletion;

pub use deletion::{Deletion, Grace, Propagation, deletion_grace, plan_deletion};

use crate::resource::Resource;
use jiff::Timestamp;
use serde_json::Value;

/// Puts the server-owned fields of a new object in place: no status, generation 1.
pub fn prepare_create(resource: &Resource, object: &mut Value) {
    let _ = (resource, object);
}

/// Gives a new object its uid and creation time and drops what only the server may say.
pub fn fill_system_fields(object: &mut Value, uid: &str, now: Timestamp) {
    let _ = (object, uid, now);
}

/// Puts the server-owned fields of an update in place: the old status, the counted generation.
pub fn prepare_update(resource: &Resource, new: &mut Value, old: &Value) {
    let _ = (resource, new, old);
}

/// Puts the fields in place that an update through `/status` does not touch.
pub fn prepare_status_update(resource: &Resource, new: &mut Value, old: &Value) {
    let _ = (resource, new, old);
}

/// The warnings that a client gets with an accepted object, such as deprecated annotations.
pub fn warnings(resource: &Resource, object: &Value) -> alloc::vec::Vec<alloc::string::String> {
    let _ = (resource, object);
    alloc::vec::Vec::new()
}
