//! A small cluster that an index and a model watch, with writes that may be seen late.

use super::super::{View, places, pods_of};
use crate::daemonset::budget::Budget;
use crate::daemonset::expectations::Awaited;
use crate::daemonset::history::Target;
use crate::daemonset::view::{GENERATION_ANNOTATION, GENERATION_LABEL, HASH_LABEL};
use crate::daemonset::{DaemonSet, Fleet, Plan, Policy, Revision, plan, revision};
use crate::meta::Meta;
use crate::node::Node;
use crate::pod::{Phase, Pod, PodCondition};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// Something that happens.
#[derive(Debug, Clone)]
pub(super) enum Op {
    Node { node: u8, taint: u8, zone: bool },
    RemoveNode(u8),
    ReplaceNode(u8),
    ForeignPod { node: u8, hash: u8, kind: u8 },
    Phase { pod: u8, phase: u8 },
    Ready { pod: u8, ready: bool },
    DeletePod(u8),
    RemovePod(u8),
    Bind(u8),
    Relabel { pod: u8, matches: bool },
    ShowAgain(u8),
    Template(u8),
    Strategy(u8),
    ForeignRevision { data: u8, kind: u8 },
    RemoveRevision(u8),
    Clock(i8),
    Act { writes: u8, late: bool },
    Deliver,
    Restart,
}

/// An event the watch has not shown yet.
#[derive(Debug, Clone)]
enum Late {
    Pod(Pod),
    PodGone(Pod),
    Revision(Revision),
    RevisionGone(Revision),
}

pub(super) struct World {
    pub(super) fleet: Fleet,
    pub(super) view: View,
    node_uids: BTreeMap<String, String>,
    late: Vec<Late>,
    serial: u64,
}

fn daemon_set() -> DaemonSet {
    serde_json::from_value(json!({
        "metadata": {"name": "agent", "namespace": "default", "uid": "ds", "generation": 1,
            "annotations": {GENERATION_ANNOTATION: "7"}},
        "spec": {
            "selector": {"matchLabels": {"app": "agent"}},
            "template": template(0),
            "revisionHistoryLimit": 2,
        },
    }))
    .unwrap()
}

fn template(kind: u8) -> Value {
    let mut template = json!({
        "metadata": {"labels": {"app": "agent"}},
        "spec": {"containers": [{"name": "main", "image": format!("agent:{kind}")}]},
    });
    if kind == 2 {
        template["spec"]["nodeSelector"] = json!({"zone": "a"});
    }
    template
}

fn owner() -> Value {
    json!([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "ds",
        "controller": true, "blockOwnerDeletion": true}])
}

impl World {
    pub(super) fn new() -> Self {
        let set = Arc::new(daemon_set());
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let view = View {
            set: set.clone(),
            nodes: BTreeMap::new(),
            pods: BTreeMap::new(),
            revisions: BTreeMap::new(),
            former: BTreeSet::new(),
            backoff: crate::daemonset::backoff::Backoff::default(),
            unseen_writes: 0,
            now,
        };
        let fleet = Fleet::new(set, now);
        Self {
            fleet,
            view,
            node_uids: BTreeMap::new(),
            late: Vec::new(),
            serial: 0,
        }
    }

    /// What only the index knows is copied to the model's view.
    pub(super) fn sync_view(&mut self) {
        self.view.backoff = self.fleet.backoff().clone();
        let expectations = self.fleet.expectations();
        let waiting = expectations.is_waiting(self.view.now);
        self.view.unseen_writes = if waiting { expectations.len() } else { 0 };
    }

    pub(super) fn budget(&self) -> usize {
        Budget::of(&self.view.set, self.fleet.tally().desired).max_unavailable
    }

    /// An index that is told the present state in another order.
    pub(super) fn rebuilt(&self) -> Fleet {
        let mut fleet = Fleet::new(self.view.set.clone(), self.view.now);
        for pod in self.view.pods.values().rev() {
            fleet.apply_pod(pod);
        }
        for node in self.view.nodes.values().rev() {
            fleet.apply_node(node);
        }
        for revision in self.view.revisions.values().rev() {
            fleet.apply_revision(revision);
        }
        fleet
    }

