//! Creating and deleting pods.

use super::{Answer, Done, Executor, Job, Written};
use crate::error::Error;
use crate::views::PODS;
use pernode_core::daemonset::expectations::Awaited;
use pernode_core::daemonset::manage::{CreatePod, DeletePod};
use pernode_core::daemonset::slow_start::SlowStart;
use pernode_runtime::{DeleteOptions, Severity};
use std::sync::Arc;

impl Executor {
    /// Creates and deletes, both at the same time; true when nothing failed.
    pub(super) async fn write_pods(&self, job: &Job, done: &mut Done) -> bool {
        let mut created = Done::default();
        let deletes = self.each(job.plan.deletes.clone(), |this, delete| {
            let set = Arc::clone(&job.set);
            async move { this.delete_pod(&set, delete).await }
        });
        let (good, answers) = tokio::join!(self.create_pods(job, &mut created), deletes);
        done.written.append(&mut created.written);
        if done.failure.is_none() {
            done.failure = created.failure;
        }
        done.take(answers) && good
    }

    /// Creates in growing batches; the first one with a failure is the last.
    async fn create_pods(&self, job: &Job, done: &mut Done) -> bool {
        let mut start = SlowStart::new(job.plan.creates.len());
        let mut failures = 0;
        while let Some(batch) = start.next_batch(failures) {
            let creates = job.plan.creates[batch].to_vec();
            let answers = self.each(creates, |this, create| {
                let (set, base) = (Arc::clone(&job.set), job.base.clone());
                async move { this.create_pod(&set, &base, &create).await }
            });
            let answers = answers.await;
            failures = answers.iter().filter(|answer| answer.is_err()).count();
            done.take(answers);
        }
        failures == 0
    }

    async fn create_pod(
        &self,
        set: &pernode_core::daemonset::DaemonSet,
        base: &pernode_core::daemonset::render::PodBase,
        create: &CreatePod,
    ) -> Answer {
        let body = base.for_node(&create.node);
        match self
            .writer
            .create(&PODS, &set.metadata.namespace, &body)
            .await
        {
            Ok(pod) => {
                let message = format!("Created pod: {}", pod.metadata.name);
                self.record(set, Severity::Normal, "SuccessfulCreate", message);
                Ok(Some(Written {
                    uid: pod.metadata.uid,
                    awaited: Awaited::Present,
                }))
            }
            // The DaemonSet is about to go with its namespace; trying again is of no use.
            Err(error) if error.is_namespace_terminating() => Ok(None),
            Err(source) => {
                let message = format!("Error creating: {source}");
                self.record(set, Severity::Warning, "FailedCreate", message);
                let name = format!("for node {}", create.node);
                Err(Error::Write {
                    action: "creating a pod",
                    name,
                    source,
                })
            }
        }
    }

    async fn delete_pod(
        &self,
        set: &pernode_core::daemonset::DaemonSet,
        delete: DeletePod,
    ) -> Answer {
        let pod = delete.pod;
        let options = DeleteOptions::of_uid(&pod.uid);
        let namespace = &set.metadata.namespace;
        match self
            .writer
            .delete(&PODS, namespace, &pod.name, &options)
            .await
        {
            Ok(()) => {
                let message = format!("Deleted pod: {}", pod.name);
                self.record(set, Severity::Normal, "SuccessfulDelete", message);
                Ok(Some(Written {
                    uid: pod.uid,
                    awaited: Awaited::Leaving,
                }))
            }
            // Gone already, or another pod has taken the name: the watch will show it.
            Err(error) if error.is_not_found() || error.is_conflict() => Ok(None),
            Err(source) => {
                let message = format!("Error deleting: {source}");
                self.record(set, Severity::Warning, "FailedDelete", message);
                Err(Error::Write {
                    action: "deleting pod",
                    name: pod.name,
                    source,
                })
            }
        }
    }
}
