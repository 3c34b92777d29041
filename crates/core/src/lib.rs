//! The DaemonSet rules and the decisions of the other control loops, without IO.
//!
//! Everything here is a value or a synchronous function of values: watch events go into an
//! *index* (a plain struct), a *plan* comes out, and another crate executes it. Time is an
//! argument, randomness is a seeded argument, and no function can fail for a reason outside
//! its arguments.
//!
//! ```text
//! words:      meta, quantity, selector, taint, affinity, node, pod, daemonset (the read models)
//! DaemonSets: daemonset::{placement, fleet, plan, rollout, history, status, model}
//! others:     schedule, eviction, lifecycle, garbage, podlife
//! ```
#![no_std]
extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod affinity;
pub mod daemonset;
pub mod eviction;
pub mod garbage;
pub mod int_or_percent;
pub mod lifecycle;
pub mod meta;
pub mod node;
pub mod pod;
pub mod podgc;
pub mod podlife;
pub mod quantity;
pub mod quota;
pub mod schedule;
pub mod selector;
pub mod taint;
