//! Reading an amount.

use super::{NANOS, Notation, Quantity, UNITS_MAX};
use alloc::string::{String, ToString};

/// Text that is no quantity, in upstream's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseError(pub &'static str);

const FORM: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX: &str = "unable to parse quantity's suffix";
const NUMBER: &str = "unable to parse numeric part of quantity";
/// Digits that fit a 64-bit integer for sure: longer texts are always rewritten.
const DIGITS_MAX: usize = 18;
/// Largest power of ten that is looked at: beyond it every amount but zero is over the limit.
const EXPONENT_MAX: i32 = 60;

/// The error for text that has not the form of a quantity.
pub(super) fn form_error(_text: &str) -> ParseError {
    ParseError(FORM)
}

pub(super) fn parse(text: &str) -> Result<Quantity, ParseError> {
    if text == "0" {
        return Ok(Quantity {
            text: Some("0".into()),
            ..Quantity::default()
        });
    }
    let parts = Parts::split(text)?;
    let scale = Scale::of(parts.suffix).ok_or(ParseError(SUFFIX))?;
    let magnitude = magnitude(&parts, &scale);
    let nanos = if parts.negative {
        -magnitude
    } else {
        magnitude
    };
    let kept = stays_as_written(&parts, &scale).then(|| text.to_string());
    Ok(Quantity {
        nanos,
        notation: scale.notation(),
        text: kept,
    })
}

/// Sign, digits before and after the point, suffix.
struct Parts<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
}

impl<'a> Parts<'a> {
    fn split(text: &'a str) -> Result<Self, ParseError> {
        let negative = text.starts_with('-');
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let digits = |s: &str| s.bytes().take_while(u8::is_ascii_digit).count();
        let (whole, rest) = unsigned.split_at(digits(unsigned));
        let (fraction, suffix, point) = match rest.strip_prefix('.') {
            Some(rest) => {
                let (fraction, suffix) = rest.split_at(digits(rest));
                (fraction, suffix, true)
            }
            None => ("", rest, false),
        };
        if !is_suffix_form(suffix) {
            return Err(ParseError(FORM));
        }
        if whole.is_empty() && !point {
            return Err(ParseError(match Scale::of(suffix) {
                _ if unsigned.is_empty() => FORM,
                None => SUFFIX,
                Some(_) => NUMBER,
            }));
        }
        let whole = whole.trim_start_matches('0');
        Ok(Self {
            negative,
            whole,
            fraction,
            suffix,
        })
    }

    /// The digits upstream looks at: no leading zeros but one in front of a point.
    fn shifted(&self) -> String {
        let whole = if self.whole.is_empty() {
            "0"
        } else {
            self.whole
        };
        [whole, self.fraction].concat()
    }
}

/// `[eEinumkKMGTP]*[-+]?[0-9]*`
fn is_suffix_form(suffix: &str) -> bool {
    let rest = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let rest = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    rest.bytes().all(|b| b.is_ascii_digit())
}

/// What a suffix stands for.
enum Scale {
    /// 10 to this power, written as a suffix.
    Decimal(i32),
    /// 2 to this power.
    Binary(u32),
    /// 10 to this power, written as an exponent.
    Exponent(i32),
}

impl Scale {
    fn of(suffix: &str) -> Option<Self> {
        Some(match suffix {
            "n" => Self::Decimal(-9),
            "u" => Self::Decimal(-6),
            "m" => Self::Decimal(-3),
            "" => Self::Decimal(0),
            "k" => Self::Decimal(3),
            "M" => Self::Decimal(6),
            "G" => Self::Decimal(9),
            "T" => Self::Decimal(12),
            "P" => Self::Decimal(15),
            "E" => Self::Decimal(18),
            "Ki" => Self::Binary(10),
            "Mi" => Self::Binary(20),
            "Gi" => Self::Binary(30),
            "Ti" => Self::Binary(40),
            "Pi" => Self::Binary(50),
            "Ei" => Self::Binary(60),
            _ => Self::Exponent(suffix.strip_prefix(['e', 'E'])?.parse().ok()?),
        })
    }

    fn notation(&self) -> Notation {
        match self {
            Self::Decimal(_) => Notation::Decimal,
            Self::Binary(_) => Notation::Binary,
            Self::Exponent(_) => Notation::Exponent,
        }
    }
}

/// The amount in nano-units without its sign: rounded up to a whole one and cut at the limit.
fn magnitude(parts: &Parts<'_>, scale: &Scale) -> i128 {
    let most = UNITS_MAX * NANOS;
    let shifted = parts.shifted();
    let digits = shifted.trim_start_matches('0');
    if digits.is_empty() {
        return 0;
    }
    let places = i32::try_from(parts.fraction.len()).unwrap_or(i32::MAX);
    let (binary, power) = match scale {
        Scale::Decimal(power) | Scale::Exponent(power) => (0, *power),
        Scale::Binary(power) => (*power, 0),
    };
    // Digits beyond the grain only matter for rounding up.
    let exponent = power.saturating_sub(places).saturating_add(9);
    if exponent > EXPONENT_MAX {
        return most;
    }
    let Some(number) = digits
        .parse::<i128>()
        .ok()
        .and_then(|n| n.checked_shl_exact(binary))
    else {
        return long_magnitude(digits, exponent, binary, most);
    };
    scaled(number, exponent).map_or(most, |nanos| nanos.min(most))
}

trait CheckedShlExact: Sized {
    fn checked_shl_exact(self, bits: u32) -> Option<Self>;
}

impl CheckedShlExact for i128 {
    fn checked_shl_exact(self, bits: u32) -> Option<Self> {
        self.checked_mul(1_i128.checked_shl(bits)?)
    }
}

/// `number * 10^exponent`, rounded up.
fn scaled(number: i128, exponent: i32) -> Option<i128> {
    let factor = 10_i128.checked_pow(exponent.unsigned_abs());
    if exponent >= 0 {
        return number.checked_mul(factor?);
    }
    match factor {
        Some(factor) => Some(number / factor + i128::from(number % factor != 0)),
        // Far below the grain: rounded up to one billionth.
        None => Some(1),
    }
}

/// More digits than an integer holds: drop the last ones and remember that there were some.
fn long_magnitude(digits: &str, exponent: i32, binary: u32, most: i128) -> i128 {
    let kept = &digits[..digits.len().min(DIGITS_MAX)];
    let dropped = i32::try_from(digits.len() - kept.len()).unwrap_or(i32::MAX);
    let number = kept
        .parse::<i128>()
        .ok()
        .and_then(|n| n.checked_shl_exact(binary));
    number
        .and_then(|n| scaled(n, exponent.saturating_add(dropped)))
        .map_or(most, |n| n.min(most))
}

/// Whether the text is given back letter by letter.
///
/// Upstream keeps a text whose power of ten is a multiple of three and whose digits neither end in
/// `000` nor start with a zero, and a binary one without a fraction.
fn stays_as_written(parts: &Parts<'_>, scale: &Scale) -> bool {
    let shifted = parts.shifted();
    if shifted.len() > DIGITS_MAX || shifted.starts_with('0') {
        return false;
    }
    match scale {
        Scale::Binary(_) => parts.fraction.is_empty(),
        Scale::Decimal(power) | Scale::Exponent(power) => {
            let places = parts.fraction.len() as i32;
            let total = power - places;
            total % 3 == 0 && total >= -9 && !shifted.ends_with("000")
        }
    }
}
