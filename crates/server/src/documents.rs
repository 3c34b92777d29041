//! Paths that are no resources: discovery, OpenAPI, health, version, metrics, keys.

mod discovery;
mod health;
mod openapi;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;
use http::header::{ACCEPT, ALLOW, ETAG, HeaderValue, IF_NONE_MATCH};
use http::request::Parts;
use http::{HeaderMap, Method};
use pernode_api::schema::Docs;
use pernode_api::status::Status;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha512};

use crate::api::Inner;
use crate::authn::token::ISSUER;
use crate::query::Query;
use crate::reply::{self, Failure, Response};

/// Documents that are made once and sent often.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    made: Mutex<BTreeMap<String, Document>>,
    /// Descriptions for OpenAPI, read when the first client asks for it.
    docs: OnceLock<Docs>,
}

/// A document and its tag.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    pub(crate) bytes: Bytes,
    /// SHA-512 in hexadecimal, as upstream's tags are.
    pub(crate) hash: String,
}

impl Documents {
    /// A document, made at its first use.
    fn get(&self, name: &str, make: impl FnOnce() -> Vec<u8>) -> Document {
        if let Some(document) = self.lock().get(name) {
            return document.clone();
        }
        // Made without the lock: an index is made of other documents.
        let bytes = make();
        let hash = Sha512::digest(&bytes)
            .iter()
            .fold(String::new(), |mut out, byte| {
                use std::fmt::Write as _;
                let _ = write!(out, "{byte:02X}");
                out
            });
        let document = Document {
            bytes: bytes.into(),
            hash,
        };
        self.lock().insert(name.to_owned(), document.clone());
        document
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Document>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn docs(&self) -> &Docs {
        self.docs.get_or_init(Docs::load)
    }
}

/// Answers with a document, or that the client's copy is still good.
fn tagged(headers: &HeaderMap, content_type: &'static str, document: &Document) -> Response {
    let tag = format!("\"{}\"", document.hash);
    let known = headers
        .get_all(IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|value| value.trim() == tag || value.trim() == "*");
    let mut response = if known {
        reply::bytes(304, content_type, Bytes::new())
    } else {
        reply::bytes(200, content_type, document.bytes.clone())
    };
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(ETAG, tag);
    }
    if document.bytes.len() > reply::LARGE_BYTES {
        response.extensions_mut().insert(reply::Large);
    }
    response
}

/// Answers a request for a path that is no resource.
pub(crate) fn answer(
    api: &Arc<Inner>,
    path: &str,
    parts: &Parts,
    query: &Query,
) -> Result<Response, Failure> {
    if parts.method != Method::GET && parts.method != Method::HEAD {
        let mut response = reply::status(&Status::method_not_allowed());
        let allowed = HeaderValue::from_static("GET");
        response.headers_mut().insert(ALLOW, allowed);
        return Ok(response);
    }
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    match segments.as_slice() {
        [""] => Ok(reply::json(200, &paths())),
        ["version"] => Ok(reply::json(200, &version())),
        ["healthz" | "livez" | "readyz", rest @ ..] => Ok(health::answer(api, rest, query)),
        ["metrics"] => Ok(metrics(api)),
        ["api" | "apis", ..] => Ok(discovery::answer(api, &segments, &parts.headers)),
        ["openapi", "v3", rest @ ..] => Ok(openapi::v3(api, rest, &parts.headers, query)),
        ["openapi", "v2"] => openapi::v2(api, &parts.headers),
        [".well-known", "openid-configuration"] => Ok(reply::json(200, &openid(api))),
        ["openid", "v1", "jwks"] => jwks(api, &parts.headers),
        _ => Ok(reply::page_not_found()),
    }
}

fn paths() -> Value {
    let mut paths: Vec<String> = [
        "/.well-known/openid-configuration",
        "/api",
        "/api/v1",
        "/apis",
        "/healthz",
        "/livez",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/openid/v1/jwks",
        "/readyz",
        "/version",
    ]
    .map(str::to_owned)
    .to_vec();
    for resource in pernode_api::resource::RESOURCES {
        if !resource.group.is_empty() {
            paths.push(format!("/apis/{}", resource.group));
            paths.push(format!("/apis/{}/{}", resource.group, resource.version));
        }
    }
    paths.sort();
    paths.dedup();
    json!({"paths": paths})
}

/// The version of Kubernetes whose API this is; the suffix says whose server it is.
pub(crate) fn version() -> Value {
    json!({
        "major": "1", "minor": "36",
        "emulationMajor": "1", "emulationMinor": "36",
        "minCompatibilityMajor": "1", "minCompatibilityMinor": "35",
        "gitVersion": "v1.36.2+pernode",
        "gitCommit": env!("CARGO_PKG_VERSION"), "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none", "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, go_arch()),
    })
}

/// Processor names as Go spells them, which clients compare.
fn go_arch() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn metrics(api: &Inner) -> Response {
    let text = api
        .metrics
        .text(api.store.revision(), api.started.elapsed());
    reply::bytes(200, "text/plain; version=0.0.4; charset=utf-8", text)
}

fn openid(api: &Inner) -> Value {
    json!({
        "issuer": ISSUER,
        "jwks_uri": format!("https://{}/openid/v1/jwks", api.options.public_address),
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    })
}

fn jwks(api: &Inner, headers: &HeaderMap) -> Result<Response, Failure> {
    const TYPE: &str = "application/jwk-set+json";
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    let fits = accepted.is_none_or(|accept| accept.contains("*/*") || accept.contains(TYPE));
    if !fits {
        return Err(Status::not_acceptable(&[TYPE]).into());
    }
    Ok(reply::bytes(200, TYPE, api.signer.jwks().to_string()))
}
