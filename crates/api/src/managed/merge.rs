//! Merging an applied configuration into an object.

use super::atom::{Atom, elements, members};
use crate::schema::Schema;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use serde_json::{Map, Value};

/// The object with the configuration on top of it; `None` if nothing is left.
///
/// Maps and lists that are owned piece by piece are merged; all else is the configuration's. The
/// order of a list is the configuration's for what it names; other elements stay where they are
/// as far as that goes (upstream: `Merge` of structured-merge-diff).
pub(super) fn merge(
    schema: &Schema,
    atom: Atom<'_>,
    live: Option<&Value>,
    config: Option<&Value>,
) -> Option<Value> {
    let merged = match atom {
        Atom::Leaf => None,
        Atom::Struct(_) | Atom::Map(_) => merge_maps(schema, atom, live, config),
        Atom::Set | Atom::Keyed(..) => merge_lists(schema, atom, live, config),
    };
    merged.unwrap_or_else(|| config.or(live).cloned())
}

/// Merges by members; the outer `None` asks for the whole value.
fn merge_maps(
    schema: &Schema,
    atom: Atom<'_>,
    live: Option<&Value>,
    config: Option<&Value>,
) -> Option<Option<Value>> {
    let live = live.map_or(Ok(None), members).ok()?;
    let config = config.map_or(Ok(None), members).ok()?;
    let is_empty = |map: Option<&Map<String, Value>>| map.is_none_or(Map::is_empty);
    if is_empty(live) && is_empty(config) {
        return None;
    }
    let keys = |map: Option<&Map<String, Value>>| -> Vec<String> {
        map.into_iter().flat_map(Map::keys).cloned().collect()
    };
    let names: BTreeSet<String> = keys(live).into_iter().chain(keys(config)).collect();
    let mut merged = Map::new();
    for name in names {
        let (atom, _) = atom.member(schema, &name);
        let side = |map: Option<&Map<String, Value>>| map.and_then(|map| map.get(&name)).cloned();
        let (live, config) = (side(live), side(config));
        if let Some(value) = merge(schema, atom, live.as_ref(), config.as_ref()) {
            merged.insert(name, value);
        }
    }
    Some((!merged.is_empty()).then_some(Value::Object(merged)))
}

fn merge_lists(
    schema: &Schema,
    atom: Atom<'_>,
    live: Option<&Value>,
    config: Option<&Value>,
) -> Option<Option<Value>> {
    let live = live.map_or(Ok(&[][..]), elements).ok()?;
    let config = config.map_or(Ok(&[][..]), elements).ok()?;
    if live.is_empty() && config.is_empty() {
        return None;
    }
    let merged = Interleave::new(schema, atom, live, config).run();
    Some((!merged.is_empty()).then_some(Value::Array(merged)))
}

/// Two lists on their way to become one.
struct Interleave<'a> {
    schema: &'a Schema,
    element: Atom<'a>,
    live: Vec<(String, &'a Value)>,
    config: Vec<(String, &'a Value)>,
    /// Live elements by name; `None` for duplicates, which are replaced rather than merged.
    in_live: BTreeMap<String, Option<&'a Value>>,
    in_config: BTreeSet<String>,
    /// Elements that both have and that are still to come, in the configuration's order, last
    /// one first.
    shared: Vec<String>,
    done: BTreeSet<String>,
    merged: Vec<Value>,
}

impl<'a> Interleave<'a> {
    fn new(schema: &'a Schema, atom: Atom<'a>, live: &'a [Value], config: &'a [Value]) -> Self {
        let named = |list: &'a [Value]| -> Vec<(String, &'a Value)> {
            let name = |value: &'a Value| Some((atom.element_name(schema, value).ok()?, value));
            list.iter().filter_map(name).collect()
        };
        let (live, config) = (named(live), named(config));
        let mut in_live: BTreeMap<String, Option<&Value>> = BTreeMap::new();
        for (name, value) in &live {
            let entry = in_live.entry(name.clone());
            entry
                .and_modify(|known| *known = None)
                .or_insert(Some(*value));
        }
        let names = || config.iter().map(|(name, _)| name.clone());
        let shared = names().rev().filter(|name| in_live.contains_key(name));
        Self {
            schema,
            element: atom.element(schema),
            shared: shared.collect(),
            in_config: names().collect(),
            live,
            config,
            in_live,
            done: BTreeSet::new(),
            merged: Vec::new(),
        }
    }

    fn run(mut self) -> Vec<Value> {
        let (mut l, mut c) = (0, 0);
        while l < self.live.len() || c < self.config.len() {
            if let (Some((live, _)), Some((config, _))) = (self.live.get(l), self.config.get(c)) {
                if live == config {
                    self.take_config(c);
                    (l, c) = (l + 1, c + 1);
                    continue;
                }
                let next = self.shared.last();
                if self.in_config.contains(live) && next.is_some_and(|next| next != live) {
                    // The configuration wants another shared element first.
                    l += 1;
                    continue;
                }
            }
            if let Some((name, value)) = self.live.get(l) {
                if !self.in_config.contains(name) {
                    self.merged.push((*value).clone());
                    l += 1;
                    continue;
                }
                if self.done.contains(name) {
                    l += 1;
                }
            }
            if c < self.config.len() {
                self.take_config(c);
                c += 1;
            }
        }
        self.merged
    }

    fn take_config(&mut self, at: usize) {
        let (name, config) = &self.config[at];
        let live = self.in_live.get(name).copied().flatten();
        let value = merge(self.schema, self.element, live, Some(config));
        self.merged.extend(value);
        self.done.insert(name.clone());
        if self.shared.last() == Some(name) {
            self.shared.pop();
        }
    }
}
