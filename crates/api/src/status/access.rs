//! Failures about who may do what.

use super::{Details, Status};
use crate::field_error::quote;
use crate::resource::Resource;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

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

impl Status {
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
}

fn qualified(resource: &str, group: &str) -> String {
    if group.is_empty() {
        resource.to_owned()
    } else {
        format!("{resource}.{group}")
    }
}
