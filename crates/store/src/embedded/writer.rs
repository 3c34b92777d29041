//! The thread that writes: many writes, one transaction, one fsync.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use super::disk::Disk;
use crate::published::Published;
use crate::sequence::Draft;
use crate::{Committed, Error, Op};

/// Most writes in one transaction, so that the first of them does not wait for long.
const BATCH_MAX: usize = 4096;

/// What the thread is asked for.
#[derive(Debug)]
pub(super) enum Request {
    /// One write.
    Write {
        /// What to write.
        op: Op,
        /// Who waits for it, if they still do.
        reply: oneshot::Sender<Result<Committed, Error>>,
        /// Its place among the writes that wait, given back with the answer.
        permit: OwnedSemaphorePermit,
    },
    /// Finish what came before, and end.
    Close,
}

/// One write of a batch that has been decided.
struct Decided {
    outcome: Result<Committed, Error>,
    reply: oneshot::Sender<Result<Committed, Error>>,
    _permit: OwnedSemaphorePermit,
}

/// The thread that writes.
#[derive(Debug)]
pub(super) struct Writer {
    disk: Disk,
    published: Arc<Published>,
    requests: mpsc::UnboundedReceiver<Request>,
    /// Whether the last transaction failed: that is logged when it begins and when it ends.
    failing: bool,
}

impl Writer {
    pub(super) fn new(
        disk: Disk,
        published: Arc<Published>,
        requests: mpsc::UnboundedReceiver<Request>,
    ) -> Self {
        Self {
            disk,
            published,
            requests,
            failing: false,
        }
    }

    /// Serves until it is told to close and everything accepted before has been answered.
    pub(super) fn run(mut self) {
        while let Some(first) = self.requests.blocking_recv() {
            self.serve(first);
        }
        self.published.close();
    }

    /// Writes one batch: what waits now.
    fn serve(&mut self, first: Request) {
        let (map, revision) = self.published.present();
        let mut draft = Draft::new(map, revision);
        let mut decided = Vec::new();
        let mut next = Some(first);
        while let Some(request) = next {
            match request {
                Request::Write { op, reply, permit } => {
                    let outcome = draft.apply(op);
                    decided.push(Decided {
                        outcome,
                        reply,
                        _permit: permit,
                    });
                }
                // Nothing gets in from now on; what is in is still served.
                Request::Close => self.requests.close(),
            }
            next = if decided.len() < BATCH_MAX {
                self.requests.try_recv().ok()
            } else {
                None
            };
        }
        self.finish(draft, decided);
    }

    /// Makes a batch durable, shows it, and only then answers, conflicts too: they were decided
    /// against writes of the same batch.
    fn finish(&mut self, draft: Draft, decided: Vec<Decided>) {
        if draft.events.is_empty() {
            return answer(decided);
        }
        let written = self.disk.write(&draft);
        self.note(written.as_ref().err());
        match written {
            Ok(()) => {
                self.published
                    .publish(draft.map, draft.revision, &draft.events);
                answer(decided);
            }
            Err(error) => {
                for Decided { reply, .. } in decided {
                    let _ = reply.send(Err(error.clone()));
                }
            }
        }
    }

    /// Logs the first failure of many, and the end of them.
    fn note(&mut self, error: Option<&Error>) {
        match error {
            Some(error) if !self.failing => {
                let source = std::error::Error::source(error).map(tracing::field::display);
                tracing::error!(%error, source, "writes are refused");
            }
            None if self.failing => tracing::info!("writes work again"),
            _ => {}
        }
        self.failing = error.is_some();
    }
}

fn answer(decided: Vec<Decided>) {
    for Decided { outcome, reply, .. } in decided {
        // Whoever no longer waits does not need to know.
        let _ = reply.send(outcome);
    }
}
