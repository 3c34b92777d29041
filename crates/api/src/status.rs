//! `Status`: what the API answers when there is no object to answer with.
//!
//! One constructor per row of spec/apiserver.md 2.1. The texts are read by people and matched by
//! tools, so they are upstream's to the letter.

use crate::field_error::{FieldError, quote};
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

    /// 404: no such object.
    pub fn not_found(resource: &Resource, name: &str) -> Self {
        let message = format!("{} {} not found", resource.qualified_name(), quote(name));
        Self::failure(404, "NotFound", message).about(resource, name)
    }

    /// 404: the path names no resource.
    pub fn no_such_resource() -> Self {
        Self::failure(
            404,
            "NotFound",
            "the server could not find the requested resource",
        )
        .with(Details::default())
    }

    /// 409: the name is taken.
    pub fn already_exists(resource: &Resource, name: &str) -> Self {
        let message = format!(
            "{} {} already exists",
            resource.qualified_name(),
            quote(name)
        );
        Self::failure(409, "AlreadyExists", message).about(resource, name)
    }

    /// 409: the name is taken by an object that is being deleted.
    pub fn being_deleted(resource: &Resource, name: &str) -> Self {
        let mut status = Self::already_exists(resource, name);
        status.message = format!("object is being deleted: {}", status.message);
        status
    }

    /// 409: the write lost against something; `why` says what.
    pub fn conflict(resource: &Resource, name: &str, why: &str) -> Self {
        let object = resource.qualified_name();
        Self::conflict_on(&object, name, why).about(resource, name)
    }

    /// 409 on something other than a resource, such as `pods/binding`.
    ///
    /// `what` is shown and is also `details.kind`.
    pub fn conflict_on(what: &str, name: &str, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {what} {}: {why}",
            quote(name)
        );
        Self::failure(409, "Conflict", message).with(Details {
            name: name.to_owned(),
            kind: what.to_owned(),
            ..Details::default()
        })
    }

    /// 409: the object has changed since the client read it.
    pub fn stale(resource: &Resource, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    /// 409: an update for an object of another uid.
    pub fn uid_conflict(resource: &Resource, key: &str, name: &str, uids: (&str, &str)) -> Self {
        let (wanted, actual) = uids;
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {wanted}, UID in object meta: {actual}"
        );
        Self::conflict(resource, name, &why)
    }

    /// 409: a deletion asked for another uid than the stored one.
    pub fn delete_uid_conflict(resource: &Resource, name: &str, uids: (&str, &str)) -> Self {
        let (wanted, actual) = uids;
        let why = format!(
            "the UID in the precondition ({wanted}) does not match the UID in record ({actual}). The object might have been deleted and then recreated"
        );
        Self::precondition(resource, name, &why)
    }

    /// 409: a deletion asked for another resource version than the stored one.
    pub fn delete_version_conflict(
        resource: &Resource,
        name: &str,
        versions: (&str, &str),
    ) -> Self {
        let (wanted, actual) = versions;
        let why = format!(
            "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record ({actual}). The object might have been modified"
        );
        Self::precondition(resource, name, &why)
    }

    /// Preconditions of deletions name the kind where everything else names the resource.
    fn precondition(resource: &Resource, name: &str, why: &str) -> Self {
        let kind = resource.qualified_kind();
        Self::conflict_on(&kind, name, why).with(Details::of(resource, resource.kind, name))
    }

    /// 422: the object is refused by validation.
    pub fn invalid(resource: &Resource, name: &str, errors: &[FieldError]) -> Self {
        // Events of both groups are one kind inside, and are reported as the older one.
        let group = if resource.kind == "Event" {
            ""
        } else {
            resource.group
        };
        Self::invalid_kind(group, resource.kind, name, errors)
    }

    /// 422 for anything with a group and a kind, such as `DeleteOptions` of `meta.k8s.io`.
    pub fn invalid_kind(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let what = match (group, kind) {
            (_, "") => String::new(),
            ("", kind) => kind.to_owned(),
            (group, kind) => format!("{kind}.{group}"),
        };
        let message = format!("{what} {} is invalid: {}", quote(name), aggregate(errors));
        Self::failure(422, "Invalid", message).with(Details {
            name: name.to_owned(),
            group: group.to_owned(),
            kind: kind.to_owned(),
            causes: errors.iter().map(Cause::from).collect(),
            ..Details::default()
        })
    }

    /// 422: options in the query or the body of a request are wrong.
    ///
    /// `kind` is `CreateOptions`, `UpdateOptions`, `PatchOptions`, `DeleteOptions` or `ListOptions`.
    pub fn invalid_options(kind: &str, errors: &[FieldError]) -> Self {
        Self::invalid_kind("meta.k8s.io", kind, "", errors)
    }

    /// 422: an update without resource version of a kind that demands one.
    pub fn version_required(resource: &Resource, name: &str) -> Self {
        let error = FieldError::invalid(
            &"metadata.resourceVersion",
            0,
            "must be specified for an update",
        );
        Self::invalid_kind(resource.group, resource.plural, name, &[error])
    }

    /// 422: a patch whose result does not fit; `shown` is the patch as upstream prints it.
    pub fn invalid_patch(shown: &str, why: &str) -> Self {
        let error = FieldError::invalid(&"patch", shown, why);
        Self::invalid_kind("", "", "", &[error])
    }

    /// 400: the request makes no sense.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::failure(400, "BadRequest", message)
    }

    /// 400: URL and body disagree about the name.
    pub fn name_mismatch(in_body: &str, in_url: &str) -> Self {
        Self::bad_request(format!(
            "the name of the object ({in_body}) does not match the name on the URL ({in_url})"
        ))
    }

    /// 400: the body has no name, so that it cannot be compared with the URL's.
    pub fn name_undeterminable(in_url: &str) -> Self {
        Self::bad_request(format!(
            "the name of the object ({in_url} based on URL) was undeterminable: name must be provided"
        ))
    }

    /// 400: URL and body disagree about the namespace.
    pub fn namespace_mismatch() -> Self {
        Self::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        )
    }

    /// 400: the body is well-formed but is not an object of this kind.
    ///
    /// `kind` and `version` are those in the body, for instance `DaemonSet` and `v1`.
    pub fn cannot_be_handled(resource: &Resource, kind: &str, version: &str, why: &str) -> Self {
        Self::bad_request(format!(
            "{kind} in version {} cannot be handled as a {}: {why}",
            quote(version),
            resource.kind
        ))
    }

    /// 400: the body is of another kind than the URL.
    pub fn wrong_kind(resource: &Resource, kind: &str, version: &str) -> Self {
        let group = if resource.group.is_empty() {
            "core"
        } else {
            first_label(resource.group)
        };
        let why = format!(
            "converting ({version}.{kind}) to ({group}.{}): unknown conversion",
            resource.kind
        );
        Self::cannot_be_handled(resource, kind, version, &why)
    }

    /// 400: the body has an `apiVersion` that has no such kind.
    pub fn unknown_version(resource: &Resource, kind: &str, api_version: &str) -> Self {
        let version = api_version.rsplit('/').next().unwrap_or_default();
        let why = format!(
            "no kind {} is registered for version {} in scheme \"pkg/api/legacyscheme/scheme.go:30\"",
            quote(kind),
            quote(api_version)
        );
        Self::cannot_be_handled(resource, kind, version, &why)
    }

    /// 400: the body is not JSON.
    pub fn unrecognized(resource: &Resource, why: &str) -> Self {
        Self::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): couldn't get version/kind; json parse error: {why}",
            resource.kind
        ))
    }

    /// 401: the credentials are not known.
    pub fn unauthorized() -> Self {
        Self::failure(401, "Unauthorized", "Unauthorized")
    }

    /// 403: a rule refuses the object; `why` says which.
    pub fn forbidden(resource: &Resource, name: &str, why: &str) -> Self {
        let object = resource.qualified_name();
        let message = if name.is_empty() {
            format!("{object} is forbidden: {why}")
        } else {
            format!("{object} {} is forbidden: {why}", quote(name))
        };
        Self::failure(403, "Forbidden", message).about(resource, name)
    }

    /// 403: the user may not do this.
    pub fn access_denied(access: &Access<'_>) -> Self {
        let what = qualified(access.resource, access.group);
        let resource = match access.subresource {
            "" => access.resource.to_owned(),
            sub => format!("{}/{sub}", access.resource),
        };
        let scope = if access.namespace.is_empty() {
            "at the cluster scope".to_owned()
        } else {
            format!("in the namespace {}", quote(access.namespace))
        };
        let why = format!(
            "User {} cannot {} resource {} in API group {} {scope}",
            quote(access.user),
            access.verb,
            quote(&resource),
            quote(access.group)
        );
        let why = if access.reason.is_empty() {
            why
        } else {
            format!("{why}: {}", access.reason)
        };
        let message = match access.name {
            "" => format!("{what} is forbidden: {why}"),
            name => format!("{what} {} is forbidden: {why}", quote(name)),
        };
        Self::failure(403, "Forbidden", message).with(Details {
            name: access.name.to_owned(),
            group: access.group.to_owned(),
            kind: access.resource.to_owned(),
            ..Details::default()
        })
    }

    /// 403: the user may not use a path that is no resource.
    pub fn path_denied(user: &str, verb: &str, path: &str) -> Self {
        let message = format!(
            "forbidden: User {} cannot {verb} path {}",
            quote(user),
            quote(path)
        );
        Self::failure(403, "Forbidden", message).with(Details::default())
    }

    /// 403: the namespace is being deleted and takes nothing new.
    pub fn namespace_terminating(resource: &Resource, name: &str, namespace: &str) -> Self {
        let why = format!(
            "unable to create new content in namespace {namespace} because it is being terminated"
        );
        let cause = format!("namespace {namespace} is being terminated");
        Self::forbidden(resource, name, &why).with_cause(
            "NamespaceTerminating",
            &cause,
            "metadata.namespace",
        )
    }

    /// 405: the resource does not take this method.
    pub fn method_not_allowed() -> Self {
        Self::failure(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
        .with(Details::default())
    }

    /// 406: no form the client accepts is served; `available` lists the forms that are.
    pub fn not_acceptable(available: &[&str]) -> Self {
        let forms = available.join(", ");
        let message = format!("406: Not Acceptable\n\nAvailable representations: {forms}");
        Self::failure(406, "NotAcceptable", message).with(Details::default())
    }

    /// 406: as [`Self::not_acceptable`], in the words used when a form exists but not for this.
    pub fn only_accepted(available: &[&str]) -> Self {
        let forms = available.join(", ");
        let message = format!("only the following media types are accepted: {forms}");
        Self::failure(406, "NotAcceptable", message)
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

    /// 413: the body is too big.
    pub fn too_large(limit: usize) -> Self {
        Self::failure(
            413,
            "RequestEntityTooLarge",
            format!("Request entity too large: limit is {limit}"),
        )
    }

    /// 415: the body is in a form that is not understood.
    pub fn unsupported_media_type(accepted: &[&str]) -> Self {
        Self::failure(
            415,
            "UnsupportedMediaType",
            format!(
                "the body of the request was in an unknown format - accepted media types include: {}",
                accepted.join(", ")
            ),
        )
    }

    /// 413: a JSON patch with too many operations.
    pub fn too_many_operations(message: impl Into<String>) -> Self {
        Self::failure(413, "RequestEntityTooLarge", message)
    }

    /// 422: a JSON patch that does not fit the object. Upstream does not say why.
    pub fn patch_rejected() -> Self {
        let message = "the server rejected our request due to an error in our request";
        Self::failure(422, "Invalid", message).with(Details::default())
    }

    /// 415: a patch in a form that is not understood.
    pub fn unsupported_patch_type() -> Self {
        Self::failure(415, "UnsupportedMediaType", "415: Unsupported Media Type")
            .with(Details::default())
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

/// Who wanted to do what, for [`Status::access_denied`]. Empty text means "not given".
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Access<'a> {
    /// Name of the user.
    pub user: &'a str,
    /// Verb, such as `list`.
    pub verb: &'a str,
    /// API group; empty for the core group.
    pub group: &'a str,
    /// Resource (plural).
    pub resource: &'a str,
    /// Subresource.
    pub subresource: &'a str,
    /// Namespace; empty means the cluster scope.
    pub namespace: &'a str,
    /// Name of the object.
    pub name: &'a str,
    /// What the authorizer had to say.
    pub reason: &'a str,
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

fn qualified(resource: &str, group: &str) -> String {
    if group.is_empty() {
        resource.to_owned()
    } else {
        format!("{resource}.{group}")
    }
}

fn first_label(group: &str) -> &str {
    group.split('.').next().unwrap_or_default()
}

/// Several errors in one text: each only once, in brackets when there are several.
fn aggregate(errors: &[FieldError]) -> String {
    let mut texts: Vec<String> = Vec::with_capacity(errors.len());
    for error in errors {
        let text = error.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

#[cfg(test)]
mod tests;
