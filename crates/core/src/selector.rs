//! Label selectors: the object form of `spec.selector` and the text form of queries.

mod lexer;
mod parser;
pub mod syntax;

use crate::meta::{StringMap, null_as_default};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Serialize};

pub use parser::ParseError;

/// A selector as objects carry it; all of it must hold. An empty one matches everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// Labels that must have these values.
    #[serde(
        skip_serializing_if = "StringMap::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub match_labels: StringMap,
    /// Further requirements.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub match_expressions: Vec<LabelSelectorRequirement>,
}

/// One requirement of a selector object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelectorRequirement {
    /// Label key.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`, kept as text.
    pub operator: String,
    /// Values, their number depends on the operator.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub values: Vec<String>,
}

/// Why a selector object cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct SelectorError {
    /// Path below the selector, such as `matchExpressions[0].values`.
    pub field: String,
    /// What is wrong, in upstream's words.
    pub problem: String,
}

/// How a requirement compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operator {
    /// `=`.
    Equals,
    /// `==`, the same as `=`.
    DoubleEquals,
    /// `!=`, also when the label is absent.
    NotEquals,
    /// `in`.
    In,
    /// `notin`, also when the label is absent.
    NotIn,
    /// The bare key.
    Exists,
    /// `!key`.
    DoesNotExist,
    /// `>`, on integers.
    GreaterThan,
    /// `<`, on integers.
    LessThan,
}

impl Operator {
    /// The operator's name as upstream lists it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Equals => "=",
            Self::DoubleEquals => "==",
            Self::NotEquals => "!=",
            Self::In => "in",
            Self::NotIn => "notin",
            Self::Exists => "exists",
            Self::DoesNotExist => "!",
            Self::GreaterThan => "gt",
            Self::LessThan => "lt",
        }
    }
}

/// A requirement that has been checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    key: String,
    operator: Operator,
    /// Sorted, without duplicates.
    values: Vec<String>,
}

impl Requirement {
    /// Label key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// How it compares.
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// Values, sorted.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// Whether a label's value satisfies it; `None` when the label is absent.
    pub fn matches(&self, value: Option<&str>) -> bool {
        let listed = |v: &str| self.values.iter().any(|wanted| wanted == v);
        match self.operator {
            Operator::Equals | Operator::DoubleEquals | Operator::In => value.is_some_and(listed),
            Operator::NotEquals | Operator::NotIn => !value.is_some_and(listed),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::GreaterThan => self.compare(value).is_some_and(|(v, bound)| v > bound),
            Operator::LessThan => self.compare(value).is_some_and(|(v, bound)| v < bound),
        }
    }

    fn compare(&self, value: Option<&str>) -> Option<(i64, i64)> {
        Some((value?.parse().ok()?, self.values.first()?.parse().ok()?))
    }
}

/// A selector that has been checked, ready to match labels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector {
    /// Sorted by key. All must hold.
    requirements: Vec<Requirement>,
    /// Whether it matches nothing, whatever the requirements say.
    nothing: bool,
}

impl Selector {
    /// The selector that matches everything.
    pub fn everything() -> Self {
        Self::default()
    }

    /// The selector that matches nothing: an absent selector object.
    pub fn nothing() -> Self {
        Self {
            nothing: true,
            ..Self::default()
        }
    }

