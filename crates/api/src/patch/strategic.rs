//! Strategic merge patch: a merge that knows which lists are maps in disguise (spec/apiserver.md 2.6).

use super::order::{Same, arrange};
use super::show::go_map_text;
use super::{PatchError, without_nulls};
use crate::schema::{Field, Schema, Shape, TypeDef, TypeId};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde_json::{Map, Value};

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ORDER: &str = "$setElementOrder/";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";

/// Merges a patch into an object of a type.
///
/// The result is the raw merge: it still has to be checked, defaulted and validated.
///
/// # Errors
/// A patch that is no map, a bad directive, or an element without its merge key.
pub fn strategic_merge(
    schema: &Schema,
    id: TypeId,
    object: &Value,
    patch: &Value,
) -> Result<Value, PatchError> {
    let (Value::Object(object), Value::Object(patch)) = (object, patch) else {
        return Err(PatchError::Form(
            "error decoding patch: the patch is not a map".into(),
        ));
    };
    let merge = Merge { schema };
    merge
        .map(Rules::Type(schema.def(id)), object.clone(), patch.clone())
        .map(Value::Object)
}

/// What is known about the members of a map.
#[derive(Debug, Clone, Copy)]
enum Rules<'a> {
    /// A struct: each member has a field.
    Type(&'a TypeDef),
    /// A map: all members have the same shape.
    Map(&'a Shape),
    /// JSON that no schema describes.
    Unknown,
}

/// What is known about one member.
#[derive(Debug, Clone, Copy, Default)]
struct Member<'a> {
    shape: Option<&'a Shape>,
    field: Option<&'a Field>,
}

impl<'a> Member<'a> {
    fn merges_lists(self) -> bool {
        self.field.is_some_and(|f| f.merge)
    }

    fn merge_key(self) -> Option<&'a str> {
        self.field.and_then(|f| f.merge_key.as_deref())
    }
}

struct Merge<'a> {
    schema: &'a Schema,
}

