//! One request about a resource, with everything its handler needs.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use jiff::Timestamp;
use pernode_api::resource::Resource;
use pernode_api::status::Status;
use tokio_util::sync::CancellationToken;

use crate::api::Inner;
use crate::negotiate::Accepted;
use crate::query::Query;
use crate::reply::{self, Failure, Response};
use crate::request::ResourceRequest;
use crate::user::User;
use crate::view::Viewer;

/// Who acts on what, and when: what writes need to know, whether a client asked or the server
/// itself.
#[derive(Clone)]
pub(crate) struct Actor {
    pub(crate) api: Arc<Inner>,
    pub(crate) user: Arc<User>,
    pub(crate) now: Timestamp,
}

impl Actor {
    /// The server itself.
    pub(crate) fn server(api: &Arc<Inner>) -> Self {
        Self {
            api: api.clone(),
            user: Arc::new(User::admin("system:apiserver")),
            now: Timestamp::now(),
        }
    }
}

/// A request about a resource.
pub(crate) struct Call {
    pub(crate) actor: Actor,
    pub(crate) resource: &'static Resource,
    pub(crate) request: ResourceRequest,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) accepted: Accepted,
    /// Cancelled when the listener that the request came through stops.
    pub(crate) closing: CancellationToken,
}

/// Says, in the extensions of a request, when its listener stops.
#[derive(Debug, Clone)]
pub(crate) struct Closing(pub(crate) CancellationToken);

impl Call {
    pub(crate) fn api(&self) -> &Arc<Inner> {
        &self.actor.api
    }

    /// The namespace of the request, as far as the resource has one.
    pub(crate) fn namespace(&self) -> Option<&str> {
        self.request.namespace.as_deref()
    }

    /// The name in the path; requests without one never reach handlers that ask.
    pub(crate) fn name(&self) -> &str {
        self.request.name.as_deref().unwrap_or_default()
    }

    /// How to show objects of this resource to the client.
    pub(crate) fn viewer(&self) -> Result<Viewer, Status> {
        Viewer::new(self.resource, self.accepted, &self.query, self.actor.now)
    }

    /// Answers with a stored object.
    pub(crate) fn show(
        &self,
        code: u16,
        object: Bytes,
        warnings: &[String],
    ) -> Result<Response, Failure> {
        let mut response = self.viewer()?.one(code, object);
        reply::warn(&mut response, warnings);
        Ok(response)
    }
}
