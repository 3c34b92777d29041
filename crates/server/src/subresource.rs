//! Subresources: parts of objects with rules of their own, and things to do with an object.

mod binding;
mod eviction;
mod finalize;
mod log;
mod token;

use pernode_api::schema::TypeId;
use pernode_api::status::Status;
use serde_json::{Value, json};

use crate::call::Call;
use crate::registry::{self, Part};
use crate::reply::{self, Failure, Response};
use crate::request::Verb;

/// Answers a request for a subresource.
pub(crate) async fn answer(call: &Call) -> Result<Response, Failure> {
    let name = call.request.subresource.as_deref().unwrap_or_default();
    let verb = call.request.verb;
    if call.resource.namespaced && call.namespace().is_none() {
        return Err(Status::no_such_resource().into());
    }
    match (call.resource.plural, name) {
        (_, "status") if call.resource.has_status() => status(call).await,
        ("pods", "binding") => only(verb, Verb::Create, binding::pod(call)).await,
        ("pods", "eviction") => only(verb, Verb::Create, eviction::create(call)).await,
        ("pods", "log") => only(verb, Verb::Get, log::get(call)).await,
        ("pods", "exec" | "attach" | "portforward") => Err(stream_refused(call)?),
        ("nodes" | "pods" | "services", "proxy") => Err(proxy_refused(call)?),
        ("pods", "ephemeralcontainers" | "resize") => Err(part_refused(call, name)?),
        ("namespaces", "finalize") => only(verb, Verb::Update, finalize::update(call)).await,
        ("serviceaccounts", "token") => only(verb, Verb::Create, token::create(call)).await,
        ("certificatesigningrequests", "approval") => approval(call).await,
        _ => Err(Status::no_such_resource().into()),
    }
}

/// `POST` to the collection `bindings` is the old way to bind a pod.
pub(crate) async fn bindings(call: &Call) -> Result<Response, Failure> {
    binding::collection(call).await
}

async fn only(
    verb: Verb,
    wanted: Verb,
    answer: impl Future<Output = Result<Response, Failure>>,
) -> Result<Response, Failure> {
    if verb == wanted {
        answer.await
    } else {
        Err(Status::method_not_allowed().into())
    }
}

/// `/status` is read like the object and written by its own rules.
async fn status(call: &Call) -> Result<Response, Failure> {
    match call.request.verb {
        Verb::Get => registry::get(call).await,
        Verb::Update => registry::replace(call, Part::Status).await,
        Verb::Patch => registry::patch_with(call, Part::Status).await,
        _ => Err(Status::method_not_allowed().into()),
    }
}

/// `/approval` of a certificate request: its conditions.
async fn approval(call: &Call) -> Result<Response, Failure> {
    match call.request.verb {
        Verb::Get => registry::get(call).await,
        Verb::Update => registry::replace(call, Part::Other("approval")).await,
        Verb::Patch => registry::patch_with(call, Part::Other("approval")).await,
        _ => Err(Status::method_not_allowed().into()),
    }
}

/// Nothing runs in a simulated pod, so there is nothing to attach to.
fn stream_refused(call: &Call) -> Result<Failure, Failure> {
    let place = registry::Place::new(call.resource, call.namespace(), call.name());
    let item = place.read(&call.actor)?;
    let name = call.name();
    if item.attrs.field("spec.nodeName").is_none_or(str::is_empty) {
        let why = format!("pod {name} does not have a host assigned");
        return Ok(Status::bad_request(why).into());
    }
    if !call.headers.contains_key(http::header::UPGRADE) {
        return Ok(Status::bad_request("Upgrade request required").into());
    }
    let what = call.request.subresource.as_deref().unwrap_or_default();
    let why = format!(
        "pod {name} runs on a simulated node: it has no process, so {what} has nothing to connect to"
    );
    Ok(Status::bad_request(why).into())
}

/// Nothing listens behind a simulated node, its pods or a service of them.
fn proxy_refused(call: &Call) -> Result<Failure, Failure> {
    let (kind, name) = (call.resource.singular, call.name());
    registry::Place::new(call.resource, call.namespace(), name).read(&call.actor)?;
    if kind == "service" {
        let why = format!("no endpoints available for service {name:?}");
        return Ok(Status::unavailable(why).into());
    }
    let why = format!(
        "{kind} {name} is simulated: nothing listens there, so there is nothing to proxy to"
    );
    Ok(Status::bad_request(why).into())
}

/// Parts of a pod that only a node with real containers could change.
fn part_refused(call: &Call, name: &str) -> Result<Failure, Failure> {
    let place = registry::Place::new(call.resource, call.namespace(), call.name());
    place.read(&call.actor)?;
    let why = format!("simulated nodes do not support {name}");
    Ok(Status::forbidden(call.resource, call.name(), &why).into())
}

/// The answer of writes that have nothing to show.
fn done(call: &Call) -> Response {
    let status: Value = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
    });
    crate::view::write(call.accepted, 201, status.to_string().into())
}

/// The type of a body that is no resource, such as `io.k8s.api.policy.v1.Eviction`.
fn type_named(call: &Call, name: &str) -> Result<TypeId, Failure> {
    call.api()
        .schema
        .type_named(name)
        .ok_or_else(|| Status::internal(format!("the schema has no type {name}")).into())
}

/// Plain text, as logs are sent.
fn plain(code: u16, text: String) -> Response {
    reply::bytes(code, "text/plain", text)
}
