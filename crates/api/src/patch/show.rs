//! JSON as Go prints maps, which is how some errors show a patch.

use alloc::string::{String, ToString};
use core::fmt::Write;
use serde_json::Value;

/// `map[a:1 b:[x y]]`: keys sorted, texts without quotes.
pub fn go_map_text(value: &Value) -> String {
    let mut text = String::new();
    write_go(&mut text, value);
    text
}

fn write_go(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::String(text) => out.push_str(text),
        Value::Bool(_) | Value::Number(_) => out.push_str(&value.to_string()),
        Value::Array(list) => {
            out.push('[');
            for (index, element) in list.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                write_go(out, element);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push_str("map[");
            for (index, (key, element)) in map.iter().enumerate() {
                let space = if index > 0 { " " } else { "" };
                write!(out, "{space}{key}:").expect("a String takes everything");
                write_go(out, element);
            }
            out.push(']');
        }
    }
}
