//! The index of one DaemonSet: one slot per node, counters and sets kept by transition.
//!
//! A node or pod event touches one slot. A new template or a new current revision touches all of them.
//! Invariant: the tally is the sum of the facts of all slots, each worked out at [`Fleet::now`].

use super::backoff::Backoff;
use super::expectations::Expectations;
use super::history::{Claim, Current, History, HistoryPlan, Relabel, Target, claim};
use super::plan::Plan;
use super::render::PodBase;
use super::slot::{Rules, Slot, is_over};
use super::tally::Tally;
use super::view::{DaemonSet, DaemonSetStatus, HASH_LABEL, Revision};
use crate::node::Node;
use crate::pod::Pod;
use crate::selector::Selector;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use jiff::Timestamp;
use serde_json::Value;

/// A pod of a fleet and where it counts.
#[derive(Debug, Clone)]
struct Member {
    pod: Arc<Pod>,
    claim: Claim,
    place: Option<Arc<str>>,
}

/// The index of one DaemonSet.
#[derive(Debug, Clone)]
pub struct Fleet {
    set: Arc<DaemonSet>,
    selector: Selector,
    rules: Rules,
    base: PodBase,
    slots: BTreeMap<Arc<str>, Slot>,
    members: BTreeMap<String, Member>,
    hashes: BTreeMap<String, usize>,
    tally: Tally,
    history: History,
    expectations: Expectations,
    backoff: Backoff,
    now: Timestamp,
}

impl Fleet {
    /// An index without nodes, pods and revisions.
    pub fn new(set: Arc<DaemonSet>, now: Timestamp) -> Self {
        let selector = selector_of(&set);
        let mut fleet = Self {
            base: PodBase::of(&set, ""),
            rules: Rules::default(),
            slots: BTreeMap::new(),
            members: BTreeMap::new(),
            hashes: BTreeMap::new(),
            tally: Tally::default(),
            history: History::default(),
            expectations: Expectations::default(),
            backoff: Backoff::default(),
            now,
            selector,
            set,
        };
        fleet.backoff.observe(fleet.set.status.observed_generation);
        fleet.history.set_daemon_set(&fleet.set, &fleet.selector);
        fleet.reset_rules();
        fleet
    }

    // Reading.

    /// The DaemonSet.
    pub fn daemon_set(&self) -> &Arc<DaemonSet> {
        &self.set
    }

    /// The counters and sets.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// What the spec and the current revision mean for single pods and nodes.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// A node's slot; nodes that are gone have one while pods are left there.
    pub fn slot(&self, node: &str) -> Option<&Slot> {
        self.slots.get(node)
    }

    /// All slots in the order of node names.
    pub fn slots(&self) -> impl Iterator<Item = (&Arc<str>, &Slot)> {
        self.slots.iter()
    }

    /// The revisions.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Writes the watch has not shown.
    pub fn expectations(&self) -> &Expectations {
        &self.expectations
    }

    /// Delays for pods that ended.
    pub fn backoff(&self) -> &Backoff {
        &self.backoff
    }

    /// The moment the facts were worked out for.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Whether the selector would take every pod, which is refused.
    pub fn selects_all(&self) -> bool {
        self.selector.is_empty()
    }

    /// Whether an object's labels match the selector.
    pub fn matches(&self, meta: &crate::meta::Meta) -> bool {
        !self.selects_all() && self.selector.matches(&meta.labels)
    }

    /// The complete pod for a node.
    pub fn pod_for(&self, node: &str) -> Value {
        self.base.for_node(node)
    }

    /// Everything of its pods that does not depend on the node.
    pub fn pod_base(&self) -> &PodBase {
        &self.base
    }

    /// The pods of a claim, by name.
    pub fn members(&self, claim: Claim) -> impl Iterator<Item = &Arc<Pod>> {
        self.members
            .values()
            .filter(move |m| m.claim == claim)
            .map(|m| &m.pod)
    }

