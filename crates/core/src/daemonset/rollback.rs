//! What `kubectl rollout history` and `undo` make of the revisions.

use super::revision;
use super::view::{DaemonSet, Revision};
use crate::selector::Selector;
use alloc::string::String;
use alloc::vec::Vec;
use serde_json::Value;

/// Annotation with what a person said about a change.
pub const CHANGE_CAUSE: &str = "kubernetes.io/change-cause";

/// One line of the list of revisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Number of the revision.
    pub revision: i64,
    /// What was said about it.
    pub change_cause: Option<String>,
}

/// A revision that cannot be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is none before the last one.
    #[error("no last revision to roll back to")]
    NoEarlierRevision,
    /// No revision of the DaemonSet has this number.
    #[error("unable to find specified revision {0} in history")]
    NotFound(i64),
}

/// What an undo does.
#[derive(Debug, Clone, PartialEq)]
pub enum Undo {
    /// The template becomes that of a revision.
    Patched {
        /// Number of the revision.
        from: i64,
        /// The template.
        template: Value,
    },
    /// The template is that of the revision already.
    AlreadyCurrent,
}

/// The DaemonSet's own revisions that match its selector, by number.
pub fn own<'a>(set: &DaemonSet, revisions: &'a [Revision]) -> Vec<&'a Revision> {
    let selector =
        Selector::from_label_selector(&set.spec.selector).unwrap_or_else(|_| Selector::nothing());
    let is_own = |r: &&Revision| {
        let owner = r.metadata.controller();
        owner.is_some_and(|o| o.uid == set.metadata.uid) && selector.matches(&r.metadata.labels)
    };
    let mut own: Vec<_> = revisions.iter().filter(is_own).collect();
    own.sort_by_key(|r| r.revision);
    own
}

/// The list of revisions.
pub fn list(set: &DaemonSet, revisions: &[Revision]) -> Vec<Row> {
    let row = |r: &Revision| Row {
        revision: r.revision,
        change_cause: r.metadata.annotations.get(CHANGE_CAUSE).cloned(),
    };
    own(set, revisions).into_iter().map(row).collect()
}

/// The template of one revision.
///
/// # Errors
/// When the DaemonSet has no revision of this number.
pub fn show(set: &DaemonSet, revisions: &[Revision], number: i64) -> Result<Value, Error> {
    let found = own(set, revisions)
        .into_iter()
        .find(|r| r.revision == number);
    found.and_then(apply).ok_or(Error::NotFound(number))
}

/// The template after a revision's data was applied to a DaemonSet: the revision's, as it says `replace`.
pub fn apply(revision: &Revision) -> Option<Value> {
    revision::template_of(revision)
}

/// Goes back to a revision; number 0 means the one before the last.
///
/// # Errors
/// When there is no such revision.
pub fn undo(set: &DaemonSet, revisions: &[Revision], number: i64) -> Result<Undo, Error> {
    let own = own(set, revisions);
    let found = if number == 0 {
        let before_last = own.len().checked_sub(2).ok_or(Error::NoEarlierRevision)?;
        own.get(before_last).copied()
    } else {
        own.into_iter().find(|r| r.revision == number)
    };
    let revision = found.ok_or(Error::NotFound(number))?;
    if revision::describes(revision, &set.spec.template) {
        return Ok(Undo::AlreadyCurrent);
    }
    let template = apply(revision).ok_or(Error::NotFound(number))?;
    Ok(Undo::Patched {
        from: revision.revision,
        template,
    })
}
