//! Failures about the request: its method, its form, what is in it.

use super::{Cause, Details, Status};
use crate::field_error::{FieldError, quote};
use crate::resource::Resource;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

impl Status {
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

    /// 405: the resource does not take this method.
    pub fn method_not_allowed() -> Self {
        Self::failure(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
        .with(Details::default())
    }

    /// 405: objects of the kind are listed and watched, but not written, and why.
    pub fn read_only(resource: &Resource, why: &str) -> Self {
        Self::failure(
            405,
            "MethodNotAllowed",
            format!("{} are read-only: {why}", resource.qualified_name()),
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
