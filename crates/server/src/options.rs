//! The options of a request: what its query (or its `DeleteOptions`) says about how to do it.

use http::HeaderMap;
use http::header::USER_AGENT;
use pernode_api::field_error::FieldError;
use pernode_api::status::Status;
use pernode_api::strategy::Propagation;
use pernode_api::strategy::deletion;
use serde_json::Value;

use crate::query::Query;

/// What to do about fields that the schema does not know, and about duplicate ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum FieldValidation {
    /// Drop them silently.
    Ignore,
    /// Drop them and say so.
    #[default]
    Warn,
    /// Refuse the object.
    Strict,
}

/// Options of a create, update or patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WriteOptions {
    /// Do everything but store it.
    pub(crate) dry_run: bool,
    /// Who the fields are credited to.
    pub(crate) manager: String,
    /// Whether the request named the manager itself.
    pub(crate) manager_given: bool,
    /// Whether the object comes credited to its manager already: an applied configuration does.
    pub(crate) credited: bool,
    /// What to do about unknown fields.
    pub(crate) validation: FieldValidation,
    /// Whether an apply takes fields from others.
    pub(crate) force: Option<bool>,
}

/// Longest name of a field manager.
const MANAGER_BYTES_MAX: usize = 128;

impl WriteOptions {
    /// Reads the options; `kind` is the name of the option object in messages.
    pub(crate) fn parse(kind: &str, query: &Query, headers: &HeaderMap) -> Result<Self, Status> {
        let mut errors = Vec::new();
        let force = query.optional_flag("force");
        let dry_run = dry_run(query.all("dryRun").collect(), &mut errors);
        let given = query.text("fieldManager");
        if let Some(manager) = given {
            check_manager(manager, &mut errors);
        }
        let validation = validation(query.get("fieldValidation").unwrap_or(""), &mut errors);
        if !errors.is_empty() {
            return Err(Status::invalid_options(kind, &errors));
        }
        Ok(Self {
            dry_run,
            manager: given.map_or_else(|| agent(headers), str::to_owned),
            manager_given: given.is_some(),
            credited: false,
            validation,
            force,
        })
    }

    /// Options of a write that upstream's server makes by itself too, under its name.
    pub(crate) fn of_server() -> Self {
        Self {
            manager: "kube-apiserver".to_owned(),
            ..Self::internal()
        }
    }

    /// Options of a write the server makes by itself.
    pub(crate) fn internal() -> Self {
        Self {
            dry_run: false,
            manager: "pernode".to_owned(),
            manager_given: true,
            credited: false,
            validation: FieldValidation::Ignore,
            force: None,
        }
    }
}

fn dry_run(values: Vec<&str>, errors: &mut Vec<FieldError>) -> bool {
    let values: Vec<&str> = values.into_iter().filter(|v| !v.is_empty()).collect();
    if values.iter().any(|value| *value != "All") {
        let shown = Value::from(values.clone());
        errors.push(FieldError::not_supported(&"dryRun", shown, &["All"]));
    }
    !values.is_empty()
}

fn check_manager(manager: &str, errors: &mut Vec<FieldError>) {
    if manager.len() > MANAGER_BYTES_MAX {
        errors.push(FieldError::too_long(&"fieldManager", MANAGER_BYTES_MAX));
    }
    if let Some((at, bad)) = manager.char_indices().find(|(_, c)| c.is_control()) {
        errors.push(FieldError::invalid(
            &"fieldManager",
            manager,
            format!(
                "invalid character U+{:04X} (at position {at})",
                u32::from(bad)
            ),
        ));
    }
}

fn validation(word: &str, errors: &mut Vec<FieldError>) -> FieldValidation {
    match word {
        "" | "Warn" => FieldValidation::Warn,
        "Ignore" => FieldValidation::Ignore,
        "Strict" => FieldValidation::Strict,
        other => {
            errors.push(FieldError::not_supported(
                &"fieldValidation",
                other,
                &["", "Ignore", "Strict", "Warn"],
            ));
            FieldValidation::Warn
        }
    }
}

/// The manager of a client that names none: its program's name (spec/apiserver.md 1.0).
fn agent(headers: &HeaderMap) -> String {
    let agent = headers
        .get(USER_AGENT)
        .and_then(|agent| agent.to_str().ok())
        .and_then(|agent| agent.split('/').next())
        .filter(|agent| !agent.is_empty())
        .unwrap_or("unknown");
    agent.chars().take(MANAGER_BYTES_MAX).collect()
}

/// Options of a deletion.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct DeleteOptions {
    /// Do everything but delete.
    pub(crate) dry_run: bool,
    /// Grace period and propagation.
    pub(crate) how: deletion::Options,
    /// Only an object of this uid.
    pub(crate) uid: Option<String>,
    /// Only this version of the object.
    pub(crate) resource_version: Option<String>,
}

