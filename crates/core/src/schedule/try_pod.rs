//! The attempt to place one pod.

use super::aim::Aim;
use super::filter::{Candidate, Rejection};
use super::message::{self, Histogram};
use super::node_info::{Capacity, NodeInfo};
use super::preempt::MakingRoom;
use super::scheduler::{NodeEntry, Scheduler};
use super::{Demand, score};
use crate::pod::Pod;
use alloc::borrow::{Cow, ToOwned};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Bound;
use jiff::Timestamp;

/// How many fitting nodes are compared at most (upstream: `minFeasibleNodesToFind`).
const FEASIBLE_MAX: usize = 100;

/// How an attempt ended.
#[derive(Debug)]
pub(super) enum Attempt {
    /// It goes to this node.
    Fits(String),
    /// No node takes it now.
    Refused {
        message: String,
        making_room: MakingRoom,
    },
}

/// Refusals within one plan, by what decided them.
///
/// As long as no reserved room is given up, nodes only get fuller within one plan, so a pod that asks for the same as one that was refused
/// is refused with the same words, without looking at the nodes again.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    by_class: BTreeMap<String, String>,
    /// How often room had been given up when they were noted.
    given_up: u64,
}

impl Refusals {
    fn get(&mut self, class: &str, given_up: u64) -> Option<&String> {
        if self.given_up != given_up {
            self.by_class.clear();
            self.given_up = given_up;
        }
        self.by_class.get(class)
    }
}

/// A node that refused, and why.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) node: String,
    pub(super) rejection: Rejection,
}

/// What the nodes said.
#[derive(Debug, Default)]
struct Answers {
    fitting: Vec<String>,
    refused: Vec<Refused>,
}

impl Scheduler {
    pub(super) fn try_pod(
        &mut self,
        pod: &Pod,
        aim: &Aim,
        refusals: &mut Refusals,
        now: Timestamp,
    ) -> Attempt {
        let class = (*aim == Aim::Anywhere).then(|| class_of(pod));
        let given_up = self.given_up;
        let known = class
            .as_ref()
            .and_then(|class| refusals.get(class, given_up));
        if let Some(message) = known {
            return Attempt::Refused {
                message: message.clone(),
                making_room: MakingRoom::default(),
            };
        }
        let demand = Demand::of(pod);
        let answers = self.ask(pod, &demand, aim);
        if let Some(node) = self.best(pod, &demand, &answers.fitting) {
            return Attempt::Fits(node);
        }
        let reasons = self.reasons(aim, &answers.refused);
        let making_room = self.make_room(pod, &demand, answers.refused, now);
        let message = [Some(reasons), making_room.message.clone()];
        let message = message.into_iter().flatten().collect::<Vec<_>>().join(" ");
        if let (Some(class), None) = (class, &making_room.node) {
            refusals.by_class.insert(class, message.clone());
        }
        Attempt::Refused {
            message,
            making_room,
        }
    }

    fn ask(&mut self, pod: &Pod, demand: &Demand, aim: &Aim) -> Answers {
        let mut answers = Answers::default();
        if let Some(node) = self.nominated_node(pod) {
            let entry = self.nodes.get_key_value(&node);
            self.ask_nodes(pod, demand, entry.into_iter(), &mut answers);
            if !answers.fitting.is_empty() {
                return answers;
            }
            answers = Answers::default();
        }
        match aim {
            Aim::Nodes(names) => {
                let nodes = names
                    .iter()
                    .filter_map(|name| self.nodes.get_key_value(name));
                self.ask_nodes(pod, demand, nodes, &mut answers);
            }
            Aim::Anywhere => {
                let start = (Bound::Excluded(self.cursor.clone()), Bound::Unbounded);
                let end = (Bound::Unbounded, Bound::Included(self.cursor.clone()));
                let round = self
                    .nodes
                    .range::<String, _>(start)
                    .chain(self.nodes.range::<String, _>(end));
                self.ask_nodes(pod, demand, round, &mut answers);
                if let Some(last) = answers.fitting.last() {
                    self.cursor.clone_from(last);
                }
            }
        }
        answers
    }

    fn nominated_node(&self, pod: &Pod) -> Option<String> {
        self.pods.get(&pod.metadata.uid)?.nominated.clone()
    }

    fn ask_nodes<'a>(
        &self,
        pod: &Pod,
        demand: &Demand,
        nodes: impl Iterator<Item = (&'a String, &'a NodeEntry)>,
        answers: &mut Answers,
    ) {
        let empty = NodeInfo::default();
        for (name, entry) in nodes {
            let info = self.infos.get(name).unwrap_or(&empty);
            let info = self.with_nominated(name, pod, info);
            let candidate = Candidate {
                node: &entry.node,
                capacity: &entry.capacity,
                info: &info,
            };
            match candidate.first_rejection(pod, demand) {
                None => answers.fitting.push(name.clone()),
                Some(rejection) => answers.refused.push(Refused {
                    node: name.clone(),
                    rejection,
                }),
            }
            if answers.fitting.len() >= FEASIBLE_MAX {
                return;
            }
        }
    }

    /// What is taken on a node, with those of the same or a higher priority for whom room is
    /// being made there counted as if they had come.
    pub(super) fn with_nominated<'a>(
        &self,
        node: &str,
        pod: &Pod,
        info: &'a NodeInfo,
    ) -> Cow<'a, NodeInfo> {
        let mut info = Cow::Borrowed(info);
        let priority = pod.spec.priority.unwrap_or(0);
        for uid in self.nominated.get(node).into_iter().flatten() {
            let Some(entry) = self.pods.get(uid) else {
                continue;
            };
            if *uid != pod.metadata.uid && entry.pod.spec.priority.unwrap_or(0) >= priority {
                info.to_mut().add_pod(&entry.pod);
            }
        }
        info
    }

    fn best(&self, pod: &Pod, demand: &Demand, fitting: &[String]) -> Option<String> {
        if let [only] = fitting {
            return Some(only.clone());
        }
        let (empty, none) = (NodeInfo::default(), Capacity::default());
        let best = fitting.iter().min_by_key(|name| {
            let info = self.infos.get(*name).unwrap_or(&empty);
            let entry = self.nodes.get(*name);
            let capacity = entry.map_or(&none, |e| &e.capacity);
            let avoided = entry.map_or(0, |e| score::avoided(pod, &e.node));
            (avoided, score::load(demand, capacity, info), *name)
        });
        best.cloned()
    }

    fn reasons(&self, aim: &Aim, refused: &[Refused]) -> String {
        let total = self.nodes.len();
        if total == 0 {
            return message::NO_NODES.to_owned();
        }
        if matches!(aim, Aim::Nodes(names) if names.is_empty()) {
            return format!("0/{total} nodes are available: {}.", message::CONFLICT);
        }
        let mut reasons = Histogram::default();
        for Refused { rejection, .. } in refused {
            for reason in &rejection.reasons {
                reasons.count(reason.clone(), 1);
            }
        }
        reasons.count(message::NOT_NAMED.into(), total - refused.len());
        reasons.message(total)
    }
}

/// What decides whether nodes take a pod, as text. Equal texts get equal answers.
fn class_of(pod: &Pod) -> String {
    serde_json::to_value(&pod.spec).map_or_else(|_| pod.metadata.uid.clone(), |v| v.to_string())
}
