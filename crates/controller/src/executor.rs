//! Carrying a plan out: the only part of the controller that writes.
//!
//! It chooses nothing. Writes of one kind go out together, as many at a time as the options allow; a
//! failure of one kind stops the kinds after it. What was written is reported, so that the next plan
//! waits until the watch has shown it.

mod pods;
mod revisions;

use crate::body;
use crate::error::Error;
use crate::options::Options;
use crate::views::{DAEMON_SETS, PODS};
use pernode_core::daemonset::event::{EventType, PlannedEvent};
use pernode_core::daemonset::expectations::Awaited;
use pernode_core::daemonset::history::Target;
use pernode_core::daemonset::render::PodBase;
use pernode_core::daemonset::{DaemonSet, Plan};
use pernode_runtime::{Gate, ObjectRef, Patch, Recorder, Resource, Severity, Writer};
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Sends the controller's writes. Cloning is cheap.
#[derive(Debug, Clone)]
pub(crate) struct Executor {
    writer: Writer,
    recorder: Recorder,
    gate: Gate,
    permits: Arc<Semaphore>,
}

/// One plan to be carried out.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    /// The DaemonSet the plan was made for.
    pub(crate) set: Arc<DaemonSet>,
    /// Its pods.
    pub(crate) base: PodBase,
    /// The plan.
    pub(crate) plan: Plan,
}

/// A write the watch has to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Written {
    /// Uid of the object.
    pub(crate) uid: String,
    /// What is to be seen of it.
    pub(crate) awaited: Awaited,
}

/// What became of a plan.
#[derive(Debug, Default)]
pub(crate) struct Done {
    /// What was written, also when something failed.
    pub(crate) written: Vec<Written>,
    /// The first failure.
    pub(crate) failure: Option<Error>,
}

/// The answer to one write; none when there is nothing to be seen of it.
type Answer = Result<Option<Written>, Error>;

impl Done {
    /// Takes answers in; true when all of them were good.
    fn take(&mut self, answers: Vec<Answer>) -> bool {
        let mut good = true;
        for answer in answers {
            match answer {
                Ok(written) => self.written.extend(written),
                Err(error) => {
                    good = false;
                    self.failure.get_or_insert(error);
                }
            }
        }
        good
    }
}

impl Executor {
    /// An executor with the options' gate and concurrency.
    pub(crate) fn new(writer: Writer, recorder: Recorder, options: &Options) -> Self {
        let permits = Arc::new(Semaphore::new(options.concurrency.max(1)));
        Self {
            writer,
            recorder,
            gate: options.gate.clone(),
            permits,
        }
    }

    pub(crate) fn writer(&self) -> &Writer {
        &self.writer
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Fails when another process leads by now.
    pub(crate) fn check_leading(&self) -> Result<(), Error> {
        if self.gate.is_open() {
            Ok(())
        } else {
            Err(Error::NotLeading)
        }
    }

    /// Carries a plan out, kind by kind, until something fails.
    pub(crate) async fn carry_out(&self, job: Job) -> Done {
        let mut done = Done::default();
        for event in &job.plan.events {
            self.record_planned(&job.set, event);
        }
        let go_on = self.claim(&job, &mut done).await
            && self.write_history(&job, &mut done).await
            && self.write_pods(&job, &mut done).await;
        if go_on {
            let cleanup = job.plan.history.cleanup.clone();
            done.take(self.delete_revisions(&job.set, cleanup).await);
        }
        done
    }

    /// Adopts and releases pods and revisions.
    async fn claim(&self, job: &Job, done: &mut Done) -> bool {
        let Plan {
            adopts,
            releases,
            history,
            ..
        } = &job.plan;
        if !(adopts.is_empty() && history.adopts.is_empty()) {
            // The cache may be old: adopting for a DaemonSet that is gone would have the pods deleted.
            let name = || job.set.metadata.name.clone();
            let failure = match self.live(&job.set).await {
                Ok(Some(_)) => None,
                Ok(None) => Some(Error::Gone(name())),
                Err(source) => Some(Error::Write {
                    action: "reading",
                    name: name(),
                    source,
                }),
            };
            if failure.is_some() {
                done.failure = failure;
                return false;
            }
        }
        let pod = crate::views::REVISIONS;
        self.patch_owners(job, (PODS, adopts), body::adoption, done)
            .await
            && self
                .patch_owners(job, (pod.clone(), &history.adopts), body::adoption, done)
                .await
            && self
                .patch_owners(job, (PODS, releases), body::release, done)
                .await
            && self
                .patch_owners(job, (pod, &history.releases), body::release, done)
                .await
    }

    async fn patch_owners(
        &self,
        job: &Job,
        (resource, targets): (Resource, &[Target]),
        body: fn(&DaemonSet, &Target) -> Value,
        done: &mut Done,
    ) -> bool {
        let patches: Vec<_> = targets
            .iter()
            .map(|t| (t.clone(), body(&job.set, t)))
            .collect();
        let namespace = job.set.metadata.namespace.clone();
        let answers = self.each(patches, move |this, (target, patch)| {
            let (resource, namespace) = (resource.clone(), namespace.clone());
            async move {
                this.patch(&resource, &namespace, target, (Patch::Strategic, patch))
                    .await
            }
        });
        done.take(answers.await)
    }

    /// Patches one object. An object that is gone needs no patch.
    async fn patch(
        &self,
        resource: &Resource,
        namespace: &str,
        target: Target,
        (form, patch): (Patch, Value),
    ) -> Answer {
        let name = (namespace, &*target.name);
        match self.writer.patch(resource, name, form, &patch).await {
            Ok(answer) if answer.metadata.resource_version == target.version => Ok(None),
            Ok(_) => {
                let awaited = Awaited::Changed(target.version);
                Ok(Some(Written {
                    uid: target.uid,
                    awaited,
                }))
            }
            Err(error) if error.is_not_found() => Ok(None),
            Err(source) => Err(Error::Write {
                action: "patching",
                name: target.name,
                source,
            }),
        }
    }

    /// Sends one write for each item, as many at a time as allowed, and gives back the answers.
    async fn each<T, F>(&self, items: Vec<T>, write: impl Fn(Self, T) -> F) -> Vec<Answer>
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        if let Err(error) = self.check_leading() {
            return if items.is_empty() {
                Vec::new()
            } else {
                vec![Err(error)]
            };
        }
        let mut tasks = JoinSet::new();
        for item in items {
            let permits = Arc::clone(&self.permits);
            // The semaphore is never closed, so a permit is only ever waited for.
            let permit = permits.acquire_owned().await;
            let answer = write(self.clone(), item);
            tasks.spawn(async move {
                let answer = answer.await;
                drop(permit);
                answer
            });
        }
        let mut answers = Vec::with_capacity(tasks.len());
        while let Some(joined) = tasks.join_next().await {
            answers.push(joined.unwrap_or_else(|error| Err(Error::CutOff(error))));
        }
        answers
    }

    /// Records an event of the plan.
    pub(crate) fn record_planned(&self, set: &DaemonSet, event: &PlannedEvent) {
        let severity = match event.r#type {
            EventType::Normal => Severity::Normal,
            EventType::Warning => Severity::Warning,
        };
        self.record(set, severity, event.reason, event.message.clone());
    }

    fn record(&self, set: &DaemonSet, severity: Severity, reason: &'static str, message: String) {
        self.recorder.record(
            ObjectRef::of(&DAEMON_SETS, &set.metadata),
            severity,
            reason,
            message,
        );
    }
}
