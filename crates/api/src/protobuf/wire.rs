//! The wire format: records of a number and a value.

use super::{DecodeError, damaged};
use alloc::string::{String, ToString};

/// The value of a record.
#[derive(Debug, Clone, Copy)]
pub(super) enum Record<'a> {
    /// A varint or a fixed-size number.
    Number(u64),
    /// Text, bytes or a message.
    Bytes(&'a [u8]),
}

impl<'a> Record<'a> {
    pub(super) fn number(&self) -> Result<u64, DecodeError> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Bytes(_) => Err(damaged("a number is missing where one should be")),
        }
    }

    pub(super) fn bytes(&self) -> Result<&'a [u8], DecodeError> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Number(_) => Err(damaged("a number stands where text or a message should be")),
        }
    }

    pub(super) fn text(&self) -> Result<String, DecodeError> {
        let text = core::str::from_utf8(self.bytes()?);
        text.map(ToString::to_string)
            .map_err(|_| damaged("a text is not UTF-8"))
    }
}

/// The records of a message, in order; ends at the first damage, which it returns.
pub(super) fn records(
    message: &[u8],
) -> impl Iterator<Item = Result<(u32, Record<'_>), DecodeError>> {
    let mut rest = message;
    let mut broken = false;
    core::iter::from_fn(move || {
        if rest.is_empty() || broken {
            return None;
        }
        let record = record(&mut rest);
        broken = record.is_err();
        Some(record)
    })
}

fn record<'a>(rest: &mut &'a [u8]) -> Result<(u32, Record<'a>), DecodeError> {
    let tag = varint(rest)?;
    let number = u32::try_from(tag >> 3).map_err(|_| damaged("a field number is too large"))?;
    let value = match tag & 7 {
        0 => Record::Number(varint(rest)?),
        1 => Record::Number(fixed::<8>(rest)?),
        2 => {
            let length = usize::try_from(varint(rest)?).map_err(|_| cut_off())?;
            let (value, after) = rest.split_at_checked(length).ok_or_else(cut_off)?;
            *rest = after;
            Record::Bytes(value)
        }
        5 => Record::Number(fixed::<4>(rest)?),
        _ => return Err(damaged("groups are not part of Kubernetes' protobuf")),
    };
    Ok((number, value))
}

/// All numbers of a packed list.
pub(super) fn varints(mut packed: &[u8]) -> impl Iterator<Item = Result<u64, DecodeError>> {
    let mut broken = false;
    core::iter::from_fn(move || {
        if packed.is_empty() || broken {
            return None;
        }
        let number = varint(&mut packed);
        broken = number.is_err();
        Some(number)
    })
}

fn varint(rest: &mut &[u8]) -> Result<u64, DecodeError> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, after) = rest.split_first().ok_or_else(cut_off)?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(damaged("a number is too long"))
}

fn fixed<const N: usize>(rest: &mut &[u8]) -> Result<u64, DecodeError> {
    let (bytes, after) = rest.split_first_chunk::<N>().ok_or_else(cut_off)?;
    *rest = after;
    Ok(bytes
        .iter()
        .rev()
        .fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

fn cut_off() -> DecodeError {
    damaged("unexpected EOF")
}