impl<'a> Merge<'a> {
    fn member(&self, rules: Rules<'a>, name: &str) -> Member<'a> {
        match rules {
            Rules::Type(def) => {
                let field = def.field(name);
                Member {
                    shape: field.map(|f| &f.shape),
                    field,
                }
            }
            Rules::Map(shape) => Member {
                shape: Some(shape),
                field: None,
            },
            Rules::Unknown => Member::default(),
        }
    }

    /// The rules inside a member that is a map on both sides.
    fn inside(&self, rules: Rules<'a>, name: &str) -> Result<Rules<'a>, PatchError> {
        let shape = self.member(rules, name).shape;
        match shape {
            Some(Shape::Type(id)) => Ok(Rules::Type(self.schema.def(*id))),
            Some(Shape::Map(value)) => Ok(Rules::Map(value)),
            Some(_) => Ok(Rules::Unknown),
            None => Err(unknown_field(rules, name)),
        }
    }

    fn map(
        &self,
        rules: Rules<'a>,
        mut object: Map<String, Value>,
        mut patch: Map<String, Value>,
    ) -> Result<Map<String, Value>, PatchError> {
        match patch
            .get(PATCH)
            .map(|d| d.as_str().unwrap_or_default().to_owned())
        {
            None => {}
            Some(directive) if directive == "replace" => {
                patch.remove(PATCH);
                return Ok(patch);
            }
            Some(directive) if directive == "delete" => return Ok(Map::new()),
            Some(directive) if directive == "merge" => {
                patch.remove(PATCH);
            }
            Some(directive) => return Err(bad_directive(&directive, &patch)),
        }
        retain_keys(&mut object, &mut patch)?;
        self.ordered_lists(rules, &mut object, &mut patch)?;
        for (name, value) in patch {
            self.one(rules, &mut object, &name, value)?;
        }
        Ok(object)
    }

    /// Merges one member of a patch into the object.
    fn one(
        &self,
        rules: Rules<'a>,
        object: &mut Map<String, Value>,
        name: &str,
        value: Value,
    ) -> Result<(), PatchError> {
        if let Some(list) = name.strip_prefix(DELETE_FROM) {
            return delete_from(object, list, &value);
        }
        if value.is_null() {
            object.remove(name);
            return Ok(());
        }
        let merged = match (object.remove(name), value) {
            (None, value) => without_directives(without_nulls(value)),
            (Some(Value::Object(old)), Value::Object(new)) => Some(Value::Object(self.map(
                self.inside(rules, name)?,
                old,
                new,
            )?)),
            (Some(Value::Array(old)), Value::Array(new)) => {
                let member = self.member(rules, name);
                if member.shape.is_none() {
                    return Err(unknown_field(rules, name));
                }
                Some(Value::Array(self.list(member, old, new)?))
            }
            (Some(_), value) => Some(value),
        };
        if let Some(merged) = merged {
            object.insert(name.to_owned(), merged);
        }
        Ok(())
    }

    /// Lists whose order the patch gives: merged here, and taken out of the patch.
    fn ordered_lists(
        &self,
        rules: Rules<'a>,
        object: &mut Map<String, Value>,
        patch: &mut Map<String, Value>,
    ) -> Result<(), PatchError> {
        let orders: Vec<String> = patch
            .keys()
            .filter(|k| k.starts_with(SET_ORDER))
            .cloned()
            .collect();
        for directive in orders {
            let Some(Value::Array(order)) = patch.remove(&directive) else {
                return Err(PatchError::Form(
                    "invalid patch format of setElementOrder list".into(),
                ));
            };
            let name = &directive[SET_ORDER.len()..];
            let member = self.member(rules, name);
            let before = object.get(name).and_then(Value::as_array).cloned();
            // Null in the patch removes the list; that is left to the ordinary way.
            let change = match patch.get(name) {
                Some(Value::Array(change)) => Some(change.clone()),
                Some(_) => continue,
                None => None,
            };
            let merged = match (before.clone(), change) {
                (None, None) => continue,
                (Some(list), None) => list,
                (None, Some(list)) => match without_directives(Value::Array(list)) {
                    Some(Value::Array(list)) => list,
                    _ => Vec::new(),
                },
                (Some(old), Some(new)) => self.list(member, old, new)?,
            };
            patch.remove(name);
            let same = Same(member.merge_key());
            let before = before.unwrap_or_default();
            object.insert(
                name.to_owned(),
                Value::Array(arrange(merged, &order, &before, same)),
            );
        }
        Ok(())
    }

    fn list(
        &self,
        member: Member<'a>,
        old: Vec<Value>,
        new: Vec<Value>,
    ) -> Result<Vec<Value>, PatchError> {
        if !member.merges_lists() {
            return Ok(new);
        }
        let Some(key) = member.merge_key() else {
            return Ok(union(old, new));
        };
        let (kept, changes) = directives(old, new, key)?;
        let Some(before) = kept else {
            return Ok(changes);
        };
        let mut merged = before.clone();
        for change in &changes {
            let Value::Object(element) = change else {
                return Err(PatchError::Merge(
                    "the patch has a scalar in a list of maps".into(),
                ));
            };
            let wanted = element.get(key).ok_or_else(|| no_merge_key(change, key))?;
            match merged.iter_mut().find(|e| e.get(key) == Some(wanted)) {
                Some(found) => {
                    let old = found.as_object().cloned().unwrap_or_default();
                    *found = Value::Object(self.map(
                        self.element_rules(member),
                        old,
                        element.clone(),
                    )?);
                }
                None => merged.push(change.clone()),
            }
        }
        Ok(arrange(merged, &changes, &before, Same(Some(key))))
    }

    fn element_rules(&self, member: Member<'a>) -> Rules<'a> {
        match member.shape {
            Some(Shape::List(element)) => match &**element {
                Shape::Type(id) => Rules::Type(self.schema.def(*id)),
                Shape::Map(value) => Rules::Map(value),
                _ => Rules::Unknown,
            },
            _ => Rules::Unknown,
        }
    }
}

/// The old list after deletions, or none when the patch replaces it; and the changes that are left.
type Sorted = (Option<Vec<Value>>, Vec<Value>);

/// Acts on the elements of a list patch that are directives.
fn directives(mut old: Vec<Value>, new: Vec<Value>, key: &str) -> Result<Sorted, PatchError> {
    let mut changes = Vec::with_capacity(new.len());
    let mut replaces = false;
    for element in new {
        match element.get(PATCH).map(|d| d.as_str().unwrap_or_default()) {
            None => changes.push(element),
            Some("delete") => {
                let wanted = element
                    .get(key)
                    .ok_or_else(|| no_merge_key(&element, key))?;
                old.retain(|e| e.get(key) != Some(wanted));
            }
            Some("replace") => replaces = true,
            Some("merge") => {
                let why = "merging lists cannot yet be specified in the patch";
                return Err(PatchError::Merge(why.to_owned()));
            }
            Some(other) => {
                let map = element.as_object().cloned().unwrap_or_default();
                return Err(bad_directive(other, &map));
            }
        }
    }
    Ok((if replaces { None } else { Some(old) }, changes))
}

/// A merging list of scalars: old ones, then new ones, each once, in the order of the patch.
fn union(old: Vec<Value>, new: Vec<Value>) -> Vec<Value> {
    let mut merged: Vec<Value> = Vec::with_capacity(old.len() + new.len());
    for element in old.iter().chain(&new) {
        if !merged.contains(element) {
            merged.push(element.clone());
        }
    }
    arrange(merged, &new, &old, Same(None))
}

fn delete_from(
    object: &mut Map<String, Value>,
    list: &str,
    gone: &Value,
) -> Result<(), PatchError> {
    let Value::Array(gone) = gone else {
        return Err(PatchError::Form(
            "invalid patch format of primitive list".into(),
        ));
    };
    if let Some(Value::Array(list)) = object.get_mut(list) {
        list.retain(|element| !gone.contains(element));
    }
    Ok(())
}

/// Drops the members that `$retainKeys` does not list; all that the patch sets must be listed.
fn retain_keys(
    object: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
) -> Result<(), PatchError> {
    let bad = || PatchError::Form("invalid patch format of retainKeys".into());
    let Some(listed) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let listed = listed.as_array().ok_or_else(bad)?;
    let retained = |key: &str| listed.iter().any(|l| l == key);
    if patch
        .keys()
        .any(|key| !key.starts_with('$') && !retained(key))
    {
        return Err(bad());
    }
    object.retain(|key, _| retained(key));
    Ok(())
}

/// A value that is new to the object, free of directives; `None` if it only deletes.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(map) if map.get(PATCH).is_some_and(|d| d == "delete") => None,
        Value::Object(map) => {
            let plain = map.into_iter().filter(|(key, _)| !is_directive(key));
            let kept = plain.filter_map(|(key, v)| without_directives(v).map(|v| (key, v)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(list) => Some(Value::Array(
            list.into_iter().filter_map(without_directives).collect(),
        )),
        other => Some(other),
    }
}

fn is_directive(key: &str) -> bool {
    key == PATCH || key == RETAIN_KEYS || key.starts_with(SET_ORDER) || key.starts_with(DELETE_FROM)
}

fn bad_directive(directive: &str, map: &Map<String, Value>) -> PatchError {
    let shown = go_map_text(&Value::Object(map.clone()));
    PatchError::Merge(format!("unknown patch type: {directive} in map: {shown}"))
}

fn no_merge_key(element: &Value, key: &str) -> PatchError {
    let shown = go_map_text(element);
    PatchError::Merge(format!(
        "map: {shown} does not contain declared merge key: {key}"
    ))
}

fn unknown_field(rules: Rules<'_>, name: &str) -> PatchError {
    let owner = match rules {
        Rules::Type(def) => def.short_name().to_string(),
        Rules::Map(_) | Rules::Unknown => "map".to_string(),
    };
    PatchError::Merge(format!(
        "unable to find api field in struct {owner} for the json field {name:?}"
    ))
}
