//! A whole cluster as a value.
//!
//! ```no_run
//! # async fn example() -> Result<(), pernode_cluster::Error> {
//! use pernode_cluster::{Cluster, Nodes};
//!
//! let cluster = Cluster::builder().nodes(Nodes::Workers(5)).start().await?;
//! let client = cluster.client(); // any kube-rs code works with it
//! # drop(client);
//! cluster.stop().await
//! # }
//! ```
//!
//! The binary, our own tests and users' tests start the same cluster: a store, the API over it, and
//! the loops, which reach the API through a `kube::Client` that calls it in process.

mod builder;
mod error;
mod files;
mod kubeconfig;
mod members;
mod nodes;

pub use builder::{Builder, Storage};
pub use error::Error;
pub use files::write_private;
pub use nodes::{NodeManifest, Nodes, is_simulated};
pub use pernode_node::Capacity;

use files::Folder;
use members::Members;
use pernode_server::{Api, Listener};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// A running cluster. It stops when it is told to, not when this value is dropped.
pub struct Cluster {
    api: Api,
    client: kube::Client,
    listener: Listener,
    members: Members,
    kubeconfig: String,
    folder: Folder,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster")
            .field("listener", &self.listener)
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl Cluster {
    /// Begins to describe a cluster.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A client with all rights that calls the API in process.
    pub fn client(&self) -> kube::Client {
        self.client.clone()
    }

    /// The API itself.
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// Where the API listens.
    pub fn address(&self) -> SocketAddr {
        self.listener.local_addr()
    }

    /// The kubeconfig of an administrator.
    pub fn kubeconfig(&self) -> &str {
        &self.kubeconfig
    }

    /// The file with that kubeconfig.
    pub fn kubeconfig_path(&self) -> PathBuf {
        self.folder.kubeconfig()
    }

    /// The directory the cluster is kept in, if it is.
    pub fn data_dir(&self) -> Option<&Path> {
        self.folder.is_kept().then(|| self.folder.path())
    }

    /// Names of the nodes there are now, sorted.
    ///
    /// # Errors
    /// The API does not answer.
    pub async fn node_names(&self) -> Result<Vec<String>, Error> {
        nodes::names(&self.client).await
    }

    /// Stops in order: loops first, then the listener, then the store, which makes sure that all is
    /// on disk.
    ///
    /// # Errors
    /// The store cannot be closed.
    pub async fn stop(self) -> Result<(), Error> {
        self.members.stop().await;
        self.listener.stop().await;
        self.api.store().close().await.map_err(Error::Store)
    }
}
