//! The formats of names, labels and other words, with the messages that refuse them.
//!
//! Every function returns what is wrong, in upstream's words and order; nothing means that the
//! value fits. Sources: spec/apiserver.md 2.2, the cases of names.yaml, and upstream's behaviour.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::net::IpAddr;

const LABEL_MAX: usize = 63;
const SUBDOMAIN_MAX: usize = 253;

const DNS1123_LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const DNS1123_SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const DNS1035_LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const WILDCARD_SUBDOMAIN: &str = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const QUALIFIED_NAME_PART: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const QUALIFIED_NAME: &str = "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const CONFIG_MAP_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const ENV_VAR_NAME: &str = "a valid environment variable name must consist only of printable ASCII characters other than '='";
const PERCENT: &str = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
const EMPTY: &str = "must be non-empty";

fn too_long(max: usize) -> String {
    format!("must be no more than {max} characters")
}

fn too_many_bytes(max: usize) -> String {
    format!("must be no more than {max} bytes")
}

fn is_lower_alnum(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
fn fits_dns1123(text: &str) -> bool {
    let bytes = text.as_bytes();
    let inner = bytes.iter().all(|&b| is_lower_alnum(b) || b == b'-');
    let ends = [bytes.first(), bytes.last()];
    inner && ends.iter().all(|b| b.is_some_and(|&b| is_lower_alnum(b)))
}

fn fits_subdomain(text: &str) -> bool {
    text.split('.').all(fits_dns1123)
}

/// `[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?`
fn fits_name_part(text: &str) -> bool {
    let bytes = text.as_bytes();
    let inner = bytes
        .iter()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
    let ends = [bytes.first(), bytes.last()];
    inner
        && ends
            .iter()
            .all(|b| b.is_some_and(u8::is_ascii_alphanumeric))
}

fn checked(text: &str, max: usize, fits: bool, message: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > max {
        errors.push(too_long(max));
    }
    if !fits {
        errors.push(message.to_owned());
    }
    errors
}

/// A DNS label: names of namespaces, containers, volumes.
pub fn dns1123_label(text: &str) -> Vec<String> {
    // A subdomain is the usual mistake: its dots are all that is wrong.
    let message = if fits_subdomain(text) {
        "must not contain dots"
    } else {
        DNS1123_LABEL
    };
    checked(text, LABEL_MAX, fits_dns1123(text), message)
}

/// Dot-separated DNS labels: names of most objects.
pub fn dns1123_subdomain(text: &str) -> Vec<String> {
    checked(text, SUBDOMAIN_MAX, fits_subdomain(text), DNS1123_SUBDOMAIN)
}

/// A DNS label that starts with a letter: names of services.
pub fn dns1035_label(text: &str) -> Vec<String> {
    let starts = text.bytes().next().is_some_and(|b| b.is_ascii_lowercase());
    checked(text, LABEL_MAX, starts && fits_dns1123(text), DNS1035_LABEL)
}

/// A DNS name whose first label is `*`.
pub fn wildcard_subdomain(text: &str) -> Vec<String> {
    let fits = text.strip_prefix("*.").is_some_and(fits_subdomain);
    checked(text, SUBDOMAIN_MAX, fits, WILDCARD_SUBDOMAIN)
}

/// Keys of labels, annotations, taints and extended resources: `prefix/name` or `name`.
pub fn qualified_name(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let mut parts = text.split('/');
    let name = match (parts.next(), parts.next(), parts.next()) {
        (Some(name), None, _) => name,
        (Some(prefix), Some(name), None) => {
            if prefix.is_empty() {
                errors.push(format!("prefix part {EMPTY}"));
            } else {
                let wrong = dns1123_subdomain(prefix);
                errors.extend(wrong.iter().map(|message| format!("prefix part {message}")));
            }
            name
        }
        _ => return vec![QUALIFIED_NAME.to_owned()],
    };
    if name.is_empty() {
        errors.push(format!("name part {EMPTY}"));
    } else if name.len() > LABEL_MAX {
        errors.push(format!("name part {}", too_many_bytes(LABEL_MAX)));
    }
    if !fits_name_part(name) {
        errors.push(QUALIFIED_NAME_PART.to_owned());
    }
    errors
}

/// Values of labels.
pub fn label_value(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > LABEL_MAX {
        errors.push(too_many_bytes(LABEL_MAX));
    }
    if !text.is_empty() && !fits_name_part(text) {
        errors.push(LABEL_VALUE.to_owned());
    }
    errors
}

/// Names of container ports.
pub fn port_name(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 15 {
        errors.push(too_long(15));
    }
    if text.is_empty() || !text.bytes().all(|b| is_lower_alnum(b) || b == b'-') {
        errors.push(
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned(),
        );
    }
    if !text.bytes().any(|b| b.is_ascii_lowercase()) {
        errors.push("must contain at least one letter (a-z)".to_owned());
    }
    if text.contains("--") {
        errors.push("must not contain consecutive hyphens".to_owned());
    }
    if text.starts_with('-') || text.ends_with('-') {
        errors.push("must not begin or end with a hyphen".to_owned());
    }
    errors
}

/// Numbers of ports.
pub fn port_number(number: i64) -> Vec<String> {
    in_range(number, 1, 65535)
}

/// A number within bounds.
pub fn in_range(number: i64, min: i64, max: i64) -> Vec<String> {
    if (min..=max).contains(&number) {
        Vec::new()
    } else {
        vec![format!("must be between {min} and {max}, inclusive")]
    }
}

/// Ids of users and groups.
pub fn user_id(id: i64) -> Vec<String> {
    in_range(id, 0, i64::from(i32::MAX))
}

/// Names of environment variables.
pub fn env_var_name(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.is_empty() {
        errors.push(format!("environment variable name {EMPTY}"));
    }
    if !text
        .bytes()
        .all(|b| (0x20..=0x7e).contains(&b) && b != b'=')
    {
        errors.push(ENV_VAR_NAME.to_owned());
    }
    errors
}

/// Keys of ConfigMaps and Secrets.
pub fn config_map_key(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > SUBDOMAIN_MAX {
        errors.push(too_long(SUBDOMAIN_MAX));
    }
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    if text.is_empty() || !text.bytes().all(fits) {
        errors.push(CONFIG_MAP_KEY.to_owned());
    }
    match text {
        "." => errors.push("must not be '.'".to_owned()),
        ".." => errors.push("must not be '..'".to_owned()),
        _ if text.starts_with("..") => errors.push("must not start with '..'".to_owned()),
        _ => {}
    }
    errors
}

/// One element of a path: names of RBAC objects.
pub fn path_segment(text: &str) -> Vec<String> {
    if text == "." || text == ".." {
        return vec![format!("may not be '{text}'")];
    }
    ["/", "%"]
        .iter()
        .filter(|part| text.contains(*part))
        .map(|part| format!("may not contain '{part}'"))
        .collect()
}

/// A percentage such as `25%`.
pub fn percent(text: &str) -> Vec<String> {
    let digits = text.strip_suffix('%').unwrap_or_default();
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        Vec::new()
    } else {
        vec![PERCENT.to_owned()]
    }
}

