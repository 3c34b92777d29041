//! Why a round failed.

/// A failure of a round. All of them mean: try again after a while.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server refused a write, or could not be reached.
    #[error("{action} {name} failed")]
    Write {
        /// What was tried.
        action: &'static str,
        /// Name of the object.
        name: String,
        /// The server's answer.
        #[source]
        source: pernode_runtime::Error,
    },
    /// Another process leads; nothing more is written.
    #[error("this process does not lead")]
    NotLeading,
    /// A live read showed another DaemonSet than the watch, or one that is being deleted, so nothing
    /// can be adopted.
    #[error("the DaemonSet {0} is gone or being deleted")]
    Gone(String),
    /// The name of the new revision was taken; the collision count was raised to avoid it.
    #[error("the name of the new revision of {0} is taken")]
    NameTaken(String),
    /// The name of the new revision was taken, but the watch shows an old collision count.
    #[error("the collision count of {0} is out of date")]
    StaleCollisionCount(String),
    /// The task that sent a write ended without an answer.
    #[error("a write was cut off")]
    CutOff(#[source] tokio::task::JoinError),
}
