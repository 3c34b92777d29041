//! What all control loops share: everything between a [`kube::Client`] and a pure decision.
//!
//! ```text
//! informer ─ list + watch ─▶ Shared<V> ─ Event::{Reset, Apply, Delete} ─▶ a loop's index
//!                                                                              │ plan
//! API server ◀── Writer ◀───────────── Queue, Leader, Recorder ◀───────────────┘
//! ```
//!
//! Nothing here polls: a change travels from the server's watch to the loop as soon as its
//! bytes arrive. Nothing here decides either; decisions live in `pernode_core`.

mod backoff;
mod discovery;
mod error;
mod events;
mod informer;
mod leader;
#[cfg(test)]
mod mock;
mod queue;
mod resource;
mod shared;
mod view;
mod writer;

pub use backoff::Backoff;
pub use discovery::{Discovered, discover};
pub use error::{Error, Failure};
pub use events::{ObjectRef, Recorder, Severity};
pub use informer::{Informer, Source};
pub use leader::{Gate, LeaseOptions, lead};
pub use queue::Queue;
pub use resource::Resource;
pub use shared::{Event, Shared, Subscription};
pub use view::{Lease, LeaseSpec, Object, Partial, View};
pub use writer::{DeleteOptions, Patch, Precondition, Propagation, Writer};

pub use tokio_util::sync::CancellationToken;
