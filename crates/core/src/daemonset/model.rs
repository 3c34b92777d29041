//! The rules once more, from scratch, to be read beside the contract.
//!
//! Nothing here is incremental and nothing is fast: every function looks at everything. [`plan`] must
//! give what [`plan`](super::plan::plan) gives for a fleet that was told the same; random histories
//! hold both against each other.

use super::backoff::{Backoff, DELAY_MIN, End, Removal};
use super::event::PlannedEvent;
use super::history::{Create, HistoryPlan, Relabel, Target, Update};
use super::manage::{CreatePod, DeletePod, Waiting};
use super::placement::tolerations;
use super::plan::{Hold, Plan};
use super::revision;
use super::slot::{CreateReason, DeleteReason};
use super::view::{DaemonSet, DaemonSetStatus, GENERATION_LABEL, HASH_LABEL, Revision, earlier};
use crate::affinity::required_node_affinity_matches;
use crate::meta::Meta;
use crate::node::Node;
use crate::pod::{Phase, Pod};
use crate::selector::Selector;
use crate::taint::Effect;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use jiff::{SignedDuration, Timestamp};

mod update;

/// Everything a round is decided from.
#[derive(Debug, Clone)]
pub struct View {
    /// The DaemonSet.
    pub set: Arc<DaemonSet>,
    /// The nodes that exist, by name.
    pub nodes: BTreeMap<String, Arc<Node>>,
    /// The pods of the namespace, by name.
    pub pods: BTreeMap<String, Arc<Pod>>,
    /// The revisions of the namespace, by name.
    pub revisions: BTreeMap<String, Arc<Revision>>,
    /// Uids of pods bound to an earlier node of the name.
    pub former: BTreeSet<String>,
    /// Delays for pods that ended.
    pub backoff: Backoff,
    /// Writes the watch has not shown.
    pub unseen_writes: usize,
    /// The moment.
    pub now: Timestamp,
}

/// What one round does; deletes are sorted by node and pod.
pub fn plan(view: &View) -> Plan {
    let mut plan = Plan::default();
    if selector(view).is_empty() {
        // Section 3: an empty selector is refused.
        plan.holds.push(Hold::SelectsAll);
        plan.events.push(PlannedEvent::selecting_all());
        return plan;
    }
    if view.set.metadata.is_deleting() {
        plan.holds.push(Hold::Deleting);
        return plan;
    }
    plan.next = next_available(view);
    if view.unseen_writes > 0 {
        plan.holds.push(Hold::UnseenWrites(view.unseen_writes));
    } else {
        plan.adopts = view
            .pods
            .values()
            .filter(|p| is_orphan(view, &p.metadata))
            .map(target)
            .collect();
        plan.releases = view
            .pods
            .values()
            .filter(|p| is_stray(view, &p.metadata))
            .map(target)
            .collect();
        plan.history = history(view);
        manage(view, &mut plan);
        if plan.creates.is_empty() && plan.deletes.is_empty() {
            update::update(view, &mut plan);
        }
        plan.deletes
            .sort_by(|a, b| (&a.node, &a.pod.name).cmp(&(&b.node, &b.pod.name)));
    }
    let status = status(view);
    let waits = status.number_ready != status.number_available;
    let seconds = view.set.spec.min_ready_seconds;
    plan.guard_seconds = (seconds > 0 && waits).then_some(seconds);
    plan.status = Some(status).filter(|status| *status != view.set.status);
    plan
}

// Section 3: ownership.

fn selector(view: &View) -> Selector {
    Selector::from_label_selector(&view.set.spec.selector).unwrap_or_else(|_| Selector::nothing())
}

fn is_owned(view: &View, meta: &Meta) -> bool {
    meta.controller()
        .is_some_and(|owner| owner.uid == view.set.metadata.uid)
}

fn is_orphan(view: &View, meta: &Meta) -> bool {
    meta.controller().is_none() && !meta.is_deleting() && selector(view).matches(&meta.labels)
}

fn is_stray(view: &View, meta: &Meta) -> bool {
    is_owned(view, meta) && !selector(view).matches(&meta.labels)
}

fn is_ours(view: &View, meta: &Meta) -> bool {
    is_orphan(view, meta) || (is_owned(view, meta) && !is_stray(view, meta))
}