    pub(super) fn apply(&mut self, op: &Op) {
        match *op {
            Op::Node { node, taint, zone } => self.set_node(node, taint, zone, false),
            Op::ReplaceNode(node) => {
                if self.view.nodes.contains_key(&format!("n{node}")) {
                    self.remove_node(node);
                    self.set_node(node, 0, true, true);
                }
            }
            Op::RemoveNode(node) => self.remove_node(node),
            Op::Template(kind) => self.change_set(|set| {
                set["spec"]["template"] = template(kind);
                // The generation of an earlier DaemonSet of the same name may come back.
                let generation = if kind == 0 { "7" } else { "8" };
                set["metadata"]["annotations"][GENERATION_ANNOTATION] = json!(generation);
            }),
            Op::Strategy(kind) => self.change_set(|set| set_strategy(set, kind)),
            Op::ForeignRevision { data, kind } => self.foreign_revision(data, kind),
            Op::RemoveRevision(at) => self.remove_revision(at),
            Op::Clock(seconds) => self.pass_millis(i64::from(seconds) * 1000),
            Op::Act { writes, late } => {
                self.fleet.advance(self.view.now);
                let plan = plan(&self.fleet, self.view.now, &Policy::default());
                self.carry_out(&plan, usize::from(writes), late);
            }
            Op::Deliver => self.deliver(),
            Op::Restart => self.restart(),
            Op::ForeignPod { .. }
            | Op::Phase { .. }
            | Op::Ready { .. }
            | Op::DeletePod(_)
            | Op::RemovePod(_)
            | Op::Bind(_)
            | Op::Relabel { .. }
            | Op::ShowAgain(_) => self.apply_to_pod(op),
        }
        self.forget_former();
    }

    fn apply_to_pod(&mut self, op: &Op) {
        match *op {
            Op::ForeignPod { node, hash, kind } => self.foreign_pod(node, hash, kind),
            Op::Phase { pod, phase } => self.change_pod(pod, |pod, _| {
                use Phase::{Failed, Pending, Running, Succeeded};
                let phases = [Pending, Running, Failed, Succeeded];
                pod.status.phase = phases[usize::from(phase)];
            }),
            Op::Ready { pod, ready } => self.change_pod(pod, |pod, now| set_ready(pod, ready, now)),
            Op::DeletePod(pod) => self.change_pod(pod, |pod, now| {
                pod.metadata.deletion_timestamp.get_or_insert(now);
            }),
            Op::RemovePod(pod) => {
                if let Some(pod) = self.pick_pod(pod) {
                    self.pod_gone(&pod);
                }
            }
            Op::Bind(pod) => self.change_pod(pod, bind),
            Op::Relabel { pod, matches } => self.change_pod(pod, |pod, _| {
                let label = if matches { "agent" } else { "other" };
                pod.metadata.labels.insert("app".into(), label.into());
            }),
            Op::ShowAgain(pod) => self.change_pod(pod, |_, _| ()),
            _ => {}
        }
    }

    fn deliver(&mut self) {
        for late in core::mem::take(&mut self.late) {
            self.show(late);
        }
    }

    /// A new process lists everything and knows nothing of before.
    fn restart(&mut self) {
        self.deliver();
        self.fleet = self.rebuilt();
        self.view.former.clear();
        let uids = self.view.nodes.iter();
        self.node_uids = uids
            .map(|(name, node)| (name.clone(), node.metadata.uid.clone()))
            .collect();
    }

    fn remove_revision(&mut self, at: u8) {
        let all: Vec<_> = self.view.revisions.values().cloned().collect();
        if let Some(revision) = all.get(usize::from(at) % all.len().max(1)) {
            self.show(Late::RevisionGone(Revision::clone(revision)));
        }
    }

    pub(super) fn pass_millis(&mut self, millis: i64) {
        self.view.now += SignedDuration::from_millis(millis);
    }

    // Nodes.

    fn set_node(&mut self, node: u8, taint: u8, zone: bool, anew: bool) {
        let name = format!("n{node}");
        self.serial += 1;
        let known = self.view.nodes.get(&name).filter(|_| !anew);
        let uid = known.map_or_else(
            || format!("node-{}", self.serial),
            |n| n.metadata.uid.clone(),
        );
        let taints = match taint {
            1 => json!([{"key": "k", "effect": "NoSchedule"}]),
            2 => json!([{"key": "k", "effect": "NoExecute"}]),
            _ => json!([]),
        };
        let zone = if zone { "a" } else { "b" };
        let node: Node = serde_json::from_value(json!({
            "metadata": {"name": name, "uid": uid, "labels": {"zone": zone}},
            "spec": {"taints": taints},
        }))
        .unwrap();
        if self
            .node_uids
            .insert(name.clone(), uid.clone())
            .is_some_and(|old| old != uid)
        {
            let bound = pods_of(&self.view, &name).into_iter();
            let bound = bound.filter(|pod| !pod.spec.node_name.is_empty());
            self.view
                .former
                .extend(bound.map(|pod| pod.metadata.uid.clone()));
        }
        let node = Arc::new(node);
        self.fleet.apply_node(&node);
        self.view.nodes.insert(name, node);
    }

