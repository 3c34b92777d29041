//! One node as a DaemonSet sees it: the verdict, the pods, and what follows from them.

use super::backoff::End;
use super::placement::{Placement, Verdict};
use super::view::{DaemonSet, GENERATION_LABEL, HASH_LABEL, earlier};
use crate::node::Node;
use crate::pod::{Phase, Pod};
use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;
use jiff::{SignedDuration, Timestamp};

/// What a DaemonSet's spec and current revision mean for single pods and nodes.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// Which nodes get a pod.
    pub placement: Placement,
    /// Hash of the current revision.
    pub hash: String,
    /// Template generation in text form, from before revisions existed.
    pub generation: Option<String>,
    /// Hashes of the old revisions: a pod that carries one is old whatever its generation says, which
    /// may be that of an earlier DaemonSet of the same name.
    pub old_hashes: BTreeSet<String>,
    /// How long a pod must be Ready before it is available.
    pub min_ready: SignedDuration,
    /// Whether a new pod may start beside the old one.
    pub surge: bool,
}

impl Rules {
    /// The rules of a DaemonSet whose current revision has this hash.
    pub fn of(set: &DaemonSet, hash: &str) -> Self {
        Self {
            placement: Placement::of(&set.spec.template),
            hash: hash.to_string(),
            generation: set.template_generation().map(|n| n.to_string()),
            old_hashes: BTreeSet::new(),
            min_ready: set.min_ready(),
            surge: set.spec.update_strategy.allows_surge(),
        }
    }

    /// Whether a pod was made from the current template, by hash or by template generation.
    pub fn is_updated(&self, pod: &Pod) -> bool {
        let label = |key: &str| pod.metadata.labels.get(key);
        let by_hash = !self.hash.is_empty() && label(HASH_LABEL) == Some(&self.hash);
        let by_generation = self.generation.is_some()
            && label(GENERATION_LABEL) == self.generation.as_ref()
            && !label(HASH_LABEL).is_some_and(|hash| self.old_hashes.contains(hash));
        by_hash || by_generation
    }

    /// When a pod is available if nothing changes; none when it is not Ready.
    ///
    /// Ready without a transition time is never long enough, except when no time is asked for.
    pub fn available_at(&self, pod: &Pod) -> Option<Timestamp> {
        let ready = pod.ready_condition().filter(|c| c.status == "True")?;
        if self.min_ready.is_zero() {
            return Some(Timestamp::MIN);
        }
        ready
            .last_transition_time?
            .saturating_add(self.min_ready)
            .ok()
    }

    /// Whether a pod is available now.
    pub fn is_available(&self, pod: &Pod, now: Timestamp) -> bool {
        self.available_at(pod).is_some_and(|at| at <= now)
    }
}

/// The order in which the pods of a node are kept: bound ones first, then by age, then by name.
pub fn precedence(a: &Pod, b: &Pod) -> Ordering {
    let key = |p: &Pod| (p.spec.node_name.is_empty(), p.metadata.creation_timestamp);
    key(a)
        .cmp(&key(b))
        .then_with(|| a.metadata.name.cmp(&b.metadata.name))
}

/// Whether a pod no longer occupies its node: it ended and is being deleted.
pub fn is_over(pod: &Pod) -> bool {
    pod.metadata.is_deleting() && pod.status.phase.is_terminal()
}

/// One node of a fleet, or a node that is gone and still has pods.
#[derive(Debug, Clone, Default)]
pub struct Slot {
    /// The node; none when it does not exist (any more).
    pub node: Option<Arc<Node>>,
    /// Uid of the node that was there last.
    pub node_uid: String,
    /// What the placement rules say; no and no when there is no node.
    pub verdict: Verdict,
    /// The pods on it or aimed at it, in the order of [`precedence`].
    pub pods: Vec<Arc<Pod>>,
    /// Uids of pods that were bound to an earlier node of this name.
    pub former: Vec<String>,
    /// What follows from the above.
    pub facts: Facts,
}

/// What the counters and sets of a fleet keep of a slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Facts {
    /// The node should run the pod.
    pub desired: bool,
    /// It should, and has one.
    pub current: bool,
    /// It should not, and has one.
    pub misscheduled: bool,
    /// It should, and the pod is Ready.
    pub ready: bool,
    /// It should, and the pod is available.
    pub available: bool,
    /// It should, and the pod is of the current template.
    pub updated: bool,
    /// The base step has something to do here, or has to wait for a backoff.
    pub needs_work: bool,
    /// The node's place in a rolling update.
    pub walk: Walk,
    /// When a Ready pod here becomes available.
    pub changes_at: Option<Timestamp>,
}

/// The place of a node in a rolling update. Pods that are being deleted do not count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Walk {
    /// The node should not run the pod and has none.
    #[default]
    Outside,
    /// No pod is there that counts.
    Empty,
    /// More than one new or more than one old pod; the base step cleans up.
    Excess,
    /// Only a new pod.
    New {
        /// Whether it is available.
        available: bool,
    },
    /// Only an old pod.
    Old {
        /// Whether it is available.
        available: bool,
        /// Whether the node should run the pod.
        wanted: bool,
    },
    /// A new and an old pod.
    Both {
        /// Whether the new one is available.
        new_available: bool,
        /// Whether the old one is available.
        old_available: bool,
    },
}

