//! Cases about the counters and how they are written.

use crate::{Check, Outcome, get, op, opt, same, unknown_op};
use jiff::Timestamp;
use pernode_core::daemonset::expectations::Awaited;
use pernode_core::daemonset::status::{Next, StatusWrite, first_failure, of};
use pernode_core::daemonset::{Policy, plan};
use serde_json::{Value, json};

pub(crate) fn by_op(given: &Value) -> Option<Check> {
    Some(match op(given) {
        "compute" => compute,
        "store" => store,
        "result" => result,
        _ => unknown_op,
    })
}

const COUNTERS: [&str; 7] = [
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
];

fn compute(given: &Value, expect: &Value) -> Outcome {
    let now: Timestamp = get(given, "now")?;
    let mut fleet = crate::pass::fleet(given, now)?;
    let unseen = opt(given, "unseenWrites")?.unwrap_or(false);
    if unseen {
        fleet
            .expectations_mut()
            .expect("unseen", Awaited::Present, now);
    }
    fleet.advance(now);
    let plan = plan(&fleet, now, &Policy::default());
    same("write", &plan.status.is_some(), &get(expect, "write")?)?;
    same(
        "requeueAfterSeconds",
        &plan.guard_seconds,
        &opt(expect, "requeueAfterSeconds")?,
    )?;
    let ours = of(fleet.daemon_set(), fleet.tally(), !unseen);
    let Some(wanted) = opt::<Value>(expect, "status")? else {
        return same("status", &ours, &None);
    };
    let ours = json!(ours.ok_or("no status was worked out")?);
    for counter in COUNTERS {
        let number = |status: &Value| opt::<i64>(status, counter).map(Option::unwrap_or_default);
        same(counter, &number(&ours)?, &number(&wanted)?)?;
    }
    for key in ["observedGeneration", "collisionCount"] {
        if wanted.get(key).is_some() {
            same(key, &ours.get(key), &wanted.get(key))?;
        }
    }
    Ok(())
}

fn store(given: &Value, expect: &Value) -> Outcome {
    let update_failures: u32 = get(given, "updateFailures")?;
    let read_failures: u32 = get(given, "getFailures")?;
    let mut write = StatusWrite::default();
    let (mut updates, mut reads) = (0, 0);
    let mut next = Next::Update;
    let error = loop {
        next = match next {
            Next::Update => {
                updates += 1;
                write.after_update(updates > update_failures)
            }
            Next::Read => {
                reads += 1;
                write.after_read(reads > read_failures)
            }
            Next::Done => break None,
            Next::UpdateFailed => break Some("update"),
            Next::ReadFailed => break Some("get"),
        };
    };
    same("updateCalls", &updates, &get(expect, "updateCalls")?)?;
    same("getCalls", &reads, &get(expect, "getCalls")?)?;
    same("error", &error.map(String::from), &opt(expect, "error")?)
}

fn result(given: &Value, expect: &Value) -> Outcome {
    let sync = get::<bool>(given, "syncFails")?.then(|| String::from("sync"));
    let status = get::<bool>(given, "statusFails")?.then(|| String::from("status"));
    same(
        "error",
        &first_failure(sync, status),
        &opt(expect, "error")?,
    )
}
