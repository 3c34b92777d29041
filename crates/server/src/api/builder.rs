//! How an API is put together, and its limits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pernode_api::schema::Schema;
use pernode_store::Store;
use tokio::sync::Semaphore;

use super::{Api, Inner};
use crate::authn::StaticTokens;
use crate::authn::token::{Error, Signer};
use crate::user::User;

/// What an API does and does not do.
#[derive(Debug, Clone)]
pub struct Options {
    /// Bounds on requests.
    pub limits: Limits,
    /// Whether a pod needs an existing service account. Default: yes, as in Kubernetes.
    pub require_service_account: bool,
    /// Whether a new node gets the taint `node.kubernetes.io/not-ready`. Default: yes; turn it
    /// off where no loop takes the taint away again.
    pub taint_new_nodes: bool,
    /// Age at which events are deleted. Default: 1 hour, as in Kubernetes.
    pub event_ttl: Duration,
    /// The first two numbers of the network of service addresses. Default: 10.96.
    pub service_network: [u8; 2],
    /// PEM of the CA, published in the ConfigMap `kube-root-ca.crt` of each namespace.
    pub ca_certificate: Option<String>,
    /// The address clients reach the server under, as shown in discovery.
    pub public_address: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            require_service_account: true,
            taint_new_nodes: true,
            event_ttl: Duration::from_hours(1),
            service_network: [10, 96],
            ca_certificate: None,
            public_address: "127.0.0.1:6443".to_owned(),
        }
    }
}

/// Bounds on what one request may cost. Reaching one is answered, counted and harmless.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of a request's body. Default: 3 MiB, as in Kubernetes.
    pub body_bytes_max: usize,
    /// Time for a request's body to arrive. Default: 60 s.
    pub body_within: Duration,
    /// Requests handled at the same time, watches not counted. Default: 2,000.
    pub requests_max: usize,
    /// Watches at the same time. Default: 20,000.
    pub watches_max: usize,
    /// Time to wait for a resource version that the store has not reached. Default: 3 s.
    pub version_within: Duration,
    /// Time between bookmarks of a watch. Default: 60 s.
    pub bookmark_every: Duration,
    /// Longest life of a watch whose client names none. Default: 45 min.
    pub watch_within: Duration,
    /// Time between rounds of the server's own chores. Default: 60 s.
    pub chores_every: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes_max: 3 * 1024 * 1024,
            body_within: Duration::from_mins(1),
            requests_max: 2_000,
            watches_max: 20_000,
            version_within: Duration::from_secs(3),
            bookmark_every: Duration::from_mins(1),
            watch_within: Duration::from_mins(45),
            chores_every: Duration::from_mins(1),
        }
    }
}

/// Puts an [`Api`] together.
#[derive(Debug)]
pub struct Builder {
    store: Arc<dyn Store>,
    schema: Arc<Schema>,
    options: Options,
    tokens: StaticTokens,
    key: Option<String>,
}

impl Builder {
    pub(super) fn new(store: Arc<dyn Store>, schema: Arc<Schema>) -> Self {
        Self {
            store,
            schema,
            options: Options::default(),
            tokens: StaticTokens::default(),
            key: None,
        }
    }

    /// Sets the options.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Lets a bearer token stand for a user.
    #[must_use]
    pub fn token(mut self, token: &str, user: User) -> Self {
        self.tokens = self.tokens.with(token, user);
        self
    }

    /// Signs service accounts' tokens with this P-256 key (PKCS 8 PEM). Without one, a key is made
    /// that lives as long as the API: tokens are then invalid after a restart.
    #[must_use]
    pub fn service_account_key(mut self, pem: &str) -> Self {
        self.key = Some(pem.to_owned());
        self
    }

    /// Makes the API.
    pub fn build(self) -> Result<Api, Error> {
        let signer = match &self.key {
            Some(pem) => Signer::from_pem(pem)?,
            None => Signer::generate()?,
        };
        let limits = &self.options.limits;
        Ok(Api(Arc::new(Inner {
            requests: Semaphore::new(limits.requests_max),
            watches: Semaphore::new(limits.watches_max),
            addresses: crate::admission::service::Addresses::new(self.options.service_network),
            node_ports: crate::admission::service::NodePorts::default(),
            quotas: crate::admission::quota::Quotas::default(),
            documents: crate::documents::Documents::default(),
            store: self.store,
            schema: self.schema,
            options: self.options,
            tokens: self.tokens,
            signer,
            authorizer: crate::authz::Authorizer::default(),
            metrics: crate::metrics::Metrics::default(),
            started: Instant::now(),
        })))
    }
}
