//! Request bodies: from JSON, YAML or protobuf to an object of the kind the path names.

use pernode_api::decode::{DecodeError, decode_json};
use pernode_api::defaults::check_conversion;
use pernode_api::protobuf::decode_envelope;
use pernode_api::resource::Resource;
use pernode_api::schema::TypeId;
use pernode_api::status::Status;
use serde::Deserialize;
use serde_json::Value;

use crate::call::Call;
use crate::negotiate::{BODY_TYPES, body_type};
use crate::options::FieldValidation;
use crate::reply::Failure;
use crate::yaml;

/// An object from a body.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Decoded {
    pub(crate) object: Value,
    /// Unknown and duplicate fields, as far as the client wants to hear of them.
    pub(crate) warnings: Vec<String>,
}

/// The form a body has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Yaml,
    Protobuf,
}

fn form(call: &Call) -> Result<Form, Status> {
    match body_type(&call.headers) {
        "application/json" => Ok(Form::Json),
        "application/yaml" | "application/x-yaml" | "text/yaml" => Ok(Form::Yaml),
        "application/vnd.kubernetes.protobuf" => Ok(Form::Protobuf),
        _ => Err(Status::unsupported_media_type(BODY_TYPES)),
    }
}

/// The object in a request's body, of the kind the path names.
pub(crate) fn object(call: &Call, validation: FieldValidation) -> Result<Decoded, Failure> {
    object_of(call, call.resource, validation)
}

/// The object in a request's body, of a kind that a subresource takes.
pub(crate) fn object_of(
    call: &Call,
    resource: &Resource,
    validation: FieldValidation,
) -> Result<Decoded, Failure> {
    let type_id = call.api().schema.type_of(resource);
    typed(call, resource, type_id, validation)
}

/// As [`object_of`], for kinds that are no resources, such as `Eviction`.
pub(crate) fn typed(
    call: &Call,
    resource: &Resource,
    type_id: TypeId,
    validation: FieldValidation,
) -> Result<Decoded, Failure> {
    let (mut object, unknown) = match form(call)? {
        Form::Protobuf => {
            let object = decode_envelope(&call.api().schema, &call.body)
                .map_err(|error| Status::bad_request(error.to_string()))?;
            (object, Vec::new())
        }
        Form::Json => from_json(call, resource, type_id, &call.body)?,
        Form::Yaml => {
            let read =
                yaml::parse(&call.body).map_err(|why| Status::unrecognized(resource, &why))?;
            let text = read.value.to_string();
            let (object, mut unknown) = from_json(call, resource, type_id, text.as_bytes())?;
            unknown.splice(0..0, duplicates(read.duplicates, validation));
            (object, unknown)
        }
    };
    check_kind(resource, &object)?;
    check_conversion(resource, &object).map_err(|why| {
        Status::cannot_be_handled(resource, resource.kind, resource.version, &why)
    })?;
    object["apiVersion"] = resource.api_version().into();
    object["kind"] = resource.kind.into();
    let warnings = unknown_fields(validation, unknown, |all| {
        Status::cannot_be_handled(resource, resource.kind, resource.version, &all)
    })?;
    Ok(Decoded { object, warnings })
}

/// Keys that are there twice: one finding each, or all in one as a refusal names them.
fn duplicates(found: Vec<String>, validation: FieldValidation) -> Vec<String> {
    if validation != FieldValidation::Strict || found.is_empty() {
        return found;
    }
    vec![format!("yaml: unmarshal errors:\n  {}", found.join("\n  "))]
}

fn from_json(
    call: &Call,
    resource: &Resource,
    type_id: TypeId,
    text: &[u8],
) -> Result<(Value, Vec<String>), Failure> {
    match decode_json(&call.api().schema, type_id, text) {
        Ok(decoded) => Ok((decoded.object, decoded.unknown)),
        Err(error) => Err(refused(resource, text, &error).into()),
    }
}

/// Kind and version, read on their own to explain why the rest could not be read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TypeMeta {
    #[serde(rename = "apiVersion")]
    api_version: String,
    kind: String,
}

/// Why JSON is not an object of the kind. An object of another kind is said to be that, although
/// what was noticed first is a field of the wrong type.
fn refused(resource: &Resource, text: &[u8], error: &DecodeError) -> Status {
    if let DecodeError::Syntax(why) = error {
        return Status::unrecognized(resource, why);
    }
    let meta: TypeMeta = serde_json::from_slice(text).unwrap_or_default();
    if let Err(status) = same_kind(resource, &meta.kind, &meta.api_version) {
        return status;
    }
    Status::cannot_be_handled(
        resource,
        resource.kind,
        resource.version,
        &error.to_string(),
    )
}

fn check_kind(resource: &Resource, object: &Value) -> Result<(), Status> {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    same_kind(resource, text("kind"), text("apiVersion"))
}

/// Kind and version may be left out; the path has them.
fn same_kind(resource: &Resource, kind: &str, api_version: &str) -> Result<(), Status> {
    let kind = if kind.is_empty() { resource.kind } else { kind };
    let version = resource.api_version();
    if kind == resource.kind && (api_version.is_empty() || api_version == version) {
        return Ok(());
    }
    let api_version = if api_version.is_empty() {
        &version
    } else {
        api_version
    };
    Err(other_kind(resource, kind, api_version))
}

/// The 400 for an object of another kind or version than the path's.
pub(crate) fn other_kind(resource: &Resource, kind: &str, api_version: &str) -> Status {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let known = pernode_api::resource::find_kind(group, version, kind).is_some();
    if known || api_version == resource.api_version() {
        Status::wrong_kind(resource, kind, version)
    } else {
        Status::unknown_version(resource, kind, api_version)
    }
}

/// What happens about unknown and duplicate fields: nothing, warnings, or a refusal.
pub(crate) fn unknown_fields(
    validation: FieldValidation,
    unknown: Vec<String>,
    refuse: impl FnOnce(String) -> Status,
) -> Result<Vec<String>, Status> {
    match validation {
        FieldValidation::Ignore => Ok(Vec::new()),
        FieldValidation::Warn => Ok(unknown),
        FieldValidation::Strict if unknown.is_empty() => Ok(unknown),
        FieldValidation::Strict => Err(refuse(format!(
            "strict decoding error: {}",
            unknown.join(", ")
        ))),
    }
}

/// A failure keeps the warnings that came before it.
pub(crate) fn with_warnings(mut failure: Failure, warnings: &[String]) -> Failure {
    failure.warnings.splice(0..0, warnings.iter().cloned());
    failure
}

/// The `DeleteOptions` in a body, if there is one.
pub(crate) fn options(call: &Call) -> Result<Option<Value>, Failure> {
    if call.body.is_empty() {
        return Ok(None);
    }
    let value = match form(call)? {
        Form::Protobuf => decode_envelope(&call.api().schema, &call.body)
            .map_err(|error| Status::bad_request(error.to_string()))?,
        Form::Json => serde_json::from_slice(&call.body)
            .map_err(|error| Status::bad_request(format!("error decoding options: {error}")))?,
        Form::Yaml => yaml::parse(&call.body).map_err(Status::bad_request)?.value,
    };
    let kind = value["kind"].as_str().unwrap_or("DeleteOptions");
    if !matches!(kind, "DeleteOptions" | "") {
        return Err(Status::bad_request(format!(
            "decoded object cannot be converted to DeleteOptions: it is a {kind}"
        ))
        .into());
    }
    Ok(Some(value).filter(|value| !value.is_null()))
}
