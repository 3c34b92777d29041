//! The revisions of a DaemonSet (section 6): which one is current, and what has to be done to them.

use super::revision;
use super::view::{DaemonSet, Revision};
use crate::selector::Selector;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use serde_json::Value;

/// An object of ours, named precisely enough to write to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Name in the DaemonSet's namespace.
    pub name: String,
    /// Uid, so that no object that came later under the name is hit.
    pub uid: String,
    /// Resource version the plan was made from.
    pub version: String,
}

impl Target {
    /// Names an object by its metadata.
    pub fn of(meta: &crate::meta::Meta) -> Self {
        Self {
            name: meta.name.clone(),
            uid: meta.uid.clone(),
            version: meta.resource_version.clone(),
        }
    }
}

/// How a pod or revision relates to a DaemonSet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// Owned, and the labels match.
    Owned,
    /// Owned by nobody, and the labels match: it is to be adopted.
    Orphan,
    /// Owned, but the labels no longer match: it is to be released.
    Stray,
}

/// Decides on the claim of an object (section 3); none when it has nothing to do with the DaemonSet.
///
/// A DaemonSet that is being deleted neither adopts nor releases; an orphan that is being deleted is
/// not adopted.
pub fn claim(set: &DaemonSet, selector: &Selector, meta: &crate::meta::Meta) -> Option<Claim> {
    let matches = selector.matches(&meta.labels);
    let alive = !set.metadata.is_deleting();
    match meta.controller() {
        Some(owner) if owner.uid == set.metadata.uid && matches => Some(Claim::Owned),
        Some(owner) if owner.uid == set.metadata.uid => alive.then_some(Claim::Stray),
        Some(_) => None,
        None => (matches && alive && !meta.is_deleting()).then_some(Claim::Orphan),
    }
}

/// The revision that describes the current template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Current {
    /// Name; for a revision that is still to be made, the name it gets.
    pub name: String,
    /// Its number after this round.
    pub revision: i64,
    /// Value of the hash label.
    pub hash: String,
}

/// What a round does to the revisions, in the order of the fields.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HistoryPlan {
    /// Revisions that get the DaemonSet as controller.
    pub adopts: Vec<Target>,
    /// Revisions that lose it.
    pub releases: Vec<Target>,
    /// Fields of existing revisions that change.
    pub updates: Vec<Update>,
    /// Pods that carried the hash of a duplicate.
    pub relabels: Vec<Relabel>,
    /// Duplicates of the current revision.
    pub duplicates: Vec<Target>,
    /// The revision that is missing.
    pub create: Option<Create>,
    /// Old revisions beyond the limit, lowest first; after everything else of the round.
    pub cleanup: Vec<Target>,
}

impl HistoryPlan {
    /// Whether nothing is to be done.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A change of an existing revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// The revision.
    pub target: Target,
    /// New number, if that changes.
    pub revision: Option<i64>,
    /// New hash label, if that changes.
    pub hash_label: Option<String>,
}

/// A pod whose hash label changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relabel {
    /// The pod.
    pub pod: Target,
    /// The new hash.
    pub hash: String,
}

/// A new revision.
#[derive(Debug, Clone, PartialEq)]
pub struct Create {
    /// Its name.
    pub name: String,
    /// Its number.
    pub revision: i64,
    /// The complete object.
    pub body: Value,
}

/// What to do when the name of a new revision is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// By the very revision that was to be made: go on with it.
    Same,
    /// The collision count was read from a stale view: try again when the view is fresh.
    Stale,
    /// By another template: write this collision count to the status and try again.
    Bump(i64),
}

/// Judges a taken name by what the server has now.
pub fn taken(set: &DaemonSet, existing: &Revision, live: &DaemonSet) -> Taken {
    if revision::describes(existing, &set.spec.template) {
        Taken::Same
    } else if live.status.collision_count != set.status.collision_count {
        Taken::Stale
    } else {
        Taken::Bump(live.status.collision_count.unwrap_or(0) + 1)
    }
}

#[derive(Debug, Clone)]
struct Entry {
    revision: Arc<Revision>,
    claim: Claim,
    describes: bool,
}

/// The revisions of one DaemonSet as an index: an event touches one, the template touches all.
#[derive(Debug, Clone, Default)]
pub struct History {
    entries: BTreeMap<String, Entry>,
    fresh_hash: String,
}

impl History {
    /// The template, the selector or the collision count changed.
    pub fn set_daemon_set(&mut self, set: &DaemonSet, selector: &Selector) {
        self.fresh_hash = revision::hash(&set.spec.template, set.status.collision_count);
        self.entries.retain(|_, entry| {
            let claim = claim(set, selector, &entry.revision.metadata);
            entry.describes = revision::describes(&entry.revision, &set.spec.template);
            entry.claim = claim.unwrap_or(entry.claim);
            claim.is_some()
        });
    }

