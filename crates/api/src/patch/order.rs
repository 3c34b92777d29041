//! The order of a merged list: named elements in the order of the patch, others in their place.

use alloc::vec::Vec;
use serde_json::Value;

/// How two elements are the same: by a key for maps, by value for scalars.
#[derive(Debug, Clone, Copy)]
pub(super) struct Same<'a>(pub(super) Option<&'a str>);

impl Same<'_> {
    pub(super) fn same(self, a: &Value, b: &Value) -> bool {
        match self.0 {
            // A number and a text of the same digits are different keys.
            Some(key) => a.get(key).is_some() && a.get(key) == b.get(key),
            None => a == b,
        }
    }

    fn index(self, list: &[Value], element: &Value) -> Option<usize> {
        list.iter().position(|other| self.same(other, element))
    }
}

/// Orders `merged`: elements that `order` names follow it; the others keep the order they had in
/// `before`, and stay ahead of a named element that they stood ahead of there.
pub(super) fn arrange(
    merged: Vec<Value>,
    order: &[Value],
    before: &[Value],
    same: Same<'_>,
) -> Vec<Value> {
    let (mut named, mut others): (Vec<Value>, Vec<Value>) = merged
        .into_iter()
        .partition(|element| same.index(order, element).is_some());
    named.sort_by_key(|element| same.index(order, element));
    others.sort_by_key(|element| same.index(before, element).unwrap_or(usize::MAX));
    weave(others, named, before, same)
}

/// Puts an element of `others` first where both it and the next named one were in `before` and it
/// stood ahead; else the named one goes first.
fn weave(others: Vec<Value>, named: Vec<Value>, before: &[Value], same: Same<'_>) -> Vec<Value> {
    let mut woven = Vec::with_capacity(others.len() + named.len());
    let (mut others, mut named) = (others.into_iter().peekable(), named.into_iter().peekable());
    while let (Some(other), Some(next)) = (others.peek(), named.peek()) {
        let ahead = same
            .index(before, other)
            .zip(same.index(before, next))
            .is_some_and(|(o, n)| o < n);
        woven.extend(if ahead { others.next() } else { named.next() });
    }
    woven.extend(others);
    woven.extend(named);
    woven
}
