//! Cuts a stream of chunks into lines.

use bytes::{Bytes, BytesMut};

/// Lines out of chunks that end anywhere.
///
/// A chunk that is exactly one line, as servers flush them, is handed on without a copy.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The start of a line whose end has not come yet.
    pending: BytesMut,
    chunk: Bytes,
}

impl Lines {
    /// Takes a chunk; the lines of the one before must have been read.
    pub(super) fn push(&mut self, chunk: Bytes) {
        debug_assert!(self.chunk.is_empty(), "all lines of a chunk are read");
        self.chunk = chunk;
    }

    /// The next whole line, without its line feed; empty lines are left out.
    pub(super) fn next_line(&mut self) -> Option<Bytes> {
        loop {
            let Some(end) = self.chunk.iter().position(|b| *b == b'\n') else {
                self.pending.extend_from_slice(&self.chunk);
                self.chunk = Bytes::new();
                return None;
            };
            let mut line = self.chunk.split_to(end + 1);
            line.truncate(end);
            if !self.pending.is_empty() {
                self.pending.extend_from_slice(&line);
                line = self.pending.split().freeze();
            }
            if !line.is_empty() {
                return Some(line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_do_not_depend_on_how_they_are_cut() {
        let text = "one\ntwo two\n\nthree\nrest";
        for size in 1..text.len() {
            let mut lines = Lines::default();
            let mut seen = Vec::new();
            for chunk in text.as_bytes().chunks(size) {
                lines.push(Bytes::copy_from_slice(chunk));
                while let Some(line) = lines.next_line() {
                    seen.push(String::from_utf8(line.to_vec()).unwrap());
                }
            }
            assert_eq!(seen, ["one", "two two", "three"], "chunks of {size}");
        }
    }
}
