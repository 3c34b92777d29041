//! Failures about the object itself: absent, taken, changed by somebody else.

use super::{Details, Status};
use crate::field_error::quote;
use crate::resource::Resource;
use alloc::borrow::ToOwned;
use alloc::format;

impl Status {
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
}
