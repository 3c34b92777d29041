//! Deletion as a decision: does the object go, stay for a while, or is nothing to be done?
//!
//! Only pods have a grace period. Finalizers hold every kind. Source: spec/apiserver.md 2.11 and
//! the cases of delete.yaml.

use crate::object::{Object, Read, Write};
use crate::resource::Resource;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// The finalizer that makes the garbage collector delete dependents first.
pub const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer that makes the garbage collector cut dependents loose first.
pub const ORPHAN: &str = "orphan";

/// How the grace period of an object answers a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grace {
    /// The kind has no grace: it goes at once, unless finalizers hold it.
    Absent,
    /// The grace period begins now. Zero seconds: it goes at once, unless finalizers hold it.
    Begin {
        /// Length of the grace period.
        seconds: i64,
    },
    /// The running grace period becomes shorter.
    Shorten {
        /// Length of the grace period, counted from the first deletion.
        seconds: i64,
    },
    /// The running grace period goes on: there is nothing to do.
    Running,
}

/// What happens to the dependents of a deleted object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// The object goes at once and the garbage collector deletes its dependents.
    Background,
    /// The object stays until its dependents are gone.
    Foreground,
    /// The dependents stay and lose their reference to the owner.
    Orphan,
}

impl Propagation {
    /// Reads the word used in `DeleteOptions`.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "Background" => Some(Self::Background),
            "Foreground" => Some(Self::Foreground),
            "Orphan" => Some(Self::Orphan),
            _ => None,
        }
    }
}

/// The options of a deletion that change what happens to the object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Grace period asked for, in seconds.
    pub grace_period_seconds: Option<i64>,
    /// What happens to dependents; the kind's default when absent.
    pub propagation: Option<Propagation>,
    /// The old way to say [`Propagation::Orphan`] (true) or not (false).
    pub orphan_dependents: Option<bool>,
}

/// What a deletion does to the stored object.
#[derive(Debug, Clone, PartialEq)]
pub enum Deletion {
    /// Remove it; this is its last state.
    Remove(Value),
    /// Store this state: it is marked as deleted and stays for now.
    Keep(Value),
    /// It is marked already and this deletion adds nothing.
    Unchanged,
}

/// Decides on the grace period of a deletion.
///
/// Pods that run nowhere or have ended go at once. A second deletion can only shorten.
pub fn deletion_grace(resource: &Resource, object: &Value, requested: Option<i64>) -> Grace {
    if resource.kind != "Pod" || !resource.group.is_empty() {
        return Grace::Absent;
    }
    // Negative periods count as one second.
    let at_least_one = |seconds: i64| if seconds < 0 { 1 } else { seconds };
    let requested = requested.map(at_least_one);
    if object.path(&["metadata", "deletionTimestamp"]).is_none() {
        let seconds = requested.unwrap_or_else(|| default_grace(object));
        let seconds = if may_go_at_once(object) { 0 } else { seconds };
        return Grace::Begin {
            seconds: at_least_one(seconds),
        };
    }
    let running = object
        .path(&["metadata", "deletionGracePeriodSeconds"])
        .and_then(Value::as_i64);
    match (running.map(at_least_one), requested) {
        (None, _) => Grace::Absent,
        (Some(running), Some(seconds)) if seconds < running => Grace::Shorten { seconds },
        _ => Grace::Running,
    }
}

fn default_grace(pod: &Value) -> i64 {
    pod.path(&["spec", "terminationGracePeriodSeconds"])
        .and_then(Value::as_i64)
        .unwrap_or_default()
}

fn may_go_at_once(pod: &Value) -> bool {
    let unassigned = pod
        .path(&["spec", "nodeName"])
        .and_then(Value::as_str)
        .unwrap_or_default()
        .is_empty();
    let phase = pod.path(&["status", "phase"]).and_then(Value::as_str);
    unassigned || matches!(phase, Some("Succeeded" | "Failed"))
}

/// Decides what a deletion does to an object, finalizers included.
pub fn plan_deletion(
    resource: &Resource,
    object: &Value,
    options: &Options,
    now: Timestamp,
) -> Deletion {
    let grace = deletion_grace(resource, object, options.grace_period_seconds);
    let mut next = object.clone();
    let Some(root) = next.as_object_mut() else {
        return Deletion::Remove(next);
    };
    if resource.kind == "Namespace" && object.path(&["metadata", "deletionTimestamp"]).is_none() {
        terminate(root, options, now);
        return Deletion::Keep(next);
    }
    if resource.kind == "Namespace" && has_content(object) {
        return Deletion::Unchanged;
    }
    let metadata = root.object_mut("metadata");
    // Events own nothing, so that there is nothing to wait for.
    let changed = resource.kind != "Event" && set_finalizers(metadata, options);
    let held = !metadata.list("finalizers").is_empty();
    match grace {
        Grace::Running => return Deletion::Unchanged,
        Grace::Begin { seconds } => {
            begin(metadata, seconds, now);
            if held || seconds > 0 {
                return Deletion::Keep(next);
            }
        }
        Grace::Shorten { seconds } => {
            shorten(metadata, seconds, now);
            if held || seconds > 0 {
                return Deletion::Keep(next);
            }
        }
        Grace::Absent if held => {
            let marked = mark(metadata, now);
            if !marked && !changed {
                return Deletion::Unchanged;
            }
            return Deletion::Keep(next);
        }
        Grace::Absent => {}
    }
    Deletion::Remove(next)
}

