//! The shape all loops here share: events into an index, a plan out of it, its writes executed.
//!
//! One task owns the index, so it needs no lock. Nothing in it waits for a request: writes are
//! futures beside it, a bounded number at a time, and their outcomes come back as further input.

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use jiff::Timestamp;
use pernode_runtime::{CancellationToken, Event, Object, Subscription};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::sync::mpsc;

/// Writes of one loop in flight at a time.
const IN_FLIGHT_MAX: usize = 64;
/// Events that may wait for a loop; behind them the informer's own bounded backlog begins.
const EVENTS_MAX: usize = 1024;
/// Longest sleep: a wall clock that is set forward is noticed after this.
const SLEEP_MAX: Duration = Duration::from_secs(5);

/// A loop's index and its decisions.
pub(crate) trait Decide: Send {
    /// What it takes in.
    type Event: Send;
    /// One thing to do.
    type Job: Send;
    /// How a job went, as far as the index wants to know.
    type Outcome: Send;

    /// Takes an event.
    fn see(&mut self, event: Self::Event, now: Timestamp);
    /// What is to be done now, and when to look again even if nothing happens.
    fn plan(&mut self, now: Timestamp) -> (Vec<Self::Job>, Option<Timestamp>);
    /// Takes the outcome of a job.
    fn done(&mut self, outcome: Self::Outcome, now: Timestamp);
}

/// Sends the events of a subscription into a loop, until either ends.
pub(crate) fn forward<V: Object, E: Send + 'static>(
    mut from: Subscription<V>,
    to: mpsc::Sender<E>,
    wrap: impl Fn(Event<V>) -> E + Send + 'static,
) {
    tokio::spawn(async move {
        while let Some(event) = from.next().await {
            if to.send(wrap(event)).await.is_err() {
                return;
            }
        }
    });
}

/// The two ends of a loop's input.
pub(crate) fn inbox<E>() -> (mpsc::Sender<E>, mpsc::Receiver<E>) {
    mpsc::channel(EVENTS_MAX)
}

/// Runs a loop until `shutdown`, or until all its sources have ended.
///
/// At shutdown writes in flight are dropped: each is decided anew after the next start.
pub(crate) async fn drive<D, F>(
    mut decide: D,
    mut events: mpsc::Receiver<D::Event>,
    execute: impl Fn(D::Job) -> F,
    shutdown: CancellationToken,
) where
    D: Decide,
    F: Future<Output = D::Outcome>,
{
    let mut waiting = VecDeque::new();
    let mut in_flight = FuturesUnordered::new();
    loop {
        let (jobs, next) = decide.plan(Timestamp::now());
        waiting.extend(jobs);
        while in_flight.len() < IN_FLIGHT_MAX
            && let Some(job) = waiting.pop_front()
        {
            in_flight.push(execute(job));
        }
        let alarm = tokio::time::sleep(until(next));
        tokio::select! {
            () = shutdown.cancelled() => return,
            event = events.recv() => match event {
                Some(event) => decide.see(event, Timestamp::now()),
                None => return,
            },
            Some(outcome) = in_flight.next() => decide.done(outcome, Timestamp::now()),
            () = alarm => {}
        }
        // What came at the same time is decided on together.
        while let Ok(event) = events.try_recv() {
            decide.see(event, Timestamp::now());
        }
    }
}

fn until(next: Option<Timestamp>) -> Duration {
    let Some(next) = next else {
        return SLEEP_MAX;
    };
    let wait = next.duration_since(Timestamp::now());
    Duration::try_from(wait)
        .unwrap_or(Duration::ZERO)
        .min(SLEEP_MAX)
}