fn target(pod: &Arc<Pod>) -> Target {
    Target::of(&pod.metadata)
}

// Section 1: placement.

/// Should run and should continue.
pub fn judge(set: &DaemonSet, node: &Node) -> (bool, bool) {
    let spec = set.spec.template.spec();
    let tolerations = tolerations(&spec.tolerations, spec.host_network);
    let repelled_by = |effect: Effect| {
        let taints = node
            .spec
            .taints
            .iter()
            .filter(|taint| taint.effect == effect);
        taints
            .into_iter()
            .any(|taint| !tolerations.iter().any(|t| t.tolerates(taint)))
    };
    let is_named = spec.node_name.is_empty() || spec.node_name == node.metadata.name;
    let may_stay =
        is_named && required_node_affinity_matches(spec, node) && !repelled_by(Effect::NoExecute);
    (may_stay && !repelled_by(Effect::NoSchedule), may_stay)
}

/// The daemon pods of a node: bound before unbound, then by age, then by name.
fn pods_of(view: &View, node: &str) -> Vec<Arc<Pod>> {
    let counts = |pod: &&Arc<Pod>| {
        let over = pod.metadata.is_deleting() && pod.status.phase.is_terminal();
        is_ours(view, &pod.metadata) && pod.target_node() == Some(node) && !over
    };
    let mut pods: Vec<_> = view.pods.values().filter(counts).cloned().collect();
    pods.sort_by_key(|pod| {
        let unbound = pod.spec.node_name.is_empty();
        (
            unbound,
            pod.metadata.creation_timestamp,
            pod.metadata.name.clone(),
        )
    });
    pods
}

/// Names of all nodes that exist or that pods are left on.
fn places(view: &View) -> BTreeSet<String> {
    let ours = view
        .pods
        .values()
        .filter(|pod| is_ours(view, &pod.metadata));
    let targets = ours.filter_map(|pod| pod.target_node().map(String::from));
    view.nodes.keys().cloned().chain(targets).collect()
}

fn manage(view: &View, plan: &mut Plan) {
    for node in places(view) {
        let name: Arc<str> = Arc::from(&*node);
        let pods = pods_of(view, &node);
        let staying: Vec<_> = pods
            .iter()
            .filter(|pod| !pod.metadata.is_deleting())
            .collect();
        let Some(object) = view.nodes.get(&node) else {
            for pod in staying.iter().filter(|pod| pod.spec.node_name.is_empty()) {
                delete(plan, &name, pod, DeleteReason::NodeGone);
            }
            continue;
        };
        match judge(&view.set, object) {
            (true, _) if pods.is_empty() => create(plan, &name, CreateReason::Missing),
            (should_run, true) => keep_one(view, plan, &name, should_run, &staying),
            (_, false) => {
                for pod in staying {
                    delete(plan, &name, pod, DeleteReason::NotWanted);
                }
            }
        }
    }
}

/// A node that may keep its pod: what ended goes, and of the rest one stays, with surge perhaps two.
fn keep_one(view: &View, plan: &mut Plan, node: &Arc<str>, should_run: bool, pods: &[&Arc<Pod>]) {
    let surge = view.set.spec.update_strategy.allows_surge();
    let waits = remove_ended(view, plan, node, pods);
    let going_on = pods.iter().filter(|pod| !pod.status.phase.is_terminal());
    let (former, live): (Vec<&Arc<Pod>>, Vec<_>) = going_on
        .copied()
        .partition(|pod| view.former.contains(&pod.metadata.uid));
    for pod in former {
        delete(plan, node, pod, DeleteReason::NodeReplaced);
    }
    if !surge {
        live.iter()
            .skip(1)
            .for_each(|pod| delete(plan, node, pod, DeleteReason::Surplus));
        return;
    }
    if live.is_empty() && should_run && !waits {
        create(plan, node, CreateReason::NoneAlive);
    }
    if live.len() < 2 {
        return;
    }
    let (new, old): (Vec<_>, Vec<_>) = live.into_iter().partition(|pod| is_updated(view, pod));
    for pod in new.iter().skip(1).chain(old.iter().skip(1)) {
        delete(plan, node, pod, DeleteReason::Surplus);
    }
    if let (Some(new), Some(old)) = (new.first(), old.first()) {
        if !old.is_ready() {
            delete(plan, node, old, DeleteReason::OutdatedUnavailable);
        } else if is_available(view, new) {
            delete(plan, node, old, DeleteReason::Succeeded);
        }
    }
}

