//! Temporary stand-ins for modules of `pernode_api` that are being written. To be removed.
#![allow(
    missing_docs,
    missing_debug_implementations,
    clippy::all,
    clippy::pedantic,
    reason = "temporary"
)]

pub mod schema {
    pub use pernode_api::schema::Schema;
}
pub mod managed {
    use pernode_api::schema::{Schema, TypeId};
    use pernode_api::status::Status;
    use serde_json::Value;
    pub struct Writer<'a> {
        pub manager: &'a str,
        pub subresource: &'a str,
        pub now: jiff::Timestamp,
    }
    pub struct ApplyError(pub String);
    impl ApplyError {
        pub fn to_status(&self) -> Status {
            Status::unmapped(self.0.clone())
        }
    }
    pub fn track_update(_: &Schema, _: TypeId, _: Option<&Value>, _: &mut Value, _: &Writer<'_>) {}
    pub fn apply(
        _: &Schema,
        _: TypeId,
        live: Option<&Value>,
        applied: &Value,
        _: &Writer<'_>,
        _: bool,
    ) -> Result<Value, ApplyError> {
        Ok(pernode_api::patch::merge_patch(
            live.unwrap_or(&Value::Null),
            applied,
        ))
    }
}
pub mod field_selector {
    use pernode_api::resource::Resource;
    use serde_json::Value;
    #[derive(Debug, Clone)]
    pub struct FieldSelector {
        terms: Vec<(String, bool, String)>,
    }
    impl FieldSelector {
        pub fn parse(text: &str) -> Result<Self, String> {
            let mut terms = Vec::new();
            for term in text.split(',').filter(|t| !t.is_empty()) {
                let (n, eq, v) = if let Some((n, v)) = term.split_once("!=") {
                    (n, false, v)
                } else if let Some((n, v)) = term.split_once("==") {
                    (n, true, v)
                } else if let Some((n, v)) = term.split_once('=') {
                    (n, true, v)
                } else {
                    return Err(format!(
                        "invalid selector: '{text}'; can't understand '{term}'"
                    ));
                };
                terms.push((n.to_owned(), eq, v.to_owned()));
            }
            Ok(Self { terms })
        }
        pub fn validate(&self, _: &Resource) -> Result<(), String> {
            Ok(())
        }
        pub fn exact(&self, field: &str) -> Option<&str> {
            self.terms
                .iter()
                .find(|t| t.1 && t.0 == field)
                .map(|t| t.2.as_str())
        }
        pub fn matches<'a>(&self, get: &dyn Fn(&str) -> Option<&'a str>) -> bool {
            self.terms
                .iter()
                .all(|(n, eq, v)| (get(n).unwrap_or("") == v) == *eq)
        }
    }
    pub fn fields_of(r: &Resource, v: &Value) -> Vec<(&'static str, String)> {
        let t = |p: &str| {
            v.pointer(p)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let mut f = vec![
            ("metadata.name", t("/metadata/name")),
            ("metadata.namespace", t("/metadata/namespace")),
        ];
        match (r.group, r.plural) {
            ("", "pods") => {
                f.push(("spec.nodeName", t("/spec/nodeName")));
                f.push(("status.phase", t("/status/phase")));
            }
            ("", "namespaces") => f.push(("status.phase", t("/status/phase"))),
            ("", "nodes") => f.push((
                "spec.unschedulable",
                (v.pointer("/spec/unschedulable") == Some(&Value::Bool(true))).to_string(),
            )),
            ("", "services") => f.push(("spec.clusterIP", t("/spec/clusterIP"))),
            ("", "events") => {
                for (n, p) in [
                    ("involvedObject.kind", "/involvedObject/kind"),
                    ("involvedObject.name", "/involvedObject/name"),
                    ("involvedObject.namespace", "/involvedObject/namespace"),
                    ("involvedObject.uid", "/involvedObject/uid"),
                    ("reason", "/reason"),
                    ("type", "/type"),
                ] {
                    f.push((n, t(p)))
                }
            }
            _ => {}
        }
        f
    }
}
pub mod paging {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD as B;
    pub struct Token {
        pub revision: u64,
        pub start: String,
    }
    impl Token {
        pub fn encode(&self) -> String {
            B.encode(format!("{}:{}", self.revision, self.start))
        }
        pub fn decode(t: &str) -> Result<Self, String> {
            let b = B.decode(t).map_err(|e| e.to_string())?;
            let s = String::from_utf8(b).map_err(|e| e.to_string())?;
            let (r, st) = s.split_once(':').ok_or("bad")?;
            Ok(Self {
                revision: r.parse().map_err(|_| "bad".to_string())?,
                start: st.to_owned(),
            })
        }
    }
}
pub mod discovery {
    use pernode_api::resource::RESOURCES;
    use serde_json::{Value, json};
    pub fn core_versions(a: &str) -> Value {
        json!({"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[{"clientCIDR":"0.0.0.0/0","serverAddress":a}]})
    }
    fn groups() -> Vec<(&'static str, &'static str)> {
        let mut g: Vec<_> = RESOURCES.iter().map(|r| (r.group, r.version)).collect();
        g.dedup();
        g
    }
    pub fn group_list() -> Value {
        json!({"kind":"APIGroupList","apiVersion":"v1","groups": groups().iter().filter_map(|(g, _)| if g.is_empty() { None } else { group(g) }).collect::<Vec<_>>()})
    }
    pub fn group(g: &str) -> Option<Value> {
        let (g, v) = groups().into_iter().find(|(x, _)| *x == g)?;
        let gv = format!("{g}/{v}");
        Some(
            json!({"kind":"APIGroup","apiVersion":"v1","name":g,"versions":[{"groupVersion":gv,"version":v}],"preferredVersion":{"groupVersion":gv,"version":v}}),
        )
    }
    pub fn resource_list(g: &str, v: &str) -> Option<Value> {
        let list: Vec<Value> = RESOURCES.iter().filter(|r| r.group == g && r.version == v).map(|r| json!({"name": r.plural, "singularName": r.singular, "namespaced": r.namespaced, "kind": r.kind, "verbs": r.verbs, "shortNames": r.short_names})).collect();
        if list.is_empty() {
            return None;
        }
        let gv = if g.is_empty() {
            v.to_owned()
        } else {
            format!("{g}/{v}")
        };
        Some(json!({"kind":"APIResourceList","apiVersion":"v1","groupVersion":gv,"resources":list}))
    }
    pub fn aggregated_core() -> Value {
        json!({"kind":"APIGroupDiscoveryList","metadata":{},"items":[]})
    }
    pub fn aggregated_groups() -> Value {
        json!({"kind":"APIGroupDiscoveryList","metadata":{},"items":[]})
    }
}
pub mod openapi {
    use pernode_api::schema::Schema;
    use serde_json::{Value, json};
    pub fn index(_: &Schema, _: impl Fn(&str, &str) -> String) -> Value {
        json!({"paths": {}})
    }
    pub fn document(_: &Schema, _: &str, _: &str) -> Option<Value> {
        None
    }
    pub fn v2_protobuf(_: &Schema) -> Vec<u8> {
        Vec::new()
    }
}