/// An IP address in canonical form.
pub fn ip(text: &str) -> Vec<String> {
    let canonical = match text.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) if address.to_ipv4_mapped().is_some() => {
            return vec!["must not be an IPv4-mapped IPv6 address".to_owned()];
        }
        Ok(address) => address.to_string(),
        Err(_) if has_leading_zeros(text) => return vec!["must not have leading 0s".to_owned()],
        Err(_) => {
            return vec![
                "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)".to_owned(),
            ];
        }
    };
    if canonical == text {
        Vec::new()
    } else {
        vec![format!("must be in canonical form (\"{canonical}\")")]
    }
}

/// Whether text would be an IPv4 address but for zeros in front of its numbers.
fn has_leading_zeros(text: &str) -> bool {
    let numbers: Vec<Result<u8, _>> = text.split('.').map(str::parse).collect();
    numbers.len() == 4 && numbers.iter().all(Result::is_ok)
}

/// An address block such as `10.0.0.0/8`.
pub fn cidr(text: &str) -> Vec<String> {
    let fits = text.split_once('/').is_some_and(|(address, bits)| {
        let max = match address.parse::<IpAddr>() {
            Ok(IpAddr::V4(_)) => 32,
            Ok(IpAddr::V6(_)) => 128,
            Err(_) => return false,
        };
        bits.parse::<u8>().is_ok_and(|bits| bits <= max)
    });
    if fits {
        Vec::new()
    } else {
        vec!["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)".to_owned()]
    }
}

/// The part of the name that the server adds to `generateName`.
const SUFFIX: usize = 5;
/// Letters and digits without vowels and look-alikes: no words, no confusion.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// Makes a name from a base: the base, cut to 58 bytes, and 5 characters taken from the seed.
pub fn generate_name(base: &str, seed: u64) -> String {
    let mut end = base.len().min(LABEL_MAX - SUFFIX);
    while !base.is_char_boundary(end) {
        end -= 1;
    }
    let mut name = base[..end].to_string();
    let mut rest = seed;
    for _ in 0..SUFFIX {
        let (quotient, letter) = (rest / 27, (rest % 27) as usize);
        name.push(char::from(ALPHABET[letter]));
        rest = quotient;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_names_are_cut_and_come_from_the_seed() {
        let long = "a".repeat(70);
        let name = generate_name(&long, 12345);
        assert_eq!(name.len(), 63);
        assert!(name.starts_with(&"a".repeat(58)));
        let suffix = name[58..].bytes();
        assert!(suffix.clone().all(|b| ALPHABET.contains(&b)), "{name}");
        assert_eq!(generate_name("web-", 7), generate_name("web-", 7));
        assert_ne!(generate_name("web-", 7), generate_name("web-", 8));
        assert_eq!(generate_name("web-", u64::MAX).len(), 9);
    }

    #[test]
    fn a_base_is_cut_between_characters() {
        let name = generate_name(&"ä".repeat(40), 0);
        assert_eq!(name, format!("{}bbbbb", "ä".repeat(29)));
    }

    #[test]
    fn long_names_are_counted() {
        assert_eq!(
            dns1123_subdomain(&"a".repeat(254)),
            ["must be no more than 253 characters"]
        );
        assert_eq!(dns1123_label("a.b"), ["must not contain dots"]);
    }

    #[test]
    fn keys_say_which_part_is_wrong() {
        assert_eq!(qualified_name("/x"), ["prefix part must be non-empty"]);
        let wrong = qualified_name("a/");
        assert_eq!(wrong[0], "name part must be non-empty");
        assert_eq!(wrong[1], QUALIFIED_NAME_PART);
        assert!(qualified_name("a/b/c")[0].starts_with("a qualified name must"));
    }

    #[test]
    fn addresses_and_blocks() {
        assert_eq!(ip("01.2.3.4"), ["must not have leading 0s"]);
        assert_eq!(
            ip("2001:DB8::1"),
            ["must be in canonical form (\"2001:db8::1\")"]
        );
        assert!(cidr("10.0.0.0/8").is_empty());
        assert_eq!(cidr("10.0.0.0/33").len(), 1);
        assert_eq!(path_segment(".."), ["may not be '..'"]);
    }
}
