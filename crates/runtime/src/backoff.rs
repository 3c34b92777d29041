//! How long to wait before trying again.

use std::time::Duration;

/// Exponential delays with jitter.
///
/// Each delay is drawn from the upper half of its step, so that loops that failed together do
/// not come back together.
#[derive(Debug, Clone)]
pub struct Backoff {
    base: Duration,
    max: Duration,
    failures: u32,
}

impl Backoff {
    /// Delays that start at `base` and double up to `max`.
    pub const fn new(base: Duration, max: Duration) -> Self {
        Self {
            base,
            max,
            failures: 0,
        }
    }

    /// The delay after one more failure.
    pub fn next_delay(&mut self) -> Duration {
        let delay = Self::delay(self.base, self.max, self.failures);
        self.failures = self.failures.saturating_add(1);
        delay
    }

    /// Starts over after a success.
    pub const fn reset(&mut self) {
        self.failures = 0;
    }

    pub(crate) fn delay(base: Duration, max: Duration, failures: u32) -> Duration {
        let full = base
            .saturating_mul(1_u32.checked_shl(failures.min(31)).unwrap_or(u32::MAX))
            .min(max);
        full.mul_f64(rand::random_range(0.5..=1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_limit() {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1));
        for full in [100, 200, 400, 800, 1000, 1000] {
            let delay = backoff.next_delay();
            let full = Duration::from_millis(full);
            assert!(delay <= full && delay >= full / 2, "{delay:?} of {full:?}");
        }
        backoff.reset();
        assert!(backoff.next_delay() <= Duration::from_millis(100));
    }
}
