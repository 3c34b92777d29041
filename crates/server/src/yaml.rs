//! YAML bodies. Read as YAML 1.1, where `y` and `no` are booleans, and with an eye on keys that
//! are there twice, which upstream reports by line.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{Spanned, with_deserializer_from_str_with_options};

/// A document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Document {
    /// What it says; of a key that is there twice, the last value counts.
    pub(crate) value: Value,
    /// `line 5: key "name" already set in map`, in the order of the text.
    pub(crate) duplicates: Vec<String>,
}

/// Reads a document; the error is in the words of Kubernetes' YAML library as far as possible.
pub(crate) fn parse(text: &[u8]) -> Result<Document, String> {
    let text = std::str::from_utf8(text).map_err(|error| error.to_string())?;
    let found = RefCell::default();
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        with_snippet: false,
        legacy_octal_numbers: true,
    };
    let value =
        with_deserializer_from_str_with_options(text, options, |de| Node(&found).deserialize(de))
            .map_err(|error| {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            format!(
                "error converting YAML to JSON: yaml: {}",
                line.trim_start_matches("error: ")
            )
        })?;
    Ok(Document {
        value,
        duplicates: found.into_inner(),
    })
}

/// Any node of a document.
#[derive(Clone, Copy)]
struct Node<'a>(&'a RefCell<Vec<String>>);

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value that JSON has too")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value);
        number
            .map(Value::Number)
            .ok_or_else(|| E::custom("json: unsupported value"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(self)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        while let Some(key) = map.next_key::<Spanned<Key>>()? {
            let line = key.referenced.line();
            let Key(key) = key.value;
            let value = map.next_value_seed(self).map_err(A::Error::custom)?;
            if values.contains_key(&key) {
                let text = format!("line {line}: key {key:?} already set in map");
                self.0.borrow_mut().push(text);
            }
            values.insert(key, value);
        }
        Ok(Value::Object(values))
    }
}

/// A key. JSON has texts only, so numbers and booleans are written out.
struct Key(String);

impl<'de> serde::Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str, expected: &Value) {
        assert_eq!(parse(text.as_bytes()).unwrap().value, *expected, "{text}");
    }

    #[test]
    fn values() {
        check(
            "a: 1\nb: [x, 'y', 1.5, null, ~]\n",
            &json!({"a": 1, "b": ["x", "y", 1.5, null, null]}),
        );
        check("{\"a\": {\"b\": true}}", &json!({"a": {"b": true}}));
        check(
            "a: &x {b: 1}\nc: *x\n",
            &json!({"a": {"b": 1}, "c": {"b": 1}}),
        );
        check("a: |\n  two\n  lines\n", &json!({"a": "two\nlines\n"}));
        check("80: x\n", &json!({"80": "x"}));
    }

    #[test]
    fn booleans_of_yaml_1_1() {
        check(
            "a: yes\nb: y\nc: Off\nd: 'yes'\n",
            &json!({"a": true, "b": true, "c": false, "d": "yes"}),
        );
    }

    #[test]
    fn duplicates_are_noticed() {
        let document = parse(b"a: 1\nb:\n  c: 1\n  c: 2\na: 3\n").unwrap();
        assert_eq!(document.value, json!({"a": 3, "b": {"c": 2}}));
        assert_eq!(
            document.duplicates,
            [
                "line 4: key \"c\" already set in map",
                "line 5: key \"a\" already set in map"
            ]
        );
    }

    #[test]
    fn broken_documents() {
        for text in ["{bad", "a: [", "a: b: c"] {
            let error = parse(text.as_bytes()).unwrap_err();
            assert!(
                error.starts_with("error converting YAML to JSON: yaml: "),
                "{error}"
            );
        }
    }
}
