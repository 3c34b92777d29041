//! What the server serves, in both forms: aggregated, and one document for each group.

use http::HeaderMap;
use http::header::{CACHE_CONTROL, HeaderValue, VARY};
use pernode_api::discovery;

use super::tagged;
use crate::api::Inner;
use crate::negotiate::media_ranges;
use crate::reply::{self, Response};

/// The versions of the aggregated form, with the content type that clients compare to the letter.
const AGGREGATED: [(&str, &str); 2] = [
    (
        "v2",
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    ),
    (
        "v2beta1",
        "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
    ),
];

/// Answers `/api` and `/apis`, and what is below them.
pub(super) fn answer(api: &Inner, segments: &[&str], headers: &HeaderMap) -> Response {
    if let [root] = segments
        && let Some((version, content_type)) = aggregated(headers)
    {
        return aggregate(api, headers, root, (version, content_type));
    }
    let name = format!("discovery {}", segments.join("/"));
    let document = match segments {
        ["api"] => discovery::core_versions(&api.options.public_address),
        ["apis"] => discovery::group_list(),
        ["apis", group] => match discovery::group(group) {
            Some(document) => document,
            None => return reply::page_not_found(),
        },
        ["api", version] => match discovery::resource_list("", version) {
            Some(document) => document,
            None => return reply::status(&pernode_api::status::Status::no_such_resource()),
        },
        ["apis", group, version] => match discovery::resource_list(group, version) {
            Some(document) => document,
            None => return reply::page_not_found(),
        },
        _ => return reply::page_not_found(),
    };
    let document = api
        .documents
        .get(&name, || document.to_string().into_bytes());
    tagged(headers, "application/json", &document)
}

/// The aggregated version that a client prefers to the other form.
fn aggregated(headers: &HeaderMap) -> Option<(&'static str, &'static str)> {
    let first = media_ranges(headers).into_iter().find(|range| {
        matches!(range.media, "application/json" | "*/*")
            && range
                .param("as")
                .is_none_or(|kind| kind == "APIGroupDiscoveryList")
    })?;
    if first.param("g") != Some("apidiscovery.k8s.io") {
        return None;
    }
    let version = first.param("v")?;
    AGGREGATED.into_iter().find(|(known, _)| *known == version)
}

fn aggregate(
    api: &Inner,
    headers: &HeaderMap,
    root: &str,
    (version, content_type): (&'static str, &'static str),
) -> Response {
    let name = format!("aggregated {version} {root}");
    let document = api.documents.get(&name, || {
        let mut document = if root == "api" {
            discovery::aggregated_core()
        } else {
            discovery::aggregated_groups()
        };
        document["apiVersion"] = format!("apidiscovery.k8s.io/{version}").into();
        document.to_string().into_bytes()
    });
    let mut response = tagged(headers, content_type, &document);
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public"));
    response
}
