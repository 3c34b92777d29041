//! The pods without a node: those to look at, and those that wait for something to change.

use super::aim::Aim;
use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;
use jiff::Timestamp;

/// Order in which pods are looked at: higher priority first, then older, then by uid.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    priority: Reverse<i32>,
    created: Option<Timestamp>,
    uid: String,
}

#[derive(Debug)]
struct Entry {
    rank: Rank,
    aim: Aim,
    /// Set while a failed write keeps it away.
    until: Option<Timestamp>,
}

/// Invariant: each uid in `active`, `waiting` sets or `resting` is in `entries`.
#[derive(Debug, Default)]
pub(super) struct Queue {
    entries: BTreeMap<String, Entry>,
    active: BTreeSet<Rank>,
    waiting_anywhere: BTreeSet<String>,
    waiting_for: BTreeMap<String, BTreeSet<String>>,
    resting: BTreeSet<(Timestamp, String)>,
}

impl Queue {
    /// Takes a pod in, or anew when it changed; it is looked at next time.
    pub(super) fn push(&mut self, uid: &str, priority: i32, created: Option<Timestamp>, aim: Aim) {
        self.remove(uid);
        let rank = Rank {
            priority: Reverse(priority),
            created,
            uid: uid.to_owned(),
        };
        self.active.insert(rank.clone());
        let entry = Entry {
            rank,
            aim,
            until: None,
        };
        self.entries.insert(uid.to_owned(), entry);
    }

    /// Takes a pod out.
    pub(super) fn remove(&mut self, uid: &str) {
        let Some(entry) = self.entries.remove(uid) else {
            return;
        };
        self.active.remove(&entry.rank);
        self.unwait(uid, &entry.aim);
        if let Some(until) = entry.until {
            self.resting.remove(&(until, uid.to_owned()));
        }
    }

    fn unwait(&mut self, uid: &str, aim: &Aim) {
        match aim {
            Aim::Anywhere => drop(self.waiting_anywhere.remove(uid)),
            Aim::Nodes(nodes) => {
                for node in nodes {
                    self.unwait_for(node, uid);
                }
            }
        }
    }

    fn unwait_for(&mut self, node: &str, uid: &str) {
        if let Some(uids) = self.waiting_for.get_mut(node) {
            uids.remove(uid);
            if uids.is_empty() {
                self.waiting_for.remove(node);
            }
        }
    }

    /// The pod to look at next, with its aim. It stays in the queue: [`Queue::wait`] or
    /// [`Queue::remove`] follows.
    pub(super) fn pop(&mut self) -> Option<(String, Aim)> {
        let rank = self.active.pop_first()?;
        let aim = self.entries.get(&rank.uid)?.aim.clone();
        Some((rank.uid, aim))
    }

    /// The pod waits until something happens that concerns it.
    pub(super) fn wait(&mut self, uid: &str) {
        let Some(entry) = self.entries.get(uid) else {
            return;
        };
        match &entry.aim {
            Aim::Anywhere => drop(self.waiting_anywhere.insert(uid.to_owned())),
            Aim::Nodes(nodes) => {
                for node in nodes {
                    let uids = self.waiting_for.entry(node.clone()).or_default();
                    uids.insert(uid.to_owned());
                }
            }
        }
    }

    /// A write about the pod failed: it rests.
    pub(super) fn rest(&mut self, uid: &str, until: Timestamp) {
        let Some(entry) = self.entries.get_mut(uid) else {
            return;
        };
        let old = entry.until.replace(until);
        self.active.remove(&entry.rank);
        let aim = entry.aim.clone();
        self.unwait(uid, &aim);
        if let Some(old) = old {
            self.resting.remove(&(old, uid.to_owned()));
        }
        self.resting.insert((until, uid.to_owned()));
    }

    /// Something happened on a node: pods that wait for it, or for anything, are looked at again.
    pub(super) fn wake(&mut self, node: &str) {
        let mut uids: Vec<String> = core::mem::take(&mut self.waiting_anywhere)
            .into_iter()
            .collect();
        uids.extend(self.waiting_for.remove(node).into_iter().flatten());
        for uid in uids {
            let Some(entry) = self.entries.get(&uid) else {
                continue;
            };
            self.active.insert(entry.rank.clone());
            if let Aim::Nodes(nodes) = entry.aim.clone() {
                for node in &nodes {
                    self.unwait_for(node, &uid);
                }
            }
        }
    }

    /// Lets pods that have rested come back.
    pub(super) fn advance(&mut self, now: Timestamp) {
        while self.resting.first().is_some_and(|(until, _)| *until <= now) {
            let Some((_, uid)) = self.resting.pop_first() else {
                return;
            };
            if let Some(entry) = self.entries.get_mut(&uid) {
                entry.until = None;
                self.active.insert(entry.rank.clone());
            }
        }
    }

    /// When a pod comes back from its rest.
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.resting.first().map(|(until, _)| *until)
    }

    /// Pods that have no node: to look at, waiting, resting.
    pub(super) fn len(&self) -> (usize, usize, usize) {
        let (active, resting) = (self.active.len(), self.resting.len());
        (active, self.entries.len() - active - resting, resting)
    }
}
