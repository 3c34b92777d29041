//! Node selectors and node affinity.

use crate::meta::null_as_default;
use crate::node::Node;
use crate::pod::PodSpec;
use crate::selector::syntax;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// The part of a pod's affinity that decides on nodes. Pod (anti-)affinity is not evaluated here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Affinity {
    /// Rules about nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_affinity: Option<NodeAffinity>,
}

/// Node affinity; only the required part can refuse a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeAffinity {
    /// Terms of which one must match.
    #[serde(
        rename = "requiredDuringSchedulingIgnoredDuringExecution",
        skip_serializing_if = "Option::is_none"
    )]
    pub required: Option<NodeSelector>,
}

/// Alternatives: a node matches when one term does. No term matches nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSelector {
    /// The terms, ORed.
    #[serde(deserialize_with = "null_as_default")]
    pub node_selector_terms: Vec<NodeSelectorTerm>,
}

/// Requirements that must all hold; an empty term matches nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSelectorTerm {
    /// On the node's labels.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub match_expressions: Vec<Requirement>,
    /// On the node's fields; only `metadata.name` exists.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub match_fields: Vec<Requirement>,
}

/// One requirement: `key operator values`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Requirement {
    /// Label key or field path.
    pub key: String,
    /// `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt` or `Lt`, kept as text.
    pub operator: String,
    /// Values, their number depends on the operator.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub values: Vec<String>,
}

/// The only field a term can ask for.
const NAME_FIELD: &str = "metadata.name";

impl NodeSelector {
    /// Whether one of the terms matches the node.
    pub fn matches(&self, node: &Node) -> bool {
        self.node_selector_terms
            .iter()
            .any(|term| term.matches(node))
    }
}

impl NodeSelectorTerm {
    /// Whether all requirements hold; a term without requirements, or with one that cannot be
    /// understood, matches nothing.
    pub fn matches(&self, node: &Node) -> bool {
        if self.match_expressions.is_empty() && self.match_fields.is_empty() {
            return false;
        }
        let labels = &node.metadata.labels;
        self.match_expressions
            .iter()
            .all(|r| r.matches(labels.get(&r.key).map(String::as_str)))
            && self
                .match_fields
                .iter()
                .all(|r| r.matches_field(&node.metadata.name))
    }

    /// The one node this term asks for by name, if it does.
    pub fn node_name(&self) -> Option<&str> {
        self.match_fields.iter().find_map(Requirement::single_name)
    }
}

impl Requirement {
    /// Whether the requirement holds for a label's value; `None` when the label is absent.
    ///
    /// A requirement that cannot be understood (unknown operator, wrong number of values, a bound
    /// that is no integer) holds for nothing.
    pub fn matches(&self, value: Option<&str>) -> bool {
        if !self.is_well_formed() {
            return false;
        }
        let listed = |v| self.values.iter().any(|wanted| wanted == v);
        match self.operator.as_str() {
            "In" => value.is_some_and(listed),
            "NotIn" => !value.is_some_and(listed),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            "Gt" => self
                .compare(value)
                .is_some_and(|(value, bound)| value > bound),
            "Lt" => self
                .compare(value)
                .is_some_and(|(value, bound)| value < bound),
            _ => false,
        }
    }

    /// Fields know only `In` and `NotIn`, with exactly one value.
    fn matches_field(&self, name: &str) -> bool {
        if self.key != NAME_FIELD || self.values.len() != 1 {
            return false;
        }
        match self.operator.as_str() {
            "In" => self.values[0] == name,
            "NotIn" => self.values[0] != name,
            _ => false,
        }
    }

    fn single_name(&self) -> Option<&str> {
        let asks = self.key == NAME_FIELD && self.operator == "In" && self.values.len() == 1;
        asks.then(|| self.values[0].as_str())
    }

    /// A key or value that could never be a label's spoils the requirement.
    fn is_well_formed(&self) -> bool {
        syntax::check_key(&self.key).is_ok()
            && self
                .values
                .iter()
                .all(|value| syntax::check_value(value).is_ok())
            && self.has_the_right_values()
    }

    fn has_the_right_values(&self) -> bool {
        match self.operator.as_str() {
            "In" | "NotIn" => !self.values.is_empty(),
            "Exists" | "DoesNotExist" => self.values.is_empty(),
            "Gt" | "Lt" => self.values.len() == 1 && self.values[0].parse::<i64>().is_ok(),
            _ => false,
        }
    }

    fn compare(&self, value: Option<&str>) -> Option<(i64, i64)> {
        Some((value?.parse().ok()?, self.values.first()?.parse().ok()?))
    }
}

/// Whether a node satisfies a pod's `nodeSelector` and required node affinity.
pub fn required_node_affinity_matches(spec: &PodSpec, node: &Node) -> bool {
    let labels = &node.metadata.labels;
    let selected = spec
        .node_selector
        .iter()
        .all(|(key, value)| labels.get(key) == Some(value));
    let required = spec
        .affinity
        .as_ref()
        .and_then(|a| a.node_affinity.as_ref()?.required.as_ref());
    selected && required.is_none_or(|required| required.matches(node))
}
