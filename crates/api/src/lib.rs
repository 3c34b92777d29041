//! Kubernetes API conventions on objects, without IO.
#![no_std]
extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod resource;
