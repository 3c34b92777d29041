//! What a client wants of a log: which lines, in which form.

use jiff::{SignedDuration, Timestamp};
use pernode_api::field_error::FieldError;
use pernode_api::status::Status;

use super::Line;
use crate::call::Call;

/// The options in the query.
#[derive(Debug, Clone, Default)]
pub(super) struct Options {
    pub(super) follow: bool,
    pub(super) previous: bool,
    timestamps: bool,
    /// Nothing older than this.
    since: Option<Timestamp>,
    /// The last so many lines.
    tail: Option<usize>,
    /// At most so many bytes.
    bytes: Option<usize>,
}

impl Options {
    pub(super) fn of(call: &Call) -> Result<Self, Status> {
        let query = &call.query;
        let number = |name: &str| query.number(name).map_err(Status::bad_request);
        let (tail, bytes) = (number("tailLines")?, number("limitBytes")?);
        let seconds = number("sinceSeconds")?;
        let time = since_time(query.text("sinceTime"))?;
        let mut errors = Vec::new();
        if let Some(tail) = tail.filter(|tail| *tail < 0) {
            let detail = "must be greater than or equal to 0";
            errors.push(FieldError::invalid(&"tailLines", tail, detail));
        }
        for (field, value) in [("limitBytes", bytes), ("sinceSeconds", seconds)] {
            if let Some(value) = value.filter(|value| *value < 1) {
                errors.push(FieldError::invalid(&field, value, "must be greater than 0"));
            }
        }
        if time.is_some() && seconds.is_some() {
            let detail = "at most one of `sinceTime` or `sinceSeconds` may be specified";
            errors.push(FieldError::forbidden(&"[]", detail));
        }
        if !errors.is_empty() {
            let name = call.name();
            return Err(Status::invalid_kind("", "PodLogOptions", name, &errors));
        }
        let ago = |seconds: i64| call.actor.now - SignedDuration::from_secs(seconds);
        let count = |number: i64| usize::try_from(number).unwrap_or(usize::MAX);
        Ok(Self {
            follow: query.flag("follow"),
            previous: query.flag("previous"),
            timestamps: query.flag("timestamps"),
            since: time.or_else(|| seconds.map(ago)),
            tail: tail.map(count),
            bytes: bytes.map(count),
        })
    }

    /// The lines that are recent enough: by time, then by number. What is so now is recent.
    pub(super) fn last<'a>(&self, lines: &'a [Line]) -> &'a [Line] {
        // Times are in whole seconds: a line of the second that is asked for is in.
        let since = self.since.map(Timestamp::as_second);
        let old = lines
            .iter()
            .take_while(|line| line.time.map(Timestamp::as_second) < since && line.time.is_some())
            .count();
        let lines = &lines[old..];
        let tail = self.tail.unwrap_or(lines.len());
        &lines[lines.len().saturating_sub(tail)..]
    }

    /// The lines as text, as far as the number of bytes allows.
    pub(super) fn text(&self, lines: &[Line]) -> String {
        let mut out = String::new();
        for line in lines {
            if let Some(time) = line.time.filter(|_| self.timestamps) {
                out.push_str(&time.to_string());
                out.push(' ');
            }
            out.push_str(&line.text);
            out.push('\n');
        }
        if let Some(bytes) = self.bytes {
            let mut end = out.len().min(bytes);
            while !out.is_char_boundary(end) {
                end -= 1;
            }
            out.truncate(end);
        }
        out
    }

    /// Takes what was sent from the bytes that are still allowed; false when none are.
    pub(super) fn sent(&mut self, bytes: usize) -> bool {
        if let Some(left) = &mut self.bytes {
            *left = left.saturating_sub(bytes);
        }
        self.bytes != Some(0)
    }
}

fn since_time(given: Option<&str>) -> Result<Option<Timestamp>, Status> {
    let Some(text) = given else { return Ok(None) };
    text.parse().map(Some).map_err(|_| {
        Status::bad_request(format!(
            "parsing time {text:?} as \"2006-01-02T15:04:05Z07:00\": cannot parse {text:?} as \"2006\""
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(second: Option<i64>, text: &str) -> Line {
        Line {
            time: second.map(|s| Timestamp::from_second(s).unwrap()),
            text: text.to_owned(),
        }
    }

    #[test]
    fn lines_are_chosen_and_cut() {
        let lines = [line(Some(1), "a"), line(Some(2), "b"), line(None, "c")];
        let check = |options: Options, expected: &str| {
            assert_eq!(options.text(options.last(&lines)), expected);
        };
        check(Options::default(), "a\nb\nc\n");
        let since = Timestamp::from_millisecond(2_500).ok();
        check(
            Options {
                since,
                ..Options::default()
            },
            "b\nc\n",
        );
        check(
            Options {
                tail: Some(2),
                bytes: Some(3),
                ..Options::default()
            },
            "b\nc",
        );
        check(
            Options {
                tail: Some(0),
                ..Options::default()
            },
            "",
        );
        check(
            Options {
                tail: Some(2),
                timestamps: true,
                ..Options::default()
            },
            "1970-01-01T00:00:02Z b\nc\n",
        );
    }
}