/// Deletes pods that ended, as far as their backoff allows. True when one has to stay.
fn remove_ended(view: &View, plan: &mut Plan, node: &Arc<str>, pods: &[&Arc<Pod>]) -> bool {
    let mut one_failed_goes = false;
    let mut waits = false;
    for pod in pods.iter().filter(|pod| pod.status.phase.is_terminal()) {
        let failed = pod.status.phase == Phase::Failed;
        let end = if failed { End::Failed } else { End::Succeeded };
        let mut until = view.backoff.waits_until(node, end, view.now);
        if until.is_none() && failed && one_failed_goes {
            until = view.now.checked_add(DELAY_MIN).ok();
        }
        let name = pod.metadata.name.clone();
        if let Some(until) = until {
            waits = true;
            plan.next = earlier(plan.next, Some(until));
            plan.holds.push(Hold::Backoff(Waiting {
                node: node.clone(),
                pod: name,
                until,
            }));
            continue;
        }
        one_failed_goes |= failed;
        delete(plan, node, pod, DeleteReason::Ended(end));
        let removal = Removal {
            node: node.clone(),
            end,
            pod: name,
        };
        plan.events
            .push(PlannedEvent::ended(&view.set.metadata.namespace, &removal));
        plan.removals.push(removal);
    }
    waits
}

fn create(plan: &mut Plan, node: &Arc<str>, reason: CreateReason) {
    plan.creates.push(CreatePod {
        node: node.clone(),
        reason,
    });
}

fn delete(plan: &mut Plan, node: &Arc<str>, pod: &Arc<Pod>, reason: DeleteReason) {
    plan.deletes.push(DeletePod {
        pod: target(pod),
        node: node.clone(),
        reason,
    });
}

// Section 5: what counts as updated and as available.

fn is_updated(view: &View, pod: &Pod) -> bool {
    let label = |key: &str| pod.metadata.labels.get(key).cloned();
    let hash = current_hash(view);
    let generation = view.set.template_generation().map(|n| n.to_string());
    // The generation of a pod that names an old revision is that of another DaemonSet.
    let (_, old) = current_and_old(view);
    let is_old = old
        .iter()
        .any(|r| r.hash().is_some() && r.hash() == label(HASH_LABEL).as_deref());
    (!hash.is_empty() && label(HASH_LABEL) == Some(hash))
        || (generation.is_some() && label(GENERATION_LABEL) == generation && !is_old)
}

fn available_at(view: &View, pod: &Pod) -> Option<Timestamp> {
    let ready = pod
        .ready_condition()
        .filter(|condition| condition.status == "True")?;
    let seconds = view.set.spec.min_ready_seconds;
    if seconds <= 0 {
        return Some(Timestamp::MIN);
    }
    ready
        .last_transition_time?
        .checked_add(SignedDuration::from_secs(seconds))
        .ok()
}

fn is_available(view: &View, pod: &Pod) -> bool {
    available_at(view, pod).is_some_and(|at| at <= view.now)
}

/// When the earliest Ready pod becomes available.
fn next_available(view: &View) -> Option<Timestamp> {
    let pods = places(view)
        .into_iter()
        .flat_map(|node| pods_of(view, &node));
    pods.filter_map(|pod| available_at(view, &pod))
        .filter(|at| *at > view.now)
        .min()
}

// Section 6: history.

fn own_revisions(view: &View) -> Vec<&Arc<Revision>> {
    view.revisions
        .values()
        .filter(|revision| is_ours(view, &revision.metadata))
        .collect()
}

/// The revisions that describe the template, the one to keep last, and the other ones.
fn current_and_old(view: &View) -> (Vec<&Arc<Revision>>, Vec<&Arc<Revision>>) {
    let describes = |r: &&Arc<Revision>| revision::describes(r, &view.set.spec.template);
    let (mut current, mut old): (Vec<_>, Vec<_>) =
        own_revisions(view).into_iter().partition(describes);
    current.sort_by_key(|r| (r.revision, r.metadata.name.clone()));
    old.sort_by_key(|r| (r.revision, r.metadata.name.clone()));
    (current, old)
}

