//! Writing the status: once, and after a failure once more on a fresh copy.

use crate::body;
use crate::error::Error;
use crate::executor::Executor;
use crate::views::DAEMON_SETS;
use pernode_core::daemonset::DaemonSet;
use pernode_core::daemonset::history::Target;
use pernode_core::daemonset::status::{Next, StatusWrite};
use pernode_core::daemonset::view::DaemonSetStatus;
use pernode_runtime::Patch;

/// What became of a status.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The DaemonSet has it, at this resource version.
    Written(String),
    /// The DaemonSet is gone, was made anew or is being deleted: it needs none.
    Needless,
}

impl Executor {
    /// Writes a status. Conflicts are met by reading the DaemonSet afresh.
    pub(crate) async fn write_status(
        &self,
        set: &DaemonSet,
        status: &DaemonSetStatus,
    ) -> Result<Outcome, Error> {
        let mut write = StatusWrite::default();
        let mut target = Target::of(&set.metadata);
        loop {
            self.check_leading()?;
            let failure = match self.send_status(set, &target, status).await {
                Ok(version) => return Ok(Outcome::Written(version)),
                Err(error) if error.is_not_found() => return Ok(Outcome::Needless),
                Err(error) => error,
            };
            if write.after_update(false) != Next::Read {
                return Err(status_failure(set, failure));
            }
            let live = self
                .live(set)
                .await
                .map_err(|error| status_failure(set, error))?;
            match live {
                Some(live) if live.status == *status => {
                    return Ok(Outcome::Written(live.metadata.resource_version));
                }
                Some(live) => target = Target::of(&live.metadata),
                None => return Ok(Outcome::Needless),
            }
        }
    }

    async fn send_status(
        &self,
        set: &DaemonSet,
        target: &Target,
        status: &DaemonSetStatus,
    ) -> Result<String, pernode_runtime::Error> {
        let name = (&*set.metadata.namespace, &*set.metadata.name);
        let patch = body::status(target, status);
        let written = self
            .writer()
            .patch_status(&DAEMON_SETS, name, Patch::Merge, &patch)
            .await?;
        Ok(written.metadata.resource_version)
    }

    /// The DaemonSet by an uncached read; none when it is gone, another one, or being deleted.
    pub(crate) async fn live(
        &self,
        set: &DaemonSet,
    ) -> Result<Option<DaemonSet>, pernode_runtime::Error> {
        let meta = &set.metadata;
        match self
            .writer()
            .get::<DaemonSet>(&DAEMON_SETS, &meta.namespace, &meta.name)
            .await
        {
            Ok(live) => {
                let same = live.metadata.uid == meta.uid && !live.metadata.is_deleting();
                Ok(Some(live).filter(|_| same))
            }
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn status_failure(set: &DaemonSet, source: pernode_runtime::Error) -> Error {
    Error::Write {
        action: "writing the status of",
        name: set.metadata.name.clone(),
        source,
    }
}
