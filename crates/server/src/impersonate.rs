//! Acting as somebody else: the headers `Impersonate-User`, `-Group`, `-Uid` and `-Extra-…`.

use std::sync::Arc;

use http::HeaderMap;
use pernode_api::status::Status;

use crate::api::Inner;
use crate::api::service::Incoming;
use crate::authz::Attributes;
use crate::dispatch::denied;
use crate::user::User;

const EXTRA: &str = "impersonate-extra-";

/// The user a request wants to act as, if its real user may do that.
pub(crate) fn user(api: &Arc<Inner>, incoming: &Incoming) -> Result<Option<User>, Status> {
    let headers = &incoming.parts.headers;
    let Some(name) = text(headers, "impersonate-user") else {
        let without_user = ["impersonate-group", "impersonate-uid"];
        if without_user
            .iter()
            .any(|header| headers.contains_key(*header))
        {
            return Err(Status::internal(
                "requested impersonation without impersonating a user",
            ));
        }
        return Ok(None);
    };
    let groups: Vec<String> = headers
        .get_all("impersonate-group")
        .iter()
        .filter_map(|value| value.to_str().ok().map(str::to_owned))
        .collect();
    check_user(api, &incoming.user, &name)?;
    for group in &groups {
        check(api, &incoming.user, ("", "groups", ""), ("", group))?;
    }
    let mut user = as_user(&name, groups);
    if let Some(uid) = text(headers, "impersonate-uid") {
        check(
            api,
            &incoming.user,
            ("authentication.k8s.io", "uids", ""),
            ("", &uid),
        )?;
        user.uid = uid;
    }
    for (header, value) in headers {
        let Some(key) = header.as_str().strip_prefix(EXTRA) else {
            continue;
        };
        let value = value.to_str().unwrap_or_default();
        check(
            api,
            &incoming.user,
            ("authentication.k8s.io", "userextras", key),
            ("", value),
        )?;
        user.extra
            .entry(key.to_owned())
            .or_default()
            .push(value.to_owned());
    }
    Ok(Some(user))
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?;
    (!value.is_empty()).then(|| value.to_owned())
}

fn as_user(name: &str, groups: Vec<String>) -> User {
    if name == "system:anonymous" {
        return User::anonymous();
    }
    let account = name
        .strip_prefix("system:serviceaccount:")
        .and_then(|rest| rest.split_once(':'));
    match account {
        Some((namespace, account)) if groups.is_empty() => {
            User::service_account(namespace, account, "")
        }
        _ => User::new(name, groups),
    }
}

/// Service accounts are asked for as such, everybody else as users.
fn check_user(api: &Inner, user: &User, name: &str) -> Result<(), Status> {
    let account = name
        .strip_prefix("system:serviceaccount:")
        .and_then(|rest| rest.split_once(':'));
    match account {
        Some((namespace, account)) => {
            check(api, user, ("", "serviceaccounts", ""), (namespace, account))
        }
        None => check(api, user, ("", "users", ""), ("", name)),
    }
}

fn check(
    api: &Inner,
    user: &User,
    (group, resource, subresource): (&str, &str, &str),
    (namespace, name): (&str, &str),
) -> Result<(), Status> {
    let wanted = Attributes {
        verb: "impersonate",
        group,
        resource,
        subresource,
        namespace,
        name,
        path: "",
    };
    match api.authorizer.allowed(&*api.store, user, &wanted) {
        Some(_) => Ok(()),
        None => Err(denied(user, &wanted, "")),
    }
}
