//! Reads case files and runs each case as a test named by its file and id.

use libtest_mimic::{Arguments, Failed, Trial};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::PathBuf;
use std::process::ExitCode;

/// Checks one case: what is given, what is expected.
pub(crate) type Check = fn(&Value, &Value) -> Result<(), Failed>;

/// Runs the cases of the files. A file that is absent from `PERNODE_CASES` is left out.
pub(crate) fn run(files: &[(&'static str, Check)]) -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = files
        .iter()
        .flat_map(|(file, check)| trials(file, *check))
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trials(file: &'static str, check: Check) -> Vec<Trial> {
    let other = std::env::var_os("PERNODE_CASES").map(PathBuf::from);
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases");
    let path = other.clone().unwrap_or(own).join(format!("{file}.yaml"));
    if other.is_some() && !path.exists() {
        return Vec::new();
    }
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let text = expand(&text);
    let cases: Vec<Value> =
        serde_saphyr::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let trial = |case: Value| {
        let id = case["id"].as_str().expect("a case has an id").to_owned();
        Trial::test(format!("{file}::{id}"), move || {
            check(&case["given"], &case["expect"]).map_err(|e| explain(&case, &e))
        })
    };
    cases.into_iter().map(trial).collect()
}

fn explain(case: &Value, error: &Failed) -> Failed {
    format!(
        "{}\n{}",
        case["about"].as_str().unwrap_or_default(),
        error.message().unwrap_or_default()
    )
    .into()
}

/// The elements of a list, none for anything else.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A value as the type a test needs.
pub(crate) fn of<T: DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap_or_else(|e| panic!("{e}: {value}"))
}

/// Fails with both values unless they are equal.
pub(crate) fn expect_eq(what: &str, found: &Value, wanted: &Value) -> Result<(), Failed> {
    if found == wanted {
        return Ok(());
    }
    Err(format!("{what}\n   found {found}\n  wanted {wanted}").into())
}

/// `${a*63}` stands for the character repeated that often.
fn expand(text: &str) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        expanded.push_str(before);
        let (inside, behind) = after.split_once('}').unwrap_or((after, ""));
        match inside.split_once('*').map(|(c, n)| (c, n.parse::<usize>())) {
            Some((character, Ok(times))) => expanded.push_str(&character.repeat(times)),
            _ => expanded.extend(["${", inside, "}"]),
        }
        rest = behind;
    }
    expanded.push_str(rest);
    expanded
}
