//! The contract cases about defaults, validation and names.
//!
//! One test for each case, named by file and id. `PERNODE_CASES=DIR` reads another directory.

use libtest_mimic::{Arguments, Failed, Trial};
use pernode_api::defaults::{apply_defaults, check_conversion};
use pernode_api::field_error::FieldError;
use pernode_api::resource::{Resource, find_kind};
use pernode_api::validation::{self, meta};
use pernode_api::{names, strategy};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

type Check = fn(&Value, &Value) -> Result<(), Failed>;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let files: [(&str, Check); 3] = [
        ("validation", validation),
        ("defaults", defaults),
        ("names", names),
    ];
    let trials = files
        .into_iter()
        .flat_map(|(file, check)| trials(file, check))
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
    let text = std::fs::read_to_string(&path).expect("case files can be read");
    let cases: Vec<Value> = serde_saphyr::from_str(&text).expect("case files are lists of cases");
    let trial = |mut case: Value| {
        expand(&mut case);
        let id = case["id"].as_str().expect("a case has an id").to_owned();
        Trial::test(format!("{file}::{id}"), move || {
            check(&case["given"], &case["expect"]).map_err(|e| {
                let why = e.message().unwrap_or_default();
                format!("{}\n{why}", case["about"].as_str().unwrap_or_default()).into()
            })
        })
    };
    cases.into_iter().map(trial).collect()
}

/// `${a*63}` stands for the character repeated that often, in any text of a case.
fn expand(value: &mut Value) {
    match value {
        Value::String(text) => *text = expand_text(text),
        Value::Array(list) => list.iter_mut().for_each(expand),
        Value::Object(map) => {
            let entries: Map<String, Value> = std::mem::take(map)
                .into_iter()
                .map(|(key, mut value)| {
                    expand(&mut value);
                    (expand_text(&key), value)
                })
                .collect();
            *map = entries;
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn expand_text(text: &str) -> String {
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

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn expect_eq(what: &str, found: &Value, wanted: &Value) -> Result<(), Failed> {
    if found == wanted {
        return Ok(());
    }
    Err(format!("{what}\n   found {found}\n  wanted {wanted}").into())
}

/// What became of a write: the object to store, or why it is refused.
enum Written {
    Stored(Value),
    Undecodable(String),
    Invalid(Vec<FieldError>),
}

fn write(given: &Value) -> Result<Written, Failed> {
    let mut object = given["object"].clone();
    let resource = resource_of(&object);
    if let Err(why) = check_conversion(resource, &object) {
        return Ok(Written::Undecodable(why));
    }
    apply_defaults(resource, &mut object);
    let mut stored = given["stored"].clone();
    apply_defaults(resource, &mut stored);
    let errors = match given["operation"].as_str() {
        Some("create") => {
            strategy::prepare_create(resource, &mut object);
            validation::validate_create(resource, &object)
        }
        Some("update") => {
            strategy::prepare_update(resource, &mut object, &stored);
            validation::validate_update(resource, &object, &stored)
        }
        Some("updateStatus") => {
            strategy::prepare_status_update(resource, &mut object, &stored);
            validation::validate_status_update(resource, &object, &stored)
        }
        other => return Err(format!("unknown operation {other:?}").into()),
    };
    Ok(if errors.is_empty() {
        Written::Stored(object)
    } else {
        Written::Invalid(errors)
    })
}

fn resource_of(object: &Value) -> &'static Resource {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kind = object["kind"].as_str().unwrap_or_default();
    find_kind(group, version, kind).expect("cases are about kinds of the table")
}

fn validation(given: &Value, expect: &Value) -> Result<(), Failed> {
    let found = match write(given)? {
        Written::Stored(_) => json!({"accepted": true}),
        Written::Undecodable(_) => json!({"accepted": false, "httpStatus": 400}),
        Written::Invalid(errors) => {
            let errors = errors.iter().map(|error| {
                let kind = error.kind.reason().trim_start_matches("FieldValue");
                json!({"field": error.field, "type": kind})
            });
            json!({"accepted": false, "errors": as_set(errors)})
        }
    };
    let mut wanted = expect.clone();
    if let Some(errors) = expect.get("errors") {
        wanted["errors"] = as_set(list(errors).iter().cloned());
    }
    expect_eq("result", &found, &wanted)
}

fn as_set(items: impl Iterator<Item = Value>) -> Value {
    let mut texts: Vec<(String, Value)> = items.map(|item| (item.to_string(), item)).collect();
    texts.sort_by(|a, b| a.0.cmp(&b.0));
    texts.dedup_by(|a, b| a.0 == b.0);
    texts.into_iter().map(|(_, item)| item).collect()
}

fn defaults(given: &Value, expect: &Value) -> Result<(), Failed> {
    let stored = match write(given)? {
        Written::Stored(object) => object,
        Written::Undecodable(why) => return Err(why.into()),
        Written::Invalid(errors) => return Err(format!("{errors:?}").into()),
    };
    contains("", &stored, &expect["stored"])?;
    for path in list(&expect["absent"]) {
        let path = path.as_str().expect("a path is text");
        let found = at(&stored, path);
        let empty = match found {
            Value::Null => true,
            Value::Array(list) => list.is_empty(),
            Value::Object(map) => map.is_empty(),
            Value::String(text) => text.is_empty(),
            Value::Number(number) => number.as_i64() == Some(0),
            Value::Bool(flag) => !flag,
        };
        if !empty {
            return Err(format!("{path} should be absent but is {found}").into());
        }
    }
    Ok(())
}

fn contains(path: &str, found: &Value, wanted: &Value) -> Result<(), Failed> {
    match wanted {
        Value::Object(map) => map
            .iter()
            .try_for_each(|(key, value)| contains(&format!("{path}.{key}"), &found[key], value)),
        Value::Array(items) => {
            expect_eq(path, &json!(list(found).len()), &json!(items.len()))?;
            let pairs = list(found).iter().zip(items).enumerate();
            pairs
                .into_iter()
                .try_for_each(|(i, (found, item))| contains(&format!("{path}[{i}]"), found, item))
        }
        _ => expect_eq(path, found, wanted),
    }
}

/// The value at a path such as `spec.containers[0].image`.
fn at<'a>(object: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(object, |value, part| {
        let (field, index) = part.split_once('[').unwrap_or((part, ""));
        let value = &value[field];
        match index.trim_end_matches(']').parse::<usize>() {
            Ok(index) => &value[index],
            Err(_) => value,
        }
    })
}

