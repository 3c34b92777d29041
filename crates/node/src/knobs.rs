//! What a node's annotations ask its agent to do.

use crate::{CONDITIONS, DEAD};
use pernode_core::meta::StringMap;
use std::collections::BTreeMap;

/// The wishes of one node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Knobs {
    /// The agent is silent.
    pub(crate) dead: bool,
    /// Conditions that differ from a healthy node's, by type.
    pub(crate) conditions: BTreeMap<String, String>,
}

impl Knobs {
    pub(crate) fn read(annotations: &StringMap) -> Self {
        Self {
            dead: annotations.get(DEAD).is_some_and(|v| v == "true"),
            conditions: annotations
                .get(CONDITIONS)
                .map(|text| conditions(text))
                .unwrap_or_default(),
        }
    }
}

/// Reads `Type=Status,…`; what is not of this form is left out.
fn conditions(text: &str) -> BTreeMap<String, String> {
    text.split(',')
        .filter_map(|part| part.trim().split_once('='))
        .filter(|(_, status)| matches!(*status, "True" | "False" | "Unknown"))
        .map(|(kind, status)| (kind.to_owned(), status.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_are_read() {
        let annotations = [
            (DEAD, "true"),
            (CONDITIONS, "Ready=False, DiskPressure=True,bad,x=y"),
        ]
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .into();
        let knobs = Knobs::read(&annotations);
        assert!(knobs.dead);
        assert_eq!(knobs.conditions["Ready"], "False");
        assert_eq!(knobs.conditions["DiskPressure"], "True");
        assert_eq!(knobs.conditions.len(), 2);
        assert_eq!(Knobs::read(&StringMap::new()), Knobs::default());
    }
}