    fn remove_node(&mut self, node: u8) {
        let name = format!("n{node}");
        self.view.nodes.remove(&name);
        self.fleet.remove_node(&name);
        self.forget_former();
    }

    /// A mark lasts as long as the pod, and a node's uid is remembered while pods are left on it.
    fn forget_former(&mut self) {
        let mut kept = BTreeSet::new();
        for place in places(&self.view) {
            kept.extend(
                pods_of(&self.view, &place)
                    .into_iter()
                    .map(|pod| pod.metadata.uid.clone()),
            );
        }
        self.view.former.retain(|uid| kept.contains(uid));
        let view = &self.view;
        self.node_uids
            .retain(|name, _| view.nodes.contains_key(name) || !pods_of(view, name).is_empty());
    }

    // Pods.

    fn pick_pod(&self, at: u8) -> Option<Pod> {
        let pods: Vec<_> = self.view.pods.values().collect();
        pods.get(usize::from(at) % pods.len().max(1))
            .map(|pod| Pod::clone(pod))
    }

    fn change_pod(&mut self, at: u8, change: impl FnOnce(&mut Pod, Timestamp)) {
        if let Some(mut pod) = self.pick_pod(at) {
            change(&mut pod, self.view.now);
            self.show_pod(pod);
        }
    }

    fn show_pod(&mut self, mut pod: Pod) {
        self.serial += 1;
        pod.metadata.resource_version = self.serial.to_string();
        self.show(Late::Pod(pod));
    }

    fn pod_gone(&mut self, pod: &Pod) {
        self.show(Late::PodGone(pod.clone()));
    }

    fn show(&mut self, late: Late) {
        match late {
            Late::Pod(pod) => {
                let pod = Arc::new(pod);
                self.fleet.apply_pod(&pod);
                self.view.pods.insert(pod.metadata.name.clone(), pod);
            }
            Late::PodGone(pod) => {
                self.fleet.remove_pod(&pod);
                self.view.pods.remove(&pod.metadata.name);
            }
            Late::Revision(revision) => {
                let revision = Arc::new(revision);
                self.fleet.apply_revision(&revision);
                self.view
                    .revisions
                    .insert(revision.metadata.name.clone(), revision);
            }
            Late::RevisionGone(revision) => {
                self.fleet.remove_revision(&revision);
                self.view.revisions.remove(&revision.metadata.name);
            }
        }
        self.forget_former();
    }

    fn foreign_pod(&mut self, node: u8, hash: u8, kind: u8) {
        self.serial += 1;
        let current = self.fleet.rules().hash.clone();
        let hash = [current.as_str(), "x0", "x1", "none"][usize::from(hash)];
        let mut pod: Pod = serde_json::from_value(json!({
            "metadata": {
                "name": format!("f{}", self.serial), "namespace": "default",
                "uid": format!("pod-{}", self.serial),
                "labels": {"app": "agent", HASH_LABEL: hash, GENERATION_LABEL: "8"},
                "creationTimestamp": self.view.now, "ownerReferences": owner(),
            },
            "spec": {"nodeName": format!("n{node}")},
            "status": {"phase": "Running"},
        }))
        .unwrap();
        match kind {
            1 => pod.metadata.owner_references.clear(),
            2 => pod.metadata.owner_references[0].uid = "another".into(),
            3 => drop(pod.metadata.labels.insert("app".into(), "other".into())),
            4 => pod.metadata.deletion_timestamp = Some(self.view.now),
            5 => pod.status.phase = Phase::Failed,
            _ => {}
        }
        self.show_pod(pod);
    }

    // The DaemonSet and its revisions.

    fn change_set(&mut self, change: impl FnOnce(&mut Value)) {
        let mut json = json!(*self.view.set);
        change(&mut json);
        let mut set: DaemonSet = serde_json::from_value(json).unwrap();
        set.metadata.generation += 1;
        self.set_set(set);
    }

    fn set_set(&mut self, set: DaemonSet) {
        let set = Arc::new(set);
        self.fleet.set_daemon_set(set.clone());
        self.view.set = set;
    }

