//! The Kubernetes API as a tower service.
//!
//! ```text
//! listen ──► authenticate ──┐
//! service_as(user) ─────────┴► authorize ──► dispatch ──┬► registry ──► admission ──► store
//!                                                       ├► subresource, review
//!                                                       └► documents (discovery, OpenAPI, health)
//! ```
//!
//! Everything below authentication is the same for clients in this process and over HTTPS. Rules
//! about objects are pure functions of `pernode_api`; this crate brings them together with the
//! store, the clock and the network.

mod admission;
mod api;
pub mod authn;
mod authz;
mod body;
mod bootstrap;
mod call;
mod decode;
mod dispatch;
mod documents;
mod events;
mod impersonate;
mod index;
mod key;
pub mod listen;
mod metrics;
mod negotiate;
mod node_authz;
mod object;
mod options;
pub mod pki;
mod query;
mod registry;
mod reply;
mod request;
mod review;
mod service_account;
mod subresource;
mod user;
mod view;
mod yaml;

pub use api::{Api, BootstrapError, Builder, Limits, Options, Service};
pub use body::Body;
pub use index::indexer;
pub use listen::{ConnectionLimits, Listener, Tls, listen};
pub use user::User;
