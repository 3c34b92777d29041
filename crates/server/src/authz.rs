//! Authorization: may this user do this? Roles and bindings as stored, plus the group
//! `system:masters`, which may do everything.

mod covers;
pub(crate) mod roles;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use pernode_store::{Item, Store};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::user::{MASTERS, User};

pub(crate) use covers::uncovered;

const CLUSTER_ROLES: &str = "/registry/rbac.authorization.k8s.io/clusterroles/";
const CLUSTER_ROLE_BINDINGS: &str = "/registry/rbac.authorization.k8s.io/clusterrolebindings/";
const ROLES: &str = "/registry/rbac.authorization.k8s.io/roles/";
const ROLE_BINDINGS: &str = "/registry/rbac.authorization.k8s.io/rolebindings/";

/// One rule of a role.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Rule {
    pub(crate) verbs: Vec<String>,
    pub(crate) api_groups: Vec<String>,
    pub(crate) resources: Vec<String>,
    pub(crate) resource_names: Vec<String>,
    #[serde(rename = "nonResourceURLs")]
    pub(crate) non_resource_urls: Vec<String>,
}

/// A role or cluster role.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Role {
    metadata: Metadata,
    rules: Option<Vec<Rule>>,
    aggregation_rule: Option<AggregationRule>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    name: String,
    namespace: String,
    labels: pernode_core::meta::StringMap,
}

/// A cluster role made of others: those whose labels match one of the selectors.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AggregationRule {
    cluster_role_selectors: Vec<pernode_core::selector::LabelSelector>,
}

/// A role binding or cluster role binding.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Binding {
    metadata: Metadata,
    subjects: Option<Vec<Subject>>,
    role_ref: RoleRef,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Subject {
    kind: String,
    name: String,
    namespace: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RoleRef {
    kind: String,
    name: String,
}

/// What somebody wants to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Attributes<'a> {
    pub(crate) verb: &'a str,
    pub(crate) group: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) subresource: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    /// For requests about no resource; then the fields above but the verb are empty.
    pub(crate) path: &'a str,
}

/// Parsed roles and bindings, by key and revision: an object is parsed once for each change.
#[derive(Debug, Default)]
pub(crate) struct Authorizer {
    roles: Cache<Role>,
    bindings: Cache<Binding>,
}

#[derive(Debug)]
struct Cache<T>(Mutex<BTreeMap<Arc<str>, (u64, Arc<T>)>>);

impl<T> Default for Cache<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

/// Objects kept parsed; beyond this the cache starts anew. Clusters have some hundred roles.
const CACHED_MAX: usize = 10_000;

impl<T: DeserializeOwned + Default> Cache<T> {
    fn get(&self, item: &Item) -> Arc<T> {
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((revision, parsed)) = cache.get(&item.key)
            && *revision == item.revision
        {
            return parsed.clone();
        }
        let parsed: Arc<T> = Arc::new(serde_json::from_slice(&item.bytes).unwrap_or_default());
        if cache.len() >= CACHED_MAX {
            cache.clear();
        }
        cache.insert(item.key.clone(), (item.revision, parsed.clone()));
        parsed
    }
}

impl Authorizer {
    /// Whether a user may do something; if so, why.
    pub(crate) fn allowed(
        &self,
        store: &dyn Store,
        user: &User,
        wanted: &Attributes<'_>,
    ) -> Option<String> {
        if user.is_in(MASTERS) {
            return Some(String::new());
        }
        let mut reason = None;
        self.visit(store, user, wanted.namespace, &mut |rule, why| {
            if allows(rule, wanted) {
                reason = Some(why.to_owned());
            }
            reason.is_some()
        });
        reason
    }

    /// All rules of a user in a namespace.
    pub(crate) fn rules(&self, store: &dyn Store, user: &User, namespace: &str) -> Vec<Rule> {
        let mut rules = Vec::new();
        if user.is_in(MASTERS) {
            rules.extend(everything());
        }
        self.visit(store, user, namespace, &mut |rule, _| {
            rules.push(rule.clone());
            false
        });
        rules
    }

    /// The rules of a role reference in a namespace.
    pub(crate) fn rules_of_role(
        &self,
        store: &dyn Store,
        kind: &str,
        name: &str,
        namespace: &str,
    ) -> Option<Vec<Rule>> {
        let key = if kind == "ClusterRole" {
            format!("{CLUSTER_ROLES}{name}")
        } else {
            format!("{ROLES}{namespace}/{name}")
        };
        let role = self.roles.get(&*store.get(&key)?);
        let mut rules = role.rules.clone().unwrap_or_default();
        if let Some(aggregation) = &role.aggregation_rule {
            rules.extend(self.aggregated(store, aggregation, name));
        }
        Some(rules)
    }

