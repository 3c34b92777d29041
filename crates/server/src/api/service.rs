//! The tower service, and what happens to every request whatever it asks for: limits,
//! impersonation, authorization, counting, and that a bug in one handler stays with one request.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{FutureExt as _, TryFutureExt as _};
use http::request::Parts;
use pernode_api::status::Status;

use super::Api;
use crate::authn;
use crate::body::{self, Body, ReadError};
use crate::dispatch;
use crate::metrics::Finished;
use crate::query::Query;
use crate::reply::{self, Failure, Response};
use crate::request::{RequestInfo, Verb};
use crate::user::User;

/// The API as one user sees it.
#[derive(Debug, Clone)]
pub struct Service {
    api: Api,
    user: Arc<User>,
}

impl Service {
    pub(super) fn new(api: Api, user: User) -> Self {
        Self {
            api,
            user: Arc::new(user),
        }
    }
}

impl<B> tower::Service<http::Request<B>> for Service
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let (api, user) = (self.api.clone(), self.user.clone());
        Box::pin(async move { Ok(api.serve(user, request).await) })
    }
}

impl Api {
    /// Answers a request that came over the network: finds out who it is from.
    ///
    /// `certificate` is the user that the connection's client certificate names.
    pub(crate) async fn serve_unknown<B>(
        &self,
        certificate: Option<Arc<User>>,
        request: http::Request<B>,
    ) -> Response
    where
        B: http_body::Body<Data = Bytes> + Send,
    {
        match self.authenticate(certificate, &request) {
            Some(user) => self.serve(user, request).await,
            None => reply::status(&Status::unauthorized()),
        }
    }

    /// The user of a request; nothing if it has a token that nobody knows.
    fn authenticate<B>(
        &self,
        certificate: Option<Arc<User>>,
        request: &http::Request<B>,
    ) -> Option<Arc<User>> {
        if let Some(user) = certificate {
            return Some(user);
        }
        let Some(token) = authn::bearer(request.headers()) else {
            return Some(Arc::new(User::anonymous()));
        };
        if let Some(user) = self.0.tokens.user(token) {
            return Some(Arc::new(user.clone()));
        }
        let audiences = [authn::token::ISSUER.to_owned()];
        crate::service_account::user_of(&self.0, token, &audiences)
            .ok()
            .map(|(user, _)| Arc::new(user))
    }

    /// Answers a request of a known user.
    pub(crate) async fn serve<B>(&self, user: Arc<User>, request: http::Request<B>) -> Response
    where
        B: http_body::Body<Data = Bytes> + Send,
    {
        let started = Instant::now();
        let (parts, body) = request.into_parts();
        let query = Query::parse(parts.uri.query().unwrap_or(""));
        let info = RequestInfo::parse(&parts.method, parts.uri.path(), &query);
        let _in_flight = self.0.metrics.begin();
        let done = Finished::of(&info);
        let incoming = Incoming {
            parts,
            query,
            info,
            user,
        };
        let handled = AssertUnwindSafe(self.answer(incoming, body)).catch_unwind();
        let response = handled.await.unwrap_or_else(|_| {
            tracing::error!("a request made its handler panic");
            reply::status(&Status::internal("the handler of this request panicked"))
        });
        self.0
            .metrics
            .finish(done, response.status().as_u16(), started.elapsed());
        response
    }

    async fn answer<B>(&self, incoming: Incoming, body: B) -> Response
    where
        B: http_body::Body<Data = Bytes> + Send,
    {
        // A watch holds a place of its own for as long as its body lives.
        let watch = matches!(&incoming.info, RequestInfo::Resource(r) if r.verb == Verb::Watch);
        let place = (!watch).then(|| self.0.requests.try_acquire());
        if matches!(place, Some(Err(_))) {
            return reply::status(&Status::too_many_requests(
                "too many requests at the same time, please try again later",
                1,
            ));
        }
        let body = match self.body(&incoming, body).await {
            Ok(body) => body,
            Err(status) => return reply::status(&status),
        };
        dispatch::answer(&self.0, incoming, body)
            .unwrap_or_else(Failure::into_response)
            .await
    }

    async fn body<B>(&self, incoming: &Incoming, body: B) -> Result<Bytes, Status>
    where
        B: http_body::Body<Data = Bytes> + Send,
    {
        let wanted = match &incoming.info {
            RequestInfo::Resource(request) => request.verb.has_body(),
            RequestInfo::NonResource { .. } => false,
        };
        if !wanted {
            return Ok(Bytes::new());
        }
        let limits = &self.0.options.limits;
        body::read(body, limits.body_bytes_max, limits.body_within)
            .await
            .map_err(|error| match error {
                ReadError::TooLarge => Status::too_large(limits.body_bytes_max),
                ReadError::TooSlow => Status::timeout(error, 1),
                ReadError::Broken => Status::bad_request(error.to_string()),
            })
    }
}

/// A request whose user is known and whose path is understood.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) parts: Parts,
    pub(crate) query: Query,
    pub(crate) info: RequestInfo,
    pub(crate) user: Arc<User>,
}
