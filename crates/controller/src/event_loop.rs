//! One task that owns the index: events in, plans out.

mod feed;
mod progress;

use crate::error::Error;
use crate::executor::{Done, Executor, Job};
use crate::options::Options;
use crate::sources::Sources;
use crate::status_writer::Outcome;
use crate::views::{DaemonSetView, RevisionView};
use jiff::Timestamp;
use pernode_core::daemonset::plan::Hold;
use pernode_core::daemonset::view::DaemonSetStatus;
use pernode_core::daemonset::{Index, Key, Plan, Wakes, plan};
use pernode_core::node::Node;
use pernode_core::pod::Pod;
use pernode_runtime::{CancellationToken, Queue, Subscription};
use progress::Table;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

/// What a task of the executor tells the loop when it is done.
#[derive(Debug)]
enum Report {
    Acted {
        key: Key,
        uid: String,
        done: Done,
    },
    Status {
        key: Key,
        uid: String,
        status: DaemonSetStatus,
        result: Result<Outcome, Error>,
    },
}

/// The loop. Everything that changes is in here and in no other task.
#[derive(Debug)]
pub(crate) struct EventLoop {
    index: Index,
    queue: Queue<Key>,
    progress: Table,
    executor: Executor,
    options: Options,
    nodes: Subscription<Node>,
    pods: Subscription<Pod>,
    daemon_sets: Subscription<DaemonSetView>,
    revisions: Subscription<RevisionView>,
    listed: feed::Listed,
    reports: (
        mpsc::UnboundedSender<Report>,
        mpsc::UnboundedReceiver<Report>,
    ),
    tasks: TaskTracker,
}

impl EventLoop {
    /// A loop that follows the sources.
    pub(crate) fn new(sources: &Sources, executor: Executor, options: Options) -> Self {
        Self {
            index: Index::default(),
            queue: Queue::new(options.retry_min, options.retry_max),
            progress: Table::default(),
            nodes: sources.nodes.subscribe(),
            pods: sources.pods.subscribe(),
            daemon_sets: sources.daemon_sets.subscribe(),
            revisions: sources.revisions.subscribe(),
            listed: feed::Listed::default(),
            reports: mpsc::unbounded_channel(),
            tasks: TaskTracker::new(),
            executor,
            options,
        }
    }

