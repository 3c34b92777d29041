//! The DaemonSet controller: `pernode_core::daemonset` decides, this crate reads and writes.
//!
//! ```text
//! informers ─▶ event_loop: one task owns the Index ─ plan ─▶ executor: bounded concurrent writes
//!                 ▲                                               │
//!                 └───────────── reports of what was written ◀────┘
//! ```
//!
//! The event loop is one task, so the index needs no lock, and nothing in it waits for a request. An
//! event that concerns a DaemonSet leads to a plan at once; there is no polling and no delay to collect
//! events. While the writes of a round are on their way, or not yet shown by the watch, only the status
//! of that DaemonSet is worked on.
//!
//! [`run`] works against any Kubernetes API server.

mod body;
mod error;
mod event_loop;
mod executor;
mod options;
mod sources;
mod status_writer;
mod views;

pub use error::Error;
pub use options::Options;
pub use sources::Sources;
pub use views::{DaemonSetView, RevisionView};

use pernode_runtime::{CancellationToken, Recorder, Writer};

/// Runs the controller until `shutdown`, or until an informer stops.
///
/// `sources` are followed from the moment of the call; nothing is written before all four have been
/// listed and the leadership gate of the options is open. At shutdown writes that were sent are
/// finished, no new ones begin.
pub async fn run(
    client: kube::Client,
    sources: Sources,
    options: Options,
    shutdown: CancellationToken,
) {
    let writer = Writer::new(client, &options.component);
    let recorder = Recorder::start(writer.clone(), &options.component, &shutdown);
    let executor = executor::Executor::new(writer, recorder, &options);
    event_loop::EventLoop::new(&sources, executor, options)
        .run(shutdown)
        .await;
}
