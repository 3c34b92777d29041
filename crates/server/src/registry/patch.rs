//! Patching objects: four kinds of patch, one way to store what they lead to.

use pernode_api::decode::{DecodeError, Parsed, check_value, parse_json};
use pernode_api::defaults::check_conversion;
use pernode_api::field_error::FieldError;
use pernode_api::managed;
use pernode_api::patch::{self as rules, PatchError};
use pernode_api::status::Status;
use serde_json::Value;

use super::create::insert;
use super::update::{check_name, stale, stored_form};
use super::write::{self, Outcome, Part, Place, Settled, TRIES_MAX, finish, settle};
use crate::call::Call;
use crate::decode;
use crate::events;
use crate::key;
use crate::negotiate;
use crate::object::{self, Object as _};
use crate::options::{FieldValidation, WriteOptions};
use crate::reply::{Failure, Response};
use crate::yaml;

/// `PATCH` of an object.
pub(crate) async fn patch(call: &Call) -> Result<Response, Failure> {
    patch_with(call, Part::Main).await
}

/// `PATCH` of an object or of its status.
pub(crate) async fn patch_with(call: &Call, part: Part) -> Result<Response, Failure> {
    let kind =
        Kind::of(negotiate::body_type(&call.headers)).ok_or_else(Status::unsupported_patch_type)?;
    let options = WriteOptions::parse("PatchOptions", &call.query, &call.headers)?;
    kind.check(&options)?;
    let patch = kind.parse(&call.body)?;
    let mut found = patch.duplicates;
    if kind == Kind::Json {
        let own = found.iter().map(|text| format!("json patch {text}"));
        found = own.collect();
        found.splice(0..0, rules::json_patch_findings(&patch.value));
    }
    let patching = Patching {
        call,
        place: Place::new(call.resource, call.namespace(), call.name()),
        part,
        kind,
        patch: patch.value,
        found,
        options,
    };
    let outcome = patching.run().await?;
    let code = if outcome.created { 201 } else { 200 };
    call.show(code, outcome.object, &outcome.warnings)
}

/// The kinds of patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl Kind {
    fn of(content_type: &str) -> Option<Self> {
        match content_type {
            "application/json-patch+json" => Some(Self::Json),
            "application/merge-patch+json" => Some(Self::Merge),
            "application/strategic-merge-patch+json" => Some(Self::Strategic),
            "application/apply-patch+yaml" => Some(Self::Apply),
            _ => None,
        }
    }

    fn check(self, options: &WriteOptions) -> Result<(), Status> {
        let error = match self {
            Self::Apply if !options.manager_given => {
                FieldError::required(&"fieldManager", "is required for apply patch")
            }
            Self::Json | Self::Merge | Self::Strategic if options.force.is_some() => {
                FieldError::forbidden(&"force", "may not be specified for non-apply patch")
            }
            _ => return Ok(()),
        };
        Err(Status::invalid_options("PatchOptions", &[error]))
    }

    fn parse(self, body: &[u8]) -> Result<Parsed, Status> {
        if self == Self::Apply {
            return applied(body);
        }
        let parsed = parse_json(body).map_err(|error| {
            let why = match error {
                DecodeError::Syntax(why) => why,
                other => other.to_string(),
            };
            Status::bad_request(match self {
                Self::Json => format!("error decoding patch: {why}"),
                _ => why,
            })
        })?;
        if self != Self::Json && !parsed.value.is_object() {
            return Err(Status::bad_request(format!(
                "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                go_type(&parsed.value)
            )));
        }
        Ok(parsed)
    }
}

/// Reads an applied configuration. Clients mostly send JSON, which is quicker read as such.
fn applied(body: &[u8]) -> Result<Parsed, Status> {
    if body.trim_ascii_start().starts_with(b"{")
        && let Ok(parsed) = parse_json(body)
    {
        return Ok(parsed);
    }
    let read = yaml::parse(body)
        .map_err(|why| Status::bad_request(format!("error decoding YAML: {why}")))?;
    Ok(Parsed {
        value: read.value,
        duplicates: read.duplicates,
    })
}

