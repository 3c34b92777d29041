//! Lists: pages of one consistent snapshot, assembled from stored bytes.

use std::sync::Arc;

use bytes::{BufMut as _, Bytes, BytesMut};
use futures::stream;
use pernode_api::field_error::FieldError;
use pernode_api::paging::Token;
use pernode_api::resource::Resource;
use pernode_api::status::Status;
use pernode_store::{Item, Snapshot};
use serde_json::{Value, json};

use super::read::{parse_version, reach};
use super::selection::Selection;
use crate::api::Inner;
use crate::body::Body;
use crate::call::Call;
use crate::negotiate::View;
use crate::query::Query;
use crate::reply::{self, Failure, Response};
use crate::view::Viewer;

/// Lists larger than this are sent in pieces as they are assembled, so that a list of a hundred
/// thousand objects needs no second copy of them all.
const PIECE_BYTES: usize = 256 * 1024;

/// `GET` of a collection.
pub(crate) async fn list(call: &Call) -> Result<Response, Failure> {
    check_options(&call.query, false)?;
    let selection = Selection::of(call)?;
    let viewer = call.viewer()?;
    let limit = call.query.number("limit").map_err(Status::bad_request)?;
    let limit = limit.filter(|limit| *limit > 0).map(|limit| limit as usize);
    let token = call.query.text("continue");
    let (snapshot, start) = snapshot(call, &selection, token).await?;
    let page = Page::select(&selection, &snapshot, start, limit);
    let metadata = page.metadata(&selection, snapshot.revision());
    Ok(answer(call.resource, &viewer, page.items, metadata))
}