    /// A pod of the fleet by name.
    pub fn member(&self, name: &str) -> Option<&Arc<Pod>> {
        self.members.get(name).map(|m| &m.pod)
    }

    /// The current revision after the next round.
    pub fn current(&self) -> Current {
        self.history.current(&self.set)
    }

    // Events.

    /// The DaemonSet changed. The uid and the selector must be the same as before.
    pub fn set_daemon_set(&mut self, mut set: Arc<DaemonSet>) {
        let same_template = set.spec.template == self.set.spec.template;
        if same_template {
            // Keeps one copy of the template and makes later comparisons a pointer's.
            Arc::make_mut(&mut set).spec.template = self.set.spec.template.clone();
        }
        let old = core::mem::replace(&mut self.set, set);
        self.backoff.observe(self.set.status.observed_generation);
        let same_name = old.status.collision_count == self.set.status.collision_count
            && old.metadata.deletion_timestamp == self.set.metadata.deletion_timestamp;
        if !same_template || !same_name {
            self.history.set_daemon_set(&self.set, &self.selector);
        }
        let same_rules = same_template
            && old.spec.min_ready_seconds == self.set.spec.min_ready_seconds
            && old.spec.update_strategy == self.set.spec.update_strategy
            && old.template_generation() == self.set.template_generation();
        if same_rules {
            self.follow_history();
        } else {
            self.reset_rules();
        }
        if old.metadata.is_deleting() != self.set.metadata.is_deleting() {
            self.reclaim();
        }
    }

    /// A node came or changed. True when that means something to the DaemonSet.
    pub fn apply_node(&mut self, node: &Arc<Node>) -> bool {
        let name: Arc<str> = Arc::from(node.metadata.name.as_str());
        let placement = self.rules.placement.clone();
        self.touch(&name, |slot| slot.set_node(node.clone(), &placement))
    }

    /// A node is gone. True when that means something to the DaemonSet.
    pub fn remove_node(&mut self, name: &str) -> bool {
        self.backoff.forget(name);
        match self.slots.get_key_value(name) {
            Some((name, _)) => {
                let name = name.clone();
                self.touch(&name, Slot::remove_node)
            }
            None => false,
        }
    }

    /// A pod of the namespace came or changed. True when it concerns the DaemonSet or did before.
    pub fn apply_pod(&mut self, pod: &Arc<Pod>) -> bool {
        let meta = &pod.metadata;
        self.expectations
            .saw(&meta.uid, &meta.resource_version, meta.is_deleting());
        let claim = claim(&self.set, &self.selector, meta).filter(|_| !self.selects_all());
        let new = claim.map(|claim| self.seat(pod, claim));
        let concerned = self.members.contains_key(&meta.name) || new.is_some();
        self.replace_member(&meta.name, new);
        concerned
    }

    /// A pod of the namespace is gone. True when it concerned the DaemonSet.
    pub fn remove_pod(&mut self, pod: &Pod) -> bool {
        let met = self.expectations.saw_gone(&pod.metadata.uid);
        // A pod that came later under the same name stays.
        let same = |m: &Member| m.pod.metadata.uid == pod.metadata.uid;
        let known = self.members.get(&pod.metadata.name).is_some_and(same);
        if known {
            self.replace_member(&pod.metadata.name, None);
        }
        known || met
    }

    /// A revision of the namespace came or changed. True when one of our writes was seen by it.
    pub fn apply_revision(&mut self, revision: &Arc<Revision>) -> bool {
        let meta = &revision.metadata;
        let met = self
            .expectations
            .saw(&meta.uid, &meta.resource_version, meta.is_deleting());
        self.history.apply(&self.set, &self.selector, revision);
        self.follow_history();
        met
    }

    /// A revision of the namespace is gone.
    pub fn remove_revision(&mut self, revision: &Revision) {
        self.expectations.saw_gone(&revision.metadata.uid);
        self.history.remove(&revision.metadata.name);
        self.follow_history();
    }

