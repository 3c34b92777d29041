//! What can go wrong between a loop and the API server.

use serde::Deserialize;

/// A failed request.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server answered with a Status.
    #[error("{}", .0.message)]
    Status(Box<Failure>),
    /// The server could not be reached, or the connection broke.
    #[error("the API server cannot be reached")]
    Transport(#[source] Box<kube::Error>),
    /// The answer is not what the API promises.
    #[error("the API server's answer cannot be read")]
    Answer(#[source] serde_json::Error),
    /// The request could not be formed, for example a name that no path can carry.
    #[error("the request cannot be formed")]
    Request(#[source] http::Error),
    /// A body could not be written as JSON.
    #[error("the request's body cannot be written as JSON")]
    Body(#[source] serde_json::Error),
}

/// The part of a failure's Status that loops look at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Failure {
    /// HTTP status code.
    pub code: u16,
    /// Reason in CamelCase, the word to decide by.
    pub reason: String,
    /// Text for people.
    pub message: String,
    /// More about what failed.
    pub details: Details,
}

/// More about a failure.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Details {
    /// Single causes.
    pub causes: Vec<Cause>,
    /// Seconds to wait before trying again.
    pub retry_after_seconds: u64,
}

/// One cause of a failure.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Cause {
    /// Reason in CamelCase.
    pub reason: String,
    /// Text for people.
    pub message: String,
    /// Path of the field.
    pub field: String,
}

impl Failure {
    /// Reads an answer's body; bodies that are no Status (a proxy's) keep their text.
    pub(crate) fn read(code: u16, body: &[u8]) -> Self {
        let mut failure: Self = serde_json::from_slice(body).unwrap_or_default();
        failure.code = code;
        if failure.message.is_empty() {
            let text = String::from_utf8_lossy(body);
            failure.message = format!("{code}: {}", text.trim());
        }
        failure
    }
}

impl Error {
    /// The server's Status, when it answered with one.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Status(failure) => Some(failure),
            Self::Transport(_) | Self::Answer(_) | Self::Request(_) | Self::Body(_) => None,
        }
    }

    /// The Status' reason; empty when there is none.
    pub fn reason(&self) -> &str {
        self.failure().map_or("", |f| &f.reason)
    }

    /// The HTTP status code; 0 when the server gave no answer.
    pub fn code(&self) -> u16 {
        self.failure().map_or(0, |f| f.code)
    }

    /// The object changed since it was read, or a precondition did not hold.
    pub fn is_conflict(&self) -> bool {
        self.code() == 409 && !self.is_already_exists()
    }

    /// The object does not exist (any more).
    pub fn is_not_found(&self) -> bool {
        self.code() == 404
    }

    /// An object of this name exists.
    pub fn is_already_exists(&self) -> bool {
        self.reason() == "AlreadyExists"
    }

    /// The revision asked for is no longer known: list again.
    pub fn is_expired(&self) -> bool {
        self.code() == 410
    }

    /// The server never accepts this object, trying again is of no use before it changes.
    pub fn is_invalid(&self) -> bool {
        self.code() == 422
    }

    /// An admission rule or missing permission refuses the request.
    pub fn is_forbidden(&self) -> bool {
        self.code() == 403
    }

    /// The namespace is going away: nothing can be created in it.
    pub fn is_namespace_terminating(&self) -> bool {
        self.is_forbidden()
            && self.failure().is_some_and(|f| {
                f.details
                    .causes
                    .iter()
                    .any(|c| c.reason == "NamespaceTerminating")
            })
    }

    /// The server wants the client to slow down, or a disruption budget refuses an eviction.
    pub fn is_too_many_requests(&self) -> bool {
        self.code() == 429
    }

    /// The server worked too long on it; it may have been done.
    pub fn is_timeout(&self) -> bool {
        self.code() == 504
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(code: u16, body: &str) -> Error {
        Error::Status(Box::new(Failure::read(code, body.as_bytes())))
    }

    #[test]
    fn reasons_are_told_apart() {
        let exists = failure(409, r#"{"reason":"AlreadyExists","message":"m"}"#);
        assert!(exists.is_already_exists() && !exists.is_conflict());
        let conflict = failure(409, r#"{"reason":"Conflict","message":"m"}"#);
        assert!(conflict.is_conflict() && !conflict.is_already_exists());
        let leaving = failure(
            403,
            r#"{"reason":"Forbidden","details":{"causes":[{"reason":"NamespaceTerminating"}]}}"#,
        );
        assert!(leaving.is_namespace_terminating());
        assert!(!failure(403, r#"{"reason":"Forbidden"}"#).is_namespace_terminating());
    }

    #[test]
    fn a_body_that_is_no_status_keeps_its_text() {
        let error = failure(502, "bad gateway\n");
        assert_eq!(error.to_string(), "502: bad gateway");
        assert_eq!(error.code(), 502);
    }
}
