//! How many pods may be missing or extra during a rolling update.

use super::view::DaemonSet;

/// The limits of a rolling update as numbers of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Nodes that may be without an available pod.
    pub max_unavailable: usize,
    /// Nodes that may hold an extra pod that is not available yet.
    pub max_surge: usize,
}

impl Budget {
    /// Scales the limits to the number of nodes that should run the pod.
    ///
    /// Percentages are rounded up. When both come out as zero an update could never move, so one pod may
    /// be unavailable.
    pub fn of(set: &DaemonSet, desired: usize) -> Self {
        let strategy = &set.spec.update_strategy;
        let limits = strategy
            .rolling_update
            .as_ref()
            .filter(|_| strategy.is_rolling());
        let scale = |limit: Option<&crate::int_or_percent::IntOrPercent>, absent: usize| match limit
        {
            Some(limit) => {
                usize::try_from(limit.scaled(desired as i64, true).unwrap_or(0)).unwrap_or(0)
            }
            None => absent,
        };
        let absent = usize::from(strategy.is_rolling() && desired > 0);
        let max_surge = scale(limits.and_then(|l| l.max_surge.as_ref()), 0);
        let mut max_unavailable = scale(limits.and_then(|l| l.max_unavailable.as_ref()), absent);
        if desired > 0 && max_unavailable == 0 && max_surge == 0 {
            max_unavailable = 1;
        }
        Self {
            max_unavailable,
            max_surge,
        }
    }
}
