//! What can be chosen about the controller.

use pernode_core::daemonset::Policy;
use pernode_runtime::Gate;
use std::time::Duration;

/// Settings of the controller; the default suits an embedded cluster.
#[derive(Debug, Clone)]
pub struct Options {
    /// Name in events, as field manager and as user agent; default `daemonset-controller`.
    pub component: String,
    /// Open while this process leads; default always.
    pub gate: Gate,
    /// Bounds of one round; default 5,000 creates and deletes. Upstream's 250 would only add rounds
    /// here: slow start and `concurrency` bound the load already.
    pub policy: Policy,
    /// Writes in flight at a time, over all DaemonSets; default 64.
    pub concurrency: usize,
    /// Delay after the first failed round of a DaemonSet; default 5 ms, as upstream.
    pub retry_min: Duration,
    /// Longest delay after failed rounds; default 30 s. Upstream waits up to 1,000 s, so that a quota
    /// that was raised is noticed late.
    pub retry_max: Duration,
    /// Shortest time between two status writes of a DaemonSet; default 10 ms. The first change is
    /// written at once; during a rollout the rest would only be overwritten.
    pub status_interval: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            component: "daemonset-controller".to_owned(),
            gate: Gate::open(),
            policy: Policy {
                creates_max: 5_000,
                deletes_max: 5_000,
            },
            concurrency: 64,
            retry_min: Duration::from_millis(5),
            retry_max: Duration::from_secs(30),
            status_interval: Duration::from_millis(10),
        }
    }
}
