//! Creates go out in batches of 1, 2, 4, 8 …
//!
//! When the API refuses pods (quota, admission), most attempts are spared this way: the first batch with
//! a failure is the last of the round.

use core::ops::Range;

/// Hands out batches of a known number of creates.
#[derive(Debug, Clone)]
pub struct SlowStart {
    total: usize,
    done: usize,
    size: usize,
}

impl SlowStart {
    /// Batches for `total` creates.
    pub fn new(total: usize) -> Self {
        Self {
            total,
            done: 0,
            size: 1,
        }
    }

    /// The next batch; none when all were handed out, or after a batch with failures.
    pub fn next_batch(&mut self, failures_before: usize) -> Option<Range<usize>> {
        if failures_before > 0 || self.done == self.total {
            return None;
        }
        let from = self.done;
        self.done = self.total.min(from + self.size);
        self.size *= 2;
        Some(from..self.done)
    }
}

/// Whether a refused create is no failure of the round: in a namespace that is being torn down every
/// create fails, and trying again is of no use. Takes the cause or reason of the refusal.
pub fn is_harmless_create(reason: &str) -> bool {
    reason == "NamespaceTerminating"
}

/// Whether a refused delete is no failure of the round: the pod is gone already.
pub fn is_harmless_delete(reason: &str) -> bool {
    matches!(reason, "NotFound" | "Gone")
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    #[test]
    fn batches_double_and_cover_everything() {
        let mut start = SlowStart::new(12);
        let batches: Vec<_> = core::iter::from_fn(|| start.next_batch(0)).collect();
        assert_eq!(batches, vec![0..1, 1..3, 3..7, 7..12]);
    }

    #[test]
    fn a_failure_ends_the_round() {
        let mut start = SlowStart::new(12);
        assert_eq!(start.next_batch(0), Some(0..1));
        assert_eq!(start.next_batch(1), None);
    }
}
