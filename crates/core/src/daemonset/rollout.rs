//! The update step: old pods are replaced within the limits (section 5).
//!
//! It runs only in a round whose base step writes nothing, so each of its decisions is made from a view
//! that shows all earlier ones.

use super::budget::Budget;
use super::fleet::Fleet;
use super::manage::Steps;
use super::policy::Policy;
use super::slot::{CreateReason, DeleteReason};
use super::tally::Names;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Works out the update step. It looks only at nodes it changes.
pub fn rollout(fleet: &Fleet, policy: &Policy) -> Steps {
    if !fleet.daemon_set().spec.update_strategy.is_rolling() {
        return Steps::default();
    }
    let budget = Budget::of(fleet.daemon_set(), fleet.tally().desired);
    let steps = if budget.max_surge == 0 {
        replace(fleet, budget.max_unavailable)
    } else {
        surge(fleet, budget.max_surge)
    };
    steps.bounded(policy)
}

/// Without surge: unavailable old pods go at once, available ones as far as the budget allows.
fn replace(fleet: &Fleet, max_unavailable: usize) -> Steps {
    let tally = fleet.tally();
    let mut steps = Steps::default();
    let unavailable = first_of_both(
        &tally.old_unavailable,
        &tally.leaving_unavailable,
        usize::MAX,
    );
    delete_old(
        fleet,
        &unavailable,
        DeleteReason::OutdatedUnavailable,
        &mut steps,
    );
    let budget = max_unavailable.saturating_sub(tally.unavailable + unavailable.len());
    let candidates = first_of_both(&tally.old_available, &tally.leaving_available, budget);
    delete_old(fleet, &candidates, DeleteReason::Outdated, &mut steps);
    steps
}

/// With surge: the new pod starts first, and the old one goes when it is available.
fn surge(fleet: &Fleet, max_surge: usize) -> Steps {
    let tally = fleet.tally();
    let mut steps = Steps::default();
    delete_old(
        fleet,
        &all(&tally.succeeded),
        DeleteReason::Succeeded,
        &mut steps,
    );
    let leaving = all(&tally.leaving_unavailable);
    delete_old(
        fleet,
        &leaving,
        DeleteReason::OutdatedUnavailable,
        &mut steps,
    );
    let dispensable = tally.available_anywhere.saturating_sub(tally.desired);
    let leaving: Vec<_> = tally
        .leaving_available
        .iter()
        .take(dispensable)
        .cloned()
        .collect();
    delete_old(fleet, &leaving, DeleteReason::NoLongerNeeded, &mut steps);
    for name in &tally.old_unavailable {
        steps.create(name, CreateReason::OldUnavailable);
    }
    for name in tally
        .old_available
        .iter()
        .take(max_surge.saturating_sub(tally.surging))
    {
        steps.create(name, CreateReason::Surge);
    }
    steps
}

fn delete_old(fleet: &Fleet, names: &[Arc<str>], reason: DeleteReason, steps: &mut Steps) {
    for name in names {
        let pair = fleet.slot(name).and_then(|slot| slot.pair(fleet.rules()));
        if let Some(old) = pair.and_then(|pair| pair.old) {
            steps.delete(name, old, reason);
        }
    }
}

fn all(names: &Names) -> Vec<Arc<str>> {
    names.iter().cloned().collect()
}

/// The first names of two sets taken together, in order.
fn first_of_both(a: &Names, b: &Names, count: usize) -> Vec<Arc<str>> {
    let mut names: Vec<_> = a
        .iter()
        .take(count)
        .chain(b.iter().take(count))
        .cloned()
        .collect();
    names.sort();
    names.truncate(count);
    names
}
