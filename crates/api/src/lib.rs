//! Kubernetes API conventions on objects, without IO.
#![no_std]
extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod decode;
pub mod defaults;
pub mod discovery;
pub mod field_error;
pub mod field_selector;
pub mod managed;
pub mod names;
mod object;
pub mod openapi;
pub mod paging;
pub mod patch;
pub mod protobuf;
pub mod resource;
pub mod schema;
pub mod status;
pub mod strategy;
pub mod table;
pub mod validation;