    fn aggregated(&self, store: &dyn Store, rule: &AggregationRule, own: &str) -> Vec<Rule> {
        let selectors: Vec<_> = rule
            .cluster_role_selectors
            .iter()
            .filter_map(|s| pernode_core::selector::Selector::from_label_selector(s).ok())
            .collect();
        store
            .list(CLUSTER_ROLES)
            .iter()
            .map(|item| self.roles.get(item))
            .filter(|role| role.metadata.name != own)
            .filter(|role| selectors.iter().any(|s| s.matches(&role.metadata.labels)))
            .flat_map(|role| role.rules.clone().unwrap_or_default())
            .collect()
    }

    /// Shows each rule of a user, with its origin, until the visitor has seen enough.
    fn visit(
        &self,
        store: &dyn Store,
        user: &User,
        namespace: &str,
        seen: &mut dyn FnMut(&Rule, &str) -> bool,
    ) {
        if self.visit_bindings(store, user, CLUSTER_ROLE_BINDINGS, seen) || namespace.is_empty() {
            return;
        }
        let prefix = format!("{ROLE_BINDINGS}{namespace}/");
        self.visit_bindings(store, user, &prefix, seen);
    }

    fn visit_bindings(
        &self,
        store: &dyn Store,
        user: &User,
        prefix: &str,
        seen: &mut dyn FnMut(&Rule, &str) -> bool,
    ) -> bool {
        for item in store.list(prefix).iter() {
            let binding = self.bindings.get(item);
            let Some(subject) = binding.subject(user) else {
                continue;
            };
            let role = &binding.role_ref;
            let namespace = &binding.metadata.namespace;
            let Some(rules) = self.rules_of_role(store, &role.kind, &role.name, namespace) else {
                continue;
            };
            let why = binding.reason(subject);
            if rules.iter().any(|rule| seen(rule, &why)) {
                return true;
            }
        }
        false
    }
}

impl Binding {
    fn subject(&self, user: &User) -> Option<&Subject> {
        self.subjects
            .iter()
            .flatten()
            .find(|subject| subject.is(user, &self.metadata.namespace))
    }

    /// In upstream's words, which `kubectl auth can-i -v` shows.
    fn reason(&self, subject: &Subject) -> String {
        let kind = if self.metadata.namespace.is_empty() {
            format!("ClusterRoleBinding {:?}", self.metadata.name)
        } else {
            let full = format!("{}/{}", self.metadata.name, self.metadata.namespace);
            format!("RoleBinding {full:?}")
        };
        let who = if subject.kind == "ServiceAccount" {
            format!("{}/{}", subject.name, subject.namespace)
        } else {
            subject.name.clone()
        };
        format!(
            "RBAC: allowed by {kind} of {} {:?} to {} {who:?}",
            self.role_ref.kind, self.role_ref.name, subject.kind
        )
    }
}

impl Subject {
    fn is(&self, user: &User, binding_namespace: &str) -> bool {
        match self.kind.as_str() {
            "User" => user.name == self.name,
            "Group" => user.is_in(&self.name),
            "ServiceAccount" => {
                let namespace = match self.namespace.as_str() {
                    "" => binding_namespace,
                    namespace => namespace,
                };
                user.name
                    .strip_prefix("system:serviceaccount:")
                    .and_then(|rest| rest.split_once(':'))
                    == Some((namespace, &self.name))
            }
            _ => false,
        }
    }
}

/// The rules of somebody who may do everything.
fn everything() -> [Rule; 2] {
    let all = || vec!["*".to_owned()];
    [
        Rule {
            verbs: all(),
            api_groups: all(),
            resources: all(),
            ..Rule::default()
        },
        Rule {
            verbs: all(),
            non_resource_urls: all(),
            ..Rule::default()
        },
    ]
}

fn has(list: &[String], word: &str) -> bool {
    list.iter().any(|entry| entry == "*" || entry == word)
}

/// Whether a rule allows it.
pub(crate) fn allows(rule: &Rule, wanted: &Attributes<'_>) -> bool {
    if !has(&rule.verbs, wanted.verb) {
        return false;
    }
    if !wanted.path.is_empty() {
        return rule
            .non_resource_urls
            .iter()
            .any(|pattern| path_matches(pattern, wanted.path));
    }
    has(&rule.api_groups, wanted.group)
        && rule.resources.iter().any(|r| resource_matches(r, wanted))
        && (rule.resource_names.is_empty()
            || rule.resource_names.iter().any(|name| name == wanted.name))
}

fn path_matches(pattern: &str, path: &str) -> bool {
    pattern == path
        || pattern
            .strip_suffix('*')
            .is_some_and(|prefix| path.starts_with(prefix))
}

/// `*`, `pods`, `pods/log` or `*/log`.
fn resource_matches(entry: &str, wanted: &Attributes<'_>) -> bool {
    match entry.split_once('/') {
        _ if entry == "*" => true,
        None => wanted.subresource.is_empty() && entry == wanted.resource,
        Some((resource, subresource)) => {
            subresource == wanted.subresource && (resource == "*" || resource == wanted.resource)
        }
    }
}

#[cfg(test)]
mod tests;
