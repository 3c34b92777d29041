//! Section 5: the update step.

use super::{View, create, delete, is_available, is_updated, judge, places, pods_of};
use crate::daemonset::budget::Budget;
use crate::daemonset::plan::Plan;
use crate::daemonset::slot::{CreateReason, DeleteReason};
use crate::pod::Pod;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// The pods of a node that count: those that are not being deleted.
struct Place {
    name: Arc<str>,
    should_run: bool,
    new: Vec<Arc<Pod>>,
    old: Vec<Arc<Pod>>,
}

/// Every node that should run or has pods.
fn walk(view: &View) -> Vec<Place> {
    let place = |name: String| {
        let should_run = view
            .nodes
            .get(&name)
            .is_some_and(|node| judge(&view.set, node).0);
        let pods = pods_of(view, &name);
        if pods.is_empty() && !should_run {
            return None;
        }
        let staying = pods.into_iter().filter(|pod| !pod.metadata.is_deleting());
        let (new, old) = staying.partition(|pod| is_updated(view, pod));
        Some(Place {
            name: Arc::from(&*name),
            should_run,
            new,
            old,
        })
    };
    places(view).into_iter().filter_map(place).collect()
}

/// Replaces old pods within the limits.
pub(super) fn update(view: &View, plan: &mut Plan) {
    if !view.set.spec.update_strategy.is_rolling() {
        return;
    }
    let desired = view
        .nodes
        .values()
        .filter(|node| judge(&view.set, node).0)
        .count();
    let budget = Budget::of(&view.set, desired);
    if budget.max_surge == 0 {
        replace(view, budget.max_unavailable, plan);
    } else {
        surge(view, budget.max_surge, desired, plan);
    }
}

fn replace(view: &View, max_unavailable: usize, plan: &mut Plan) {
    let mut unavailable = 0;
    let mut candidates = Vec::new();
    for place in walk(view) {
        match (&*place.new, &*place.old) {
            ([new], []) => unavailable += usize::from(!is_available(view, new)),
            ([], [old]) if is_available(view, old) => candidates.push((place.name, old.clone())),
            ([], [old]) => {
                unavailable += 1;
                delete(plan, &place.name, old, DeleteReason::OutdatedUnavailable);
            }
            _ => unavailable += 1,
        }
    }
    for (name, old) in candidates
        .iter()
        .take(max_unavailable.saturating_sub(unavailable))
    {
        delete(plan, name, old, DeleteReason::Outdated);
    }
}

fn surge(view: &View, max_surge: usize, desired: usize, plan: &mut Plan) {
    let (mut surging, mut available) = (0, 0);
    let (mut candidates, mut leaving) = (Vec::new(), Vec::new());
    let mut creates = Vec::new();
    for place in walk(view) {
        if place.new.len() > 1 || place.old.len() > 1 {
            surging += 1;
            continue;
        }
        let (new, old) = (place.new.first(), place.old.first());
        available += usize::from(old.or(new).is_some_and(|pod| is_available(view, pod)));
        let Some(old) = old else { continue };
        match (new, is_available(view, old), place.should_run) {
            (Some(new), _, _) if is_available(view, new) => {
                delete(plan, &place.name, old, DeleteReason::Succeeded);
            }
            (Some(_), _, _) => surging += 1,
            (None, true, true) => candidates.push(place.name),
            (None, true, false) => leaving.push((place.name, old.clone())),
            (None, false, true) => creates.push(place.name),
            (None, false, false) => {
                delete(plan, &place.name, old, DeleteReason::OutdatedUnavailable);
            }
        }
    }
    for (name, old) in leaving.iter().take(available.saturating_sub(desired)) {
        delete(plan, name, old, DeleteReason::NoLongerNeeded);
    }
    for name in &creates {
        create(plan, name, CreateReason::OldUnavailable);
    }
    for name in candidates.iter().take(max_surge.saturating_sub(surging)) {
        create(plan, name, CreateReason::Surge);
    }
}
