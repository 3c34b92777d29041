//! Field selectors: `status.phase!=Failed,spec.nodeName=n1`, and the fields that each kind offers
//! (spec/apiserver.md 2.9).

use crate::resource::Resource;
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use serde_json::Value;

/// Text that is no field selector, in upstream's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseError(pub String);

/// A term: a field has, or has not, a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// Name of the field, such as `spec.nodeName`.
    pub field: String,
    /// Whether the value has to be equal, rather than different.
    pub equals: bool,
    /// The value.
    pub value: String,
}

/// A field selector: all its terms must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSelector {
    /// In the order of their texts.
    terms: Vec<Term>,
}

impl FieldSelector {
    /// Reads the text form. Empty terms are skipped; spaces belong to names and values.
    ///
    /// # Errors
    /// A term without an operator, or a value with a bad escape.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut parts = split(text);
        parts.sort_unstable();
        let terms = parts.into_iter().filter(|part| !part.is_empty());
        let terms = terms
            .map(|part| Term::parse(part, text))
            .collect::<Result<_, _>>()?;
        Ok(Self { terms })
    }

    /// Its terms, in the order of their texts.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// The value that a field has to have, if a term asks for one.
    pub fn exact(&self, field: &str) -> Option<&str> {
        self.terms
            .iter()
            .find(|t| t.equals && t.field == field)
            .map(|t| t.value.as_str())
    }

    /// Whether fields, looked up one by one, satisfy it. An absent field is as good as empty.
    pub fn matches<'a>(&self, field: &dyn Fn(&str) -> Option<&'a str>) -> bool {
        let holds =
            |t: &Term| (field(canonical(&t.field)).unwrap_or_default() == t.value) == t.equals;
        self.terms.iter().all(holds)
    }

    /// Whether a kind offers all the fields.
    ///
    /// # Errors
    /// The first field that it does not offer: the message of a 400.
    pub fn validate(&self, resource: &Resource) -> Result<(), String> {
        let known = fields(resource);
        let by_name = known.is_empty();
        for Term { field, .. } in &self.terms {
            let name = canonical(field);
            let generic =
                name == "metadata.name" || (name == "metadata.namespace" && resource.namespaced);
            if generic || known.iter().any(|(f, _)| *f == name) {
                continue;
            }
            return Err(if by_name {
                format!(
                    "{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
                )
            } else {
                format!("field label not supported: {field}")
            });
        }
        Ok(())
    }
}

impl Term {
    fn parse(part: &str, whole: &str) -> Result<Self, ParseError> {
        let Some((field, operator, value)) = operator(part) else {
            return Err(ParseError(format!(
                "invalid selector: '{whole}'; can't understand '{part}'"
            )));
        };
        let value = unescape(value)?.into_owned();
        Ok(Self {
            field: field.to_string(),
            equals: operator != "!=",
            value,
        })
    }
}

/// Cuts at commas that are not escaped.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Name, first operator and value.
fn operator(part: &str) -> Option<(&str, &str, &str)> {
    (0..part.len())
        .filter(|at| part.is_char_boundary(*at))
        .find_map(|at| {
            let rest = &part[at..];
            let operator = ["!=", "==", "="]
                .into_iter()
                .find(|operator| rest.starts_with(operator))?;
            Some((&part[..at], operator, &rest[operator.len()..]))
        })
}

fn unescape(value: &str) -> Result<Cow<'_, str>, ParseError> {
    if !value.contains(['\\', ',', '=']) {
        return Ok(Cow::Borrowed(value));
    }
    let mut plain = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => match characters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => plain.push(escaped),
                other => {
                    let shown = other.map(String::from).unwrap_or_default();
                    let why = format!("invalid field selector: invalid escape sequence: \\{shown}");
                    return Err(ParseError(why));
                }
            },
            ',' | '=' => {
                let code = u32::from(c);
                return Err(ParseError(format!(
                    "invalid field selector: unescaped character in value: {code}"
                )));
            }
            c => plain.push(c),
        }
    }
    Ok(Cow::Owned(plain))
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (
            index,
            Term {
                field,
                equals,
                value,
            },
        ) in self.terms.iter().enumerate()
        {
            let comma = if index > 0 { "," } else { "" };
            let operator = if *equals { "=" } else { "!=" };
            let value = value
                .replace('\\', "\\\\")
                .replace(',', "\\,")
                .replace('=', "\\=");
            write!(f, "{comma}{field}{operator}{value}")?;
        }
        Ok(())
    }
}

/// Where a field's value is in the object.
#[derive(Debug, Clone, Copy)]
enum Source {
    /// A text at a JSON pointer.
    Text(&'static str),
    /// A truth value at a JSON pointer; absent is `false`.
    Flag(&'static str),
}

use Source::{Flag, Text};

type Fields = &'static [(&'static str, Source)];