    fn foreign_revision(&mut self, data: u8, kind: u8) {
        self.serial += 1;
        let set: DaemonSet = serde_json::from_value({
            let mut json = json!(*self.view.set);
            json["spec"]["template"] = template(data % 3);
            json
        })
        .unwrap();
        let hash = format!("x{}", self.serial % 2);
        let mut made: Revision =
            serde_json::from_value(revision::body(&set, &hash, i64::from(data) + 1)).unwrap();
        made.metadata.name = format!("foreign-{}", self.serial);
        made.metadata.uid = format!("revision-{}", self.serial);
        match kind {
            1 => made.metadata.owner_references.clear(),
            2 => drop(made.metadata.labels.remove(HASH_LABEL)),
            3 => drop(made.metadata.labels.insert("app".into(), "other".into())),
            _ => {}
        }
        self.show(Late::Revision(made));
    }

    // Carrying out.

    /// Does the first so many writes of a plan; the watch shows them at once, or late.
    pub(super) fn carry_out(&mut self, plan: &Plan, writes: usize, late: bool) {
        let now = self.view.now;
        self.fleet.begin(plan, now);
        let mut events = self.history_events(plan);
        events.extend(self.pod_events(plan));
        events.truncate(writes);
        for (event, awaited) in events {
            let meta = match &event {
                Late::Pod(pod) | Late::PodGone(pod) => &pod.metadata,
                Late::Revision(revision) | Late::RevisionGone(revision) => &revision.metadata,
            };
            let uid = meta.uid.clone();
            // The answer may come before the watch or after it.
            if late {
                self.fleet.expectations_mut().expect(&uid, awaited, now);
                self.late.push(event);
            } else {
                self.show(event);
                self.fleet.expectations_mut().expect(&uid, awaited, now);
            }
        }
        self.fleet.expectations_mut().end();
        if let Some(status) = plan.status.clone() {
            let mut set = DaemonSet::clone(&self.view.set);
            set.status = status.clone();
            self.fleet.status_written(status, "1");
            self.set_set(set);
        }
    }

    fn history_events(&mut self, plan: &Plan) -> Vec<(Late, Awaited)> {
        let mut events = Vec::new();
        let history = &plan.history;
        let mut changed: BTreeMap<String, Revision> = BTreeMap::new();
        let mut change = |view: &View, target: &Target, how: &dyn Fn(&mut Revision)| {
            if let Some(known) = view.revisions.get(&target.name) {
                let fresh = || Revision::clone(known);
                how(changed.entry(target.name.clone()).or_insert_with(fresh));
            }
        };
        for target in &history.adopts {
            change(&self.view, target, &|r| adopt(&mut r.metadata));
        }
        for target in &history.releases {
            change(&self.view, target, &|r| r.metadata.owner_references.clear());
        }
        for update in &history.updates {
            change(&self.view, &update.target, &|r| {
                r.revision = update.revision.unwrap_or(r.revision);
                if let Some(hash) = &update.hash_label {
                    r.metadata.labels.insert(HASH_LABEL.into(), hash.clone());
                }
            });
        }
        for mut revision in changed.into_values() {
            let old = revision.metadata.resource_version.clone();
            self.serial += 1;
            revision.metadata.resource_version = self.serial.to_string();
            events.push((Late::Revision(revision), Awaited::Changed(old)));
        }
        if let Some(create) = &history.create {
            self.serial += 1;
            let mut made: Revision = serde_json::from_value(create.body.clone()).unwrap();
            made.metadata.uid = format!("revision-{}", self.serial);
            events.push((Late::Revision(made), Awaited::Present));
        }
        for gone in history.duplicates.iter().chain(&history.cleanup) {
            if let Some(known) = self.view.revisions.get(&gone.name) {
                events.push((Late::RevisionGone(Revision::clone(known)), Awaited::Leaving));
            }
        }
        events
    }

