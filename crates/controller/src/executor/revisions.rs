//! Writes to ControllerRevisions, and to pods that carry the hash of a duplicate.

use super::{Answer, Done, Executor, Job, Written};
use crate::body;
use crate::error::Error;
use crate::views::{DAEMON_SETS, PODS, REVISIONS};
use pernode_core::daemonset::expectations::Awaited;
use pernode_core::daemonset::history::{Create, HistoryPlan, Taken, Target, taken};
use pernode_core::daemonset::{DaemonSet, Revision};
use pernode_runtime::{DeleteOptions, Patch};
use serde_json::Value;

impl Executor {
    /// Brings the revisions in order; true when nothing failed.
    pub(super) async fn write_history(&self, job: &Job, done: &mut Done) -> bool {
        let HistoryPlan {
            updates,
            relabels,
            duplicates,
            create,
            ..
        } = &job.plan.history;
        let namespace = &job.set.metadata.namespace;
        let updates: Vec<_> = updates
            .iter()
            .map(|u| (u.target.clone(), body::revision_update(u)))
            .collect();
        let relabels: Vec<_> = relabels
            .iter()
            .map(|r| (r.pod.clone(), body::relabel(r)))
            .collect();
        let go_on = done.take(self.merge(&REVISIONS, namespace, updates).await)
            && done.take(self.merge(&PODS, namespace, relabels).await)
            && done.take(self.delete_revisions(&job.set, duplicates.clone()).await);
        match create {
            Some(create) if go_on => done.take(vec![self.create_revision(&job.set, create).await]),
            Some(_) | None => go_on,
        }
    }

    async fn merge(
        &self,
        resource: &pernode_runtime::Resource,
        namespace: &str,
        patches: Vec<(Target, Value)>,
    ) -> Vec<Answer> {
        self.each(patches, |this, (target, patch)| {
            let (resource, namespace) = (resource.clone(), namespace.to_owned());
            async move {
                this.patch(&resource, &namespace, target, (Patch::Merge, patch))
                    .await
            }
        })
        .await
    }

    /// Deletes revisions one after the other: the order is part of the plan.
    pub(super) async fn delete_revisions(
        &self,
        set: &DaemonSet,
        targets: Vec<Target>,
    ) -> Vec<Answer> {
        let mut answers = Vec::new();
        for target in targets {
            answers.push(self.delete_revision(set, target).await);
        }
        answers
    }

    async fn delete_revision(&self, set: &DaemonSet, target: Target) -> Answer {
        self.check_leading()?;
        let options = DeleteOptions::of_uid(&target.uid);
        let namespace = &set.metadata.namespace;
        match self
            .writer
            .delete(&REVISIONS, namespace, &target.name, &options)
            .await
        {
            Ok(()) => Ok(Some(Written {
                uid: target.uid,
                awaited: Awaited::Leaving,
            })),
            Err(error) if error.is_not_found() || error.is_conflict() => Ok(None),
            Err(source) => Err(Error::Write {
                action: "deleting revision",
                name: target.name,
                source,
            }),
        }
    }

    async fn create_revision(&self, set: &DaemonSet, create: &Create) -> Answer {
        self.check_leading()?;
        match self
            .writer
            .create(&REVISIONS, &set.metadata.namespace, &create.body)
            .await
        {
            Ok(made) => Ok(Some(Written {
                uid: made.metadata.uid,
                awaited: Awaited::Present,
            })),
            Err(error) if error.is_already_exists() => self.name_taken(set, create).await,
            Err(source) => Err(Error::Write {
                action: "creating revision",
                name: create.name.clone(),
                source,
            }),
        }
    }

    /// The name of the new revision is taken, by itself or by the revision of another template.
    async fn name_taken(&self, set: &DaemonSet, create: &Create) -> Answer {
        let meta = &set.metadata;
        let failed = |action, source| Error::Write {
            action,
            name: create.name.clone(),
            source,
        };
        let existing = self
            .writer
            .get::<Revision>(&REVISIONS, &meta.namespace, &create.name)
            .await;
        let existing = existing.map_err(|source| failed("reading revision", source))?;
        let live = self
            .live(set)
            .await
            .map_err(|source| failed("reading the owner of", source))?;
        let live = live.ok_or_else(|| Error::Gone(meta.name.clone()))?;
        match taken(set, &existing, &live) {
            // The watch will show it. If it never does, because the revision is not ours to see, the
            // next try comes when the patience with unseen writes ends.
            Taken::Same => {
                let uid = existing.metadata.uid;
                Ok(Some(Written {
                    uid,
                    awaited: Awaited::Present,
                }))
            }
            Taken::Stale => Err(Error::StaleCollisionCount(meta.name.clone())),
            Taken::Bump(count) => {
                let name = (&*meta.namespace, &*meta.name);
                let patch = body::collision_count(&live, count);
                let sent = self
                    .writer
                    .patch_status(&DAEMON_SETS, name, Patch::Merge, &patch)
                    .await;
                sent.map_err(|source| failed("raising the collision count for", source))?;
                Err(Error::NameTaken(meta.name.clone()))
            }
        }
    }
}