/// Whether nothing keeps an updated object any longer: it was deleted, and its last finalizer and
/// its grace period are gone. The server removes it instead of storing the update.
pub fn is_finished(object: &Value) -> bool {
    let metadata = &object["metadata"];
    let namespace_held = object.text("kind") == "Namespace" && has_content(object);
    metadata.at("deletionTimestamp").is_some()
        && metadata.list("finalizers").is_empty()
        && metadata.int("deletionGracePeriodSeconds").unwrap_or(0) == 0
        && !namespace_held
}

/// Whether a namespace still has content to be deleted: somebody's finalizer says so.
fn has_content(namespace: &Value) -> bool {
    !namespace["spec"].list("finalizers").is_empty()
}

/// Begins the deletion of a namespace, which takes nothing new from now on.
fn terminate(root: &mut Object, options: &Options, now: Timestamp) {
    let metadata = root.object_mut("metadata");
    metadata.insert("deletionTimestamp".into(), time(now, 0).into());
    set_finalizers(metadata, options);
    root.object_mut("status")
        .insert("phase".into(), "Terminating".into());
}

/// Marks a new deletion: time, grace period, one generation more.
fn begin(metadata: &mut Object, seconds: i64, now: Timestamp) {
    metadata.insert("deletionTimestamp".into(), time(now, seconds).into());
    metadata.insert("deletionGracePeriodSeconds".into(), seconds.into());
    count_generation(metadata);
}

/// Moves the deletion time forward, counted from the time of the first deletion.
fn shorten(metadata: &mut Object, seconds: i64, now: Timestamp) {
    let running = metadata.int("deletionGracePeriodSeconds").unwrap_or(0);
    let planned: Timestamp = metadata
        .text("deletionTimestamp")
        .parse()
        .unwrap_or_else(|_| later(now, running));
    let moved = time(later(planned, -running), seconds);
    metadata.insert("deletionTimestamp".into(), moved.into());
    metadata.insert("deletionGracePeriodSeconds".into(), seconds.into());
}

/// Marks an object that only finalizers hold; says whether it was not marked before.
fn mark(metadata: &mut Object, now: Timestamp) -> bool {
    let first = metadata.at("deletionTimestamp").is_none();
    if first {
        metadata.insert("deletionTimestamp".into(), time(now, 0).into());
        count_generation(metadata);
    }
    let zero = metadata.int("deletionGracePeriodSeconds") == Some(0);
    metadata.insert("deletionGracePeriodSeconds".into(), 0.into());
    first || !zero
}

fn count_generation(metadata: &mut Object) {
    if let Some(generation) = metadata.int("generation").filter(|&n| n > 0) {
        metadata.insert("generation".into(), (generation + 1).into());
    }
}

fn later(time: Timestamp, seconds: i64) -> Timestamp {
    time.checked_add(SignedDuration::from_secs(seconds))
        .unwrap_or(Timestamp::MAX)
}

/// A time in the API's form: RFC 3339, whole seconds, UTC.
fn time(start: Timestamp, seconds: i64) -> String {
    format!("{:.0}", later(start, seconds))
}

/// Adds and removes the finalizers of the propagation policy; says whether that changed anything.
fn set_finalizers(metadata: &mut Object, options: &Options) -> bool {
    let old: Vec<String> = finalizers(metadata);
    let mut known = old.iter().map(String::as_str);
    let first = known.find(|name| [ORPHAN, FOREGROUND].contains(name));
    // What is asked for wins; else finalizers that are there already say what was asked for.
    let orphan = match (options.orphan_dependents, options.propagation) {
        (Some(orphan), _) => orphan,
        (None, Some(policy)) => policy == Propagation::Orphan,
        (None, None) => first == Some(ORPHAN),
    };
    let foreground = match (options.orphan_dependents, options.propagation) {
        (Some(_), _) => false,
        (None, Some(policy)) => policy == Propagation::Foreground,
        (None, None) => first == Some(FOREGROUND),
    };
    let mut new: Vec<String> = old
        .iter()
        .filter(|f| *f != ORPHAN && *f != FOREGROUND)
        .cloned()
        .collect();
    if orphan {
        new.push(ORPHAN.to_owned());
    }
    if foreground {
        new.push(FOREGROUND.to_owned());
    }
    // Only a change of the set is a change; the order of what is there stays.
    let (mut before, mut after) = (old, new.clone());
    before.sort_unstable();
    after.sort_unstable();
    if before == after {
        return false;
    }
    let list = mem::take(&mut new).into_iter().map(Value::String).collect();
    metadata.put(
        "finalizers",
        Some(Value::Array(list)).filter(|_| !after.is_empty()),
    );
    true
}

fn finalizers(metadata: &Object) -> Vec<String> {
    let texts = metadata.list("finalizers").iter().filter_map(Value::as_str);
    texts.map(ToOwned::to_owned).collect()
}
