//! All DaemonSets of a cluster: which of them an event concerns, and which have to be looked at.

use super::fleet::Fleet;
use super::view::{DaemonSet, Revision};
use crate::meta::Meta;
use crate::node::Node;
use crate::pod::Pod;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use jiff::Timestamp;

/// Namespace and name of a DaemonSet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Namespace.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
}

impl Key {
    /// The key of an object.
    pub fn of(meta: &Meta) -> Self {
        Self {
            namespace: Arc::from(meta.namespace.as_str()),
            name: Arc::from(meta.name.as_str()),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Which DaemonSets have to be looked at after an event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wakes {
    /// At once.
    pub now: BTreeSet<Key>,
    /// After so many seconds.
    pub later: BTreeMap<Key, i64>,
}

type ByName<T> = BTreeMap<String, Arc<T>>;

/// The fleets of all DaemonSets, fed by watch events.
///
/// Nodes, pods and revisions are kept beside the fleets, so that a DaemonSet that comes later finds them.
#[derive(Debug, Clone, Default)]
pub struct Index {
    fleets: BTreeMap<Key, Fleet>,
    by_uid: BTreeMap<String, Key>,
    nodes: ByName<Node>,
    pods: BTreeMap<Arc<str>, ByName<Pod>>,
    revisions: BTreeMap<Arc<str>, ByName<Revision>>,
    now: Timestamp,
}

impl Index {
    /// The fleet of a DaemonSet.
    pub fn fleet(&self, key: &Key) -> Option<&Fleet> {
        self.fleets.get(key)
    }

    /// The fleet of a DaemonSet, to advance it or to note writes.
    pub fn fleet_mut(&mut self, key: &Key) -> Option<&mut Fleet> {
        self.fleets.get_mut(key)
    }

    /// All fleets.
    pub fn fleets(&self) -> impl Iterator<Item = (&Key, &Fleet)> {
        self.fleets.iter()
    }

    /// Time has passed; new fleets start at this moment.
    pub fn set_now(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// Names of all nodes, to find those a fresh list no longer has.
    pub fn nodes(&self) -> impl Iterator<Item = &Arc<Node>> {
        self.nodes.values()
    }

    /// All pods, to find those a fresh list no longer has.
    pub fn pods(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods.values().flat_map(BTreeMap::values)
    }

    /// All revisions, to find those a fresh list no longer has.
    pub fn revisions(&self) -> impl Iterator<Item = &Arc<Revision>> {
        self.revisions.values().flat_map(BTreeMap::values)
    }

    // DaemonSets.

    /// A DaemonSet came or changed.
    pub fn apply_daemon_set(&mut self, set: &Arc<DaemonSet>) -> Wakes {
        let key = Key::of(&set.metadata);
        match self.fleets.get_mut(&key) {
            Some(fleet) if is_same_set(fleet.daemon_set(), set) => {
                fleet.set_daemon_set(set.clone());
            }
            Some(_) | None => self.insert(key.clone(), set),
        }
        only(key)
    }

    /// A DaemonSet is gone.
    pub fn remove_daemon_set(&mut self, meta: &Meta) -> Wakes {
        let key = Key::of(meta);
        if let Some(fleet) = self.fleets.remove(&key) {
            self.by_uid.remove(&fleet.daemon_set().metadata.uid);
        }
        only(key)
    }

    fn insert(&mut self, key: Key, set: &Arc<DaemonSet>) {
        if let Some(old) = self.fleets.remove(&key) {
            self.by_uid.remove(&old.daemon_set().metadata.uid);
        }
        let mut fleet = Fleet::new(set.clone(), self.now);
        for node in self.nodes.values() {
            fleet.apply_node(node);
        }
        for revision in self
            .revisions
            .get(&key.namespace)
            .into_iter()
            .flat_map(BTreeMap::values)
        {
            fleet.apply_revision(revision);
        }
        for pod in self
            .pods
            .get(&key.namespace)
            .into_iter()
            .flat_map(BTreeMap::values)
        {
            fleet.apply_pod(pod);
        }
        self.by_uid.insert(set.metadata.uid.clone(), key.clone());
        self.fleets.insert(key, fleet);
    }

    // Nodes.

    /// A node came or changed. Only its labels, its taints and its uid mean anything.
    pub fn apply_node(&mut self, node: &Arc<Node>) -> Wakes {
        let name = &node.metadata.name;
        let old = self.nodes.insert(name.clone(), node.clone());
        if old.is_some_and(|old| is_same_place(&old, node)) {
            return Wakes::default();
        }
        let mut wakes = Wakes::default();
        for (key, fleet) in &mut self.fleets {
            if fleet.apply_node(node) || has_work(fleet, name) {
                wakes.now.insert(key.clone());
            }
        }
        wakes
    }

    /// A node is gone.
    pub fn remove_node(&mut self, name: &str) -> Wakes {
        self.nodes.remove(name);
        let concerned = self
            .fleets
            .iter_mut()
            .filter_map(|(key, fleet)| fleet.remove_node(name).then(|| key.clone()));
        Wakes {
            now: concerned.collect(),
            later: BTreeMap::new(),
        }
    }

    // Pods.

    /// A pod came or changed.
    pub fn apply_pod(&mut self, pod: &Arc<Pod>) -> Wakes {
        let meta = &pod.metadata;
        let in_namespace = self
            .pods
            .entry(Arc::from(meta.namespace.as_str()))
            .or_default();
        let old = in_namespace.insert(meta.name.clone(), pod.clone());
        if let Some(old) = old.as_ref().filter(|old| old.metadata.uid != meta.uid) {
            // Deleted and made again between two events.
            self.each_concerned(&old.metadata, |fleet| fleet.remove_pod(old));
        }
        let mut wakes = Wakes::default();
        if let Some(old) = old
            .as_ref()
            .filter(|old| owner(&old.metadata) != owner(meta))
        {
            let had_owner = owner(&old.metadata).is_some();
            wakes
                .now
                .extend(self.each_concerned(&old.metadata, |fleet| {
                    // An orphan that somebody adopted leaves a gap with the others that counted it.
                    fleet.apply_pod(pod) && (had_owner || !fleet.tally().needs_work.is_empty())
                }));
        }
        let was = old.as_ref().map(|old| &old.metadata);
        if owner(meta).is_some() {
            wakes
                .now
                .extend(self.each_concerned(meta, |fleet| fleet.apply_pod(pod)));
            self.wake_when_available(old.as_deref(), pod, &mut wakes);
            return wakes;
        }
        let matching = self.each_concerned(meta, |fleet| {
            fleet.apply_pod(pod);
            fleet.matches(meta)
        });
        // A change that leaves labels and owner alone makes an orphan no more interesting.
        let is_news = was.is_none_or(|was| was.labels != meta.labels || owner(was).is_some());
        if is_news && !meta.is_deleting() {
            wakes.now.extend(matching);
        }
        wakes
    }

    /// A pod is gone.
    pub fn remove_pod(&mut self, pod: &Pod) -> Wakes {
        let meta = &pod.metadata;
        if let Some(in_namespace) = self.pods.get_mut(meta.namespace.as_str())
            && in_namespace
                .get(&meta.name)
                .is_some_and(|known| known.metadata.uid == meta.uid)
        {
            in_namespace.remove(&meta.name);
        }
        let concerned = self.each_concerned(meta, |fleet| {
            fleet.remove_pod(pod);
            true
        });
        match owner(meta) {
            Some(_) => Wakes {
                now: concerned.into_iter().collect(),
                later: BTreeMap::new(),
            },
            None => Wakes::default(),
        }
    }

    /// A pod that became Ready is looked at again when it can be available, and a second later for
    /// clocks that differ by fractions of one.
    fn wake_when_available(&self, old: Option<&Pod>, pod: &Pod, wakes: &mut Wakes) {
        let became_ready = old.is_some_and(|old| !old.is_ready()) && pod.is_ready();
        if !became_ready || pod.metadata.is_deleting() {
            return;
        }
        for key in &wakes.now {
            let seconds = self
                .fleets
                .get(key)
                .map_or(0, |f| f.daemon_set().spec.min_ready_seconds);
            if seconds > 0 {
                wakes.later.insert(key.clone(), seconds + 1);
            }
        }
    }

    // Revisions.

    /// A revision came or changed.
    pub fn apply_revision(&mut self, revision: &Arc<Revision>) -> Wakes {
        let meta = &revision.metadata;
        let in_namespace = self
            .revisions
            .entry(Arc::from(meta.namespace.as_str()))
            .or_default();
        let old = in_namespace.insert(meta.name.clone(), revision.clone());
        let mut wakes = Wakes::default();
        if let Some(old) = old
            .as_ref()
            .filter(|old| owner(&old.metadata) != owner(meta))
        {
            wakes
                .now
                .extend(self.each_concerned(&old.metadata, |fleet| {
                    fleet.apply_revision(revision);
                    true
                }));
        }
        let changed = old.is_some();
        let is_news = old.is_none_or(|old| {
            old.metadata.labels != meta.labels || owner(&old.metadata) != owner(meta)
        });
        let concerned = self.each_concerned(meta, |fleet| {
            let met = fleet.apply_revision(revision);
            match owner(meta) {
                // A new revision of ours is only what we have been waiting for.
                Some(_) => met || changed,
                None => is_news && fleet.matches(meta),
            }
        });
        wakes.now.extend(concerned);
        wakes
    }

    /// A revision is gone.
    pub fn remove_revision(&mut self, revision: &Revision) -> Wakes {
        let meta = &revision.metadata;
        if let Some(in_namespace) = self.revisions.get_mut(meta.namespace.as_str()) {
            in_namespace.remove(&meta.name);
        }
        let concerned = self.each_concerned(meta, |fleet| {
            fleet.remove_revision(revision);
            true
        });
        match owner(meta) {
            Some(_) => Wakes {
                now: concerned.into_iter().collect(),
                later: BTreeMap::new(),
            },
            None => Wakes::default(),
        }
    }

    /// Shows an object to its owner's fleet, or, when nobody owns it, to all of its namespace. Gives
    /// back those for which `show` is true.
    fn each_concerned(
        &mut self,
        meta: &Meta,
        mut show: impl FnMut(&mut Fleet) -> bool,
    ) -> Vec<Key> {
        let mut concerned = Vec::new();
        let mut visit = |key: &Key, fleet: &mut Fleet| {
            if show(fleet) {
                concerned.push(key.clone());
            }
        };
        if let Some(uid) = owner(meta) {
            if let Some(key) = self.by_uid.get(uid)
                && let Some(fleet) = self.fleets.get_mut(key)
                && *key.namespace == *meta.namespace
            {
                visit(key, fleet);
            }
        } else {
            let namespace: Arc<str> = Arc::from(meta.namespace.as_str());
            let from = Key {
                namespace: namespace.clone(),
                name: Arc::from(""),
            };
            let range = self.fleets.range_mut(from..);
            for (key, fleet) in range.take_while(|(key, _)| key.namespace == namespace) {
                visit(key, fleet);
            }
        }
        concerned
    }
}

fn only(key: Key) -> Wakes {
    Wakes {
        now: BTreeSet::from([key]),
        later: BTreeMap::new(),
    }
}

/// Uid of the controller of an object.
fn owner(meta: &Meta) -> Option<&str> {
    meta.controller().map(|owner| owner.uid.as_str())
}

fn is_same_set(a: &DaemonSet, b: &DaemonSet) -> bool {
    a.metadata.uid == b.metadata.uid && a.spec.selector == b.spec.selector
}

fn is_same_place(a: &Node, b: &Node) -> bool {
    a.metadata.uid == b.metadata.uid
        && a.metadata.labels == b.metadata.labels
        && a.spec.taints == b.spec.taints
}

/// Whether a node needs something, or its pod may be the one the status still counts as misscheduled.
fn has_work(fleet: &Fleet, node: &str) -> bool {
    let has_pods = fleet.slot(node).is_some_and(|slot| !slot.pods.is_empty());
    fleet.tally().needs_work.contains(node)
        || (has_pods && fleet.daemon_set().status.number_misscheduled > 0)
}