/// Why a pod is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateReason {
    /// The node should run the pod and has none.
    Missing,
    /// With surge: what is there is going away or ended.
    NoneAlive,
    /// A rolling update starts the new pod beside the old one.
    Surge,
    /// A rolling update starts the new pod because the old one is not available.
    OldUnavailable,
}

/// Why a pod is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeleteReason {
    /// The node may not keep the pod.
    NotWanted,
    /// It ended.
    Ended(End),
    /// Another pod of the node is kept.
    Surplus,
    /// It was never bound, and its node is gone.
    NodeGone,
    /// It was bound to an earlier node of the same name.
    NodeReplaced,
    /// A rolling update replaces it.
    Outdated,
    /// A rolling update replaces it; it was not available anyway.
    OutdatedUnavailable,
    /// With surge: the new pod beside it is available.
    Succeeded,
    /// With surge: its node should not run it, and enough others are available.
    NoLongerNeeded,
}

/// What the base step wants for one node, before it looks at backoffs.
#[derive(Debug, Clone, Default)]
pub struct Needs {
    /// Make a pod, unless a pod that ended has to stay for its backoff.
    pub create: Option<CreateReason>,
    /// Pods to delete.
    pub delete: Vec<(Arc<Pod>, DeleteReason)>,
    /// Pods that ended; they are deleted when their backoff allows.
    pub ended: Vec<(Arc<Pod>, End)>,
}

/// The only new and the only old pod of a node.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pair<'a> {
    /// The pod of the current template.
    pub new: Option<&'a Arc<Pod>>,
    /// The pod of an earlier one.
    pub old: Option<&'a Arc<Pod>>,
}

impl Needs {
    /// Whether nothing is wanted.
    pub fn is_empty(&self) -> bool {
        self.create.is_none() && self.delete.is_empty() && self.ended.is_empty()
    }
}

impl Slot {
    /// Puts a pod in its place; one of the same name is replaced.
    pub fn insert(&mut self, pod: Arc<Pod>) {
        self.remove(&pod.metadata.name);
        let at = self.pods.partition_point(|p| precedence(p, &pod).is_lt());
        self.pods.insert(at, pod);
    }

    /// Takes a pod out.
    pub fn remove(&mut self, name: &str) {
        self.pods.retain(|pod| pod.metadata.name != name);
    }

    /// Puts a node in its place. Pods bound to an earlier node of the name are marked as such.
    pub fn set_node(&mut self, node: Arc<Node>, placement: &Placement) {
        let uid = &node.metadata.uid;
        if !self.node_uid.is_empty() && self.node_uid != *uid {
            let bound = self
                .pods
                .iter()
                .filter(|pod| !pod.spec.node_name.is_empty());
            self.former
                .extend(bound.map(|pod| pod.metadata.uid.clone()));
        }
        self.node_uid.clone_from(uid);
        self.verdict = placement.judge(&node);
        self.node = Some(node);
    }

    /// The node is gone; its pods may still be there.
    pub fn remove_node(&mut self) {
        self.node = None;
        self.verdict = Verdict::default();
    }

    /// Whether nothing is left of the slot.
    pub fn is_empty(&self) -> bool {
        self.node.is_none() && self.pods.is_empty()
    }

    /// What the base step wants here (section 1 of the contract).
    pub fn needs(&self, rules: &Rules, now: Timestamp) -> Needs {
        let mut needs = Needs::default();
        let staying = self.pods.iter().filter(|pod| !pod.metadata.is_deleting());
        if self.node.is_none() {
            let unbound = staying.filter(|pod| pod.spec.node_name.is_empty());
            needs.delete = unbound
                .map(|p| (p.clone(), DeleteReason::NodeGone))
                .collect();
        } else if self.verdict.should_run && self.pods.is_empty() {
            needs.create = Some(CreateReason::Missing);
        } else if self.verdict.should_continue {
            let live = self.sort_out(staying, &mut needs);
            if rules.surge {
                self.prune_with_surge(&live, rules, now, &mut needs);
            } else {
                let surplus = live.iter().skip(1);
                needs
                    .delete
                    .extend(surplus.map(|p| (Arc::clone(p), DeleteReason::Surplus)));
            }
        } else {
            needs.delete = staying
                .map(|p| (p.clone(), DeleteReason::NotWanted))
                .collect();
        }
        needs
    }

