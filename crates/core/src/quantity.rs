//! Amounts of resources: `500m`, `8Gi`, `1e3`.
//!
//! An amount is exact, in billionths (nano-units), the finest grain Kubernetes keeps. Its notation
//! is remembered because it decides how results are written.

mod parse;

use alloc::string::{String, ToString};
use core::cmp::Ordering;
use core::fmt;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use parse::ParseError;

/// Billionths in one unit.
const NANOS: i128 = 1_000_000_000;
/// Largest amount in units: what does not fit is cut off there, as upstream does.
const UNITS_MAX: i128 = i64::MAX as i128;

/// How an amount is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    /// Powers of 1000: `m`, none, `k`, `M` …
    Decimal,
    /// Powers of 1024: `Ki`, `Mi` …
    Binary,
    /// `e3`, `E-3`.
    Exponent,
}

/// An exact amount.
///
/// Equality and order are by value: `1Gi` equals `1024Mi`.
#[derive(Debug, Clone)]
pub struct Quantity {
    nanos: i128,
    notation: Notation,
    /// The text as it came in, when it needs no rewriting.
    text: Option<String>,
}

impl Quantity {
    /// Reads a text.
    ///
    /// # Errors
    /// Text that is no quantity, in upstream's words.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        parse::parse(text)
    }

    /// An amount of thousandths, in decimal notation.
    pub fn from_milli(milli: i64) -> Self {
        Self::of(i128::from(milli) * (NANOS / 1000), Notation::Decimal)
    }

    /// A number of units, in decimal notation.
    pub fn from_value(units: i64) -> Self {
        Self::of(i128::from(units) * NANOS, Notation::Decimal)
    }

    fn of(nanos: i128, notation: Notation) -> Self {
        Self {
            nanos,
            notation,
            text: None,
        }
    }

    /// Its notation.
    pub fn notation(&self) -> Notation {
        self.notation
    }

    /// Whole units, rounded away from zero.
    pub fn value(&self) -> i64 {
        self.scaled(NANOS)
    }

    /// Thousandths, rounded away from zero.
    pub fn milli_value(&self) -> i64 {
        self.scaled(NANOS / 1000)
    }

    fn scaled(&self, grain: i128) -> i64 {
        let rounded = away_from_zero(self.nanos, grain);
        i64::try_from(rounded).unwrap_or(if rounded < 0 { i64::MIN } else { i64::MAX })
    }

    /// -1, 0 or 1.
    pub fn signum(&self) -> i8 {
        self.nanos.signum() as i8
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.nanos == 0
    }

    /// The sum, in the notation of the first amount unless that is zero.
    #[must_use]
    pub fn add(&self, other: &Self) -> Self {
        Self::of(
            self.nanos.saturating_add(other.nanos),
            self.notation_with(other),
        )
    }

    /// The difference, in the notation of the first amount unless that is zero.
    #[must_use]
    pub fn sub(&self, other: &Self) -> Self {
        Self::of(
            self.nanos.saturating_sub(other.nanos),
            self.notation_with(other),
        )
    }

    fn notation_with(&self, other: &Self) -> Notation {
        if self.is_zero() {
            other.notation
        } else {
            self.notation
        }
    }
}

impl Default for Quantity {
    fn default() -> Self {
        Self::from_value(0)
    }
}

fn away_from_zero(nanos: i128, grain: i128) -> i128 {
    let whole = nanos / grain;
    if nanos % grain == 0 {
        whole
    } else {
        whole + nanos.signum()
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

impl fmt::Display for Quantity {
    /// The canonical text: an integer with the largest suffix that loses nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = &self.text {
            return f.write_str(text);
        }
        if self.is_zero() {
            return f.write_str("0");
        }
        if self.notation == Notation::Binary && self.nanos.abs() >= 1024 * NANOS {
            return self.write_binary(f);
        }
        self.write_decimal(f)
    }
}

impl Quantity {
    fn write_binary(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SUFFIXES: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
        let mut number = away_from_zero(self.nanos, NANOS);
        let mut step = 0;
        while number % 1024 == 0 && step + 1 < SUFFIXES.len() {
            number /= 1024;
            step += 1;
        }
        write!(f, "{number}{}", SUFFIXES[step])
    }

    fn write_decimal(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SUFFIXES: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
        let exponential = self.notation == Notation::Exponent;
        let mut number = self.nanos;
        let mut step = 0;
        while number % 1000 == 0 && (exponential || step + 1 < SUFFIXES.len()) {
            number /= 1000;
            step += 1;
        }
        let exponent = (step as i64 - 3) * 3;
        match exponential {
            true if exponent != 0 => write!(f, "{number}e{exponent}"),
            true => write!(f, "{number}"),
            false => write!(f, "{number}{}", SUFFIXES[step]),
        }
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    /// From a text, with outer spaces cut, or a number; `null` is zero.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde_json::Value;
        let text = match Value::deserialize(deserializer)? {
            Value::Null => return Ok(Self::default()),
            Value::String(text) => text.trim().to_string(),
            Value::Number(number) => number.to_string(),
            other => {
                return Err(serde::de::Error::custom(parse::form_error(
                    &other.to_string(),
                )));
            }
        };
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}
