//! Events: what people read under `kubectl describe`.

mod correlate;

use crate::writer::Patch;
use crate::{Backoff, CancellationToken, Error, Resource, Writer};
use correlate::{Correlator, Write};
use futures::StreamExt;
use jiff::Timestamp;
use pernode_core::meta::Meta;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;

/// The kind events are written as.
const EVENTS: Resource = Resource::namespaced("", "v1", "events", "Event");

/// Events that may wait to be written; more are dropped and counted.
const BACKLOG_MAX: usize = 4096;
/// Writes of events in flight at a time: they must not crowd out the loops' own writes.
const IN_FLIGHT_MAX: usize = 8;
/// How often one event's write is tried.
const TRIES: usize = 4;

/// How much an event matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// As it should be.
    Normal,
    /// Somebody should know.
    Warning,
}

impl Severity {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// The object an event is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectRef {
    /// `group/version`, or `version` in the core group.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Namespace; empty for cluster-scoped objects.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Uid.
    pub uid: String,
    /// Revision it was seen at.
    pub resource_version: String,
}

impl ObjectRef {
    /// The object of a kind with this metadata.
    pub fn of(resource: &Resource, meta: &Meta) -> Self {
        Self {
            api_version: resource.api_version(),
            kind: resource.kind.clone().into_owned(),
            namespace: meta.namespace.clone(),
            name: meta.name.clone(),
            uid: meta.uid.clone(),
            resource_version: meta.resource_version.clone(),
        }
    }
}

/// Something that happened.
#[derive(Debug, Clone)]
struct Happening {
    object: ObjectRef,
    host: String,
    severity: Severity,
    reason: &'static str,
    message: String,
}

/// Records events without ever making its caller wait.
///
/// Repeated events become one with a count, many alike become one "combined" event, and an
/// object that makes more than its share is cut down, as client-go does it: the event stream
/// of a roll-out over thousands of nodes stays readable and cheap. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Recorder {
    queue: mpsc::Sender<Happening>,
    dropped: Arc<AtomicU64>,
}

impl Recorder {
    /// A recorder that reports as `component`, writing in a task of its own.
    ///
    /// The task ends at `shutdown` after it has written what waits, or with the last clone.
    pub fn start(writer: Writer, component: &str, shutdown: &CancellationToken) -> Self {
        let (queue, waiting) = mpsc::channel(BACKLOG_MAX);
        let dropped = Arc::new(AtomicU64::new(0));
        let task = Task {
            writer,
            correlator: Correlator::new(component),
            dropped: Arc::clone(&dropped),
        };
        tokio::spawn(task.run(waiting, shutdown.clone()));
        Self { queue, dropped }
    }

    /// Records that something happened to an object.
    pub fn record(
        &self,
        object: ObjectRef,
        severity: Severity,
        reason: &'static str,
        message: impl Into<String>,
    ) {
        self.record_on("", object, (severity, reason), message);
    }

    /// The same, reported by the agent on the node `host`.
    pub fn record_on(
        &self,
        host: &str,
        object: ObjectRef,
        (severity, reason): (Severity, &'static str),
        message: impl Into<String>,
    ) {
        let happening = Happening {
            object,
            host: host.to_owned(),
            severity,
            reason,
            message: message.into(),
        };
        if self.queue.try_send(happening).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Events that were not written: too many at once, or refused by the server.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

struct Task {
    writer: Writer,
    correlator: Correlator,
    dropped: Arc<AtomicU64>,
}

impl Task {
    async fn run(mut self, mut waiting: mpsc::Receiver<Happening>, shutdown: CancellationToken) {
        let mut batch = Vec::new();
        loop {
            let count = shutdown
                .run_until_cancelled(waiting.recv_many(&mut batch, BACKLOG_MAX))
                .await;
            if count.is_none() {
                waiting.close();
                waiting.recv_many(&mut batch, BACKLOG_MAX).await;
            }
            self.write(batch.drain(..)).await;
            if count.is_none_or(|count| count == 0) {
                return;
            }
        }
    }

    async fn write(&mut self, batch: impl Iterator<Item = Happening>) {
        let now = Timestamp::now();
        for happening in batch {
            if !self.correlator.observe(&happening, now) {
                self.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
        let writes = self.correlator.writes(now);
        let writer = &self.writer;
        let mut results = futures::stream::iter(writes)
            .map(|write| async move { (send(writer, &write).await, write.key) })
            .buffer_unordered(IN_FLIGHT_MAX);
        while let Some((result, key)) = results.next().await {
            if let Err(error) = &result {
                tracing::debug!(%error, "event not written");
                self.dropped.fetch_add(1, Ordering::Relaxed);
            }
            self.correlator.written(&key, result.is_ok());
        }
    }
}

/// Writes an event, anew when the one to be counted up has expired meanwhile.
async fn send(writer: &Writer, write: &Write) -> Result<(), Error> {
    let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
    let mut patch = write.stored;
    for left in (0..TRIES).rev() {
        let result = if patch {
            let name = (&*write.namespace, &*write.name);
            let form = Patch::Strategic;
            writer.patch(&EVENTS, name, form, &write.patch()).await
        } else {
            writer.create(&EVENTS, &write.namespace, &write.body).await
        };
        match result {
            Ok(_) => return Ok(()),
            Err(error) if patch && error.is_not_found() => patch = false,
            Err(error) if left == 0 || is_final(&error) => return Err(error),
            Err(_) => tokio::time::sleep(backoff.next_delay()).await,
        }
    }
    Ok(())
}

/// Whether the server will give the same answer again.
fn is_final(error: &Error) -> bool {
    (400..500).contains(&error.code()) && !error.is_too_many_requests()
}
