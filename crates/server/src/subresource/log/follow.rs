//! A log that is followed: what there is, then each line as it comes, until the pod is over.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use futures::{Stream, stream};
use pernode_api::resource::find;
use pernode_api::status::Status;
use pernode_store::{Scope, Watch};
use tokio_util::sync::CancellationToken;

use super::life::{self, Line};
use super::options::Options;
use crate::api::Inner;
use crate::call::Call;
use crate::key;
use crate::object::{self, Object as _};
use crate::registry::{Place, Seat, too_many};

struct Follower {
    api: Arc<Inner>,
    place: Place,
    uid: String,
    container: String,
    options: Options,
    sent: BTreeSet<Line>,
    first: bool,
    /// Set when nothing more will come.
    over: bool,
    pod: Watch,
    events: Watch,
    closing: CancellationToken,
    _seat: Seat,
}

/// The log of a container, in pieces.
pub(super) fn stream(
    call: &Call,
    place: Place,
    container: String,
    options: Options,
) -> Result<impl Stream<Item = Bytes> + Send + 'static + use<>, Status> {
    let api = call.api().clone();
    let pod = object::parse(&place.read(&call.actor)?.bytes);
    let uid = pod.meta("uid").to_owned();
    let events = find("", "v1", "events").expect("events are in the table");
    let about = Scope::prefix(&key::prefix(events, call.namespace()))
        .with_field("involvedObject.uid", &uid);
    let own = Scope::prefix(&place.key());
    let after = api.store.revision();
    let watch = |scope: &Scope| {
        api.store
            .watch_scope(scope, after)
            .map_err(|error| Status::internal(error.to_string()))
    };
    let follower = Follower {
        pod: watch(&own)?,
        events: watch(&about)?,
        api: api.clone(),
        place,
        uid,
        container,
        options,
        sent: BTreeSet::new(),
        first: true,
        over: false,
        closing: call.closing.clone(),
        _seat: Seat::take(call.api()).ok_or_else(too_many)?,
    };
    Ok(stream::unfold(follower, |mut follower| async move {
        follower.next().await.map(|piece| (piece, follower))
    }))
}

impl Follower {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.over {
                return None;
            }
            if !std::mem::take(&mut self.first) {
                tokio::select! {
                    event = self.pod.next() => drop(event.ok()?),
                    event = self.events.next() => drop(event.ok()?),
                    () = self.closing.cancelled() => return None,
                }
            }
            let piece = self.piece();
            if !piece.is_empty() {
                self.over |= !self.options.sent(piece.len());
                return Some(piece.into());
            }
        }
    }

    /// The lines that have not been sent.
    fn piece(&mut self) -> String {
        let pod = self.api.store.get(&self.place.key());
        let pod = pod.map(|item| object::parse(&item.bytes));
        let Some(pod) = pod.filter(|pod| pod.meta("uid") == self.uid) else {
            self.over = true;
            return String::new();
        };
        self.over = life::is_over(&pod);
        let lines = life::lines(&self.api, &pod, &self.container);
        // The first piece is as the client asked for; after it every line is new.
        let wanted = if self.sent.is_empty() {
            self.options.last(&lines)
        } else {
            &lines
        };
        let new: Vec<Line> = wanted
            .iter()
            .filter(|line| !self.sent.contains(line))
            .cloned()
            .collect();
        self.sent.extend(lines);
        self.options.text(&new)
    }
}
