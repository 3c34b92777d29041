//! Watch events into the index.

use super::EventLoop;
use crate::views::{DaemonSetView, RevisionView};
use jiff::Timestamp;
use pernode_core::node::Node;
use pernode_core::pod::Pod;
use pernode_runtime::{Event, Object};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Which kinds have been listed once. Before all have, a plan would miss what is there.
#[derive(Debug, Default)]
pub(super) struct Listed {
    nodes: bool,
    pods: bool,
    daemon_sets: bool,
    revisions: bool,
}

impl Listed {
    /// Whether all kinds have been listed.
    pub(super) fn all(&self) -> bool {
        self.nodes && self.pods && self.daemon_sets && self.revisions
    }
}

/// An event about one object.
enum Change<V> {
    Apply(Arc<V>),
    Gone(Arc<V>),
}

/// Single changes from a batch, and whether it holds a whole list. What `known` has and the list does
/// not have is gone.
fn unfold<V: Object>(
    batch: Vec<Event<V>>,
    known: impl FnOnce() -> Vec<Arc<V>>,
) -> (Vec<Change<V>>, bool) {
    let listed = batch.iter().any(|event| matches!(event, Event::Reset(_)));
    let mut known = if listed { known() } else { Vec::new() };
    let mut changes = Vec::with_capacity(batch.len());
    for event in batch {
        match event {
            Event::Reset(all) => {
                let kept: BTreeSet<&str> = all.iter().map(|object| &*object.meta().uid).collect();
                known.retain(|object| !kept.contains(&*object.meta().uid));
                changes.extend(known.drain(..).map(Change::Gone));
                changes.extend(all.iter().cloned().map(Change::Apply));
            }
            Event::Apply(object) => changes.push(Change::Apply(object)),
            Event::Delete(object) => changes.push(Change::Gone(object)),
        }
    }
    (changes, listed)
}

// Each function is false when the informer stopped, which an empty batch says.
impl EventLoop {
    pub(super) fn take_nodes(&mut self, batch: Vec<Event<Node>>) -> bool {
        let going = !batch.is_empty();
        let (changes, listed) = unfold(batch, || self.index.nodes().cloned().collect());
        self.listed.nodes |= listed;
        for change in changes {
            let wakes = match change {
                Change::Apply(node) => self.index.apply_node(&node),
                Change::Gone(node) => self.index.remove_node(&node.metadata.name),
            };
            self.wake(wakes);
        }
        going
    }

    pub(super) fn take_pods(&mut self, batch: Vec<Event<Pod>>) -> bool {
        let going = !batch.is_empty();
        let (changes, listed) = unfold(batch, || self.index.pods().cloned().collect());
        self.listed.pods |= listed;
        for change in changes {
            let wakes = match change {
                Change::Apply(pod) => self.index.apply_pod(&pod),
                Change::Gone(pod) => self.index.remove_pod(&pod),
            };
            self.wake(wakes);
        }
        going
    }

    pub(super) fn take_daemon_sets(&mut self, batch: Vec<Event<DaemonSetView>>) -> bool {
        let going = !batch.is_empty();
        self.index.set_now(Timestamp::now());
        let known = || {
            let sets = self
                .index
                .fleets()
                .map(|(_, fleet)| fleet.daemon_set().clone());
            sets.map(|set| Arc::new(DaemonSetView(set))).collect()
        };
        let (changes, listed) = unfold(batch, known);
        self.listed.daemon_sets |= listed;
        for change in changes {
            let wakes = match change {
                Change::Apply(set) => self.index.apply_daemon_set(&set.0),
                Change::Gone(set) => self.index.remove_daemon_set(&set.0.metadata),
            };
            self.wake(wakes);
        }
        going
    }

    pub(super) fn take_revisions(&mut self, batch: Vec<Event<RevisionView>>) -> bool {
        let going = !batch.is_empty();
        let known = || {
            let revisions = self.index.revisions().cloned();
            revisions
                .map(|revision| Arc::new(RevisionView(revision)))
                .collect()
        };
        let (changes, listed) = unfold(batch, known);
        self.listed.revisions |= listed;
        for change in changes {
            let wakes = match change {
                Change::Apply(revision) => self.index.apply_revision(&revision.0),
                Change::Gone(revision) => self.index.remove_revision(&revision.0),
            };
            self.wake(wakes);
        }
        going
    }
}
