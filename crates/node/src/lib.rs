//! Node agents, simulated by the thousand.
//!
//! A simulated node is a Node object with the annotation `sim.pernode.dev/node: "true"`:
//! whoever creates one lets a node join, whoever deletes it lets it leave, and after a restart
//! the nodes are found again by a list. One task plays the agents of all of them:
//!
//! ```text
//! nodes, pods ─▶ Fleet (index) ─ plan(now, free slots) ─▶ Job ─ execute ─▶ API
//!                    ▲                                                     │
//!                    └──────────────── done(job, outcome) ◀────────────────┘
//! ```
//!
//! An event costs what it changes; nothing here looks at all nodes.

mod fleet;
mod knobs;
mod run;
mod spec;
mod status;

pub use run::{Options, Stats, run};
pub use spec::{Capacity, NodeSpec, address_of, is_simulated};

/// Annotation of the nodes that are played here: `"true"`.
pub const SIMULATED: &str = "sim.pernode.dev/node";
/// Annotation of a node whose agent is to be silent: no lease, no status, no work on pods.
pub const DEAD: &str = "sim.pernode.dev/dead";
/// Annotation of a node with conditions to report, such as `Ready=False,DiskPressure=True`.
pub const CONDITIONS: &str = "sim.pernode.dev/conditions";