    fn pod_events(&mut self, plan: &Plan) -> Vec<(Late, Awaited)> {
        let mut events = Vec::new();
        let mut changed: BTreeMap<String, Pod> = BTreeMap::new();
        let mut change = |view: &View, target: &Target, how: &dyn Fn(&mut Pod)| {
            if let Some(known) = view.pods.get(&target.name) {
                let fresh = || Pod::clone(known);
                how(changed.entry(target.name.clone()).or_insert_with(fresh));
            }
        };
        for target in &plan.adopts {
            change(&self.view, target, &|pod| adopt(&mut pod.metadata));
        }
        for target in &plan.releases {
            change(&self.view, target, &|pod| {
                pod.metadata.owner_references.clear();
            });
        }
        for relabel in &plan.history.relabels {
            change(&self.view, &relabel.pod, &|pod| {
                pod.metadata
                    .labels
                    .insert(HASH_LABEL.into(), relabel.hash.clone());
            });
        }
        let now = self.view.now;
        for delete in &plan.deletes {
            change(&self.view, &delete.pod, &|pod| {
                pod.metadata.deletion_timestamp.get_or_insert(now);
            });
        }
        for mut pod in changed.into_values() {
            let old = pod.metadata.resource_version.clone();
            self.serial += 1;
            pod.metadata.resource_version = self.serial.to_string();
            // A pod that no node agent knows is gone at once.
            if pod.metadata.is_deleting() && pod.spec.node_name.is_empty() {
                events.push((Late::PodGone(pod), Awaited::Leaving));
            } else {
                events.push((Late::Pod(pod), Awaited::Changed(old)));
            }
        }
        for create in &plan.creates {
            self.serial += 1;
            let mut json = self.fleet.pod_for(&create.node);
            json["metadata"]["name"] = json!(format!("p{}", self.serial));
            json["metadata"]["uid"] = json!(format!("pod-{}", self.serial));
            json["metadata"]["creationTimestamp"] = json!(now);
            let pod: Pod = serde_json::from_value(json).unwrap();
            events.push((Late::Pod(pod), Awaited::Present));
        }
        events
    }

    // The rest of the cluster.

    /// What scheduler, node agents and pod garbage collection do in the next quarter of an hour. True
    /// when something changed.
    pub(super) fn live_on(&mut self) -> bool {
        let mut moved = false;
        for pod in self.view.pods.values().cloned().collect::<Vec<_>>() {
            let mut pod = Pod::clone(&pod);
            let target = pod.target_node().map(ToString::to_string);
            let exists = target.is_some_and(|node| self.view.nodes.contains_key(&node));
            if pod.metadata.is_deleting() || !exists {
                self.pod_gone(&pod);
                moved = true;
            } else if pod.status.phase != Phase::Running && !pod.status.phase.is_terminal()
                || !pod.status.phase.is_terminal() && !pod.is_ready()
            {
                bind(&mut pod, self.view.now);
                set_ready(&mut pod, true, self.view.now);
                self.show_pod(pod);
                moved = true;
            }
        }
        self.pass_millis(1000 * 1000);
        moved
    }

    pub(super) fn settle(&mut self) {
        for _ in 0..50 {
            self.fleet.advance(self.view.now);
            let plan = plan(&self.fleet, self.view.now, &Policy::default());
            self.carry_out(&plan, usize::MAX, false);
            self.live_on();
        }
    }

    /// Every pod fails, and those that are being deleted go.
    pub(super) fn fail_all(&mut self) {
        for pod in self.view.pods.values().cloned().collect::<Vec<_>>() {
            let mut pod = Pod::clone(&pod);
            if pod.metadata.is_deleting() {
                self.pod_gone(&pod);
            } else {
                bind(&mut pod, self.view.now);
                pod.status.phase = Phase::Failed;
                self.show_pod(pod);
            }
        }
    }
}

fn adopt(meta: &mut Meta) {
    meta.owner_references = serde_json::from_value(owner()).unwrap();
}

fn bind(pod: &mut Pod, _now: Timestamp) {
    if let Some(node) = pod.target_node().map(ToString::to_string) {
        pod.spec.node_name = node;
    }
}

fn set_ready(pod: &mut Pod, ready: bool, now: Timestamp) {
    if !pod.status.phase.is_terminal() {
        pod.status.phase = Phase::Running;
    }
    if pod.is_ready() == ready && pod.ready_condition().is_some() {
        return;
    }
    pod.status.conditions = vec![PodCondition {
        r#type: "Ready".into(),
        status: if ready { "True" } else { "False" }.into(),
        last_transition_time: Some(now),
        ..PodCondition::default()
    }];
}

fn set_strategy(set: &mut Value, kind: u8) {
    let rolling = |unavailable: Value, surge: Value| {
        json!({"type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": unavailable, "maxSurge": surge}})
    };
    set["spec"]["updateStrategy"] = match kind {
        0 | 1 => rolling(json!(1), json!(0)),
        2 => rolling(json!("50%"), json!(0)),
        3 => rolling(json!(0), json!(1)),
        4 => rolling(json!(0), json!("50%")),
        _ => json!({"type": "OnDelete"}),
    };
    set["spec"]["minReadySeconds"] = json!(if kind % 2 == 1 { 5 } else { 0 });
}