fn names(given: &Value, expect: &Value) -> Result<(), Failed> {
    if let Some(format) = given.get("format").and_then(Value::as_str) {
        let mut refused = Vec::new();
        for value in list(&given["values"]) {
            if !messages(format, value)?.is_empty() {
                refused.push(value);
            }
        }
        return expect_eq("refused", &json!(refused), &expect["refused"]);
    }
    if let Some(maps) = given.get("annotations").or_else(|| given.get("labels")) {
        let key = if given.get("labels").is_some() {
            "labels"
        } else {
            "annotations"
        };
        let errors: Value = list(maps)
            .iter()
            .map(|map| {
                let metadata = json!({"name": "x", key: map});
                texts(&meta::validate(&metadata, false, names::dns1123_subdomain))
            })
            .collect();
        return expect_eq("errors", &errors, &expect["errors"]);
    }
    let errors = if let Some(metadata) = given.get("metadata") {
        let namespaced = given["namespaced"].as_bool().unwrap_or_default();
        meta::validate(metadata, namespaced, names::dns1123_subdomain)
    } else {
        meta::validate_update(&given["new"], &given["old"])
    };
    expect_eq("errors", &texts(&errors), &expect["errors"])
}

fn texts(errors: &[FieldError]) -> Value {
    errors
        .iter()
        .map(|error| json!(error.to_string()))
        .collect()
}

fn messages(format: &str, value: &Value) -> Result<Vec<String>, Failed> {
    let text = value.as_str().unwrap_or_default();
    let number = value.as_i64().unwrap_or_default();
    Ok(match format {
        "dns1123label" => names::dns1123_label(text),
        "dns1123subdomain" => names::dns1123_subdomain(text),
        "dns1035label" => names::dns1035_label(text),
        "qualifiedname" => names::qualified_name(text),
        "labelvalue" => names::label_value(text),
        "portname" => names::port_name(text),
        "portnum" => names::port_number(number),
        "relaxedenvvarname" => names::env_var_name(text),
        "configmapkey" => names::config_map_key(text),
        "uid" => names::user_id(number),
        "ip" => names::ip(text),
        other => return Err(format!("unknown format {other}").into()),
    })
}
