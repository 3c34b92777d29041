//! Reading objects as Go reads them: what is absent, `null` or of another type is zero.
//!
//! Rules look at `serde_json::Value`s, which decoding has already checked against the schema. So
//! nothing here can fail, and nothing here allocates.

use alloc::borrow::ToOwned;
use alloc::string::String;
use serde_json::{Map, Value};

/// A JSON object.
pub(crate) type Object = Map<String, Value>;

/// Typed reads of fields.
pub(crate) trait Read {
    /// The field, unless it is absent or `null`.
    fn at(&self, key: &str) -> Option<&Value>;

    /// A text, empty when absent.
    fn text(&self, key: &str) -> &str {
        self.at(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// A list, empty when absent.
    fn list(&self, key: &str) -> &[Value] {
        self.at(key)
            .and_then(Value::as_array)
            .map_or(&[], |list| list.as_slice())
    }

    /// An object, unless it is absent.
    fn object(&self, key: &str) -> Option<&Object> {
        self.at(key).and_then(Value::as_object)
    }

    /// A whole number, unless it is absent.
    fn int(&self, key: &str) -> Option<i64> {
        self.at(key).and_then(Value::as_i64)
    }

    /// A boolean, false when absent.
    fn flag(&self, key: &str) -> bool {
        self.at(key).and_then(Value::as_bool).unwrap_or_default()
    }

    /// A field of a field, and so on.
    fn path(&self, keys: &[&str]) -> Option<&Value> {
        let (first, rest) = keys.split_first()?;
        rest.iter()
            .try_fold(self.at(first)?, |value, key| value.at(key))
    }
}

impl Read for Value {
    fn at(&self, key: &str) -> Option<&Value> {
        self.as_object()?.at(key)
    }
}

impl Read for Object {
    fn at(&self, key: &str) -> Option<&Value> {
        self.get(key).filter(|value| !value.is_null())
    }
}

/// Writes into objects.
pub(crate) trait Write {
    /// The object at a field, made when it is absent.
    fn object_mut(&mut self, key: &str) -> &mut Object;

    /// Sets a field that is absent.
    fn set_default(&mut self, key: &str, value: impl Into<Value>);

    /// Sets a text that is absent or empty.
    fn set_text_default(&mut self, key: &str, value: &str);

    /// Sets or removes a field.
    fn put(&mut self, key: &str, value: Option<Value>);
}

impl Write for Object {
    fn object_mut(&mut self, key: &str) -> &mut Object {
        if !self.get(key).is_some_and(Value::is_object) {
            self.insert(key.to_owned(), Value::Object(Self::new()));
        }
        self.get_mut(key)
            .and_then(Value::as_object_mut)
            .expect("the field was just made an object")
    }

    fn set_default(&mut self, key: &str, value: impl Into<Value>) {
        if self.at(key).is_none() {
            self.insert(key.to_owned(), value.into());
        }
    }

    fn set_text_default(&mut self, key: &str, value: &str) {
        if self.text(key).is_empty() {
            self.insert(key.to_owned(), Value::from(value));
        }
    }

    fn put(&mut self, key: &str, value: Option<Value>) {
        match value {
            Some(value) => {
                self.insert(key.to_owned(), value);
            }
            None => {
                self.remove(key);
            }
        }
    }
}

/// The objects in a list, to be changed.
pub(crate) fn each<'a>(object: &'a mut Object, key: &str) -> impl Iterator<Item = &'a mut Object> {
    object
        .get_mut(key)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
}

/// The object at a field, to be changed, unless it is absent.
pub(crate) fn inner<'a>(object: &'a mut Object, key: &str) -> Option<&'a mut Object> {
    object.get_mut(key).and_then(Value::as_object_mut)
}
