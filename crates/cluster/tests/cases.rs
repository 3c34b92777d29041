//! The HTTP contract cases that need a garbage collector, against a cluster in memory.
//!
//! One test per case. No loop but the garbage collector may touch the objects, so the others are
//! left out. `PERNODE_CASES` names another directory of cases.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test ends at the first surprise"
)]

#[path = "../../server/tests/cases/runner.rs"]
mod runner;

use libtest_mimic::{Arguments, Failed, Trial};
use pernode_cluster::{Cluster, Nodes};
use pernode_server::User;

use runner::{Case, Target};

/// Loops that would touch the objects of the cases.
const WITHOUT: [&str; 4] = [
    "daemonset-controller",
    "node-simulator",
    "scheduler",
    "serviceaccount-controller",
];

fn main() {
    let mut arguments = Arguments::from_args();
    // Cases mostly wait: for the collector to come around, and for it not to.
    arguments.test_threads.get_or_insert(16);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let builder = Cluster::builder().nodes(Nodes::None).without(WITHOUT);
    let cluster = runtime
        .block_on(builder.start())
        .expect("the cluster starts");
    let store = cluster.api().store().clone();
    let target = Target::new(cluster.api().service_as(User::admin("cases")))
        .compact(move |revision| store.compact(revision));
    let trials = Case::load(&runner::contract(), "gc")
        .into_iter()
        .map(|case| {
            let (handle, target) = (runtime.handle().clone(), target.clone());
            Trial::test(case.name(), move || {
                handle
                    .block_on(runner::run(&case, target))
                    .map_err(Failed::from)
            })
        });
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    runtime.block_on(cluster.stop()).expect("the cluster stops");
    conclusion.exit();
}
