//! Content negotiation: what form of answer a client asks for, and what form its body has.

use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use pernode_api::status::Status;

/// The forms of a body that requests may have, as the 415 answer lists them.
pub(crate) const BODY_TYPES: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];

/// The forms an object or list is answered in. Protobuf answers are not served: every client
/// that asks for them also takes JSON (spec/apiserver.md 0.2).
const OBJECT_TYPES: &[&str] = &["application/json", "application/yaml"];
/// The forms a collection is answered in.
const LIST_TYPES: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/json;stream=watch",
];

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Encoding {
    /// JSON.
    #[default]
    Json,
    /// YAML.
    Yaml,
}

/// What an answer shows of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum View {
    /// The object or list itself.
    #[default]
    Object,
    /// Printed columns: `meta.k8s.io/v1` or `v1beta1` Table.
    Table(&'static str),
    /// `PartialObjectMetadata`, or its list for collections.
    Metadata(&'static str),
}

/// What a client accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Accepted {
    /// How to write.
    pub encoding: Encoding,
    /// What to show.
    pub view: View,
    /// Whether to indent.
    pub pretty: bool,
}

/// One element of an `Accept` header.
#[derive(Debug, Default)]
pub(crate) struct MediaRange<'a> {
    pub(crate) media: &'a str,
    pub(crate) params: Vec<(&'a str, &'a str)>,
}

impl<'a> MediaRange<'a> {
    pub(crate) fn param(&self, name: &str) -> Option<&'a str> {
        self.params
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, value)| *value)
    }
}

/// The elements of an `Accept` header, best first.
pub(crate) fn media_ranges(headers: &HeaderMap) -> Vec<MediaRange<'_>> {
    let mut ranges: Vec<(f32, MediaRange<'_>)> = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|element| {
            let mut parts = element.split(';').map(str::trim);
            let media = parts.next().filter(|media| !media.is_empty())?;
            let params: Vec<_> = parts.filter_map(|part| part.split_once('=')).collect();
            let range = MediaRange { media, params };
            let quality = range.param("q").and_then(|q| q.parse().ok()).unwrap_or(1.0);
            Some((quality, range))
        })
        .collect();
    // A stable sort: elements of the same quality stay in the client's order.
    ranges.sort_by(|a, b| b.0.total_cmp(&a.0));
    ranges.into_iter().map(|(_, range)| range).collect()
}

/// Chooses the form of an answer; `collection` says that it is about a list or watch.
pub(crate) fn accept(
    headers: &HeaderMap,
    pretty: Option<bool>,
    collection: bool,
) -> Result<Accepted, Status> {
    let ranges = media_ranges(headers);
    if ranges.is_empty() {
        return Ok(Accepted {
            pretty: pretty.unwrap_or_else(|| is_for_people(headers)),
            ..Accepted::default()
        });
    }
    let (encoding, view) = ranges.iter().find_map(choose).ok_or_else(|| {
        Status::not_acceptable(if collection { LIST_TYPES } else { OBJECT_TYPES })
    })?;
    Ok(Accepted {
        encoding,
        view,
        pretty: pretty.unwrap_or_else(|| is_for_people(headers)),
    })
}

fn choose(range: &MediaRange<'_>) -> Option<(Encoding, View)> {
    let encoding = match range.media {
        "application/json" | "*/*" | "application/*" => Encoding::Json,
        "application/yaml" | "application/x-yaml" | "text/yaml" => Encoding::Yaml,
        _ => return None,
    };
    let Some(kind) = range.param("as") else {
        return Some((encoding, View::Object));
    };
    if range.param("g") != Some("meta.k8s.io") {
        return None;
    }
    let version = match range.param("v") {
        Some("v1") => "meta.k8s.io/v1",
        Some("v1beta1") => "meta.k8s.io/v1beta1",
        _ => return None,
    };
    match kind {
        "Table" => Some((encoding, View::Table(version))),
        "PartialObjectMetadata" | "PartialObjectMetadataList" => {
            Some((encoding, View::Metadata(version)))
        }
        _ => None,
    }
}

/// People with curl or a browser get indented JSON, as upstream does.
fn is_for_people(headers: &HeaderMap) -> bool {
    headers
        .get(USER_AGENT)
        .and_then(|agent| agent.to_str().ok())
        .is_some_and(|agent| {
            ["curl", "Wget", "Mozilla/5.0"]
                .iter()
                .any(|tool| agent.starts_with(tool))
        })
}

/// The media type of a request's body, without parameters; absent means JSON.
pub(crate) fn body_type(headers: &HeaderMap) -> &str {
    headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .map(str::trim)
        .filter(|media| !media.is_empty())
        .unwrap_or("application/json")
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn check(header: &str, expected: &str) {
        let mut headers = HeaderMap::new();
        if !header.is_empty() {
            headers.insert(ACCEPT, HeaderValue::from_str(header).unwrap());
        }
        let text = match accept(&headers, None, true) {
            Ok(accepted) => format!("{:?} {:?}", accepted.encoding, accepted.view),
            Err(status) => format!("{} {}", status.code, status.message.lines().next().unwrap()),
        };
        assert_eq!(text, expected, "{header}");
    }

    #[test]
    fn what_clients_send() {
        check("", "Json Object");
        check("application/json, */*", "Json Object");
        check(
            "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
            "Json Table(\"meta.k8s.io/v1\")",
        );
        check(
            "application/vnd.kubernetes.protobuf,application/json",
            "Json Object",
        );
        check(
            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
            "Json Metadata(\"meta.k8s.io/v1\")",
        );
        check("application/yaml", "Yaml Object");
        check("application/json;q=0.1,application/yaml", "Yaml Object");
    }

    #[test]
    fn what_is_not_served() {
        check("text/html", "406 406: Not Acceptable");
        check(
            "application/vnd.kubernetes.protobuf",
            "406 406: Not Acceptable",
        );
        check(
            "application/json;as=Foo;g=meta.k8s.io;v=v1",
            "406 406: Not Acceptable",
        );
    }
}
