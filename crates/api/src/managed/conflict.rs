//! Conflicts: fields that an apply would change and that others own.

use super::entry::{Id, Operation};
use crate::field_error::quote;
use crate::status::{Cause, Details, Status};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// A field that another manager owns with another value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The manager as messages name it, such as `"kubectl" using apps/v1`.
    pub manager: String,
    /// Path of the field, such as `.spec.minReadySeconds`.
    pub field: String,
}

/// How messages name a manager.
pub(super) fn shown(id: &Id) -> String {
    let mut text = quote(&id.manager);
    if !id.subresource.is_empty() {
        text = format!("{text} with subresource {}", quote(&id.subresource));
    }
    match id.operation {
        Operation::Apply => text,
        Operation::Update => format!("{text} using {}", id.api_version),
    }
}

/// All conflicts in one message: a single one on one line, several by manager.
///
/// Conflicts of one manager must be neighbours.
pub(super) fn message(conflicts: &[Conflict]) -> String {
    if let [one] = conflicts {
        return format!(
            "Apply failed with 1 conflict: conflict with {}: {}",
            one.manager, one.field
        );
    }
    let mut lines: Vec<String> = Vec::new();
    let mut last = "";
    for conflict in conflicts {
        if conflict.manager != last {
            lines.push(format!("conflicts with {}:", conflict.manager));
            last = &conflict.manager;
        }
        lines.push(format!("- {}", conflict.field));
    }
    format!(
        "Apply failed with {} conflicts: {}",
        conflicts.len(),
        lines.join("\n")
    )
}

/// 409 with one cause for each conflict.
pub(super) fn status(conflicts: &[Conflict]) -> Status {
    let cause = |conflict: &Conflict| Cause {
        reason: "FieldManagerConflict".into(),
        message: format!("conflict with {}", conflict.manager),
        field: conflict.field.clone(),
    };
    Status {
        code: 409,
        reason: "Conflict",
        message: message(conflicts),
        details: Some(Box::new(Details {
            causes: conflicts.iter().map(cause).collect(),
            ..Details::default()
        })),
        continue_token: String::new(),
    }
}