    /// A revision came or changed. True when it concerns the DaemonSet or did before.
    pub fn apply(&mut self, set: &DaemonSet, selector: &Selector, new: &Arc<Revision>) -> bool {
        let name = &new.metadata.name;
        let Some(claim) = claim(set, selector, &new.metadata) else {
            return self.entries.remove(name).is_some();
        };
        let describes = revision::describes(new, &set.spec.template);
        let entry = Entry {
            revision: new.clone(),
            claim,
            describes,
        };
        self.entries.insert(name.clone(), entry);
        true
    }

    /// A revision is gone. True when it concerned the DaemonSet.
    pub fn remove(&mut self, name: &str) -> bool {
        self.entries.remove(name).is_some()
    }

    /// The hash new pods get: that of the revision that is kept, or of the one to be made.
    pub fn current_hash(&self) -> &str {
        match self.kept() {
            Some(entry) => entry
                .revision
                .hash()
                .unwrap_or(&entry.revision.metadata.name),
            None => &self.fresh_hash,
        }
    }

    /// Hashes of duplicates of the current revision, which go away.
    pub fn duplicate_hashes(&self) -> impl Iterator<Item = &str> {
        let kept = self.current_hash();
        let hashes = self
            .current_ones()
            .filter_map(|entry| entry.revision.hash());
        hashes.filter(move |hash| *hash != kept)
    }

    /// Hashes of the revisions that describe another template.
    pub fn old_hashes(&self) -> BTreeSet<String> {
        let hashes = self.old_ones().filter_map(|entry| entry.revision.hash());
        hashes.map(String::from).collect()
    }

    /// The current revision after this round.
    pub fn current(&self, set: &DaemonSet) -> Current {
        let hash = self.current_hash().to_string();
        let above = self.number_above_old();
        match self.kept() {
            Some(entry) => Current {
                name: entry.revision.metadata.name.clone(),
                revision: above.max(entry.revision.revision),
                hash,
            },
            None => Current {
                name: revision::name(set, &hash),
                revision: above,
                hash,
            },
        }
    }

    /// The revisions that belong to the DaemonSet, by name.
    pub fn revisions(&self) -> impl Iterator<Item = &Arc<Revision>> {
        self.claimed().map(|entry| &entry.revision)
    }

    /// What has to be done to the revisions. Pods to relabel are found by the caller.
    pub fn plan(&self, set: &DaemonSet, in_use: &dyn Fn(&str) -> bool) -> HistoryPlan {
        let mut plan = HistoryPlan::default();
        for entry in self.entries.values() {
            let target = Target::of(&entry.revision.metadata);
            match entry.claim {
                Claim::Orphan => plan.adopts.push(target),
                Claim::Stray => plan.releases.push(target),
                Claim::Owned => {}
            }
        }
        let current = self.current(set);
        plan.updates = self.updates(&current);
        if let Some(kept) = self.kept() {
            let others = self
                .current_ones()
                .filter(|e| e.revision.metadata.name != current.name);
            plan.duplicates = others.map(|e| Target::of(&e.revision.metadata)).collect();
            debug_assert!(kept.describes, "the kept revision describes the template");
        } else {
            let body = revision::body(set, &current.hash, current.revision);
            let Current { name, revision, .. } = current;
            plan.create = Some(Create {
                name,
                revision,
                body,
            });
        }
        plan.cleanup = self.cleanup(set, in_use);
        plan
    }

    fn updates(&self, current: &Current) -> Vec<Update> {
        let change = |entry: &Entry| {
            let meta = &entry.revision.metadata;
            let is_current = entry.describes && meta.name == current.name;
            let raised = is_current && entry.revision.revision < current.revision;
            let unlabelled = entry.revision.hash().is_none();
            (raised || unlabelled).then(|| Update {
                target: Target::of(meta),
                revision: raised.then_some(current.revision),
                hash_label: unlabelled.then(|| meta.name.clone()),
            })
        };
        self.claimed().filter_map(change).collect()
    }

    fn cleanup(&self, set: &DaemonSet, in_use: &dyn Fn(&str) -> bool) -> Vec<Target> {
        let mut old: Vec<_> = self.old_ones().map(|entry| &entry.revision).collect();
        old.sort_by_key(|r| (r.revision, r.metadata.name.clone()));
        let excess = old.len().saturating_sub(set.spec.history_limit());
        let unused = old.into_iter().filter(|r| !r.hash().is_some_and(in_use));
        unused
            .take(excess)
            .map(|r| Target::of(&r.metadata))
            .collect()
    }

    fn claimed(&self) -> impl Iterator<Item = &Entry> {
        self.entries
            .values()
            .filter(|entry| entry.claim != Claim::Stray)
    }

    fn current_ones(&self) -> impl Iterator<Item = &Entry> {
        self.claimed().filter(|entry| entry.describes)
    }

    fn old_ones(&self) -> impl Iterator<Item = &Entry> {
        self.claimed().filter(|entry| !entry.describes)
    }

    fn number_above_old(&self) -> i64 {
        self.old_ones()
            .map(|entry| entry.revision.revision)
            .max()
            .unwrap_or(0)
            + 1
    }

    /// Of several revisions that describe the template, the one with the highest number.
    fn kept(&self) -> Option<&Entry> {
        self.current_ones()
            .max_by_key(|entry| entry.revision.revision)
    }
}
