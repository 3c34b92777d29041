//! What cases are run against.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use serde_json::Value;
use tower::util::BoxCloneService;
use tower::{BoxError, Service, ServiceExt as _};

use super::answer::{Answer, Begun};

type Client = BoxCloneService<Request<Full<Bytes>>, Response<BoxBody<Bytes, BoxError>>, BoxError>;

/// A service that answers, and a way to make its store forget.
#[derive(Clone)]
pub(crate) struct Target {
    client: Client,
    compact: Option<Arc<dyn Fn(u64) + Send + Sync>>,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").finish_non_exhaustive()
    }
}

impl Target {
    pub(crate) fn new<S, B>(service: S) -> Self
    where
        S: Service<Request<Full<Bytes>>, Response = Response<B>> + Clone + Send + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send + 'static,
        B: http_body::Body<Data = Bytes> + Send + Sync + 'static,
        B::Error: Into<BoxError>,
    {
        let client = service
            .map_response(|response: Response<B>| {
                response.map(|body| body.map_err(Into::into).boxed())
            })
            .map_err(Into::into);
        Self {
            client: BoxCloneService::new(client),
            compact: None,
        }
    }

    pub(crate) fn compact(mut self, forget: impl Fn(u64) + Send + Sync + 'static) -> Self {
        self.compact = Some(Arc::new(forget));
        self
    }

    /// Makes the store forget the past, if there is a way to.
    pub(super) fn forget(&self, revision: u64) -> Result<(), String> {
        let compact = self
            .compact
            .as_ref()
            .ok_or("this target cannot compact its store")?;
        compact(revision);
        Ok(())
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Answer, String> {
        let body = body.to_string().into_bytes();
        let request = build(&Method::POST, path, &Value::Null, Some(body))?;
        self.send(request).await?.whole().await
    }

    pub(super) async fn get(&self, path: &str, step: &Value) -> Result<Begun, String> {
        self.send(build(&Method::GET, path, step, None)?).await
    }

    /// Sends what a step's `do` says.
    pub(super) async fn request(&self, step: &Value) -> Result<Begun, String> {
        let line = step["do"]
            .as_str()
            .ok_or_else(|| format!("a step without request: {step}"))?;
        let (verb, path) = line
            .split_once(' ')
            .ok_or_else(|| format!("no path: {line}"))?;
        let method = verb.parse().map_err(|_| format!("no such verb: {verb}"))?;
        let body = match (step.get("raw"), step.get("body")) {
            (Some(raw), _) => raw.as_str().map(|it| it.as_bytes().to_vec()),
            (None, Some(body)) => Some(body.to_string().into_bytes()),
            (None, None) => None,
        };
        self.send(build(&method, path, step, body)?).await
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Begun, String> {
        let answer = self.client.clone().oneshot(request).await;
        answer
            .map(Begun)
            .map_err(|error| format!("no answer: {error}"))
    }
}

fn build(
    method: &Method,
    path: &str,
    step: &Value,
    body: Option<Vec<u8>>,
) -> Result<Request<Full<Bytes>>, String> {
    let accept = step["accept"].as_str().unwrap_or("application/json");
    let mut request = Request::builder()
        .method(method)
        .uri(escape(path))
        .header(http::header::ACCEPT, accept);
    if body.is_some() {
        let content_type = step["type"].as_str().unwrap_or("application/json");
        request = request.header(http::header::CONTENT_TYPE, content_type);
    }
    let body = Full::new(Bytes::from(body.unwrap_or_default()));
    request
        .body(body)
        .map_err(|error| format!("{method} {path}: {error}"))
}

/// Paths are written for people: escapes what a URI cannot have.
fn escape(path: &str) -> String {
    let mut escaped = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}
