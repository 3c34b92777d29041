//! Service accounts as users: who a token stands for, as long as what it is bound to exists.

use std::sync::Arc;

use jiff::Timestamp;
use pernode_api::resource::find;

use crate::api::Inner;
use crate::authn::token::{Claims, Error, Reference};
use crate::key;
use crate::object::{self, Object as _};
use crate::user::User;

/// The user of a token, and what the token says.
pub(crate) fn user_of(
    api: &Arc<Inner>,
    token: &str,
    audiences: &[String],
) -> Result<(User, Claims), Error> {
    let claims = api.signer.verify(token, audiences, Timestamp::now())?;
    let bound = &claims.kubernetes;
    let namespace = Some(bound.namespace.as_str());
    let mut user = User::service_account(
        &bound.namespace,
        &bound.serviceaccount.name,
        &bound.serviceaccount.uid,
    );
    exists(api, "serviceaccounts", namespace, &bound.serviceaccount)?;
    let mut note = |what: &str, value: &str| {
        let key = format!("authentication.kubernetes.io/{what}");
        user.extra.insert(key, vec![value.to_owned()]);
    };
    note("credential-id", &format!("JTI={}", claims.jti));
    if let Some(pod) = &bound.pod {
        exists(api, "pods", namespace, pod)?;
        note("pod-name", &pod.name);
        note("pod-uid", &pod.uid);
    }
    if let Some(secret) = &bound.secret {
        exists(api, "secrets", namespace, secret)?;
    }
    if let Some(node) = &bound.node {
        exists(api, "nodes", None, node)?;
        note("node-name", &node.name);
        note("node-uid", &node.uid);
    }
    Ok((user, claims))
}

/// The object has to be there, and to be the same that the token was made for.
fn exists(
    api: &Inner,
    plural: &str,
    namespace: Option<&str>,
    reference: &Reference,
) -> Result<(), Error> {
    let resource = find("", "v1", plural).expect("bindable kinds are in the table");
    let item = api
        .store
        .get(&key::key(resource, namespace, &reference.name))
        .ok_or(Error::Malformed)?;
    let object = object::parse(&item.bytes);
    if object.meta("uid") == reference.uid {
        Ok(())
    } else {
        Err(Error::Malformed)
    }
}
