//! Values that are an integer or a percentage, such as `maxUnavailable`.

use alloc::string::{String, ToString};
use core::fmt;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};

/// An integer, or a text that should be a percentage. The kind is kept as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntOrPercent {
    /// A plain number.
    Int(i32),
    /// A text such as `25%`.
    Text(String),
}

/// A text that is no percentage.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid value for IntOrString: {0:?} is not an integer or a percentage")]
pub struct NotAPercentage(pub String);

impl IntOrPercent {
    /// What a text on a command line stands for: an integer if it fits, else the text itself.
    pub fn from_text(text: &str) -> Self {
        text.parse()
            .map_or_else(|_| Self::Text(text.to_string()), Self::Int)
    }

    /// The number itself, or the percentage of a total.
    ///
    /// The product is formed before the division by a hundred, in integers, so that no binary
    /// fraction pushes a whole result up.
    ///
    /// # Errors
    /// The text is not an integer followed by one percent sign.
    pub fn scaled(&self, total: i64, round_up: bool) -> Result<i64, NotAPercentage> {
        let text = match self {
            Self::Int(number) => return Ok(i64::from(*number)),
            Self::Text(text) => text,
        };
        let percent = percentage(text).ok_or_else(|| NotAPercentage(text.clone()))?;
        let product = i128::from(percent) * i128::from(total);
        let quotient = if round_up {
            -(-product).div_euclid(100)
        } else {
            product.div_euclid(100)
        };
        Ok(i64::try_from(quotient).unwrap_or(i64::MAX))
    }

    /// Whether a text has the form of a percentage in an object: digits and one percent sign.
    pub fn is_percent(text: &str) -> bool {
        let digits = text.strip_suffix('%').unwrap_or_default();
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    }

    /// Whether it is the number 0 or the text `0%`.
    pub fn is_zero(&self) -> bool {
        self.scaled(100, true) == Ok(0)
    }
}

/// The integer in front of the percent sign that ends the text.
fn percentage(text: &str) -> Option<i64> {
    text.strip_suffix('%')?.parse().ok()
}

impl fmt::Display for IntOrPercent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

impl Serialize for IntOrPercent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Int(number) => serializer.serialize_i32(*number),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for IntOrPercent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IntOrPercentVisitor)
    }
}

struct IntOrPercentVisitor;

impl Visitor<'_> for IntOrPercentVisitor {
    type Value = IntOrPercent;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a 32-bit integer or a text")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<IntOrPercent, E> {
        i32::try_from(number)
            .map(IntOrPercent::Int)
            .map_err(|_| E::invalid_value(de::Unexpected::Signed(number), &self))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<IntOrPercent, E> {
        i32::try_from(number)
            .map(IntOrPercent::Int)
            .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(number), &self))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<IntOrPercent, E> {
        Ok(IntOrPercent::Text(text.to_string()))
    }
}
