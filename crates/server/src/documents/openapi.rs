//! OpenAPI documents: what `kubectl explain`, `apply` and `edit` read.

use http::HeaderMap;
use http::header::{ACCEPT, CACHE_CONTROL, EXPIRES, HeaderValue};
use jiff::fmt::rfc2822;
use jiff::{SignedDuration, Timestamp};
use pernode_api::openapi;
use pernode_api::resource::RESOURCES;
use pernode_api::status::Status;

use super::{Document, tagged};
use crate::api::Inner;
use crate::query::Query;
use crate::reply::{self, Failure, Response};

/// How long a client may keep a document that it asked for by its hash.
const YEAR: SignedDuration = SignedDuration::from_hours(365 * 24);

/// `/openapi/v3` and the documents below it.
pub(super) fn v3(api: &Inner, rest: &[&str], headers: &HeaderMap, query: &Query) -> Response {
    match rest {
        [] => {
            let index = api.documents.get("openapi v3", || {
                openapi::index(|group, version| {
                    document(api, group, version)
                        .map(|d| d.hash)
                        .unwrap_or_default()
                })
                .to_string()
                .into_bytes()
            });
            tagged(headers, "application/json", &index)
        }
        ["api", version] => one(api, ("", version), headers, query),
        ["apis", group, version] => one(api, (group, version), headers, query),
        _ => reply::page_not_found(),
    }
}

fn document(api: &Inner, group: &str, version: &str) -> Option<Document> {
    RESOURCES
        .iter()
        .any(|resource| resource.group == group && resource.version == version)
        .then(|| {
            api.documents
                .get(&format!("openapi v3 {group}/{version}"), || {
                    openapi::document(&api.schema, api.documents.docs(), group, version)
                        .map(|document| document.to_string().into_bytes())
                        .unwrap_or_default()
                })
        })
}

fn one(
    api: &Inner,
    (group, version): (&str, &str),
    headers: &HeaderMap,
    query: &Query,
) -> Response {
    let Some(document) = document(api, group, version).filter(|d| !d.bytes.is_empty()) else {
        return reply::page_not_found();
    };
    let mut response = tagged(headers, "application/json", &document);
    // The hash in the address makes the document one that never changes.
    if query
        .get("hash")
        .is_some_and(|hash| hash.eq_ignore_ascii_case(&document.hash))
    {
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
        let expires = (Timestamp::now() + YEAR).to_zoned(jiff::tz::TimeZone::UTC);
        let text =
            rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&expires.timestamp());
        if let Some(value) = text.ok().and_then(|text| HeaderValue::from_str(&text).ok()) {
            headers.insert(EXPIRES, value);
        }
    }
    response
}

/// `/openapi/v2`, which clients that do not know version 3 read, as protobuf only.
pub(super) fn v2(api: &Inner, headers: &HeaderMap) -> Result<Response, Failure> {
    // Clients ask with an @ that Go's own parser of content types refuses; upstream answers without.
    const TYPE: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    let accepted = headers
        .get(ACCEPT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or("*/*");
    if !accepted.contains("protobuf") && !accepted.contains("*/*") {
        return Err(Status::not_acceptable(&[TYPE]).into());
    }
    let document = api.documents.get("openapi v2", || {
        openapi::v2_protobuf(&api.schema, api.documents.docs())
    });
    Ok(tagged(headers, TYPE, &document))
}
