//! What label keys and values look like (upstream `IsQualifiedName`, `IsValidLabelValue`).

use alloc::string::String;
use alloc::vec::Vec;

const NAME_BYTES_MAX: usize = 63;
const PREFIX_BYTES_MAX: usize = 253;
const NAME_FORM: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE_FORM: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const SUBDOMAIN_FORM: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const QUALIFIED_FORM: &str = "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";

/// Checks a label key: a name with an optional DNS subdomain in front.
///
/// # Errors
/// What is wrong with it, joined with `; `, in upstream's words.
pub fn check_key(key: &str) -> Result<(), String> {
    let mut problems: Vec<String> = Vec::new();
    let parts: Vec<&str> = key.split('/').collect();
    let name = match parts.as_slice() {
        [name] => name,
        [prefix, name] => {
            check_prefix(prefix, &mut problems);
            name
        }
        _ => return Err(QUALIFIED_FORM.into()),
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".into());
    } else if name.len() > NAME_BYTES_MAX {
        problems.push(alloc::format!(
            "name part must be no more than {NAME_BYTES_MAX} bytes"
        ));
    }
    if !is_name(name) {
        problems.push(alloc::format!("name part {NAME_FORM}"));
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems.join("; "))
    }
}

fn check_prefix(prefix: &str, problems: &mut Vec<String>) {
    if prefix.is_empty() {
        problems.push("prefix part must be non-empty".into());
        return;
    }
    if prefix.len() > PREFIX_BYTES_MAX {
        problems.push(alloc::format!(
            "prefix part must be no more than {PREFIX_BYTES_MAX} bytes"
        ));
    }
    if !is_subdomain(prefix) {
        problems.push(alloc::format!("prefix part {SUBDOMAIN_FORM}"));
    }
}

/// Checks a label value: empty, or a name.
///
/// # Errors
/// What is wrong with it, joined with `; `, in upstream's words.
pub fn check_value(value: &str) -> Result<(), String> {
    let mut problems: Vec<String> = Vec::new();
    if value.len() > NAME_BYTES_MAX {
        problems.push(alloc::format!(
            "must be no more than {NAME_BYTES_MAX} bytes"
        ));
    }
    if !value.is_empty() && !is_name(value) {
        problems.push(VALUE_FORM.into());
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems.join("; "))
    }
}

fn is_name(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    text.bytes().all(inner) && ends_are(text, |b| b.is_ascii_alphanumeric())
}

fn is_subdomain(text: &str) -> bool {
    let lower = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    text.split('.')
        .all(|part| part.bytes().all(|b| lower(b) || b == b'-') && ends_are(part, lower))
}

fn ends_are(text: &str, ok: impl Fn(u8) -> bool) -> bool {
    text.bytes().next().is_some_and(&ok) && text.bytes().next_back().is_some_and(&ok)
}