    /// Time has passed: Ready pods become available. Also when the clock went back.
    pub fn advance(&mut self, now: Timestamp) {
        if now < self.now {
            self.now = now;
            self.refresh_all();
            return;
        }
        self.now = now;
        while let Some((at, name)) = self.tally.changes.first().cloned() {
            if at > now {
                break;
            }
            self.touch(&name, |_| ());
        }
    }

    // Our own writes.

    /// A plan is about to be carried out: its removals start their backoffs, and acting waits.
    pub fn begin(&mut self, plan: &Plan, now: Timestamp) {
        self.expectations.begin();
        self.backoff.sweep(now);
        for removal in &plan.removals {
            self.backoff.record(&removal.node, removal.end, now);
        }
    }

    /// Notes a removal of a pod that ended, outside of a plan.
    pub fn record_removal(&mut self, node: &str, end: super::backoff::End, now: Timestamp) {
        self.backoff.record(node, end, now);
    }

    /// The unseen writes, for whoever carries out a plan.
    pub fn expectations_mut(&mut self) -> &mut Expectations {
        &mut self.expectations
    }

    /// A status was written: until the watch shows it, it is what the DaemonSet has.
    pub fn status_written(&mut self, status: DaemonSetStatus, version: &str) {
        let set = Arc::make_mut(&mut self.set);
        set.status = status;
        set.metadata.resource_version = version.to_string();
        self.backoff.observe(self.set.status.observed_generation);
    }

    // Planning.

    /// What has to be done to the revisions, with the pods that carry a duplicate's hash.
    pub fn plan_history(&self) -> HistoryPlan {
        let in_use = |hash: &str| self.hashes.contains_key(hash);
        let mut plan = self.history.plan(&self.set, &in_use);
        if !plan.duplicates.is_empty() {
            plan.relabels = self.relabels();
        }
        plan
    }

    fn relabels(&self) -> Vec<Relabel> {
        let hash = self.history.current_hash();
        let duplicates: Vec<_> = self.history.duplicate_hashes().collect();
        let is_mislabelled = |pod: &Pod| {
            let label = pod
                .metadata
                .labels
                .get(HASH_LABEL)
                .map_or("", String::as_str);
            label != hash && (duplicates.contains(&label) || self.contradicts(pod, label))
        };
        let owned = self.members(Claim::Owned).filter(|pod| is_mislabelled(pod));
        owned
            .map(|pod| Relabel {
                pod: Target::of(&pod.metadata),
                hash: hash.to_string(),
            })
            .collect()
    }

    /// Whether a pod is not what its label says: its containers are the template's, and not those of
    /// the revision it names.
    fn contradicts(&self, pod: &Pod, label: &str) -> bool {
        let has_containers_of = |template: Option<&Value>| {
            let containers = template.and_then(|t| t.get("spec")?.get("containers")?.as_array());
            containers.is_some_and(|list| {
                list.len() == pod.spec.containers.len()
                    && list.iter().zip(&pod.spec.containers).all(|(json, c)| {
                        json.get("name").and_then(Value::as_str) == Some(&c.name)
                            && json.get("image").and_then(Value::as_str).unwrap_or("") == c.image
                    })
            })
        };
        let mut revisions = self.history.revisions();
        let named = revisions.find(|r| r.hash() == Some(label));
        let stored = named.and_then(|r| r.data.get("spec")?.get("template"));
        stored.is_some()
            && has_containers_of(Some(self.set.spec.template.json()))
            && !has_containers_of(stored)
    }

    // Upkeep.

    /// Where a pod counts: on its node, unless it ended and is being deleted.
    fn seat(&self, pod: &Arc<Pod>, claim: Claim) -> Member {
        let counts = claim != Claim::Stray && !is_over(pod);
        let target = pod.target_node().filter(|_| counts);
        // The name in the slots' map is shared, so that a fleet holds each node name once.
        let place = target.map(|name| match self.slots.get_key_value(name) {
            Some((known, _)) => known.clone(),
            None => Arc::from(name),
        });
        Member {
            pod: pod.clone(),
            claim,
            place,
        }
    }

