//! DaemonSets: which node gets a pod, and how a new template is rolled out.
//!
//! ```text
//! watch events ──► index::Index ──► fleet::Fleet (one per DaemonSet) ──► plan::plan ──► plan::Plan
//!                   who is woken      one slot per node,                  creates, deletes, revisions,
//!                                     counters and sets by transition     status, events, next look
//! ```
//!
//! The rules are those of section 1 to 7 of the DaemonSet contract; [`model`] holds them once more,
//! written from scratch, and the tests require both to agree.

pub mod backoff;
pub mod budget;
pub mod event;
pub mod expectations;
pub mod fleet;
pub mod history;
pub mod index;
pub mod manage;
pub mod model;
pub mod placement;
pub mod plan;
pub mod policy;
pub mod progress;
pub mod render;
pub mod revision;
pub mod rollback;
pub mod rollout;
pub mod slot;
pub mod slow_start;
pub mod status;
pub mod tally;
pub mod view;
pub mod why;

pub use fleet::Fleet;
pub use index::{Index, Key, Wakes};
pub use plan::{Plan, plan};
pub use policy::Policy;
pub use view::{DaemonSet, Revision};
