//! What changed between two states of an object, as sets of fields.

use super::atom::{Atom, elements, field_name, members};
use super::field_set::{Branches, FieldSet, attach};
use crate::schema::{Field, Schema, Shape};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use serde_json::{Map, Value};

/// What changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// Fields that are new or have another value.
    pub(super) changed: FieldSet,
    /// Fields that are gone.
    pub(super) removed: FieldSet,
}

impl Changes {
    pub(super) fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.removed.is_empty()
    }
}

/// Compares two states. Parts that are equal cost one comparison.
///
/// A field that Go's structs always have counts as present with its zero value on a side whose
/// struct is there; so a `spec` is not new when its first field is. `metadata.managedFields` must
/// be out of the objects, or the same in both.
pub(super) fn diff(schema: &Schema, atom: Atom<'_>, old: &Value, new: &Value) -> Changes {
    let differ = Differ {
        schema,
        zeros: Zeros::new(),
    };
    let found = differ.compare(atom, Some(old), Some(new));
    Changes {
        changed: FieldSet::of(found.changed),
        removed: FieldSet::of(found.removed),
    }
}

/// What was found in one value.
#[derive(Default)]
struct Found {
    is_changed: bool,
    changed: Branches,
    is_removed: bool,
    removed: Branches,
}

impl Found {
    fn take(&mut self, name: impl Fn() -> String, child: Self) {
        if child.is_changed || !child.changed.is_empty() {
            attach(&mut self.changed, name(), child.is_changed, child.changed);
        }
        if child.is_removed || !child.removed.is_empty() {
            attach(&mut self.removed, name(), child.is_removed, child.removed);
        }
    }

    /// Notes that the value itself came or went.
    fn note_presence(&mut self, old: Option<&Value>, new: Option<&Value>) {
        self.is_changed |= old.is_none() && new.is_some();
        self.is_removed |= old.is_some() && new.is_none();
    }
}

struct Differ<'a> {
    schema: &'a Schema,
    zeros: Zeros,
}

impl Differ<'_> {
    fn compare(&self, atom: Atom<'_>, old: Option<&Value>, new: Option<&Value>) -> Found {
        let mut found = Found::default();
        if old == new {
            return found;
        }
        let descended = match atom {
            Atom::Leaf => None,
            Atom::Struct(_) | Atom::Map(_) => self.maps(atom, old, new),
            Atom::Set | Atom::Keyed(..) => self.lists(atom, old, new),
        };
        match descended {
            Some(inner) => found = inner,
            None => found.is_changed = old.is_some() && new.is_some(),
        }
        found.note_presence(old, new);
        found
    }

    /// Compares maps by members. `None` if they are to be compared as a whole: both are empty, or
    /// one is no map.
    fn maps(&self, atom: Atom<'_>, old: Option<&Value>, new: Option<&Value>) -> Option<Found> {
        let old = old.map_or(Ok(None), members).ok()?;
        let new = new.map_or(Ok(None), members).ok()?;
        let is_empty = |map: Option<&Map<String, Value>>| map.is_none_or(Map::is_empty);
        if is_empty(old) && is_empty(new) {
            return None;
        }
        let mut found = Found::default();
        let in_old = old.into_iter().flat_map(Map::keys);
        let in_new = new.into_iter().flat_map(Map::keys);
        let only_new = in_new.filter(|key| !old.is_some_and(|old| old.contains_key(*key)));
        for key in in_old.chain(only_new) {
            let zero = match atom {
                Atom::Struct(def) => def.field(key).and_then(|field| self.zeros.of(field)),
                _ => None,
            };
            let (atom, _) = atom.member(self.schema, key);
            let child = self.compare(atom, member(old, key, zero), member(new, key, zero));
            found.take(|| field_name(key), child);
        }
        Some(found)
    }

    /// Compares lists by elements. `None` as for maps.
    fn lists(&self, atom: Atom<'_>, old: Option<&Value>, new: Option<&Value>) -> Option<Found> {
        let old = old.map_or(Ok(&[][..]), elements).ok()?;
        let new = new.map_or(Ok(&[][..]), elements).ok()?;
        if old.is_empty() && new.is_empty() {
            return None;
        }
        let mut sides: BTreeMap<String, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
        for element in old {
            if let Ok(name) = atom.element_name(self.schema, element) {
                sides.entry(name).or_default().0.push(element);
            }
        }
        for element in new {
            if let Ok(name) = atom.element_name(self.schema, element) {
                sides.entry(name).or_default().1.push(element);
            }
        }
        let mut found = Found::default();
        for (name, (old, new)) in sides {
            let child = self.same_named(atom.element(self.schema), &old, &new);
            found.take(|| name.clone(), child);
        }
        Some(found)
    }

    /// Compares the elements of one name. Duplicates, which the API tolerates in lists that were
    /// written as a whole, are owned together and without what is in them.
    fn same_named(&self, atom: Atom<'_>, old: &[&Value], new: &[&Value]) -> Found {
        match (old, new) {
            ([] | [_], [] | [_]) => self.compare(atom, old.first().copied(), new.first().copied()),
            ([_, _, ..], [_, _, ..]) => Found {
                is_changed: old != new,
                ..Found::default()
            },
            ([_, _, ..], _) => Found {
                is_removed: true,
                ..self.compare(atom, None, new.first().copied())
            },
            _ => Found {
                is_changed: true,
                ..self.compare(atom, old.first().copied(), None)
            },
        }
    }
}

/// A member of a map that is there, or what stands for it when nobody has set it.
fn member<'v>(
    map: Option<&'v Map<String, Value>>,
    key: &str,
    zero: Option<&'v Value>,
) -> Option<&'v Value> {
    map.and_then(|map| map.get(key).or(zero))
}

/// Values of fields that nobody has set, to be borrowed.
struct Zeros {
    null: Value,
    object: Value,
    text: Value,
    number: Value,
    no: Value,
    amount: Value,
}

impl Zeros {
    fn new() -> Self {
        Self {
            null: Value::Null,
            object: Value::Object(Map::new()),
            text: Value::String(String::new()),
            number: Value::from(0),
            no: Value::Bool(false),
            amount: Value::from("0"),
        }
    }

    /// The value that Go writes for a field that nobody has set, if it writes one.
    fn of(&self, field: &Field) -> Option<&Value> {
        let is_struct = matches!(
            field.shape,
            Shape::Type(_) | Shape::Quantity | Shape::IntOrString | Shape::Time | Shape::MicroTime
        );
        if field.omitzero || (field.omitempty && (field.pointer || !is_struct)) {
            return None;
        }
        Some(match field.shape {
            _ if field.pointer => &self.null,
            Shape::Type(_) => &self.object,
            Shape::String => &self.text,
            Shape::Bool => &self.no,
            Shape::Int32 | Shape::Int64 | Shape::Float | Shape::IntOrString => &self.number,
            Shape::Quantity => &self.amount,
            _ => &self.null,
        })
    }
}