    /// Puts a pod in, takes it out, or puts the newer state in the place of the older.
    fn replace_member(&mut self, name: &str, new: Option<Member>) {
        let old = match &new {
            Some(member) => self.members.insert(name.to_string(), member.clone()),
            None => self.members.remove(name),
        };
        if let Some(hash) = new.as_ref().and_then(counted_hash) {
            *self.hashes.entry(hash.to_string()).or_default() += 1;
        }
        if let Some(hash) = old.as_ref().and_then(counted_hash) {
            self.forget_hash(hash);
        }
        let new_place = new.as_ref().and_then(|member| member.place.clone());
        let old_place = old.and_then(|member| member.place);
        if let Some(place) = old_place.filter(|place| Some(place) != new_place.as_ref()) {
            self.touch(&place, |slot| slot.remove(name));
        }
        if let (Some(place), Some(member)) = (new_place, new) {
            self.touch(&place, |slot| slot.insert(member.pod));
        }
    }

    fn forget_hash(&mut self, hash: &str) {
        if let Some(count) = self.hashes.get_mut(hash) {
            *count -= 1;
            if *count == 0 {
                self.hashes.remove(hash);
            }
        }
    }

    /// Changes one slot and keeps the tally right. True when something followed from the change.
    fn touch(&mut self, name: &Arc<str>, change: impl FnOnce(&mut Slot)) -> bool {
        let slot = self.slots.entry(name.clone()).or_default();
        change(slot);
        let pods = &slot.pods;
        slot.former
            .retain(|uid| pods.iter().any(|pod| pod.metadata.uid == *uid));
        let old = slot.facts;
        let new = slot.facts(&self.rules, self.now);
        if slot.is_empty() {
            self.slots.remove(name);
        } else {
            slot.facts = new;
        }
        if old == new {
            return false;
        }
        self.tally.remove(name, &old);
        self.tally.add(name, &new);
        true
    }

    fn follow_history(&mut self) {
        let same = self.history.current_hash() == self.rules.hash
            && self.history.old_hashes() == self.rules.old_hashes;
        if !same {
            self.reset_rules();
        }
    }

    /// The spec or the current revision changed: every node is judged again.
    fn reset_rules(&mut self) {
        let hash = self.history.current_hash();
        self.rules = Rules {
            old_hashes: self.history.old_hashes(),
            ..Rules::of(&self.set, hash)
        };
        self.base = PodBase::of(&self.set, hash);
        for slot in self.slots.values_mut() {
            if let Some(node) = &slot.node {
                slot.verdict = self.rules.placement.judge(node);
            }
        }
        self.refresh_all();
    }

    fn refresh_all(&mut self) {
        self.tally = Tally::default();
        for (name, slot) in &mut self.slots {
            slot.facts = slot.facts(&self.rules, self.now);
            self.tally.add(name, &slot.facts);
        }
    }

    /// The DaemonSet started or ceased to be deleted: orphans and strays are seen differently.
    fn reclaim(&mut self) {
        let pods: Vec<_> = self.members.values().map(|m| m.pod.clone()).collect();
        for pod in pods {
            self.apply_pod(&pod);
        }
    }
}

/// The hash by which a pod keeps a revision in use.
fn counted_hash(member: &Member) -> Option<&str> {
    let counts = member.claim != Claim::Stray;
    member
        .pod
        .metadata
        .labels
        .get(HASH_LABEL)
        .filter(|_| counts)
        .map(String::as_str)
}

/// An invalid selector matches nothing; validation keeps it out.
fn selector_of(set: &DaemonSet) -> Selector {
    Selector::from_label_selector(&set.spec.selector).unwrap_or_else(|_| Selector::nothing())
}

#[cfg(test)]
mod tests;
