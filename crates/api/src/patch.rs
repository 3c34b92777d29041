//! The patches that clients send: JSON patch, JSON merge patch, strategic merge patch.
//!
//! Server-side apply, the fourth kind, is in [`crate::managed`].

mod json;
mod order;
mod show;
mod strategic;

use crate::status::Status;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde_json::{Map, Value};

pub use json::{OPERATIONS_MAX, json_patch, json_patch_findings};
pub use show::go_map_text;
pub use strategic::strategic_merge;

/// Why a patch cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The patch has not the form of its kind: 400.
    #[error("{0}")]
    Form(String),
    /// The patch does not fit the object: 422. Clients see a text that does not say why; `why` is
    /// for logs and tests.
    #[error("{why}")]
    Unfit {
        /// What does not fit.
        why: String,
    },
    /// The merge failed in a way that upstream maps to no reason: 500.
    #[error("{0}")]
    Merge(String),
    /// More operations than are allowed: 413.
    #[error("The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {0}")]
    TooMany(usize),
}

impl PatchError {
    /// What the client gets.
    pub fn to_status(&self) -> Status {
        match self {
            Self::Form(why) => Status::bad_request(why.clone()),
            Self::Unfit { .. } => Status::patch_rejected(),
            Self::Merge(why) => Status::unmapped(why.clone()),
            Self::TooMany(_) => Status::too_many_operations(self.to_string()),
        }
    }

    /// The HTTP code of the answer.
    pub fn code(&self) -> u16 {
        self.to_status().code
    }

    fn unfit(why: impl Into<String>) -> Self {
        Self::Unfit { why: why.into() }
    }
}

/// Applies a JSON merge patch (RFC 7386).
///
/// Null members of maps inside lists are dropped too, as upstream's library does beyond the
/// standard.
pub fn merge_patch(object: &Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else {
        return without_nulls(patch.clone());
    };
    let mut merged = match object {
        Value::Object(map) => map.clone(),
        _ => Map::new(),
    };
    for (key, value) in patch {
        match (value, merged.get(key)) {
            (Value::Null, _) => {
                merged.remove(key);
            }
            (Value::Object(_), Some(old)) => {
                let new = merge_patch(old, value);
                merged.insert(key.clone(), new);
            }
            _ => {
                merged.insert(key.clone(), without_nulls(value.clone()));
            }
        }
    }
    Value::Object(merged)
}

/// Drops null members of maps, at any depth; elements of lists stay.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.into_iter().filter(|(_, v)| !v.is_null());
            Value::Object(kept.map(|(k, v)| (k, without_nulls(v))).collect())
        }
        Value::Array(list) => Value::Array(list.into_iter().map(without_nulls).collect::<Vec<_>>()),
        other => other,
    }
}

#[cfg(test)]
mod tests;