/// What Go calls a JSON value of this type.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
        Value::Object(_) => "object",
        Value::Null => "null",
    }
}

/// One patch on its way.
struct Patching<'a> {
    call: &'a Call,
    place: Place,
    part: Part,
    kind: Kind,
    patch: Value,
    /// What is odd about the patch itself: fields named twice.
    found: Vec<String>,
    options: WriteOptions,
}

impl Patching<'_> {
    async fn run(&self) -> Result<Outcome, Failure> {
        let actor = &self.call.actor;
        if self.kind == Kind::Apply {
            self.check_applied()?;
        }
        for _ in 0..TRIES_MAX {
            let Some(item) = actor.api.store.get(&self.place.key()) else {
                if self.kind == Kind::Apply && self.part == Part::Main {
                    return self.create().await;
                }
                return Err(self.place.not_found().into());
            };
            let old = object::parse(&item.bytes);
            let (settled, warnings) = self.settle(&old).await?;
            let pinned = !self.patch.meta("resourceVersion").is_empty();
            match finish(actor, &self.place, (&item, &old), settled, &self.options).await? {
                Some(mut outcome) => {
                    outcome.warnings.splice(0..0, warnings);
                    return Ok(outcome);
                }
                None if pinned => break,
                None => {}
            }
        }
        Err(stale(&self.place).into())
    }

    /// The state that the patch makes of an object, and warnings about the patch.
    async fn settle(&self, old: &Value) -> Result<(Settled, Vec<String>), Failure> {
        let actor = &self.call.actor;
        if self.kind == Kind::Apply {
            return self.settle_applied(old).await;
        }
        let external = self.external(old);
        let mut patched = self.patched(&external)?;
        let warnings = self.check(&mut patched)?;
        check_name(&self.place, &patched)?;
        if patched.meta("namespace") != external.meta("namespace") {
            return Err(Status::namespace_mismatch().into());
        }
        if !matches!(patched.meta("resourceVersion"), "" | "0")
            && patched.meta("resourceVersion") != external.meta("resourceVersion")
        {
            return Err(stale(&self.place).into());
        }
        let new = stored_form(&self.place, patched, old);
        let settled = settle(
            actor,
            &self.place,
            self.part,
            (old, new),
            Some(&self.options),
        )
        .await
        .map_err(|failure| decode::with_warnings(failure, &warnings))?;
        Ok((settled, warnings))
    }

    fn external(&self, stored: &Value) -> Value {
        if std::ptr::eq(key::stored_as(self.place.resource), self.place.resource) {
            stored.clone()
        } else {
            events::to_events_group(stored.clone())
        }
    }

    fn patched(&self, object: &Value) -> Result<Value, Failure> {
        let schema = &self.call.api().schema;
        let result = match self.kind {
            Kind::Json => rules::json_patch(object, &self.patch),
            Kind::Merge => Ok(rules::merge_patch(object, &self.patch)),
            Kind::Strategic | Kind::Apply => {
                let type_id = schema.type_of(self.place.resource);
                rules::strategic_merge(schema, type_id, object, &self.patch)
            }
        };
        result.map_err(|error| patch_failed(&error).into())
    }

    /// Types are checked and unknown fields dropped: what is left is an object of the kind.
    fn check(&self, patched: &mut Value) -> Result<Vec<String>, Failure> {
        let shown = (self.options.validation == FieldValidation::Strict).then(|| match self.kind {
            Kind::Strategic => rules::go_map_text(&self.patch),
            _ => patched.to_string(),
        });
        let schema = &self.call.api().schema;
        let type_id = schema.type_of(self.place.resource);
        let unknown = check_value(schema, type_id, patched).map_err(|error| {
            let shown = match self.kind {
                Kind::Strategic => rules::go_map_text(&self.patch),
                _ => patched.to_string(),
            };
            Status::invalid_patch(&shown, &error.to_string())
        })?;
        check_conversion(self.place.resource, patched).map_err(|why| match self.kind {
            Kind::Json | Kind::Merge => Status::invalid_patch(&patched.to_string(), &why),
            Kind::Strategic | Kind::Apply => Status::unmapped(why),
        })?;
        let found = [self.found.clone(), unknown].concat();
        decode::unknown_fields(self.options.validation, found, |all| {
            Status::invalid_patch(&shown.unwrap_or_default(), &all)
        })
        .map_err(Failure::from)
    }

    /// What has to hold of an applied configuration, whatever is stored.
    fn check_applied(&self) -> Result<(), Status> {
        let (version, kind) = (text(&self.patch, "apiVersion"), text(&self.patch, "kind"));
        let resource = self.place.resource;
        if kind.is_empty() || version.is_empty() {
            let (group, version) = version.split_once('/').unwrap_or(("", version));
            return Err(Status::bad_request(format!(
                "invalid object type: {group}/{version}, Kind={kind}"
            )));
        }
        if version != resource.api_version() || kind != resource.kind {
            return Err(decode::other_kind(resource, kind, version));
        }
        // The configuration of an object that is there need not name it again.
        if !self.patch.meta("name").is_empty() {
            check_name(&self.place, &self.patch)?;
        }
        let namespace = self.patch.meta("namespace");
        if !namespace.is_empty() && Some(namespace) != self.place.namespace.as_deref() {
            return Err(Status::namespace_mismatch());
        }
        if !self.patch["metadata"]["managedFields"].is_null() {
            return Err(Status::bad_request("metadata.managedFields must be nil"));
        }
        Ok(())
    }

    fn applied(&self, live: Option<&Value>) -> Result<Value, Failure> {
        let schema = &self.call.api().schema;
        let type_id = schema.type_of(self.place.resource);
        let writer = write::writer(&self.call.actor, self.part, &self.options);
        let force = self.options.force.unwrap_or_default();
        let applied = managed::apply(schema, type_id, live, &self.patch, &writer, force)
            .map_err(|error| Failure::from(error.to_status()))?;
        let resource = self.place.resource;
        check_conversion(resource, &applied).map_err(|why| {
            let namespace = self.place.namespace.as_deref().unwrap_or_default();
            Status::unmapped(format!(
                "failed to convert to unversioned ({namespace}/{}; {}, Kind={}): {why}",
                self.place.name,
                resource.api_version(),
                resource.kind
            ))
        })?;
        Ok(applied)
    }

    async fn settle_applied(&self, old: &Value) -> Result<(Settled, Vec<String>), Failure> {
        let pinned = self.patch.meta("resourceVersion");
        if !pinned.is_empty() && pinned != old.meta("resourceVersion") {
            return Err(stale(&self.place).into());
        }
        let applied = self.applied(Some(&self.external(old)))?;
        let new = stored_form(&self.place, applied, old);
        let actor = &self.call.actor;
        let settled = settle(actor, &self.place, self.part, (old, new), None).await?;
        Ok((settled, Vec::new()))
    }

    /// Applying what is not there creates it.
    async fn create(&self) -> Result<Outcome, Failure> {
        check_name(&self.place, &self.patch)?;
        if !self.patch.meta("uid").is_empty() {
            return Err(Status::conflict(
                self.place.resource,
                &self.place.name,
                "uid mismatch: the provided object specified uid, and no existing object was found",
            )
            .into());
        }
        let object = self.applied(None)?;
        let at = (self.place.resource, self.place.namespace.as_deref());
        let options = WriteOptions {
            credited: true,
            ..self.options.clone()
        };
        insert(&self.call.actor, at, object, &options).await
    }
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

fn patch_failed(error: &PatchError) -> Status {
    error.to_status()
}