fn current_hash(view: &View) -> String {
    match current_and_old(view).0.last() {
        Some(kept) => kept.hash().unwrap_or(&kept.metadata.name).to_string(),
        None => revision::hash(&view.set.spec.template, view.set.status.collision_count),
    }
}

fn history(view: &View) -> HistoryPlan {
    let of = |wanted: fn(&View, &Meta) -> bool| {
        let revisions = view
            .revisions
            .values()
            .filter(|r| wanted(view, &r.metadata));
        revisions.map(|r| Target::of(&r.metadata)).collect()
    };
    let (mut current, old) = current_and_old(view);
    let number = old.last().map_or(0, |last| last.revision) + 1;
    let kept = current.pop();
    let hash = current_hash(view);
    let mut plan = HistoryPlan {
        adopts: of(is_orphan),
        releases: of(is_stray),
        ..HistoryPlan::default()
    };
    for one in own_revisions(view) {
        let raised =
            kept.is_some_and(|k| k.metadata.name == one.metadata.name) && one.revision < number;
        let unlabelled = one.hash().is_none();
        if raised || unlabelled {
            plan.updates.push(Update {
                target: Target::of(&one.metadata),
                revision: raised.then_some(number),
                hash_label: unlabelled.then(|| one.metadata.name.clone()),
            });
        }
    }
    if kept.is_none() {
        let name = revision::name(&view.set, &hash);
        let body = revision::body(&view.set, &hash, number);
        plan.create = Some(Create {
            name,
            revision: number,
            body,
        });
    }
    if !current.is_empty() {
        plan.relabels = relabels(view, &current, &hash);
        current.sort_by_key(|r| r.metadata.name.clone());
    }
    plan.duplicates = current.iter().map(|r| Target::of(&r.metadata)).collect();
    plan.cleanup = cleanup(view, &old);
    plan
}

/// Pods of the duplicates. (Pods whose label contradicts their containers are the index's matter.)
fn relabels(view: &View, duplicates: &[&Arc<Revision>], hash: &str) -> Vec<Relabel> {
    let carries = |pod: &&Arc<Pod>| {
        let label = pod.metadata.labels.get(HASH_LABEL);
        let of_duplicate = duplicates
            .iter()
            .any(|r| r.hash() == label.map(String::as_str));
        is_owned(view, &pod.metadata)
            && is_ours(view, &pod.metadata)
            && label.is_some_and(|label| label != hash && of_duplicate)
    };
    let pods = view.pods.values().filter(carries);
    pods.map(|pod| Relabel {
        pod: target(pod),
        hash: hash.to_string(),
    })
    .collect()
}

fn cleanup(view: &View, old: &[&Arc<Revision>]) -> Vec<Target> {
    let ours = view
        .pods
        .values()
        .filter(|pod| is_ours(view, &pod.metadata));
    let in_use: BTreeSet<_> = ours
        .filter_map(|p| p.metadata.labels.get(HASH_LABEL))
        .collect();
    let excess = old.len().saturating_sub(view.set.spec.history_limit());
    let unused = old
        .iter()
        .filter(|r| !r.hash().is_some_and(|h| in_use.contains(&h.to_string())));
    unused
        .take(excess)
        .map(|r| Target::of(&r.metadata))
        .collect()
}

// Section 7: status.

/// The status by counting.
pub fn status(view: &View) -> DaemonSetStatus {
    let mut status = DaemonSetStatus {
        observed_generation: match view.unseen_writes {
            0 => view.set.metadata.generation,
            _ => view.set.status.observed_generation,
        },
        collision_count: view.set.status.collision_count,
        conditions: view.set.status.conditions.clone(),
        ..DaemonSetStatus::default()
    };
    for (name, node) in &view.nodes {
        let pods = pods_of(view, name);
        let first = pods.first();
        if !judge(&view.set, node).0 {
            status.number_misscheduled += i64::from(first.is_some());
            continue;
        }
        status.desired_number_scheduled += 1;
        if let Some(pod) = first {
            status.current_number_scheduled += 1;
            status.number_ready += i64::from(pod.is_ready());
            status.number_available += i64::from(is_available(view, pod));
            status.updated_number_scheduled += i64::from(is_updated(view, pod));
        }
    }
    status.number_unavailable = status.desired_number_scheduled - status.number_available;
    status
}

#[cfg(test)]
mod tests;
