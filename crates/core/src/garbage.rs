//! The garbage collector: what goes when its owners go.
//!
//! ```text
//! metadata of every object ─▶ Graph (index) ─ plan(now) ─▶ deletes, patches, owners to verify
//!                               ▲                                             │
//!                               └───────── answer, failed ◀───── the caller ──┘
//! ```
//!
//! Owners are found by uid. One that was never seen is not taken for gone before the caller has
//! asked for it: it may have been created a moment ago, or be of a kind nobody watches. Plan only
//! once every kind was listed, else thousands of owners would be asked for at the start.
//!
//! The rules are upstream's `attemptToDeleteItem`, `processDeletingDependentsItem` and
//! `attemptToOrphanWorker`.

mod classify;
mod patch;
mod work;

#[cfg(test)]
mod tests;

use crate::meta::{Meta, OwnerReference};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use jiff::Timestamp;
use serde_json::Value;
use work::Work;

/// Finalizer of an owner that goes after its dependents.
pub const FOREGROUND: &str = "foregroundDeletion";
/// Finalizer of an owner that leaves its dependents behind.
pub const ORPHAN: &str = "orphan";

/// A kind of object.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    /// API group, empty for the core group.
    pub group: String,
    /// Version that is written to.
    pub version: String,
    /// Kind, as owner references name it.
    pub kind: String,
    /// Name in paths.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
}

/// Which object.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectRef {
    /// Uid; the precondition of every write.
    pub uid: String,
    /// Kind, shared by all objects of it.
    pub kind: Arc<Kind>,
    /// Namespace, empty when there is none.
    pub namespace: String,
    /// Name.
    pub name: String,
}

/// What is to be written and asked now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Objects to delete.
    pub deletes: Vec<Delete>,
    /// Objects to patch.
    pub patches: Vec<Patch>,
    /// Owners to look up in the dependent's namespace, or without one if their kind has none.
    /// Every one has to be answered with [`Graph::answer`].
    pub verify: Vec<OwnerKey>,
    /// References that can never be right, for warning events.
    pub invalid: Vec<InvalidOwner>,
    /// When to plan again even if nothing happens.
    pub next: Option<Timestamp>,
}

/// An object to delete. Report a failure, a conflict too, with [`Graph::failed`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delete {
    /// The object; its uid is a precondition.
    pub object: ObjectRef,
    /// The revision it was judged in: a precondition too.
    pub resource_version: String,
    /// What happens to its own dependents.
    pub propagation: Propagation,
}

/// What happens to the dependents of a deleted object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// They go after it.
    Background,
    /// They go before it.
    Foreground,
    /// They stay.
    Orphan,
}

impl Propagation {
    /// As `propagationPolicy` has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Background => "Background",
            Self::Foreground => "Foreground",
            Self::Orphan => "Orphan",
        }
    }
}

/// An object to patch. Report a failure, a conflict too, with [`Graph::failed`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// The object.
    pub object: ObjectRef,
    /// How the body is meant.
    pub format: PatchFormat,
    /// The patch, with the uid or the revision as precondition.
    pub body: Value,
}

/// How a patch is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchFormat {
    /// `application/strategic-merge-patch+json`.
    StrategicMerge,
    /// `application/merge-patch+json`.
    Merge,
}

/// An owner as a dependent names it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnerKey {
    /// Uid.
    pub uid: String,
    /// `group/version`, or `version`.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
    /// Namespace of the dependent: the owner is there, or has none.
    pub namespace: String,
}

/// What a look-up of an owner gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existence {
    /// There is an object at this place, with this uid.
    Present,
    /// There is none, or one with another uid.
    Absent,
    /// It cannot be told: the kind is not known, needs a namespace that the dependent does not
    /// have, or the request failed. The dependents stay.
    Unknown,
}

/// A reference to an owner that lives in another namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidOwner {
    /// The object that has the reference.
    pub object: ObjectRef,
    /// Text of the warning, reason `OwnerRefInvalidNamespace`.
    pub message: String,
}

#[derive(Debug)]
struct Object {
    object: ObjectRef,
    resource_version: String,
    deleting: bool,
    finalizers: Vec<String>,
    owners: Vec<OwnerReference>,
    /// A write about it was handed out in the revision it is known in.
    in_flight: bool,
}

impl Object {
    fn has(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|f| f == finalizer)
    }

    /// Whether it goes after its dependents, and they are being seen to.
    fn is_waiting(&self) -> bool {
        self.deleting && self.has(FOREGROUND)
    }

    fn is_orphaning(&self) -> bool {
        self.deleting && self.has(ORPHAN)
    }
}

/// All objects and who owns them.
///
/// Invariant: `dependents` holds, for every reference of every object, the uids of both.
#[derive(Debug, Default)]
pub struct Graph {
    objects: BTreeMap<String, Object>,
    dependents: BTreeMap<String, BTreeSet<String>>,
    /// Owners that were seen to go, as long as something refers to them.
    gone: BTreeSet<String>,
    /// What look-ups gave, by uid, as long as something refers to it. `None` while one is under
    /// way.
    answers: BTreeMap<String, BTreeMap<OwnerKey, Option<Existence>>>,
    work: Work,
}

