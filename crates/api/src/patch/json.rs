//! JSON patch (RFC 6902), with what upstream's library allows beyond it: negative indices, replace
//! of an absent member, and a test for null on an absent member.

use super::PatchError;
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde_json::Value;

/// Most operations in one patch.
pub const OPERATIONS_MAX: usize = 10_000;
/// Members that an operation has.
const MEMBERS: [&str; 4] = ["op", "path", "from", "value"];

/// Applies a JSON patch: all of it, or nothing.
///
/// # Errors
/// Something that is not a list of operations, or an operation that does not fit.
pub fn json_patch(object: &Value, patch: &Value) -> Result<Value, PatchError> {
    let Value::Array(operations) = patch else {
        return Err(PatchError::Form(format!(
            "error decoding patch: json: cannot unmarshal {} into Go value of type jsonpatch.Patch",
            kind(patch)
        )));
    };
    if operations.len() > OPERATIONS_MAX {
        return Err(PatchError::TooMany(operations.len()));
    }
    let mut patched = object.clone();
    for operation in operations {
        apply(&mut patched, operation)?;
    }
    Ok(patched)
}

/// What is odd about the operations: members that no operation has.
pub fn json_patch_findings(patch: &Value) -> Vec<String> {
    let operations = patch.as_array().map_or(&[][..], Vec::as_slice);
    let mut findings = Vec::new();
    for (index, operation) in operations.iter().enumerate() {
        let members = operation.as_object().into_iter().flat_map(|map| map.keys());
        for member in members.filter(|m| !MEMBERS.contains(&m.as_str())) {
            findings.push(format!("json patch unknown field \"[{index}].{member}\""));
        }
    }
    findings
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn apply(object: &mut Value, operation: &Value) -> Result<(), PatchError> {
    let path = pointer(operation, "path")?;
    let value = || operation.get("value").cloned();
    match operation["op"].as_str() {
        Some("add") => add(object, &path, value().unwrap_or(Value::Null)),
        Some("remove") => remove(object, &path).map(drop),
        Some("replace") => replace(object, &path, value().unwrap_or(Value::Null)),
        Some("test") => test(object, &path, &value().unwrap_or(Value::Null)),
        Some("move") => {
            let moved = remove(object, &pointer(operation, "from")?)?;
            add(object, &path, moved)
        }
        Some("copy") => {
            let copied = find(object, &pointer(operation, "from")?)?.clone();
            add(object, &path, copied)
        }
        other => Err(PatchError::unfit(format!(
            "Unexpected kind: {}",
            other.unwrap_or_default()
        ))),
    }
}

type Path<'a> = Vec<Cow<'a, str>>;

fn pointer<'a>(operation: &'a Value, member: &str) -> Result<Path<'a>, PatchError> {
    let missing = || PatchError::unfit(format!("the operation has no {member}"));
    let text = operation
        .get(member)
        .and_then(Value::as_str)
        .ok_or_else(missing)?;
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let text = text
        .strip_prefix('/')
        .ok_or_else(|| PatchError::unfit("a path begins with a slash"))?;
    Ok(text.split('/').map(unescape).collect())
}

fn unescape(part: &str) -> Cow<'_, str> {
    if part.contains('~') {
        Cow::Owned(part.replace("~1", "/").replace("~0", "~"))
    } else {
        Cow::Borrowed(part)
    }
}

fn absent(path: &[Cow<'_, str>]) -> PatchError {
    PatchError::unfit(format!("doc is missing path: /{}", path.join("/")))
}

/// The index a part stands for; negative ones count from the end.
fn index(part: &str, length: usize) -> Option<usize> {
    let number: i64 = part.parse().ok()?;
    if number < 0 {
        length.checked_sub(usize::try_from(number.unsigned_abs()).ok()?)
    } else {
        usize::try_from(number).ok()
    }
}

fn child<'a>(parent: &'a mut Value, part: &str) -> Option<&'a mut Value> {
    match parent {
        Value::Object(map) => map.get_mut(part),
        Value::Array(list) => {
            let at = index(part, list.len())?;
            list.get_mut(at)
        }
        _ => None,
    }
}

fn find<'a>(object: &'a mut Value, path: &[Cow<'_, str>]) -> Result<&'a mut Value, PatchError> {
    path.iter()
        .try_fold(object, |parent, part| child(parent, part))
        .ok_or_else(|| absent(path))
}

/// The map or list that the last part of a path is in.
fn parent<'a, 'p>(
    object: &'a mut Value,
    path: &'p [Cow<'p, str>],
) -> Result<(&'a mut Value, &'p str), PatchError> {
    let (last, before) = path.split_last().ok_or_else(|| absent(path))?;
    Ok((find(object, before)?, last))
}

fn add(object: &mut Value, path: &[Cow<'_, str>], value: Value) -> Result<(), PatchError> {
    if path.is_empty() {
        *object = value;
        return Ok(());
    }
    match parent(object, path)? {
        (Value::Object(map), last) => {
            map.insert(last.to_string(), value);
        }
        (Value::Array(list), "-") => list.push(value),
        (Value::Array(list), last) => {
            // Inserting counts places between elements, of which there is one more.
            let at = index(last, list.len() + 1).filter(|at| *at <= list.len());
            list.insert(at.ok_or_else(|| absent(path))?, value);
        }
        _ => return Err(absent(path)),
    }
    Ok(())
}

fn remove(object: &mut Value, path: &[Cow<'_, str>]) -> Result<Value, PatchError> {
    match parent(object, path)? {
        (Value::Object(map), last) => map.remove(last).ok_or_else(|| absent(path)),
        (Value::Array(list), last) => {
            let at = index(last, list.len()).filter(|at| *at < list.len());
            Ok(list.remove(at.ok_or_else(|| absent(path))?))
        }
        _ => Err(absent(path)),
    }
}

fn replace(object: &mut Value, path: &[Cow<'_, str>], value: Value) -> Result<(), PatchError> {
    if path.is_empty() {
        *object = value;
        return Ok(());
    }
    match parent(object, path)? {
        (Value::Object(map), last) => {
            map.insert(last.to_string(), value);
            Ok(())
        }
        (list @ Value::Array(_), last) => {
            *child(list, last).ok_or_else(|| absent(path))? = value;
            Ok(())
        }
        _ => Err(absent(path)),
    }
}

fn test(object: &mut Value, path: &[Cow<'_, str>], value: &Value) -> Result<(), PatchError> {
    let found = match path.split_last() {
        None => Some(&*object),
        Some((last, before)) => match find(object, before)? {
            // An absent member of a map is as good as null.
            Value::Object(map) => map.get(last.as_ref()),
            list => Some(&*child(list, last).ok_or_else(|| absent(path))?),
        },
    };
    if found.unwrap_or(&Value::Null) == value {
        return Ok(());
    }
    Err(PatchError::unfit(format!(
        "testing value /{} failed",
        path.join("/")
    )))
}
