//! Sets of fields, in the form in which `managedFields` holds them.
//!
//! A set is a tree. Its branches are named as in `fieldsV1`: `f:name` for a field, `k:{…}` for a
//! list element by its keys, `v:…` for a list element by its value. A node without branches is a
//! member, a node with branches is one if it has the branch `.` too. Keeping exactly this form
//! makes reading and writing an entry free, which counts because each write touches all entries.

use super::atom::{Atom, name_structs};
use crate::schema::Schema;
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use serde_json::{Map, Value};

/// The branch that makes a node with other branches a member.
const SELF: &str = ".";

/// The branches of a node.
pub(super) type Branches = Map<String, Value>;

/// A set of fields of an object.
///
/// Invariant: every node is a JSON object, and is a member or has branches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSet(Branches);

impl FieldSet {
    /// The set of a tree of branches.
    pub(super) fn of(branches: Branches) -> Self {
        Self(branches)
    }

    /// Reads `fieldsV1`; `None` if it is no set of fields.
    ///
    /// Branches that clients have written with spaces or unsorted keys get their one true name.
    pub fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Object(map) => normalized(map).map(Self),
            _ => None,
        }
    }

    /// Takes `fieldsV1` that this server has written.
    pub(super) fn trusted(value: Value) -> Self {
        match value {
            Value::Object(map) => Self(map),
            _ => Self::default(),
        }
    }

    /// The set as `fieldsV1`.
    pub fn into_value(self) -> Value {
        Value::Object(self.0)
    }

    /// Whether it has no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The branches of the root.
    pub(super) fn branches(&self) -> &Branches {
        &self.0
    }

    /// Whether a path, given by its branches, is a member.
    pub fn contains(&self, path: &[&str]) -> bool {
        let mut node = &self.0;
        for (depth, name) in path.iter().enumerate() {
            match node.get(*name).and_then(Value::as_object) {
                Some(next) if depth + 1 == path.len() => return is_member(next),
                Some(next) => node = next,
                None => return false,
            }
        }
        false
    }

    /// Adds the members of another set.
    pub fn unite(&mut self, other: &Self) {
        unite(&mut self.0, &other.0);
    }

    /// Removes the members of another set. What lies below them stays.
    pub fn subtract(&mut self, other: &Self) {
        subtract(&mut self.0, &other.0);
    }

    /// Removes members that another set does not have.
    pub fn intersect(&mut self, other: &Self) {
        intersect(&mut self.0, &other.0);
    }

    /// Removes one member. What lies below it stays.
    pub fn remove(&mut self, path: &[&str]) {
        remove(&mut self.0, path, false);
    }

    /// Removes a path and all that lies below it.
    pub fn remove_tree(&mut self, path: &[&str]) {
        remove(&mut self.0, path, true);
    }

    /// Marks structs as members when something below them is one.
    pub(super) fn name_structs(&mut self, schema: &Schema, atom: Atom<'_>) {
        name_structs(schema, atom, &mut self.0);
    }

    /// The members as paths in the form of messages, a node's own before what lies below them.
    pub fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        list_paths(&self.0, "", &mut paths);
        paths
    }
}

/// Whether a node is a member.
pub(super) fn is_member(node: &Branches) -> bool {
    node.is_empty() || node.contains_key(SELF)
}

/// The branches of a node below itself.
pub(super) fn below(node: &Branches) -> impl Iterator<Item = (&String, &Branches)> {
    node.iter()
        .filter(|(name, _)| *name != SELF)
        .filter_map(|(name, node)| Some((name, node.as_object()?)))
}

/// Puts a node under its parent, unless there is nothing to it.
pub(super) fn attach(parent: &mut Branches, name: String, member: bool, mut node: Branches) {
    if node.is_empty() && !member {
        return;
    }
    if member && !node.is_empty() {
        node.insert(SELF.to_owned(), Value::Object(Map::new()));
    }
    parent.insert(name, Value::Object(node));
}

