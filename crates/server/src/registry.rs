//! The generic registry: what every kind can do, over the store.
//!
//! A read answers with stored bytes, cut to size. A write parses the stored object once, decides
//! with the pure rules of `pernode_api`, encodes once and commits against the revision it read.

mod create;
mod delete;
mod list;
mod patch;
mod read;
mod selection;
mod update;
mod watch;
pub(crate) mod write;

pub(crate) use create::{create, insert};
pub(crate) use delete::{delete, delete_collection, remove};
pub(crate) use list::list;
pub(crate) use patch::{patch, patch_with};
pub(crate) use read::get;
pub(crate) use update::{check_name, check_uid, check_version, replace, update, version};
pub(crate) use watch::{Seat, too_many, watch};
pub(crate) use write::{Part, Place, attrs_of, change};