    /// Notes the pods that ended or belong to an earlier node, and gives back the live ones.
    fn sort_out<'a>(
        &self,
        staying: impl Iterator<Item = &'a Arc<Pod>>,
        needs: &mut Needs,
    ) -> Vec<&'a Arc<Pod>> {
        let mut live = Vec::new();
        for pod in staying {
            match pod.status.phase {
                Phase::Failed => needs.ended.push((pod.clone(), End::Failed)),
                Phase::Succeeded => needs.ended.push((pod.clone(), End::Succeeded)),
                Phase::Pending | Phase::Running | Phase::Unknown => {
                    if self.former.contains(&pod.metadata.uid) {
                        needs.delete.push((pod.clone(), DeleteReason::NodeReplaced));
                    } else {
                        live.push(pod);
                    }
                }
            }
        }
        live
    }

    /// Two live pods may stay only as an old one that is Ready and a new one that is not available.
    fn prune_with_surge(
        &self,
        live: &[&Arc<Pod>],
        rules: &Rules,
        now: Timestamp,
        needs: &mut Needs,
    ) {
        if live.is_empty() && self.verdict.should_run {
            needs.create = Some(CreateReason::NoneAlive);
        }
        if live.len() <= 1 {
            return;
        }
        let (mut oldest_new, mut oldest_old) = (None, None);
        for pod in live {
            let oldest = if rules.is_updated(pod) {
                &mut oldest_new
            } else {
                &mut oldest_old
            };
            if oldest.is_none() {
                *oldest = Some(*pod);
            } else {
                needs.delete.push((Arc::clone(pod), DeleteReason::Surplus));
            }
        }
        if let (Some(new), Some(old)) = (oldest_new, oldest_old) {
            if !old.is_ready() {
                needs
                    .delete
                    .push((old.clone(), DeleteReason::OutdatedUnavailable));
            } else if rules.is_available(new, now) {
                needs.delete.push((old.clone(), DeleteReason::Succeeded));
            }
        }
    }

    /// The pods that count in an update; none when there are several new or several old ones.
    pub fn pair(&self, rules: &Rules) -> Option<Pair<'_>> {
        let mut pair = Pair::default();
        for pod in self.pods.iter().filter(|pod| !pod.metadata.is_deleting()) {
            let place = if rules.is_updated(pod) {
                &mut pair.new
            } else {
                &mut pair.old
            };
            if place.replace(pod).is_some() {
                return None;
            }
        }
        Some(pair)
    }

    /// Works out the facts at a moment.
    pub fn facts(&self, rules: &Rules, now: Timestamp) -> Facts {
        let desired = self.verdict.should_run;
        let first = self.pods.first().filter(|_| self.node.is_some());
        let counted = first.filter(|_| desired);
        Facts {
            desired,
            current: counted.is_some(),
            misscheduled: !desired && first.is_some(),
            ready: counted.is_some_and(|pod| pod.is_ready()),
            available: counted.is_some_and(|pod| rules.is_available(pod, now)),
            updated: counted.is_some_and(|pod| rules.is_updated(pod)),
            needs_work: !self.needs(rules, now).is_empty(),
            walk: self.walk(rules, now),
            changes_at: self.changes_at(rules, now),
        }
    }

    fn walk(&self, rules: &Rules, now: Timestamp) -> Walk {
        let wanted = self.verdict.should_run;
        if self.pods.is_empty() && !wanted {
            return Walk::Outside;
        }
        let available = |pod: &Pod| rules.is_available(pod, now);
        let Some(Pair { new, old }) = self.pair(rules) else {
            return Walk::Excess;
        };
        match (new, old) {
            (None, None) => Walk::Empty,
            (Some(new), None) => Walk::New {
                available: available(new),
            },
            (None, Some(old)) => Walk::Old {
                available: available(old),
                wanted,
            },
            (Some(new), Some(old)) => Walk::Both {
                new_available: available(new),
                old_available: available(old),
            },
        }
    }

    fn changes_at(&self, rules: &Rules, now: Timestamp) -> Option<Timestamp> {
        if rules.min_ready.is_zero() {
            return None;
        }
        let times = self.pods.iter().filter_map(|pod| rules.available_at(pod));
        times
            .filter(|at| *at > now)
            .fold(None, |first, at| earlier(first, Some(at)))
    }
}

impl fmt::Display for CreateReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "the node should run the pod and has none",
            Self::NoneAlive => "the node should run the pod and none is alive there",
            Self::Surge => "the rolling update starts the new pod beside the old one",
            Self::OldUnavailable => "the old pod is not available",
        })
    }
}

impl fmt::Display for DeleteReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotWanted => "the node may not keep the pod",
            Self::Ended(End::Failed) => "the pod failed",
            Self::Ended(End::Succeeded) => "the pod ran to completion",
            Self::Surplus => "another pod of the node is kept",
            Self::NodeGone => "the node is gone and the pod was never bound",
            Self::NodeReplaced => "the pod was bound to an earlier node of this name",
            Self::Outdated => "the rolling update replaces the pod",
            Self::OutdatedUnavailable => "the pod is of an old template and not available",
            Self::Succeeded => "the new pod beside it is available",
            Self::NoLongerNeeded => {
                "the node should not run the pod and enough others are available"
            }
        })
    }
}