    /// Works until `shutdown`, or until an informer stops; then waits for writes under way.
    pub(crate) async fn run(mut self, shutdown: CancellationToken) {
        let mut opening = self.executor.gate().clone();
        let mut closing = opening.clone();
        let mut leads = opening.is_open();
        loop {
            let may_plan = leads && self.listed.all();
            let going = tokio::select! {
                () = shutdown.cancelled() => false,
                Some(report) = self.reports.1.recv() => { self.take_report(report); true }
                batch = self.pods.next_batch() => self.take_pods(batch),
                batch = self.nodes.next_batch() => self.take_nodes(batch),
                batch = self.daemon_sets.next_batch() => self.take_daemon_sets(batch),
                batch = self.revisions.next_batch() => self.take_revisions(batch),
                Some(key) = self.queue.next(), if may_plan => { self.look_at(key); true }
                opened = opening.opened(), if !leads => { leads = opened; self.wake_all(); opened }
                () = closing.closed(), if leads => { leads = false; true }
            };
            if !going {
                break;
            }
        }
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn wake(&mut self, wakes: Wakes) {
        for key in wakes.now {
            self.queue.add(key);
        }
        for (key, seconds) in wakes.later {
            let seconds = u64::try_from(seconds).unwrap_or(0);
            self.queue.add_after(key, Duration::from_secs(seconds));
        }
    }

    fn wake_all(&mut self) {
        let keys: Vec<_> = self.index.fleets().map(|(key, _)| key.clone()).collect();
        keys.into_iter().for_each(|key| self.queue.add(key));
    }

    /// Plans for one DaemonSet and starts what the plan says.
    fn look_at(&mut self, key: Key) {
        // What is under way is known to the fleet and to `progress`; the key may come back any time.
        self.queue.done(&key);
        let now = Timestamp::now();
        let Some(fleet) = self.index.fleet_mut(&key) else {
            self.progress.forget(&key);
            self.queue.forget(&key);
            return;
        };
        fleet.advance(now);
        let plan = plan(fleet, now, &self.options.policy);
        let set = fleet.daemon_set().clone();
        self.look_again(&key, &plan, now);
        if plan.holds.contains(&Hold::SelectsAll) {
            plan.events
                .iter()
                .for_each(|event| self.executor.record_planned(&set, event));
        }
        self.progress.of(&key, &set.metadata);
        if let Some(status) = plan.status.clone() {
            self.start_status(&key, status);
        }
        if plan.acts() {
            self.start_acting(&key, plan, now);
        }
    }

    /// Comes back when the plan says that time alone changes something.
    fn look_again(&self, key: &Key, plan: &Plan, now: Timestamp) {
        if let Some(next) = plan.next {
            let delay = Duration::try_from(next.duration_since(now)).unwrap_or_default();
            // Timers count whole milliseconds; one more keeps the clock from being a little early.
            self.queue
                .add_after(key.clone(), delay + Duration::from_millis(1));
        }
        if let Some(seconds) = plan.guard_seconds.and_then(|s| u64::try_from(s).ok()) {
            self.queue
                .add_after(key.clone(), Duration::from_secs(seconds));
        }
    }

    fn start_acting(&mut self, key: &Key, plan: Plan, now: Timestamp) {
        let Some(fleet) = self.index.fleet_mut(key) else {
            return;
        };
        let Some(progress) = self.progress.get(key) else {
            return;
        };
        if let Some(delay) = progress.delay() {
            self.queue.add_after(key.clone(), delay);
            return;
        }
        fleet.begin(&plan, now);
        let job = Job {
            set: fleet.daemon_set().clone(),
            base: fleet.pod_base().clone(),
            plan,
        };
        let (executor, reports) = (self.executor.clone(), self.reports.0.clone());
        let (key, uid) = (key.clone(), job.set.metadata.uid.clone());
        self.tasks.spawn(async move {
            let done = executor.carry_out(job).await;
            // The loop is gone only when the process stops.
            let _ = reports.send(Report::Acted { key, uid, done });
        });
    }

    fn start_status(&mut self, key: &Key, status: DaemonSetStatus) {
        let Some(fleet) = self.index.fleet(key) else {
            return;
        };
        let Some(progress) = self.progress.get(key) else {
            return;
        };
        if progress.writes_status {
            // The report of the write under way wakes the DaemonSet again.
            return;
        }
        let now = Instant::now();
        if let Some(due) = progress.status_due.filter(|due| *due > now) {
            self.queue.add_after(key.clone(), due - now);
            return;
        }
        progress.writes_status = true;
        let set = fleet.daemon_set().clone();
        let (executor, reports) = (self.executor.clone(), self.reports.0.clone());
        let (key, uid) = (key.clone(), set.metadata.uid.clone());
        self.tasks.spawn(async move {
            let result = executor.write_status(&set, &status).await;
            let _ = reports.send(Report::Status {
                key,
                uid,
                status,
                result,
            });
        });
    }

    fn take_report(&mut self, report: Report) {
        match report {
            Report::Acted { key, uid, done } => self.take_done(key, &uid, done),
            Report::Status {
                key,
                uid,
                status,
                result,
            } => {
                self.take_status(key, &uid, status, result);
            }
        }
    }

    fn take_done(&mut self, key: Key, uid: &str, done: Done) {
        let fleet = self
            .index
            .fleet_mut(&key)
            .filter(|f| f.daemon_set().metadata.uid == uid);
        let Some(fleet) = fleet else { return };
        let now = Timestamp::now();
        let expectations = fleet.expectations_mut();
        for written in &done.written {
            expectations.expect(&written.uid, written.awaited.clone(), now);
        }
        expectations.end();
        let Some(progress) = self.progress.get(&key) else {
            return;
        };
        match done.failure {
            None if done.written.is_empty() => {
                // Every object of the plan was gone or changed: the view is old. It gets a moment, so
                // that a watch that hangs does not make a hot loop.
                progress.failed(self.queue.retry(key));
            }
            None => {
                progress.succeeded();
                self.queue.forget(&key);
                self.queue.add(key);
            }
            Some(error) => {
                let delay = self.queue.retry(key.clone());
                progress.failed(delay);
                report_failure(&key, &error, delay);
            }
        }
    }

    fn take_status(
        &mut self,
        key: Key,
        uid: &str,
        status: DaemonSetStatus,
        result: Result<Outcome, Error>,
    ) {
        let fleet = self
            .index
            .fleet_mut(&key)
            .filter(|f| f.daemon_set().metadata.uid == uid);
        let Some(fleet) = fleet else { return };
        let Some(progress) = self.progress.get(&key) else {
            return;
        };
        progress.writes_status = false;
        match result {
            Ok(outcome) => {
                if let Outcome::Written(version) = outcome {
                    fleet.status_written(status, &version);
                }
                progress.status_failures.reset();
                progress.status_due = Some(Instant::now() + self.options.status_interval);
                self.queue.add(key);
            }
            Err(error) => {
                let delay = progress.status_failures.next_delay();
                progress.status_due = Some(Instant::now() + delay);
                report_failure(&key, &error, delay);
                self.queue.add_after(key, delay);
            }
        }
    }
}

fn report_failure(key: &Key, error: &Error, delay: Duration) {
    let source = std::error::Error::source(error)
        .map(ToString::to_string)
        .unwrap_or_default();
    tracing::warn!(daemon_set = %key, %error, source, ?delay, "a round failed and is tried again");
}

#[cfg(test)]
mod tests;
