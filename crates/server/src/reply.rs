//! Answers: JSON, text, `Status`, warnings.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WARNING};
use http::{HeaderMap, StatusCode};
use pernode_api::status::Status;
use serde_json::Value;

use crate::body::Body;

/// An answer.
pub(crate) type Response = http::Response<Body>;

/// Why a request is not answered with what it asked for.
///
/// Boxed: the happy path should not carry its size around.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// What the client is told.
    pub(crate) status: Box<Status>,
    /// Warnings that go with it.
    pub(crate) warnings: Vec<String>,
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Self {
            status: Box::new(status),
            warnings: Vec::new(),
        }
    }
}

impl Failure {
    /// The answer.
    pub(crate) fn into_response(self) -> Response {
        let mut response = status(&self.status);
        warn(&mut response, &self.warnings);
        response
    }
}

/// Bytes of a type.
pub(crate) fn bytes(code: u16, content_type: &'static str, bytes: impl Into<Bytes>) -> Response {
    typed(code, content_type, Body::full(bytes))
}

/// A body of a type.
pub(crate) fn typed(code: u16, content_type: &'static str, body: Body) -> Response {
    let mut response = http::Response::new(body);
    *response.status_mut() =
        StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

/// A JSON value.
pub(crate) fn json(code: u16, value: &Value) -> Response {
    bytes(code, "application/json", value.to_string())
}

/// Plain text.
pub(crate) fn text(code: u16, text: impl Into<String>) -> Response {
    bytes(code, "text/plain; charset=utf-8", text.into())
}

/// What a path answers that nobody serves.
pub(crate) fn page_not_found() -> Response {
    text(404, "404 page not found\n")
}

/// A `Status`.
pub(crate) fn status(status: &Status) -> Response {
    let mut response = json(status.code, &status.to_value());
    let seconds = status
        .details
        .as_ref()
        .map_or(0, |details| details.retry_after_seconds);
    if seconds > 0 {
        response
            .headers_mut()
            .insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Answers larger than this are marked as worth compressing, as upstream does.
pub(crate) const LARGE_BYTES: usize = 128 * 1024;

/// Bytes of all warnings of one answer: more do not help anybody and break clients' limits.
const WARNINGS_BYTES_MAX: usize = 4096;

/// Marks an answer that is large enough to be worth compressing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Large;

/// Adds one `Warning` header for each text.
pub(crate) fn warn(response: &mut Response, warnings: &[String]) {
    let mut total = 0;
    for text in warnings {
        let value = format!("299 - {}", quoted(text));
        total += value.len();
        if total > WARNINGS_BYTES_MAX {
            return;
        }
        if let Ok(value) = HeaderValue::from_str(&value) {
            append(response.headers_mut(), value);
        }
    }
}

fn append(headers: &mut HeaderMap, value: HeaderValue) {
    headers.append(WARNING, value);
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_quoted() {
        let mut response = text(200, "");
        warn(&mut response, &["unknown field \"spec.foo\"".to_owned()]);
        assert_eq!(
            response.headers()[WARNING],
            r#"299 - "unknown field \"spec.foo\"""#
        );
        let many = vec!["x".repeat(1000); 10];
        let mut response = text(200, "");
        warn(&mut response, &many);
        assert_eq!(response.headers().get_all(WARNING).iter().count(), 4);
    }

    #[test]
    fn retry_after_is_a_header_too() {
        let response = status(&Status::too_many_requests("later", 3));
        assert_eq!(response.status(), 429);
        assert_eq!(response.headers()[RETRY_AFTER], "3");
    }
}
