//! Deletes the dependents of deleted owners: `core::garbage` keeps the graph and decides.

use crate::drive::{Decide, drive, forward, inbox};
use crate::{Context, names, note};
use jiff::Timestamp;
use pernode_core::garbage::{
    Delete, Existence, Graph, InvalidOwner, Kind, ObjectRef, OwnerKey, Patch, PatchFormat,
};
use pernode_core::meta::Meta;
use pernode_runtime::{
    DeleteOptions, Discovered, Error, Event, Informer, Partial, Propagation, Resource, Severity,
    Source, discover,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Pause before discovery is asked again.
const DISCOVERY_RETRY: Duration = Duration::from_millis(500);

/// An event about the metadata of objects of a kind.
pub(crate) struct Seen {
    kind: Arc<Kind>,
    event: Event<Partial>,
}

pub(crate) enum Job {
    Delete(Delete),
    Patch(Patch),
    Verify(OwnerKey),
    Warn(InvalidOwner),
}

pub(crate) enum Outcome {
    Done,
    Failed(String),
    Answer(OwnerKey, Existence),
}

impl Decide for Graph {
    type Event = Seen;
    type Job = Job;
    type Outcome = Outcome;

    fn see(&mut self, Seen { kind, event }: Seen, _now: Timestamp) {
        match event {
            Event::Reset(objects) => {
                let uids: BTreeSet<&str> =
                    objects.iter().map(|o| o.metadata.uid.as_str()).collect();
                self.retain(&kind, &uids);
                objects
                    .iter()
                    .for_each(|o| self.apply(reference(&kind, &o.metadata), &o.metadata));
            }
            Event::Apply(o) => self.apply(reference(&kind, &o.metadata), &o.metadata),
            Event::Delete(o) => self.remove(&o.metadata.uid),
        }
    }

    fn plan(&mut self, now: Timestamp) -> (Vec<Job>, Option<Timestamp>) {
        let plan = Self::plan(self, now);
        let deletes = plan.deletes.into_iter().map(Job::Delete);
        let patches = plan.patches.into_iter().map(Job::Patch);
        let verify = plan.verify.into_iter().map(Job::Verify);
        let invalid = plan.invalid.into_iter().map(Job::Warn);
        (
            patches
                .chain(deletes)
                .chain(verify)
                .chain(invalid)
                .collect(),
            plan.next,
        )
    }

    fn done(&mut self, outcome: Outcome, now: Timestamp) {
        match outcome {
            Outcome::Done => {}
            Outcome::Failed(uid) => self.failed(&uid, now),
            Outcome::Answer(owner, existence) => self.answer(&owner, existence, now),
        }
    }
}

fn reference(kind: &Arc<Kind>, meta: &Meta) -> ObjectRef {
    ObjectRef {
        uid: meta.uid.clone(),
        kind: Arc::clone(kind),
        namespace: meta.namespace.clone(),
        name: meta.name.clone(),
    }
}

pub(crate) async fn run(context: Context) {
    let Some(kinds) = context.shutdown.run_until_cancelled(kinds(&context)).await else {
        return;
    };
    let (sender, events) = inbox();
    for resource in &kinds {
        let kind = Arc::new(kind(resource));
        let informer = Informer::<Partial>::new(Source::all(resource.clone()).metadata_only());
        forward(
            informer.shared().subscribe(),
            sender.clone(),
            move |event| Seen {
                kind: Arc::clone(&kind),
                event,
            },
        );
        informer.start(context.writer.client().clone(), &context.shutdown);
    }
    drop(sender);
    let kinds: Arc<[Resource]> = kinds.into();
    let shutdown = context.shutdown.clone();
    let execute = |job| {
        let (context, kinds) = (context.clone(), Arc::clone(&kinds));
        async move { context.tidy(job, &kinds).await }
    };
    drive(Graph::new(), events, execute, shutdown).await;
}

/// The kinds whose objects can be deleted, asked until the server answers.
///
/// Events are left out: they have no owners, and there are many of them.
async fn kinds(context: &Context) -> Vec<Resource> {
    loop {
        match discover(&context.writer).await {
            Ok(found) => {
                return found
                    .into_iter()
                    .filter(is_collected)
                    .map(|d| d.resource)
                    .collect();
            }
            Err(error) => note(names::GARBAGE, "discover", "kinds", &error),
        }
        tokio::time::sleep(DISCOVERY_RETRY).await;
    }
}

fn is_collected(found: &Discovered) -> bool {
    found.resource.plural != "events" && found.can(&["list", "watch", "delete"])
}

fn kind(resource: &Resource) -> Kind {
    Kind {
        group: resource.group.to_string(),
        version: resource.version.to_string(),
        kind: resource.kind.to_string(),
        plural: resource.plural.to_string(),
        namespaced: resource.namespaced,
    }
}

fn resource(kind: &Kind) -> Resource {
    Resource {
        group: kind.group.clone().into(),
        version: kind.version.clone().into(),
        plural: kind.plural.clone().into(),
        kind: kind.kind.clone().into(),
        namespaced: kind.namespaced,
    }
}

impl Context {
    async fn tidy(&self, job: Job, kinds: &[Resource]) -> Outcome {
        match job {
            Job::Delete(delete) => {
                let deleted = self.delete_object(&delete).await;
                outcome("delete", &delete.object, deleted)
            }
            Job::Patch(patch) => {
                let patched = self.patch_object(&patch).await;
                outcome("patch", &patch.object, patched)
            }
            Job::Verify(owner) => {
                let existence = self.look_up(&owner, kinds).await;
                Outcome::Answer(owner, existence)
            }
            Job::Warn(InvalidOwner { object, message }) => {
                let meta = Meta {
                    name: object.name.clone(),
                    namespace: object.namespace.clone(),
                    uid: object.uid.clone(),
                    ..Meta::default()
                };
                let about = pernode_runtime::ObjectRef::of(&resource(&object.kind), &meta);
                self.recorder.record(
                    about,
                    Severity::Warning,
                    "OwnerRefInvalidNamespace",
                    message,
                );
                Outcome::Done
            }
        }
    }

    async fn delete_object(&self, delete: &Delete) -> Result<(), Error> {
        let object = &delete.object;
        let propagation = match delete.propagation {
            pernode_core::garbage::Propagation::Background => Propagation::Background,
            pernode_core::garbage::Propagation::Foreground => Propagation::Foreground,
            pernode_core::garbage::Propagation::Orphan => Propagation::Orphan,
        };
        let options = DeleteOptions::of_uid(&object.uid)
            .at_revision(&delete.resource_version)
            .propagation(propagation);
        let at = resource(&object.kind);
        self.writer
            .delete(&at, &object.namespace, &object.name, &options)
            .await
    }

    async fn patch_object(&self, patch: &Patch) -> Result<(), Error> {
        let object = &patch.object;
        let form = match patch.format {
            PatchFormat::StrategicMerge => pernode_runtime::Patch::Strategic,
            PatchFormat::Merge => pernode_runtime::Patch::Merge,
        };
        let at = (object.namespace.as_str(), object.name.as_str());
        self.writer
            .patch(&resource(&object.kind), at, form, &patch.body)
            .await
            .map(drop)
    }

    /// Whether an owner that the graph has not seen exists: the cache may be behind.
    async fn look_up(&self, owner: &OwnerKey, kinds: &[Resource]) -> Existence {
        let group = owner
            .api_version
            .split_once('/')
            .map_or("", |(group, _)| group);
        let Some(kind) = kinds
            .iter()
            .find(|k| k.kind == owner.kind && k.group == group)
        else {
            return Existence::Unknown;
        };
        if kind.namespaced && owner.namespace.is_empty() {
            return Existence::Unknown;
        }
        let namespace = if kind.namespaced {
            owner.namespace.as_str()
        } else {
            ""
        };
        match self
            .writer
            .get::<Partial>(kind, namespace, &owner.name)
            .await
        {
            Ok(found) if found.metadata.uid == owner.uid => Existence::Present,
            Ok(_) => Existence::Absent,
            Err(error) if error.is_not_found() => Existence::Absent,
            Err(error) => {
                note(names::GARBAGE, "look up", &owner.name, &error);
                Existence::Unknown
            }
        }
    }
}

/// A failure, a conflict too, is looked at again; an object that is gone is what was wanted.
fn outcome(what: &str, object: &ObjectRef, result: Result<(), Error>) -> Outcome {
    match result {
        Ok(()) => Outcome::Done,
        Err(error) if error.is_not_found() => Outcome::Done,
        Err(error) => {
            note(names::GARBAGE, what, &object.name, &error);
            Outcome::Failed(object.uid.clone())
        }
    }
}
