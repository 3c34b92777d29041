//! Which of several fitting nodes is taken.

use super::demand::{Amounts, Demand};
use super::node_info::{Capacity, NodeInfo};
use crate::node::Node;
use crate::pod::Pod;
use crate::taint::Effect;

/// Parts per thousand in a whole.
const WHOLE: i64 = 1000;

/// How many `PreferNoSchedule` taints of the node the pod does not tolerate.
pub(super) fn avoided(pod: &Pod, node: &Node) -> usize {
    let tolerated = |taint| pod.spec.tolerations.iter().any(|t| t.tolerates(taint));
    node.spec
        .taints
        .iter()
        .filter(|taint| taint.effect == Effect::PreferNoSchedule && !tolerated(taint))
        .count()
}

/// How full the node would be: CPU and memory in thousandths, then the number of pods.
pub(super) fn load(demand: &Demand, capacity: &Capacity, info: &NodeInfo) -> (i64, usize) {
    let share = |of: fn(&Amounts) -> i64| {
        let taken = of(info.used()).saturating_add(of(&demand.amounts));
        taken.saturating_mul(WHOLE) / of(&capacity.amounts).max(1)
    };
    (
        share(|a| a.milli_cpu) + share(|a| a.memory),
        info.pod_count(),
    )
}