/// Checks what `resourceVersionMatch` and `sendInitialEvents` may say.
pub(crate) fn check_options(query: &Query, watch: bool) -> Result<(), Status> {
    const MATCH: &str = "resourceVersionMatch";
    let word = query.text(MATCH);
    let initial = query.optional_flag("sendInitialEvents");
    let version = query.text("resourceVersion").unwrap_or("");
    let error = match (watch, word, initial) {
        (false, _, Some(_)) => FieldError::forbidden(
            &"sendInitialEvents",
            "sendInitialEvents is forbidden for list",
        ),
        (true, None, Some(_)) => FieldError::forbidden(
            &MATCH,
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ),
        (true, Some(word), Some(_)) if word != "NotOlderThan" => {
            FieldError::not_supported(&MATCH, word, &["NotOlderThan"])
        }
        (true, Some(_), None) => FieldError::forbidden(
            &MATCH,
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        ),
        (_, Some(_), _) if query.text("continue").is_some() => FieldError::forbidden(
            &MATCH,
            "resourceVersionMatch is forbidden when continue is provided",
        ),
        (false, Some(_), None) if version.is_empty() => FieldError::forbidden(
            &MATCH,
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        (false, Some("Exact"), None) if version == "0" => FieldError::forbidden(
            &MATCH,
            "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
        ),
        (false, Some(word), None) if !matches!(word, "Exact" | "NotOlderThan") => {
            FieldError::not_supported(&MATCH, word, &["Exact", "NotOlderThan", ""])
        }
        _ => return Ok(()),
    };
    Err(Status::invalid_options("ListOptions", &[error]))
}

/// The snapshot to list from, and the key to start after.
async fn snapshot(
    call: &Call,
    selection: &Selection,
    token: Option<&str>,
) -> Result<(Snapshot, String), Status> {
    let api = call.api();
    let version = call.query.get("resourceVersion").unwrap_or("");
    if let Some(token) = token {
        if !version.is_empty() && version != "0" {
            return Err(Status::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        return continued(api, selection, token);
    }
    let wanted = parse_version(version)?.unwrap_or(0);
    if wanted > 0 {
        reach(api, wanted).await?;
    }
    // A page at a version means exactly that version, if nothing else is said.
    let exact = match call.query.text("resourceVersionMatch") {
        Some(word) => word == "Exact",
        None => call.query.text("limit").is_some_and(|limit| limit != "0"),
    };
    if wanted > 0 && exact {
        let snapshot = api
            .store
            .list_at(&selection.prefix, wanted)
            .map_err(|_| Status::list_expired())?;
        return Ok((snapshot, String::new()));
    }
    Ok((api.store.list(&selection.prefix), String::new()))
}

fn continued(
    api: &Arc<Inner>,
    selection: &Selection,
    token: &str,
) -> Result<(Snapshot, String), Status> {
    let token = Token::decode(token)
        .map_err(|error| Status::bad_request(format!("invalid continue token: {error}")))?;
    let start = format!("{}{}", selection.prefix, token.start);
    // A token of an expired list goes on inconsistently: it names no revision.
    if token.revision == 0 {
        return Ok((api.store.list(&selection.prefix), start));
    }
    match api.store.list_at(&selection.prefix, token.revision) {
        Ok(snapshot) => Ok((snapshot, start)),
        Err(pernode_store::Error::TooFar { .. }) => Err(Status::bad_request(
            "invalid continue token: the revision is in the future",
        )),
        Err(_) => {
            let fresh = Token {
                revision: 0,
                start: token.start,
            };
            Err(Status::continue_expired(&fresh.encode()))
        }
    }
}

/// The part of a list that one answer has.
struct Page {
    items: Vec<Arc<Item>>,
    /// The token of the next page.
    next: Option<String>,
    remaining: Option<usize>,
}

impl Page {
    fn select(
        selection: &Selection,
        snapshot: &Snapshot,
        start: String,
        limit: Option<usize>,
    ) -> Self {
        let mut found = snapshot
            .after(&start)
            .filter(|item| selection.matches(item))
            .peekable();
        let items: Vec<Arc<Item>> = match limit {
            Some(limit) => found.by_ref().take(limit).cloned().collect(),
            None => found.by_ref().cloned().collect(),
        };
        let more = found.peek().is_some();
        let remaining = (more && selection.is_everything()).then(|| found.count());
        let next = items.last().filter(|_| more).map(|last| {
            let start = last.key[selection.prefix.len()..].to_owned();
            let revision = snapshot.revision();
            Token { revision, start }.encode()
        });
        Self {
            items,
            next,
            remaining,
        }
    }

    fn metadata(&self, _: &Selection, revision: u64) -> Value {
        let mut metadata = json!({"resourceVersion": revision.to_string()});
        if let Some(next) = &self.next {
            metadata["continue"] = next.as_str().into();
        }
        if let Some(remaining) = self.remaining {
            metadata["remainingItemCount"] = remaining.into();
        }
        metadata
    }
}

/// Answers with objects as a list, table or list of metadata.
pub(crate) fn answer(
    resource: &Resource,
    viewer: &Viewer,
    items: Vec<Arc<Item>>,
    metadata: Value,
) -> Response {
    let (kind, version) = match viewer.view() {
        View::Object => (format!("{}List", resource.kind), resource.api_version()),
        View::Metadata(version) => ("PartialObjectMetadataList".to_owned(), version.to_owned()),
        View::Table(version) => {
            let rows = items
                .iter()
                .map(|item| viewer.row(&viewer.external(item.bytes.clone()), version))
                .collect();
            let table = viewer.table(version, metadata, rows).to_string();
            return viewer.respond(200, table.into());
        }
    };
    let head = format!(
        "{{\"kind\":\"{kind}\",\"apiVersion\":\"{version}\",\"metadata\":{metadata},\"items\":["
    );
    let pieces = Pieces {
        viewer: viewer.clone(),
        items: items.into_iter(),
        next: Some(head),
        first: true,
    };
    respond(viewer, pieces)
}

fn respond(viewer: &Viewer, mut pieces: Pieces) -> Response {
    let Some(first) = pieces.next() else {
        return viewer.respond(200, Bytes::new());
    };
    let whole = pieces.next.is_none() && pieces.items.len() == 0;
    if !whole && viewer.writes_plain_json() {
        let body = Body::stream(stream::iter(std::iter::once(first).chain(pieces)));
        let mut response = reply::typed(200, "application/json", body);
        response.extensions_mut().insert(reply::Large);
        return response;
    }
    let mut all = BytesMut::from(first.as_ref());
    for piece in pieces {
        all.extend_from_slice(&piece);
    }
    viewer.respond(200, all.freeze())
}

/// The text of a list, piece by piece.
struct Pieces {
    viewer: Viewer,
    items: std::vec::IntoIter<Arc<Item>>,
    /// The head of the list, until it is written; nothing at the end.
    next: Option<String>,
    first: bool,
}

impl Iterator for Pieces {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let mut out = BytesMut::new();
        if let Some(head) = self.next.take() {
            out.put_slice(head.as_bytes());
        } else if self.items.len() == 0 {
            return None;
        }
        while let Some(item) = self.items.next() {
            if !std::mem::take(&mut self.first) {
                out.put_u8(b',');
            }
            self.put(&mut out, &item);
            if out.len() >= PIECE_BYTES && self.items.len() > 0 {
                return Some(out.freeze());
            }
        }
        out.put_slice(b"]}");
        Some(out.freeze())
    }
}

impl Pieces {
    fn put(&self, out: &mut BytesMut, item: &Arc<Item>) {
        match self.viewer.view() {
            // The items of a list have neither kind nor version: it has them once.
            View::Object => {
                let object = self.viewer.external(item.bytes.clone());
                out.put_u8(b'{');
                out.put_slice(self.viewer.layout().tail(&object));
            }
            _ => out.put_slice(&self.viewer.item(item.bytes.clone(), false)),
        }
    }
}
