//! The contract cases about DaemonSets: one test per case, named by its id.
//!
//! They are read from the repository's `tests/cases`, or from the directory `PERNODE_CASES` names.

mod history;
mod judge;
mod pass;
mod sequence;
mod status;
mod wake;

use libtest_mimic::{Arguments, Failed, Trial};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::PathBuf;
use std::process::ExitCode;

/// One case of a file.
#[derive(Deserialize)]
struct Case {
    id: String,
    given: Value,
    expect: Value,
}

type Outcome = Result<(), Failed>;
type Check = fn(&Value, &Value) -> Outcome;

/// The files, and what runs a case of each. None skips a case that is somebody else's.
const FILES: &[(&str, fn(&Value) -> Option<Check>)] = &[
    ("placement", |_| Some(judge::placement)),
    ("tolerations", |_| Some(judge::tolerations)),
    ("rollout_status", |_| Some(judge::rollout_status)),
    ("node_affinity", |given| {
        (op(given) == "pin").then_some(judge::pin as Check)
    }),
    ("manage", |given| {
        if op(given) == "pass" {
            Some(pass::pass_with_owners)
        } else {
            by_op(given)
        }
    }),
    ("rolling_update", by_op),
    ("surge", by_op),
    ("history", history::by_op),
    ("status", status::by_op),
    ("watch_events", |_| Some(wake::wakes)),
];

fn by_op(given: &Value) -> Option<Check> {
    Some(match op(given) {
        "pass" => pass::pass,
        "render" => pass::render,
        "failed-pod-backoff" => pass::backoff,
        "budget" => judge::budget,
        "updated" => judge::updated,
        "sequence" => sequence::sequence,
        _ => unknown_op,
    })
}

fn main() -> ExitCode {
    let mut trials = Vec::new();
    for (file, check_of) in FILES {
        match read(file) {
            Ok(cases) => trials.extend(
                cases
                    .into_iter()
                    .filter_map(|case| trial(file, *check_of, case)),
            ),
            Err(failed) => trials.push(Trial::test(*file, move || Err(failed))),
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn trial(file: &str, check_of: fn(&Value) -> Option<Check>, case: Case) -> Option<Trial> {
    let check = check_of(&case.given)?;
    let run = move || check(&case.given, &case.expect);
    Some(Trial::test(case.id, run).with_kind(file))
}

fn read(file: &str) -> Result<Vec<Case>, Failed> {
    let directory = std::env::var_os("PERNODE_CASES").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases"),
        PathBuf::from,
    );
    let path = directory.join(format!("{file}.yaml"));
    // Another directory of cases may hold only some of the files.
    if !path.exists() && std::env::var_os("PERNODE_CASES").is_some() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(&path)?;
    Ok(serde_saphyr::from_str(&text)?)
}

fn unknown_op(given: &Value, _expect: &Value) -> Outcome {
    Err(format!("no such op: {}", op(given)).into())
}

fn op(given: &Value) -> &str {
    given.get("op").and_then(Value::as_str).unwrap_or_default()
}

/// Reads a required field.
fn get<T: DeserializeOwned>(value: &Value, key: &str) -> Result<T, Failed> {
    let field = value
        .get(key)
        .ok_or_else(|| format!("the case has no {key}"))?;
    Ok(T::deserialize(field)?)
}

/// Reads a field that may be absent or null.
fn opt<T: DeserializeOwned>(value: &Value, key: &str) -> Result<Option<T>, Failed> {
    let field = value.get(key).filter(|field| !field.is_null());
    Ok(field.map(T::deserialize).transpose()?)
}

/// Compares, and shows both sides when they differ.
fn same<T: PartialEq + core::fmt::Debug>(what: &str, ours: &T, wanted: &T) -> Outcome {
    if ours == wanted {
        return Ok(());
    }
    Err(format!("{what}\n  ours:   {ours:?}\n  wanted: {wanted:?}").into())
}
