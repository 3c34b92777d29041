//! `Status`: what the API answers when there is no object to answer with.
//!
//! One constructor per row of spec/apiserver.md 2.1. The texts are read by people and matched by
//! tools, so they are upstream's to the letter.

mod access;
mod object;
mod request;

pub use access::Access;

use crate::field_error::FieldError;
use crate::resource::Resource;
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use serde_json::{Map, Value, json};

/// The answer to a request that yields no object: a failure, or a success with nothing to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// HTTP status code; 2xx makes it a success.
    pub code: u16,
    /// Machine-readable reason; empty for successes and for reasons nobody has named.
    pub reason: &'static str,
    /// Message for people.
    pub message: String,
    /// What the answer is about. `Some` of an empty value is sent as `{}`.
    pub details: Option<Box<Details>>,
    /// A token to go on with, sent as `metadata.continue`; only with expired tokens.
    pub continue_token: String,
}

/// What a [`Status`] is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Details {
    /// Name of the object.
    pub name: String,
    /// API group of the resource.
    pub group: String,
    /// Resource (plural), or the kind for validation errors and delete preconditions.
    pub kind: String,
    /// Uid of the object.
    pub uid: String,
    /// The single things that are wrong.
    pub causes: Vec<Cause>,
    /// When to try again; also sent as the header `Retry-After`.
    pub retry_after_seconds: u32,
}

/// One thing that is wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cause {
    /// Machine-readable reason, such as `FieldValueInvalid`.
    pub reason: String,
    /// Message for people.
    pub message: String,
    /// Path of the field.
    pub field: String,
}

impl Status {
    fn failure(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: None,
            continue_token: String::new(),
        }
    }

    fn with(mut self, details: Details) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    fn about(self, resource: &Resource, name: &str) -> Self {
        self.with(Details::of(resource, resource.plural, name))
    }

    /// Adds a cause.
    #[must_use]
    pub fn with_cause(mut self, reason: &str, message: &str, field: &str) -> Self {
        let details = self.details.get_or_insert_with(Box::default);
        details.causes.push(Cause {
            reason: reason.to_owned(),
            message: message.to_owned(),
            field: field.to_owned(),
        });
        self
    }

    /// Adds seconds to wait before the next try.
    #[must_use]
    pub fn with_retry_after(mut self, seconds: u32) -> Self {
        let details = self.details.get_or_insert_with(Box::default);
        details.retry_after_seconds = seconds;
        self
    }

    /// 200: an object of this name and uid is gone. Deletions answer with it.
    pub fn success(resource: &Resource, name: &str, uid: &str) -> Self {
        let mut details = Details::of(resource, resource.plural, name);
        uid.clone_into(&mut details.uid);
        Self::done(200).with(details)
    }

    /// Success with nothing more to say: 201 for bindings and evictions.
    pub fn done(code: u16) -> Self {
        Self::failure(code, "", "")
    }

    /// 410: the resource version of a list or watch is no longer kept.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::failure(410, "Expired", message)
    }

    /// 410: a list at a version that is no longer kept.
    pub fn list_expired() -> Self {
        Self::expired("The resourceVersion for the provided list is too old.")
    }

    /// 410: a continue token whose version is no longer kept; `fresh` continues inconsistently.
    pub fn continue_expired(fresh: &str) -> Self {
        let mut status = Self::expired(
            "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
        );
        fresh.clone_into(&mut status.continue_token);
        status
    }

    /// 410: a watch from a version that is no longer kept.
    pub fn watch_expired(wanted: u64, oldest: u64) -> Self {
        Self::expired(format!("too old resource version: {wanted} ({oldest})"))
    }

    /// 429: try again later.
    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        Self::failure(429, "TooManyRequests", message).with_retry_after(retry_after_seconds)
    }

    /// 429: an eviction that a disruption budget forbids.
    pub fn eviction_blocked(budget: &str, needed: i64, healthy: i64) -> Self {
        let cause = format!(
            "The disruption budget {budget} needs {needed} healthy pods and has {healthy} currently"
        );
        Self::failure(
            429,
            "TooManyRequests",
            "Cannot evict pod as it would violate the pod's disruption budget.",
        )
        .with_cause("DisruptionBudget", &cause, "")
    }

    /// 500: the server failed.
    pub fn internal(why: impl fmt::Display) -> Self {
        let message = format!("Internal error occurred: {why}");
        let why = why.to_string();
        Self::failure(500, "InternalError", message).with_cause("", &why, "")
    }

    /// 500 with a message of its own, for failures that upstream maps to no reason.
    pub fn unmapped(message: impl Into<String>) -> Self {
        Self::failure(500, "", message)
    }

    /// 503: the server cannot answer now.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::failure(503, "ServiceUnavailable", message)
    }

    /// 504: the resource version asked for has not been reached in time.
    pub fn too_large_version(wanted: u64, current: u64) -> Self {
        Self::timeout(
            format!("Too large resource version: {wanted}, current: {current}"),
            1,
        )
        .with_cause("ResourceVersionTooLarge", "Too large resource version", "")
    }

    /// 504: something took too long.
    pub fn timeout(message: impl fmt::Display, retry_after_seconds: u32) -> Self {
        Self::failure(504, "Timeout", format!("Timeout: {message}"))
            .with_retry_after(retry_after_seconds)
    }

    /// Whether it reports a failure.
    pub fn is_failure(&self) -> bool {
        self.code >= 300
    }

    /// The object as sent.
    pub fn to_value(&self) -> Value {
        let mut metadata = Map::new();
        put(&mut metadata, "continue", &self.continue_token);
        let mut object = Map::new();
        object.insert("kind".into(), "Status".into());
        object.insert("apiVersion".into(), "v1".into());
        object.insert("metadata".into(), Value::Object(metadata));
        let word = if self.is_failure() {
            "Failure"
        } else {
            "Success"
        };
        object.insert("status".into(), word.into());
        put(&mut object, "message", &self.message);
        put(&mut object, "reason", self.reason);
        if let Some(details) = &self.details {
            object.insert("details".into(), details.to_value());
        }
        if self.is_failure() {
            object.insert("code".into(), self.code.into());
        }
        Value::Object(object)
    }
}

impl Details {
    fn of(resource: &Resource, kind: &str, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            group: resource.group.to_owned(),
            kind: kind.to_owned(),
            ..Self::default()
        }
    }

    fn to_value(&self) -> Value {
        let mut map = Map::new();
        put(&mut map, "name", &self.name);
        put(&mut map, "group", &self.group);
        put(&mut map, "kind", &self.kind);
        put(&mut map, "uid", &self.uid);
        if !self.causes.is_empty() {
            let causes = self.causes.iter().map(Cause::to_value).collect();
            map.insert("causes".into(), Value::Array(causes));
        }
        if self.retry_after_seconds > 0 {
            map.insert("retryAfterSeconds".into(), json!(self.retry_after_seconds));
        }
        Value::Object(map)
    }
}

impl Cause {
    fn to_value(&self) -> Value {
        let mut map = Map::new();
        put(&mut map, "reason", &self.reason);
        put(&mut map, "message", &self.message);
        put(&mut map, "field", &self.field);
        Value::Object(map)
    }
}

impl From<&FieldError> for Cause {
    fn from(error: &FieldError) -> Self {
        Self {
            reason: error.kind.reason().to_owned(),
            message: error.body(),
            field: error.field.clone(),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for Status {}

fn put(map: &mut Map<String, Value>, key: &str, text: &str) {
    if !text.is_empty() {
        map.insert(key.to_owned(), Value::String(text.to_owned()));
    }
}

#[cfg(test)]
mod tests;
