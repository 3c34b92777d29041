//! `${name}`: values that are known only when a case runs.

use std::collections::BTreeMap;

use serde_json::Value;

/// The values known so far, by name.
#[derive(Debug, Default)]
pub(super) struct Words(BTreeMap<String, String>);

impl Words {
    pub(super) fn set(&mut self, name: &str, value: &Value) {
        let text = value.as_str().map_or_else(|| value.to_string(), Into::into);
        self.0.insert(name.into(), text);
    }

    pub(super) fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// A copy with all words replaced, in keys too; unknown ones stay as they are.
    pub(super) fn fill(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.fill_text(text).into(),
            Value::Array(list) => list.iter().map(|it| self.fill(it)).collect(),
            Value::Object(map) => map
                .iter()
                .map(|(key, it)| (self.fill_text(key), self.fill(it)))
                .collect(),
            other => other.clone(),
        }
    }

    fn fill_text(&self, text: &str) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            filled.push_str(before);
            let word = after
                .split_once('}')
                .filter(|(name, _)| self.0.contains_key(*name));
            if let Some((name, after)) = word {
                filled.push_str(self.text(name));
                rest = after;
            } else {
                filled.push_str("${");
                rest = after;
            }
        }
        filled + rest
    }
}
