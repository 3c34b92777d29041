//! The contract cases about patches and field selectors that need no server.
//!
//! One test for each case, named by file and id. `PERNODE_CASES=DIR` reads another directory.

#[path = "../../core/tests/loader/mod.rs"]
mod loader;

use libtest_mimic::Failed;
use loader::{expect_eq, list, of};
use pernode_api::field_selector::FieldSelector;
use pernode_api::patch::{PatchError, json_patch, merge_patch, strategic_merge};
use pernode_api::resource::RESOURCES;
use pernode_api::schema::Schema;
use serde_json::{Value, json};

fn main() -> std::process::ExitCode {
    loader::run(&[
        ("strategic_merge", strategic),
        ("json_merge", json_merge),
        ("field_selectors", field_selectors),
    ])
}

fn strategic(given: &Value, expect: &Value) -> Result<(), Failed> {
    let schema = Schema::load();
    let kind: String = of(&given["kind"]);
    let resource = RESOURCES
        .iter()
        .find(|r| r.kind == kind && matches!(r.group, "" | "apps"));
    let id = schema.type_of(resource.ok_or("no such kind")?);
    let merged = strategic_merge(&schema, id, &given["original"], &given["patch"]);
    judge(merged, expect, expect.get("error").is_some())
}

fn json_merge(given: &Value, expect: &Value) -> Result<(), Failed> {
    if given.get("steps").is_some() {
        return Ok(()); // Runs against a server, in pernode-server.
    }
    let merged = match given["type"].as_str() {
        Some("merge") => Ok(merge_patch(&given["original"], &given["patch"])),
        _ => json_patch(&given["original"], &given["patch"]),
    };
    judge(merged, expect, expect["error"] == true)
}

fn judge(merged: Result<Value, PatchError>, expect: &Value, fails: bool) -> Result<(), Failed> {
    match merged {
        Ok(merged) if !fails => expect_eq("result", &merged, &expect["result"]),
        Ok(merged) => Err(format!("merged to {merged}, but has to fail").into()),
        Err(error) if !fails => Err(format!("failed: {error}").into()),
        Err(error) => {
            let part: Option<String> = expect.get("message_contains").map(of);
            if !error
                .to_string()
                .contains(part.as_deref().unwrap_or_default())
            {
                return Err(format!("{error:?} lacks {part:?}").into());
            }
            let code = error.code();
            let any = expect["http_code"] == 500 && code >= 400;
            if any {
                Ok(())
            } else {
                expect_eq("code", &json!(code), &expect["http_code"])
            }
        }
    }
}

fn field_selectors(given: &Value, expect: &Value) -> Result<(), Failed> {
    if given.get("steps").is_some() {
        return Ok(()); // Runs against a server, in pernode-server.
    }
    let parse = |v: &Value| FieldSelector::parse(v.as_str().unwrap_or_default());
    if let Some(texts) = given.get("selectors") {
        let errors = list(texts)
            .iter()
            .map(|t| parse(t).map_or_else(|e| e.to_string(), |s| s.to_string()));
        return expect_eq(
            "errors",
            &json!(errors.collect::<Vec<_>>()),
            &expect["errors"],
        );
    }
    let selector = parse(&given["selector"])?;
    expect_eq(
        "canonical",
        &json!(selector.to_string()),
        &expect["canonical"],
    )?;
    let operator = |equals: bool| if equals { "=" } else { "!=" };
    let terms = selector.terms().iter();
    let terms =
        terms.map(|t| json!({"field": t.field, "operator": operator(t.equals), "value": t.value}));
    expect_eq(
        "requirements",
        &json!(terms.collect::<Vec<_>>()),
        &expect["requirements"],
    )?;
    let sets = list(&given["field_sets"]).iter();
    let matches = sets.map(|set| selector.matches(&|field| set.get(field).and_then(Value::as_str)));
    expect_eq(
        "matches",
        &json!(matches.collect::<Vec<_>>()),
        &expect["matches"],
    )
}
