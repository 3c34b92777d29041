//! Making room for a pod by sending pods of lower priority away.

use super::demand::Demand;
use super::filter::Candidate;
use super::message::{self, Histogram};
use super::node_info::NodeInfo;
use super::scheduler::Scheduler;
use super::try_pod::Refused;
use super::{Preemption, victim_patch};
use crate::pod::{Pod, PodRef};
use alloc::borrow::{Cow, ToOwned};
use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};
use core::cmp::Reverse;
use jiff::Timestamp;

/// How many nodes are tried in full at most (upstream: `minCandidateNodesAbsolute`).
const CANDIDATES_MAX: usize = 100;

/// What is done to make room for a pod.
#[derive(Debug, Default)]
pub(super) struct MakingRoom {
    /// Where, if anything is done or was done before and is under way.
    pub(super) node: Option<String>,
    /// What was decided now.
    pub(super) preemption: Option<Preemption>,
    /// Why nothing is done, as the end of the pod's message.
    pub(super) message: Option<String>,
}

/// A node and the pods that would have to go.
struct Choice {
    node: String,
    /// Most important first.
    victims: Vec<Victim>,
}

struct Victim {
    uid: String,
    demand: Demand,
    started: Option<Timestamp>,
}

impl Victim {
    /// Order of importance: higher priority, then longer running.
    fn rank(&self) -> (Reverse<i32>, bool, Option<Timestamp>, &str) {
        let priority = Reverse(self.demand.priority);
        (priority, self.started.is_none(), self.started, &self.uid)
    }
}

impl Choice {
    /// Smaller is better: lowest top priority, lowest sum, fewest, top ones started last.
    fn cost(&self) -> (i32, i64, usize, Reverse<Option<Timestamp>>, &str) {
        let top = self
            .victims
            .iter()
            .map(|v| v.demand.priority)
            .max()
            .unwrap_or(i32::MIN);
        // Shifted so that a larger number of victims never sums up to less.
        let above_lowest = |v: &Victim| i64::from(v.demand.priority) - i64::from(i32::MIN);
        let sum = self.victims.iter().map(above_lowest).sum();
        let first = self
            .victims
            .iter()
            .filter(|v| v.demand.priority == top)
            .filter_map(|v| v.started)
            .min();
        (top, sum, self.victims.len(), Reverse(first), &self.node)
    }
}

fn nothing(reason: String) -> MakingRoom {
    MakingRoom {
        message: Some(reason),
        ..MakingRoom::default()
    }
}

impl Scheduler {
    /// Decides whose place a refused pod takes, if anybody's.
    pub(super) fn make_room(
        &mut self,
        pod: &Pod,
        demand: &Demand,
        refused: Vec<Refused>,
        now: Timestamp,
    ) -> MakingRoom {
        if self.nodes.is_empty() {
            return MakingRoom::default();
        }
        if pod.spec.preemption_policy == "Never" {
            return nothing("preemption: not eligible due to preemptionPolicy=Never.".to_owned());
        }
        if let Some(node) = self.room_under_way(pod, demand.priority) {
            let reason = "preemption: not eligible due to a terminating pod on the nominated node.";
            return MakingRoom {
                node: Some(node),
                ..nothing(reason.to_owned())
            };
        }
        let mut reasons = Histogram::default();
        let mut choices: Vec<Choice> = Vec::new();
        let total = self.nodes.len();
        reasons.count(message::NOT_HELPFUL.into(), total - refused.len());
        for Refused { node, rejection } in refused {
            if !rejection.preemption_may_help {
                reasons.count(message::NOT_HELPFUL.into(), 1);
                continue;
            }
            if choices.len() >= CANDIDATES_MAX {
                break;
            }
            match self.victims_on(&node, pod, demand) {
                Ok(victims) => choices.push(Choice { node, victims }),
                Err(why) => why.into_iter().for_each(|why| reasons.count(why, 1)),
            }
        }
        match choices.into_iter().min_by(|a, b| a.cost().cmp(&b.cost())) {
            Some(choice) => self.take(pod, choice, now),
            None => nothing(format!("preemption: {}", reasons.message(total))),
        }
    }

    /// The node on which pods are going away for this one already.
    fn room_under_way(&self, pod: &Pod, priority: i32) -> Option<String> {
        let node = self.pods.get(&pod.metadata.uid)?.nominated.clone()?;
        let info = self.infos.get(&node)?;
        let going = |uid: &String| {
            let seen = self.pods.get(uid).map(|e| e.pod.metadata.is_deleting());
            self.victims.contains(uid) || seen == Some(true)
        };
        info.pods()
            .iter()
            .any(|(uid, demand)| demand.priority < priority && going(uid))
            .then_some(node)
    }

    /// The pods that would have to go from a node, as few and as unimportant as possible.
    ///
    /// All of lower priority are taken away; if the pod fits then, they are let back in, the most
    /// important first, as long as it still fits.
    fn victims_on(
        &self,
        node: &str,
        pod: &Pod,
        demand: &Demand,
    ) -> Result<Vec<Victim>, Vec<Cow<'static, str>>> {
        let none = || vec![Cow::Borrowed(message::NO_VICTIMS)];
        let (Some(entry), Some(info)) = (self.nodes.get(node), self.infos.get(node)) else {
            return Err(none());
        };
        let mut lower = self.lower_than(info, demand.priority);
        if lower.is_empty() {
            return Err(none());
        }
        let mut info = self.with_nominated(node, pod, info).into_owned();
        for victim in &lower {
            info.remove_pod(&victim.uid);
        }
        let refusal = |info: &NodeInfo| {
            let candidate = Candidate {
                node: &entry.node,
                capacity: &entry.capacity,
                info,
            };
            candidate.first_rejection(pod, demand)
        };
        if let Some(rejection) = refusal(&info) {
            return Err(rejection.reasons);
        }
        lower.sort_by(|a, b| a.rank().cmp(&b.rank()));
        let mut victims = Vec::new();
        for victim in lower {
            info.add(&victim.uid, victim.demand.clone());
            if refusal(&info).is_some() {
                info.remove_pod(&victim.uid);
                victims.push(victim);
            }
        }
        Ok(victims)
    }

    fn lower_than(&self, info: &NodeInfo, priority: i32) -> Vec<Victim> {
        info.pods()
            .iter()
            .filter(|(_, demand)| demand.priority < priority)
            .map(|(uid, demand)| Victim {
                uid: uid.clone(),
                demand: demand.clone(),
                started: self.pods.get(uid).and_then(|e| e.pod.status.start_time),
            })
            .collect()
    }

    fn take(&mut self, pod: &Pod, choice: Choice, now: Timestamp) -> MakingRoom {
        let going = |uid: &str| {
            let entry = self.pods.get(uid);
            entry.is_some_and(|e| e.pod.metadata.is_deleting()) || self.victims.contains(uid)
        };
        // Those that are on their way out already need no second push.
        let fresh: Vec<String> = choice
            .victims
            .iter()
            .map(|v| v.uid.clone())
            .filter(|uid| !going(uid))
            .collect();
        let victims: Vec<PodRef> = fresh.iter().filter_map(|uid| self.reference(uid)).collect();
        self.victims.extend(fresh);
        let preemption = (!victims.is_empty()).then(|| Preemption {
            pod: pod.reference(),
            node: choice.node.clone(),
            victims,
            victim_patch: victim_patch(now),
        });
        MakingRoom {
            node: Some(choice.node),
            preemption,
            message: None,
        }
    }
}