/// Makes a node a member or not and tells whether it is still worth keeping.
fn settle(node: &mut Branches, member: bool) -> bool {
    if node.is_empty() {
        return member;
    }
    if member {
        node.insert(SELF.to_owned(), Value::Object(Map::new()));
    }
    true
}

fn unite(to: &mut Branches, from: &Branches) {
    for (name, from) in below(from) {
        match to.get_mut(name).and_then(Value::as_object_mut) {
            None => {
                to.insert(name.clone(), Value::Object(from.clone()));
            }
            Some(to) => {
                let member = is_member(to) || is_member(from);
                to.remove(SELF);
                unite(to, from);
                settle(to, member);
            }
        }
    }
}

fn subtract(from: &mut Branches, what: &Branches) {
    if what.is_empty() {
        return;
    }
    from.retain(|name, node| {
        let what = what.get(name).and_then(Value::as_object);
        let (Some(node), Some(what)) = (node.as_object_mut(), what) else {
            return true;
        };
        if name == SELF {
            return true;
        }
        let member = is_member(node) && !is_member(what);
        node.remove(SELF);
        subtract(node, what);
        settle(node, member)
    });
}

fn intersect(node: &mut Branches, with: &Branches) {
    node.retain(|name, node| {
        let with = with.get(name).and_then(Value::as_object);
        let (Some(node), Some(with)) = (node.as_object_mut(), with) else {
            return false;
        };
        let member = is_member(node) && is_member(with);
        node.remove(SELF);
        intersect(node, with);
        settle(node, member)
    });
}

fn remove(node: &mut Branches, path: &[&str], tree: bool) {
    let Some((name, rest)) = path.split_first() else {
        return;
    };
    let Some(child) = node.get_mut(*name).and_then(Value::as_object_mut) else {
        return;
    };
    let keep = if rest.is_empty() {
        child.remove(SELF);
        !tree && !child.is_empty()
    } else {
        let member = is_member(child);
        child.remove(SELF);
        remove(child, rest, tree);
        settle(child, member)
    };
    if !keep {
        node.remove(*name);
    }
}

fn normalized(node: Branches) -> Option<Branches> {
    let mut result = Map::new();
    for (name, child) in node {
        let Value::Object(child) = child else {
            return None;
        };
        result.insert(normal_name(name)?, Value::Object(normalized(child)?));
    }
    Some(result)
}

fn normal_name(name: String) -> Option<String> {
    match name.get(..2) {
        Some("f:") => Some(name),
        Some("i:") => name[2..].parse::<i64>().is_ok().then_some(name),
        Some(kind @ ("k:" | "v:")) => {
            let value: Value = serde_json::from_str(&name[2..]).ok()?;
            (kind == "v:" || value.is_object()).then(|| alloc::format!("{kind}{value}"))
        }
        _ => (name == SELF).then_some(name),
    }
}

fn list_paths(node: &Branches, prefix: &str, paths: &mut Vec<String>) {
    let path_of = |name: &str| alloc::format!("{prefix}{}", shown(name));
    for (name, child) in below(node) {
        if is_member(child) {
            paths.push(path_of(name));
        }
    }
    for (name, child) in below(node) {
        list_paths(child, &path_of(name), paths);
    }
}

/// A branch as messages show it: `.name`, `[key="value"]`, `[="value"]`.
pub(super) fn shown(name: &str) -> String {
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    match name.split_at_checked(2) {
        Some(("f:", field)) => alloc::format!(".{field}"),
        Some(("v:", value)) => alloc::format!("[={value}]"),
        Some(("i:", index)) => alloc::format!("[{index}]"),
        Some(("k:", keys)) => {
            let keys = json(keys);
            let pairs = keys.as_object().into_iter().flatten();
            let pairs: Vec<String> = pairs.map(|(k, v)| alloc::format!("{k}={v}")).collect();
            alloc::format!("[{}]", pairs.join(","))
        }
        _ => name.to_owned(),
    }
}