impl Graph {
    /// An empty graph.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of objects.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Takes an object's state.
    pub fn apply(&mut self, object: ObjectRef, meta: &Meta) {
        let uid = object.uid.clone();
        if let Some(known) = self.objects.get_mut(&uid) {
            let same = known.deleting == meta.is_deleting()
                && known.finalizers == meta.finalizers
                && known.owners == meta.owner_references;
            if same {
                let written = known.resource_version != meta.resource_version;
                known.resource_version.clone_from(&meta.resource_version);
                if written && core::mem::take(&mut known.in_flight) {
                    self.work.settle(&uid);
                    self.work.push(&uid);
                }
                return;
            }
        }
        let new = Object {
            object,
            resource_version: meta.resource_version.clone(),
            deleting: meta.is_deleting(),
            finalizers: meta.finalizers.clone(),
            owners: meta.owner_references.clone(),
            in_flight: false,
        };
        self.work.settle(&uid);
        let old = self.objects.insert(uid.clone(), new);
        self.gone.remove(&uid);
        self.relink(&uid, old.as_ref());
    }

    /// Brings `dependents` up to date after a change and notes who has to be looked at.
    fn relink(&mut self, uid: &str, old: Option<&Object>) {
        let Some(new) = self.objects.get(uid) else {
            return;
        };
        let became_waiting = new.is_waiting() && !old.is_some_and(Object::is_waiting);
        let has_work = !new.owners.is_empty() || new.deleting;
        let old_owners: BTreeSet<String> = old.into_iter().flat_map(owner_uids).collect();
        let new_owners: BTreeSet<String> = owner_uids(new).collect();
        for owner in &new_owners {
            let uids = self.dependents.entry(owner.clone()).or_default();
            uids.insert(uid.into());
        }
        for owner in old_owners.difference(&new_owners) {
            self.unlink(owner, uid);
        }
        if has_work {
            self.work.push(uid);
        }
        // Owners that wait for dependents look again: a reference may not block any more.
        for owner in old_owners.union(&new_owners) {
            self.push_if_waiting(owner);
        }
        if became_waiting || old.is_none() {
            self.push_dependents(uid);
        }
    }

    fn unlink(&mut self, owner: &str, dependent: &str) {
        let Some(uids) = self.dependents.get_mut(owner) else {
            return;
        };
        uids.remove(dependent);
        if uids.is_empty() {
            self.dependents.remove(owner);
            self.gone.remove(owner);
            self.answers.remove(owner);
        }
    }

    fn push_if_waiting(&mut self, uid: &str) {
        let waits = |o: &Object| o.is_waiting() || o.is_orphaning();
        if self.objects.get(uid).is_some_and(waits) {
            self.work.push(uid);
        }
    }

    fn push_dependents(&mut self, owner: &str) {
        for dependent in self.dependents.get(owner).into_iter().flatten() {
            self.work.push(dependent);
        }
    }

    /// Takes the departure of an object.
    pub fn remove(&mut self, uid: &str) {
        let Some(old) = self.objects.remove(uid) else {
            return;
        };
        self.work.remove(uid);
        for owner in owner_uids(&old) {
            self.unlink(&owner, uid);
            self.push_if_waiting(&owner);
        }
        if self.dependents.contains_key(uid) {
            self.gone.insert(uid.into());
            self.push_dependents(uid);
        }
    }

    /// Keeps only the objects of a kind that a fresh list contains, by uid; follow with `apply`
    /// for each.
    pub fn retain(&mut self, kind: &Kind, listed: &BTreeSet<&str>) {
        let gone = self
            .objects
            .iter()
            .filter(|(uid, object)| *object.object.kind == *kind && !listed.contains(&***uid));
        let gone: Vec<String> = gone.map(|(uid, _)| uid.clone()).collect();
        for uid in gone {
            self.remove(&uid);
        }
    }

    /// Takes what a look-up gave; its dependents are judged again.
    pub fn answer(&mut self, owner: &OwnerKey, existence: Existence, now: Timestamp) {
        if !self.dependents.contains_key(&owner.uid) {
            return;
        }
        let answers = self.answers.entry(owner.uid.clone()).or_default();
        answers.insert(owner.clone(), Some(existence));
        self.push_dependents(&owner.uid);
        if existence != Existence::Absent {
            // Nobody may ever tell that it has gone: it is looked up again.
            self.work.look_up_again(owner, now);
        }
    }

    /// A write about an object failed: it is judged again soon.
    pub fn failed(&mut self, uid: &str, now: Timestamp) {
        if let Some(object) = self.objects.get_mut(uid) {
            object.in_flight = false;
            self.work.rest(uid, now);
        }
    }

    /// What is to be done now.
    pub fn plan(&mut self, now: Timestamp) -> Plan {
        for owner in self.work.advance(now) {
            self.forget_answer(&owner);
        }
        let mut plan = Plan::default();
        while let Some(uid) = self.work.pop() {
            self.judge(&uid, &mut plan);
        }
        plan.next = self.work.next();
        plan
    }

    /// Lets an owner be looked up again, unless it is known by now.
    fn forget_answer(&mut self, owner: &OwnerKey) {
        if self.objects.contains_key(&owner.uid) {
            return;
        }
        if let Some(answers) = self.answers.get_mut(&owner.uid) {
            answers.remove(owner);
            self.push_dependents(&owner.uid);
        }
    }
}

fn owner_uids(object: &Object) -> impl Iterator<Item = String> + '_ {
    object.owners.iter().map(|owner| owner.uid.clone())
}