impl DeleteOptions {
    /// Reads the options from the body, or from the query when there is no body.
    pub(crate) fn parse(body: Option<&Value>, query: &Query) -> Result<Self, Status> {
        let from_query = body.is_none().then(|| in_query(query)).transpose()?;
        let value = body.or(from_query.as_ref()).unwrap_or(&Value::Null);
        let mut errors = Vec::new();
        let mut dry: Vec<&str> = value["dryRun"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        dry.extend(query.all("dryRun"));
        let dry_run = dry_run(dry, &mut errors);
        let how = deletion::Options {
            grace_period_seconds: value["gracePeriodSeconds"].as_i64(),
            propagation: propagation(value, &mut errors),
            orphan_dependents: value["orphanDependents"].as_bool(),
        };
        if !errors.is_empty() {
            return Err(Status::invalid_options("DeleteOptions", &errors));
        }
        let precondition = |field: &str| value["preconditions"][field].as_str().map(str::to_owned);
        Ok(Self {
            dry_run,
            how,
            uid: precondition("uid"),
            resource_version: precondition("resourceVersion"),
        })
    }
}

fn in_query(query: &Query) -> Result<Value, Status> {
    let mut value = serde_json::json!({});
    if let Some(seconds) = query
        .number("gracePeriodSeconds")
        .map_err(Status::bad_request)?
    {
        value["gracePeriodSeconds"] = seconds.into();
    }
    if let Some(policy) = query.text("propagationPolicy") {
        value["propagationPolicy"] = policy.into();
    }
    if let Some(orphan) = query.optional_flag("orphanDependents") {
        value["orphanDependents"] = orphan.into();
    }
    Ok(value)
}

fn propagation(value: &Value, errors: &mut Vec<FieldError>) -> Option<Propagation> {
    let word = value["propagationPolicy"].as_str()?;
    let known = Propagation::parse(word);
    if known.is_none() {
        let supported = ["Foreground", "Background", "Orphan", "nil"];
        errors.push(FieldError::not_supported(
            &"propagationPolicy",
            word,
            &supported,
        ));
    } else if !value["orphanDependents"].is_null() {
        errors.push(FieldError::invalid(
            &"propagationPolicy",
            word,
            "orphanDependents and deletionPropagation cannot be both set",
        ));
    }
    known
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(query: &str) -> String {
        WriteOptions::parse("CreateOptions", &Query::parse(query), &HeaderMap::new())
            .unwrap_err()
            .message
    }

    #[test]
    fn write_options() {
        let query = Query::parse("dryRun=All&fieldManager=me&fieldValidation=Strict");
        let options = WriteOptions::parse("x", &query, &HeaderMap::new()).unwrap();
        assert!(options.dry_run && options.manager_given);
        assert_eq!(options.validation, FieldValidation::Strict);
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, "kubectl/v1.36 (linux)".parse().unwrap());
        let options = WriteOptions::parse("x", &Query::default(), &headers).unwrap();
        assert_eq!(options.manager, "kubectl");
    }

    #[test]
    fn refused_write_options() {
        assert_eq!(
            refused("dryRun=Foo"),
            "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Foo\"]: supported values: \"All\""
        );
        assert_eq!(
            refused("fieldValidation=Foo"),
            "CreateOptions.meta.k8s.io \"\" is invalid: fieldValidation: Unsupported value: \"Foo\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\""
        );
        assert_eq!(
            refused(&format!("fieldManager={}", "a".repeat(129))),
            "CreateOptions.meta.k8s.io \"\" is invalid: fieldManager: Too long: may not be more than 128 bytes"
        );
    }

    #[test]
    fn delete_options() {
        let body =
            json!({"gracePeriodSeconds": 5, "preconditions": {"uid": "u"}, "dryRun": ["All"]});
        let options = DeleteOptions::parse(Some(&body), &Query::default()).unwrap();
        assert_eq!(options.how.grace_period_seconds, Some(5));
        assert_eq!(options.uid.as_deref(), Some("u"));
        assert!(options.dry_run);
        let options =
            DeleteOptions::parse(None, &Query::parse("propagationPolicy=Orphan")).unwrap();
        assert_eq!(options.how.propagation, Some(Propagation::Orphan));
        let both = json!({"propagationPolicy": "Orphan", "orphanDependents": true});
        let refused = DeleteOptions::parse(Some(&both), &Query::default()).unwrap_err();
        assert_eq!(
            refused.message,
            "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Invalid value: \"Orphan\": orphanDependents and deletionPropagation cannot be both set"
        );
    }
}
