//! Why a cluster could not start or stop, in words for the person who asked for it.

use std::net::SocketAddr;
use std::path::PathBuf;

/// What can stand in the way of a cluster.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another program listens there.
    #[error(
        "{address} is in use by another program: choose another with --listen (port 0 takes a free one)"
    )]
    AddressInUse {
        /// The address.
        address: SocketAddr,
    },
    /// The address cannot be listened on for another reason.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file or directory of the data directory cannot be read or written.
    #[error("cannot {doing} {}", path.display())]
    File {
        /// What was being done.
        doing: &'static str,
        /// With which file or directory.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The store cannot be opened or closed.
    #[error("cannot open the store")]
    Store(#[source] pernode_store::Error),
    /// Certificates cannot be made or read.
    #[error("cannot prepare the certificates")]
    Certificates(#[source] pernode_server::pki::Error),
    /// A step of the start failed.
    #[error("cannot {doing}")]
    Start {
        /// The step.
        doing: &'static str,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A node was asked for that cannot be.
    #[error("node {name:?}: {reason}")]
    Node {
        /// Its name, as far as it has one.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl Error {
    /// Wraps the error of a step.
    pub(crate) fn step<E>(doing: &'static str) -> impl FnOnce(E) -> Self
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        move |source| Self::Start {
            doing,
            source: source.into(),
        }
    }
}
