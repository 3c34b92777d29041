//! The API as a value: built over a store, used as a tower service.

mod builder;
pub(crate) mod service;

use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use pernode_api::schema::Schema;
use pernode_store::Store;
use tokio::sync::Semaphore;

pub use builder::{Builder, Limits, Options};
pub use service::Service;

use crate::authn::StaticTokens;
use crate::authn::token::Signer;
use crate::authz::Authorizer;
use crate::metrics::Metrics;
use crate::user::User;

/// The Kubernetes API over a store. Cheap to clone; all clones are the same API.
#[derive(Clone)]
pub struct Api(pub(crate) Arc<Inner>);

/// What an [`Api`] is made of.
pub(crate) struct Inner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) schema: Arc<Schema>,
    pub(crate) options: Options,
    pub(crate) tokens: StaticTokens,
    pub(crate) signer: Signer,
    pub(crate) authorizer: Authorizer,
    pub(crate) metrics: Metrics,
    pub(crate) documents: crate::documents::Documents,
    pub(crate) requests: Semaphore,
    pub(crate) watches: Semaphore,
    pub(crate) addresses: crate::admission::service::Addresses,
    pub(crate) node_ports: crate::admission::service::NodePorts,
    pub(crate) quotas: crate::admission::quota::Quotas,
    pub(crate) started: Instant,
}

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Api")
            .field("options", &self.0.options)
            .finish_non_exhaustive()
    }
}

impl Api {
    /// Begins to build an API over a store.
    pub fn builder(store: Arc<dyn Store>, schema: Arc<Schema>) -> Builder {
        Builder::new(store, schema)
    }

    /// The API as seen by a user, for clients in the same process: no socket, no TLS, and the same
    /// code path as over HTTPS once a user is authenticated.
    pub fn service_as(&self, user: User) -> Service {
        Service::new(self.clone(), user)
    }

    /// The store below.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    /// Creates what every cluster has from the start: namespaces, roles, priority classes, the
    /// service `default/kubernetes`. Doing it again adds only what is missing.
    pub async fn bootstrap(&self) -> Result<(), BootstrapError> {
        crate::bootstrap::run(&self.0).await
    }

    /// Deletes the events that are older than the options say, and returns how many. Whoever runs
    /// the API calls this now and then.
    pub async fn expire_events(&self, now: Timestamp) -> usize {
        crate::events::expire(&self.0, now).await
    }

    /// Runs the server's own chores until the future is dropped: today, expiring old events.
    pub async fn run_chores(&self) {
        let mut timer = tokio::time::interval(self.0.options.limits.chores_every);
        timer.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            timer.tick().await;
            let expired = self.expire_events(Timestamp::now()).await;
            if expired > 0 {
                tracing::debug!(expired, "expired old events");
            }
        }
    }
}

/// An object every cluster has could not be created.
#[derive(Debug, thiserror::Error)]
#[error("cannot create {kind} {name:?}")]
pub struct BootstrapError {
    /// Kind of the object.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// What the API answered.
    #[source]
    pub source: pernode_api::status::Status,
}
