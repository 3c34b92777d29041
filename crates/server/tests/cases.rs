//! The HTTP contract cases of `tests/cases/` against the server, in process, over a store in memory.
//!
//! One test per case, named by file and id. `PERNODE_CASES` names another directory of cases. The
//! cases that need a garbage collector are run by `pernode-cluster`.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test ends at the first surprise"
)]

#[path = "cases/daemonsets.rs"]
mod daemonsets;
#[path = "cases/runner.rs"]
mod runner;

use std::path::Path;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use pernode_api::schema::Schema;
use pernode_server::{Api, Options, User};
use pernode_store::memory::Memory;
use pernode_store::{Store, Window};

use runner::{Case, Target};

const FILES: [&str; 8] = [
    "apply",
    "delete",
    "field_selectors",
    "field_validation",
    "json_merge",
    "label_selectors",
    "list_watch",
    "printing",
];

/// Cases about kinds that this server lists but does not let anyone create, because no loop acts on
/// them. `served.yaml` says the same with other kinds.
const NOT_SERVED: [&str; 4] = [
    "apply::apply-from-client-side-apply",
    "apply::dropping-a-shared-field-keeps-it",
    "apply::dropping-an-owned-field-removes-it",
    "delete::orphan-dependents-false",
];

/// A server of its own for each case: cases compact the store and list across namespaces.
async fn target(schema: Arc<Schema>) -> Target {
    let store: Arc<dyn Store> = Arc::new(Memory::new(Window::default()));
    let options = Options {
        require_service_account: false,
        ..Options::default()
    };
    let api = Api::builder(Arc::clone(&store), schema)
        .options(options)
        .build();
    let api = api.expect("the server can be built");
    api.bootstrap()
        .await
        .expect("the server has what it starts with");
    Target::new(api.service_as(User::admin("cases")))
        .compact(move |revision| store.compact(revision))
}

fn main() {
    let mut arguments = Arguments::from_args();
    // Cases mostly wait: for watches to end, and for versions to come.
    arguments.test_threads.get_or_insert(32);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let handle = runtime.handle().clone();
    let schema = Arc::new(Schema::load());
    let contract = runner::contract();
    let cases = FILES.iter().flat_map(|file| Case::load(&contract, file));
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let cases = cases.chain(Case::load(&own, "served"));
    let cases = cases
        .chain(daemonsets::validation())
        .chain(daemonsets::defaults());
    let trials = cases.map(|case| {
        let (handle, schema) = (handle.clone(), Arc::clone(&schema));
        let name = case.name();
        let ignored = NOT_SERVED.contains(&&*name);
        let trial = Trial::test(name, move || {
            let result = handle.block_on(async { runner::run(&case, target(schema).await).await });
            result.map_err(Failed::from)
        });
        trial.with_ignored_flag(ignored)
    });
    libtest_mimic::run(&arguments, trials.collect()).exit();
}
