//! From a parsed request to its handler.

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use pernode_api::resource::{RESOURCES, Resource, find};
use pernode_api::status::{Access, Status};
use pernode_api::strategy::warning::deprecated;
use tokio_util::sync::CancellationToken;

use crate::api::Inner;
use crate::api::service::Incoming;
use crate::authz::Attributes;
use crate::call::{Actor, Call, Closing};
use crate::documents;
use crate::impersonate;
use crate::negotiate;
use crate::node_authz;
use crate::registry;
use crate::reply::{self, Failure, Response};
use crate::request::{RequestInfo, ResourceRequest, Verb};
use crate::subresource;
use crate::user::User;

/// Answers a request: who it acts as, whether that user may, and then the handler.
pub(crate) async fn answer(
    api: &Arc<Inner>,
    mut incoming: Incoming,
    body: Bytes,
) -> Result<Response, Failure> {
    if let Some(user) = impersonate::user(api, &incoming)? {
        incoming.user = Arc::new(user);
    }
    authorize(api, &incoming)?;
    let Incoming {
        parts,
        query,
        info,
        user,
    } = incoming;
    match info {
        RequestInfo::NonResource { path, .. } => documents::answer(api, &path, &parts, &query),
        RequestInfo::Resource(request) => {
            let Some(resource) = find(&request.group, &request.version, &request.resource) else {
                return unknown(&request);
            };
            let collection = matches!(request.verb, Verb::List | Verb::Watch);
            let pretty = query.optional_flag("pretty");
            let call = Call {
                actor: Actor {
                    api: api.clone(),
                    user,
                    now: Timestamp::now(),
                },
                resource,
                accepted: negotiate::accept(&parts.headers, pretty, collection)?,
                closing: parts
                    .extensions
                    .get::<Closing>()
                    .map_or_else(CancellationToken::new, |closing| closing.0.clone()),
                request,
                query,
                headers: parts.headers,
                body,
            };
            let mut response = Box::pin(route(call)).await?;
            if let Some(advice) = deprecated(resource) {
                reply::warn(&mut response, &[advice.to_owned()]);
            }
            Ok(response)
        }
    }
}

/// An unknown group is no page; an unknown resource of a known group is a `Status`.
fn unknown(request: &ResourceRequest) -> Result<Response, Failure> {
    let known = RESOURCES
        .iter()
        .any(|r| r.group == request.group && r.version == request.version);
    if known || request.group.is_empty() {
        return Err(Status::no_such_resource().into());
    }
    Ok(reply::page_not_found())
}

fn authorize(api: &Arc<Inner>, incoming: &Incoming) -> Result<(), Status> {
    let user: &User = &incoming.user;
    match &incoming.info {
        RequestInfo::NonResource { path, verb } => {
            let (path, verb) = (path.as_str(), verb.as_str());
            let wanted = Attributes {
                verb,
                path,
                ..Attributes::default()
            };
            api.authorizer
                .allowed(&*api.store, user, &wanted)
                .map(drop)
                .ok_or_else(|| Status::path_denied(&user.name, verb, path))
        }
        RequestInfo::Resource(request) => authorize_resource(api, user, request, incoming),
    }
}

/// What a resource request asks authorization for.
pub(crate) fn attributes(request: &ResourceRequest) -> Attributes<'_> {
    // A namespace is in its own scope.
    let own_scope = (request.resource == "namespaces")
        .then_some(request.name.as_deref())
        .flatten();
    Attributes {
        verb: request.verb.as_str(),
        group: &request.group,
        resource: &request.resource,
        subresource: request.subresource.as_deref().unwrap_or_default(),
        namespace: request
            .namespace
            .as_deref()
            .or(own_scope)
            .unwrap_or_default(),
        name: request.name.as_deref().unwrap_or_default(),
        path: "",
    }
}

fn authorize_resource(
    api: &Arc<Inner>,
    user: &User,
    request: &ResourceRequest,
    incoming: &Incoming,
) -> Result<(), Status> {
    let wanted = attributes(request);
    if wanted.verb.is_empty() {
        // HEAD and OPTIONS are refused by the router whoever asks.
        return Err(Status::method_not_allowed());
    }
    let mut reason = String::new();
    let allowed = api.authorizer.allowed(&*api.store, user, &wanted).is_some()
        && match user.node() {
            None => true,
            Some(node) => node_authz::check(api, node, &wanted, &incoming.query)
                .inspect_err(|why| why.clone_into(&mut reason))
                .is_ok(),
        };
    if allowed {
        return Ok(());
    }
    Err(denied(user, &wanted, &reason))
}

/// The 403 of a resource request.
pub(crate) fn denied(user: &User, wanted: &Attributes<'_>, reason: &str) -> Status {
    Status::access_denied(&Access {
        user: &user.name,
        verb: wanted.verb,
        group: wanted.group,
        resource: wanted.resource,
        subresource: wanted.subresource,
        namespace: wanted.namespace,
        name: wanted.name,
        reason,
    })
}

async fn route(call: Call) -> Result<Response, Failure> {
    let resource = call.resource;
    if !resource.namespaced && call.request.namespace.is_some() {
        return Err(Status::no_such_resource().into());
    }
    if call.request.subresource.is_some() {
        return subresource::answer(&call).await;
    }
    check_scope(resource, &call.request)?;
    if let Some(answer) = crate::review::answer(&call).await {
        return answer;
    }
    if !resource.has_verb(call.request.verb.as_str()) {
        let refusal = match resource.read_only_reason() {
            Some(why) => Status::read_only(resource, why),
            None => Status::method_not_allowed(),
        };
        return Err(refusal.into());
    }
    match call.request.verb {
        Verb::Get => registry::get(&call).await,
        Verb::List => registry::list(&call).await,
        Verb::Watch => registry::watch(&call).await,
        Verb::Create => registry::create(&call).await,
        Verb::Update => registry::update(&call).await,
        Verb::Patch => registry::patch(&call).await,
        Verb::Delete => registry::delete(&call).await,
        Verb::DeleteCollection => registry::delete_collection(&call).await,
        Verb::Other => Err(Status::method_not_allowed().into()),
    }
}

/// Objects of namespaces are only read across namespaces, and names are not given to collections.
fn check_scope(resource: &Resource, request: &ResourceRequest) -> Result<(), Status> {
    let all_namespaces = resource.namespaced && request.namespace.is_none();
    let fits = match request.verb {
        Verb::List => true,
        Verb::Watch => !all_namespaces || request.name.is_none(),
        Verb::Create => !all_namespaces && request.name.is_none(),
        Verb::DeleteCollection => !all_namespaces,
        Verb::Get if all_namespaces => return Err(Status::no_such_resource()),
        Verb::Get | Verb::Update | Verb::Patch | Verb::Delete => {
            !all_namespaces && request.name.is_some()
        }
        Verb::Other => false,
    };
    if fits {
        Ok(())
    } else {
        Err(Status::method_not_allowed())
    }
}