    /// Reads the text form, as in the query parameter `labelSelector`.
    ///
    /// # Errors
    /// Text that is no selector, in upstream's words.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        Ok(Self::of(parser::parse(text)?))
    }

    /// Checks the object form.
    ///
    /// # Errors
    /// The first requirement that cannot be used.
    pub fn from_label_selector(selector: &LabelSelector) -> Result<Self, SelectorError> {
        let mut requirements = Vec::new();
        for (key, value) in &selector.match_labels {
            requirements.push(equality(key, value)?);
        }
        for (index, expression) in selector.match_expressions.iter().enumerate() {
            requirements.push(expression.check(index)?);
        }
        Ok(Self::of(requirements))
    }

    fn of(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Self {
            requirements,
            nothing: false,
        }
    }

    /// Whether it matches everything.
    pub fn is_empty(&self) -> bool {
        !self.nothing && self.requirements.is_empty()
    }

    /// Whether it matches nothing at all.
    pub fn is_nothing(&self) -> bool {
        self.nothing
    }

    /// Its requirements, sorted by key.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// Whether a set of labels satisfies it.
    pub fn matches(&self, labels: &StringMap) -> bool {
        self.matches_with(|key| labels.get(key).map(String::as_str))
    }

    /// Whether labels, looked up one by one, satisfy it.
    pub fn matches_with<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        !self.nothing && self.requirements.iter().all(|r| r.matches(label(&r.key)))
    }
}

fn equality(key: &str, value: &str) -> Result<Requirement, SelectorError> {
    let refused = |problem| SelectorError {
        field: "matchLabels".to_owned(),
        problem,
    };
    syntax::check_key(key).map_err(|e| refused(format!("Invalid value: {key:?}: {e}")))?;
    syntax::check_value(value).map_err(|e| refused(format!("Invalid value: {value:?}: {e}")))?;
    Ok(Requirement {
        key: key.to_owned(),
        operator: Operator::Equals,
        values: alloc::vec![value.to_owned()],
    })
}

impl LabelSelectorRequirement {
    fn check(&self, index: usize) -> Result<Requirement, SelectorError> {
        let refused = |field: &str, problem: String| SelectorError {
            field: format!("matchExpressions[{index}].{field}"),
            problem,
        };
        let (operator, wants_values) = match self.operator.as_str() {
            "In" => (Operator::In, true),
            "NotIn" => (Operator::NotIn, true),
            "Exists" => (Operator::Exists, false),
            "DoesNotExist" => (Operator::DoesNotExist, false),
            other => {
                let problem = format!("Invalid value: {other:?}: not a valid selector operator");
                return Err(refused("operator", problem));
            }
        };
        if wants_values && self.values.is_empty() {
            let problem = "Required value: must be specified when `operator` is 'In' or 'NotIn'";
            return Err(refused("values", problem.to_owned()));
        }
        if !wants_values && !self.values.is_empty() {
            let problem =
                "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            return Err(refused("values", problem.to_owned()));
        }
        syntax::check_key(&self.key)
            .map_err(|e| refused("key", format!("Invalid value: {:?}: {e}", self.key)))?;
        for (at, value) in self.values.iter().enumerate() {
            syntax::check_value(value).map_err(|e| {
                refused(
                    &format!("values[{at}]"),
                    format!("Invalid value: {value:?}: {e}"),
                )
            })?;
        }
        Ok(Requirement {
            key: self.key.clone(),
            operator,
            values: sorted(self.values.clone()),
        })
    }
}

fn sorted(mut values: Vec<String>) -> Vec<String> {
    values.sort();
    values.dedup();
    values
}

impl fmt::Display for Selector {
    /// The canonical text: requirements by key, set values sorted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            key,
            operator,
            values,
        } = self;
        let joined = values.join(",");
        match operator {
            Operator::Equals => write!(f, "{key}={joined}"),
            Operator::DoubleEquals => write!(f, "{key}=={joined}"),
            Operator::NotEquals => write!(f, "{key}!={joined}"),
            Operator::In => write!(f, "{key} in ({joined})"),
            Operator::NotIn => write!(f, "{key} notin ({joined})"),
            Operator::Exists => f.write_str(key),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::GreaterThan => write!(f, "{key}>{joined}"),
            Operator::LessThan => write!(f, "{key}<{joined}"),
        }
    }
}

/// A selector object as people read it, empty for one that cannot be used.
impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = Selector::from_label_selector(self).map(|s| s.to_string());
        f.write_str(&text.unwrap_or_default())
    }
}
