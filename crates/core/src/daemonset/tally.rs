//! The counters and ordered sets of a fleet, kept by transition.

use super::slot::{Facts, Walk};
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use jiff::Timestamp;

/// Names of nodes, in the stable order of rollouts.
pub type Names = BTreeSet<Arc<str>>;

/// What a plan needs to know about all nodes at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Nodes that should run the pod.
    pub desired: usize,
    /// Those of them that have one.
    pub current: usize,
    /// Nodes that should not run the pod and have one.
    pub misscheduled: usize,
    /// Nodes that should run it and whose pod is Ready.
    pub ready: usize,
    /// Nodes that should run it and whose pod is available.
    pub available: usize,
    /// Nodes that should run it and whose pod is of the current template.
    pub updated: usize,
    /// Without surge: nodes that are unavailable and where the update does nothing itself.
    pub unavailable: usize,
    /// With surge: nodes that occupy a surge slot.
    pub surging: usize,
    /// With surge: nodes that hold an available pod, wanted or not.
    pub available_anywhere: usize,
    /// Nodes where the base step has something to do.
    pub needs_work: Names,
    /// Nodes that should run the pod and have only an old one, available.
    pub old_available: Names,
    /// The same, not available.
    pub old_unavailable: Names,
    /// Nodes that should not run the pod and have only an old one, available.
    pub leaving_available: Names,
    /// The same, not available.
    pub leaving_unavailable: Names,
    /// Nodes with an available new pod beside the old one.
    pub succeeded: Names,
    /// When Ready pods become available.
    pub changes: BTreeSet<(Timestamp, Arc<str>)>,
}

impl Tally {
    /// Adds a node.
    pub fn add(&mut self, name: &Arc<str>, facts: &Facts) {
        self.count(facts, |counter| *counter += 1);
        if facts.needs_work {
            self.needs_work.insert(name.clone());
        }
        if let Some(set) = self.set_of(facts.walk) {
            set.insert(name.clone());
        }
        if let Some(at) = facts.changes_at {
            self.changes.insert((at, name.clone()));
        }
    }

    /// Takes a node out; `facts` are those it was added with.
    pub fn remove(&mut self, name: &Arc<str>, facts: &Facts) {
        self.count(facts, |counter| *counter -= 1);
        if facts.needs_work {
            self.needs_work.remove(name);
        }
        if let Some(set) = self.set_of(facts.walk) {
            set.remove(name);
        }
        if let Some(at) = facts.changes_at {
            self.changes.remove(&(at, name.clone()));
        }
    }

    fn count(&mut self, facts: &Facts, step: impl Fn(&mut usize)) {
        let when = |flag: bool, counter: &mut usize| {
            if flag {
                step(counter);
            }
        };
        when(facts.desired, &mut self.desired);
        when(facts.current, &mut self.current);
        when(facts.misscheduled, &mut self.misscheduled);
        when(facts.ready, &mut self.ready);
        when(facts.available, &mut self.available);
        when(facts.updated, &mut self.updated);
        when(is_unavailable(facts.walk), &mut self.unavailable);
        when(is_surging(facts.walk), &mut self.surging);
        when(holds_available(facts.walk), &mut self.available_anywhere);
    }

    fn set_of(&mut self, walk: Walk) -> Option<&mut Names> {
        match walk {
            Walk::Old {
                available: true,
                wanted: true,
            } => Some(&mut self.old_available),
            Walk::Old {
                available: false,
                wanted: true,
            } => Some(&mut self.old_unavailable),
            Walk::Old {
                available: true,
                wanted: false,
            } => Some(&mut self.leaving_available),
            Walk::Old {
                available: false,
                wanted: false,
            } => Some(&mut self.leaving_unavailable),
            Walk::Both {
                new_available: true,
                ..
            } => Some(&mut self.succeeded),
            Walk::Outside | Walk::Empty | Walk::Excess | Walk::New { .. } | Walk::Both { .. } => {
                None
            }
        }
    }
}

/// Without surge: unavailable, and left to the base step or to time.
fn is_unavailable(walk: Walk) -> bool {
    matches!(
        walk,
        Walk::Empty | Walk::Excess | Walk::Both { .. } | Walk::New { available: false }
    )
}

/// With surge: holds an extra pod that is not available yet, or more pods than it should.
fn is_surging(walk: Walk) -> bool {
    matches!(
        walk,
        Walk::Excess
            | Walk::Both {
                new_available: false,
                ..
            }
    )
}

/// With surge: the old pod, or else the new one, is available.
fn holds_available(walk: Walk) -> bool {
    matches!(
        walk,
        Walk::New { available: true }
            | Walk::Old {
                available: true,
                ..
            }
            | Walk::Both {
                old_available: true,
                ..
            }
    )
}
