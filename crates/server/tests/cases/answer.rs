//! Answers, and the events of watches.

use bytes::Bytes;
use http::{HeaderMap, Response};
use http_body_util::BodyExt as _;
use http_body_util::combinators::BoxBody;
use serde_json::Value;
use tower::BoxError;

/// An answer whose body may still be coming.
pub(super) struct Begun(pub(super) Response<BoxBody<Bytes, BoxError>>);

/// An answer as a whole.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) code: u16,
    pub(super) headers: HeaderMap,
    /// The body as JSON; null if it is something else.
    pub(super) body: Value,
    /// The documents of the body: of a watch, its events.
    pub(super) events: Vec<Value>,
    text: String,
}

impl Begun {
    pub(super) async fn whole(self) -> Result<Answer, String> {
        let (head, body) = self.0.into_parts();
        let bytes = body
            .collect()
            .await
            .map_err(|error| format!("the body broke off: {error}"))?;
        let text = String::from_utf8_lossy(&bytes.to_bytes()).into_owned();
        let documents = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
        let events: Vec<Value> = documents.map_while(Result::ok).collect();
        Ok(Answer {
            code: head.status.as_u16(),
            headers: head.headers,
            body: serde_json::from_str(&text).unwrap_or_default(),
            events,
            text,
        })
    }
}

impl Answer {
    pub(super) fn expect_code(&self, code: u16, what: &str) -> Result<(), String> {
        if self.code == code {
            Ok(())
        } else {
            Err(format!("{what}:\n{}", self.show()))
        }
    }

    /// The texts of the Warning headers: `299 - "text"`.
    pub(super) fn warnings(&self) -> Vec<String> {
        let headers = self.headers.get_all(http::header::WARNING).iter();
        headers
            .filter_map(|it| warning_text(it.to_str().ok()?))
            .collect()
    }

    /// The answer as it is shown with a failure.
    pub(super) fn show(&self) -> String {
        const SHOWN: usize = 3000;
        let text: String = self.text.chars().take(SHOWN).collect();
        format!("  answer {} {text}", self.code)
    }
}

/// The quoted text of a warning, without its escapes.
fn warning_text(header: &str) -> Option<String> {
    let quoted = header.split_once('"')?.1;
    let mut text = String::new();
    let mut chars = quoted.chars();
    while let Some(char) = chars.next() {
        match char {
            '"' => return Some(text),
            '\\' => text.extend(chars.next()),
            char => text.push(char),
        }
    }
    None
}