const POD: Fields = &[
    ("spec.nodeName", Text("/spec/nodeName")),
    ("spec.restartPolicy", Text("/spec/restartPolicy")),
    ("spec.schedulerName", Text("/spec/schedulerName")),
    ("spec.serviceAccountName", Text("/spec/serviceAccountName")),
    ("spec.hostNetwork", Flag("/spec/hostNetwork")),
    ("status.phase", Text("/status/phase")),
    ("status.podIP", Text("/status/podIPs/0/ip")),
    ("status.podIPs", Text("/status/podIPs/0/ip")),
    (
        "status.nominatedNodeName",
        Text("/status/nominatedNodeName"),
    ),
];
const NODE: Fields = &[("spec.unschedulable", Flag("/spec/unschedulable"))];
const NAMESPACE: Fields = &[("status.phase", Text("/status/phase"))];
const SECRET: Fields = &[("type", Text("/type"))];
const SERVICE: Fields = &[
    ("spec.clusterIP", Text("/spec/clusterIP")),
    ("spec.type", Text("/spec/type")),
];
const CSR: Fields = &[("spec.signerName", Text("/spec/signerName"))];
const EVENT: Fields = &[
    ("involvedObject.kind", Text("/involvedObject/kind")),
    (
        "involvedObject.namespace",
        Text("/involvedObject/namespace"),
    ),
    ("involvedObject.name", Text("/involvedObject/name")),
    ("involvedObject.uid", Text("/involvedObject/uid")),
    (
        "involvedObject.apiVersion",
        Text("/involvedObject/apiVersion"),
    ),
    (
        "involvedObject.resourceVersion",
        Text("/involvedObject/resourceVersion"),
    ),
    (
        "involvedObject.fieldPath",
        Text("/involvedObject/fieldPath"),
    ),
    ("reason", Text("/reason")),
    ("reportingComponent", Text("/reportingComponent")),
    ("source", Text("/source/component")),
    ("type", Text("/type")),
];
/// Events of `events.k8s.io`; what upstream calls `involvedObject` is `regarding` there.
const REGARDING: Fields = &[
    ("regarding.kind", Text("/regarding/kind")),
    ("regarding.namespace", Text("/regarding/namespace")),
    ("regarding.name", Text("/regarding/name")),
    ("regarding.uid", Text("/regarding/uid")),
    ("regarding.apiVersion", Text("/regarding/apiVersion")),
    (
        "regarding.resourceVersion",
        Text("/regarding/resourceVersion"),
    ),
    ("regarding.fieldPath", Text("/regarding/fieldPath")),
    ("reason", Text("/reason")),
    ("reportingController", Text("/reportingController")),
    ("source", Text("/deprecatedSource/component")),
    ("type", Text("/type")),
];

/// The fields of a kind besides name and namespace; none for most.
fn fields(resource: &Resource) -> Fields {
    match (resource.group, resource.plural) {
        ("", "pods") => POD,
        ("", "nodes") => NODE,
        ("", "namespaces") => NAMESPACE,
        ("", "secrets") => SECRET,
        ("", "services") => SERVICE,
        ("", "events") => EVENT,
        ("events.k8s.io", "events") => REGARDING,
        ("certificates.k8s.io", "certificatesigningrequests") => CSR,
        _ => &[],
    }
}

/// Old names that upstream still takes.
fn canonical(field: &str) -> &str {
    if field == "spec.host" {
        "spec.nodeName"
    } else {
        field
    }
}

/// The fields of an object that selectors can ask for; empty ones are left out.
pub fn fields_of(resource: &Resource, object: &Value) -> Vec<(&'static str, String)> {
    const GENERIC: Fields = &[
        ("metadata.name", Text("/metadata/name")),
        ("metadata.namespace", Text("/metadata/namespace")),
    ];
    let all = GENERIC.iter().chain(fields(resource));
    let mut found: Vec<_> = all
        .map(|(name, source)| (*name, source.value(object)))
        .filter(|(_, value)| !value.is_empty())
        .collect();
    // An older way to say where an event comes from fills the newer field's place.
    if fields(resource).iter().any(|(name, _)| *name == "source")
        && !found.iter().any(|(name, _)| *name == "source")
    {
        let component = Text("/reportingComponent").value(object);
        if !component.is_empty() {
            found.push(("source", component));
        }
    }
    found
}

impl Source {
    fn value(self, object: &Value) -> String {
        match self {
            Text(pointer) => object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_string(),
            Flag(pointer) => (object.pointer(pointer) == Some(&Value::Bool(true))).to_string(),
        }
    }
}
