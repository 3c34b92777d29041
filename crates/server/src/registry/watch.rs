//! Watches: what is there, then what happens, one line of JSON for each event.
//!
//! All watchers share the bytes of an event; a line is put together when its client takes it. A
//! client that does not keep up is cut off by the store and watches again from what it saw last.

mod lines;

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::stream;
use pernode_api::status::Status;
use pernode_store::{Error, Item, Watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::list::check_options;
use super::read::{not_a_version, reach};
use super::selection::Selection;
use crate::api::Inner;
use crate::body::Body;
use crate::call::Call;
use crate::reply::{self, Failure, Response};

use lines::Lines;

/// Events that are ready are sent together, up to about this many bytes.
const CHUNK_BYTES: usize = 64 * 1024;
/// Longest life of a watch that a client may ask for.
const WATCH_SECONDS_MAX: i64 = 24 * 3600;

/// `GET` of a collection, with `watch=true`.
pub(crate) async fn watch(call: &Call) -> Result<Response, Failure> {
    check_options(&call.query, true)?;
    let selection = Selection::of(call)?;
    let lines = Lines::new(call.api().schema.clone(), call.viewer()?, selection);
    let within = life(call)?;
    let Some(seat) = Seat::take(call.api()) else {
        return Err(too_many().into());
    };
    let start = Start::of(call, lines.selection()).await?;
    let now = Instant::now();
    let every = call.api().options.limits.bookmark_every;
    let watcher = Watcher {
        lines,
        start,
        bookmarks: call.query.flag("allowWatchBookmarks").then_some(every),
        next_bookmark: now + every,
        deadline: now + within,
        closing: call.closing.clone(),
        _seat: seat,
    };
    let body = stream::unfold(watcher, |mut watcher| async move {
        watcher.next().await.map(|chunk| (chunk, watcher))
    });
    Ok(reply::typed(200, "application/json", Body::stream(body)))
}

/// The answer when all seats are taken.
pub(crate) fn too_many() -> Status {
    Status::too_many_requests("too many watches, please try again later", 5)
}

fn life(call: &Call) -> Result<Duration, Status> {
    let asked = call
        .query
        .number("timeoutSeconds")
        .map_err(Status::bad_request)?
        .filter(|seconds| *seconds > 0)
        .map(|seconds| Duration::from_secs(seconds.min(WATCH_SECONDS_MAX).unsigned_abs()));
    Ok(asked.unwrap_or(call.api().options.limits.watch_within))
}

/// A seat among the watches there may be; given back when the watch ends.
pub(crate) struct Seat(Arc<Inner>);

impl Seat {
    pub(crate) fn take(api: &Arc<Inner>) -> Option<Self> {
        api.watches.try_acquire().ok()?.forget();
        api.metrics.watches(1);
        Some(Self(api.clone()))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.watches.add_permits(1);
        self.0.metrics.watches(-1);
    }
}

/// Where a watch begins.
struct Start {
    /// What is there already, to be sent as added.
    initial: std::vec::IntoIter<Arc<Item>>,
    /// The revision to say at the end of what is there.
    initial_end: Option<u64>,
    /// What happens; nothing if the watch ends with an error.
    watch: Option<Watch>,
    /// Events up to here are not sent: the client knows a later state than the server.
    after: u64,
    /// The error the watch ends with.
    error: Option<Status>,
}

impl Start {
    async fn of(call: &Call, selection: &Selection) -> Result<Self, Status> {
        let text = call.query.get("resourceVersion").unwrap_or("");
        let version: u64 = match text {
            "" => 0,
            text => text
                .parse()
                .map_err(|_| Status::unmapped(not_a_version(text)))?,
        };
        let initial = call.query.optional_flag("sendInitialEvents");
        match (initial, version) {
            (Some(true), version) => {
                reach(call.api(), version).await?;
                let mut start = Self::from_present(call.api(), selection, true);
                start.initial_end = start
                    .initial_end
                    .filter(|_| call.query.flag("allowWatchBookmarks"));
                Ok(start)
            }
            (None, 0) => Ok(Self {
                initial_end: None,
                ..Self::from_present(call.api(), selection, true)
            }),
            (Some(false), 0) => Ok(Self {
                initial_end: None,
                ..Self::from_present(call.api(), selection, false)
            }),
            (_, version) => Ok(Self::after(call.api(), selection, version)),
        }
    }

    /// From the objects that are there now.
    fn from_present(api: &Inner, selection: &Selection, with_objects: bool) -> Self {
        // The collection is listed before the watch is made, and the watch starts at its revision:
        // nothing can get lost in between, however far the window has moved on.
        let snapshot = api.store.list(selection.watch_prefix());
        let revision = snapshot.revision();
        let initial: Vec<_> = snapshot
            .iter()
            .filter(|item| with_objects && selection.matches(item))
            .cloned()
            .collect();
        Self {
            initial: initial.into_iter(),
            initial_end: Some(revision),
            ..Self::after(api, selection, revision)
        }
    }

    /// From a revision on.
    fn after(api: &Inner, selection: &Selection, after: u64) -> Self {
        let mut start = Self {
            initial: Vec::new().into_iter(),
            initial_end: None,
            watch: None,
            after,
            error: None,
        };
        let scope = selection.watch_scope();
        match api.store.watch_scope(&scope, after) {
            Ok(watch) => start.watch = Some(watch),
            // A version that is still to come is waited for in silence.
            Err(Error::TooFar { current, .. }) => {
                start.watch = api.store.watch_scope(&scope, current).ok();
            }
            Err(Error::Compacted { oldest, .. }) => {
                start.error = Some(Status::watch_expired(after, oldest));
            }
            Err(error) => start.error = Some(super::write::commit_failed(&error)),
        }
        start
    }
}

/// One watch.
struct Watcher {
    lines: Lines,
    start: Start,
    /// Time between bookmarks, if the client wants any.
    bookmarks: Option<Duration>,
    next_bookmark: Instant,
    deadline: Instant,
    closing: CancellationToken,
    _seat: Seat,
}

impl Watcher {
    /// The next bytes to send; nothing when the watch is over.
    async fn next(&mut self) -> Option<Bytes> {
        if self.start.initial.len() > 0 {
            return Some(self.initial());
        }
        if let Some(revision) = self.start.initial_end.take() {
            return Some(self.lines.bookmark(revision, true));
        }
        if let Some(error) = self.start.error.take() {
            self.start.watch = None;
            return Some(Lines::error(&error));
        }
        loop {
            let watch = self.start.watch.as_mut()?;
            let wake = self.next_bookmark.min(self.deadline);
            tokio::select! {
                biased;
                event = watch.next() => {
                    let Ok(event) = event else {
                        self.start.watch = None;
                        return None;
                    };
                    let chunk = self.chunk(event);
                    if !chunk.is_empty() {
                        return Some(chunk);
                    }
                }
                () = self.closing.cancelled() => return self.end(),
                () = tokio::time::sleep_until(wake) => {
                    if wake == self.deadline {
                        return self.end();
                    }
                    self.next_bookmark = Instant::now() + self.bookmarks.unwrap_or(Duration::MAX / 4).min(FAR);
                    if self.bookmarks.is_some() {
                        return Some(self.lines.bookmark(self.progress(), false));
                    }
                }
            }
        }
    }

    fn initial(&mut self) -> Bytes {
        let mut out = BytesMut::new();
        while out.len() < CHUNK_BYTES {
            let Some(item) = self.start.initial.next() else {
                break;
            };
            self.lines.added(&mut out, &item);
        }
        out.freeze()
    }

    /// An event and those that are ready behind it.
    fn chunk(&mut self, first: Arc<pernode_store::Event>) -> Bytes {
        let mut out = BytesMut::new();
        let mut next = Some(first);
        while let Some(event) = next {
            if event.revision > self.start.after {
                self.lines.event(&mut out, &event);
            }
            let room = out.len() < CHUNK_BYTES;
            next = room
                .then(|| self.start.watch.as_mut().and_then(Watch::try_next))
                .flatten();
        }
        out.freeze()
    }

    /// Everything up to this revision has been sent.
    fn progress(&self) -> u64 {
        let seen = self.start.watch.as_ref().map_or(0, Watch::progress);
        seen.max(self.start.after)
    }

    /// The end of a watch in good order: a last bookmark lets the client go on from here.
    fn end(&mut self) -> Option<Bytes> {
        let progress = self.progress();
        self.start.watch = None;
        self.bookmarks
            .is_some()
            .then(|| self.lines.bookmark(progress, false))
    }
}

/// A day: timers do not like to be set to the end of time.
const FAR: Duration = Duration::from_hours(24);
