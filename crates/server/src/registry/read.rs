//! Reading one object, and waiting for the version that a read wants to see.

use pernode_api::status::Status;

use super::write::Place;
use crate::api::Inner;
use crate::call::Call;
use crate::reply::{Failure, Response};

/// `GET` of an object.
pub(crate) async fn get(call: &Call) -> Result<Response, Failure> {
    if let Some(wanted) = parse_version(call.query.get("resourceVersion").unwrap_or(""))? {
        reach(call.api(), wanted).await?;
    }
    let item = Place::new(call.resource, call.namespace(), call.name()).read(&call.actor)?;
    call.show(200, item.bytes.clone(), &[])
}

/// The version a read names: "" means the newest, which every read sees here, and 0 means any.
pub(crate) fn parse_version(text: &str) -> Result<Option<u64>, Status> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| {
        Status::bad_request(format!("invalid resource version: {}", not_a_version(text)))
    })
}

/// Go's words for a version that is no number.
pub(crate) fn not_a_version(text: &str) -> String {
    format!(
        "resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"
    )
}

/// Waits until the store has a revision; 504 if it does not get there in time.
pub(crate) async fn reach(api: &Inner, wanted: u64) -> Result<(), Status> {
    if api.store.revision() >= wanted {
        return Ok(());
    }
    let mut revisions = api.store.revisions();
    let reached = revisions.wait_for(|revision| *revision >= wanted);
    let within = api.options.limits.version_within;
    match tokio::time::timeout(within, reached).await {
        Ok(Ok(_)) => Ok(()),
        _ => Err(Status::too_large_version(wanted, api.store.revision())),
    }
}
