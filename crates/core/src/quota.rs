//! What a ResourceQuota counts, and whether one more object fits (upstream: quota evaluators).

#[cfg(test)]
mod tests;

use crate::quantity::Quantity;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde_json::Value;

/// Amounts by the name of what is counted.
pub type Amounts = BTreeMap<String, Quantity>;

/// The kinds of which quotas count more than the number: group, plural.
const NAMED: [&str; 8] = [
    "pods",
    "services",
    "configmaps",
    "secrets",
    "persistentvolumeclaims",
    "replicationcontrollers",
    "resourcequotas",
    "bindings",
];

/// The kind of a counted object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Counted<'a> {
    /// API group, empty for the core group.
    pub group: &'a str,
    /// Plural name.
    pub plural: &'a str,
}

impl Counted<'_> {
    fn is_core(self, plural: &str) -> bool {
        self.group.is_empty() && self.plural == plural
    }

    /// The name under which a quota bounds how many there are.
    fn count_name(self) -> String {
        match self.group {
            "" => format!("count/{}", self.plural),
            group => format!("count/{}.{group}", self.plural),
        }
    }
}

/// Reads a map of amounts, as in `resources.requests`; what is no amount is left out.
pub fn amounts(value: &Value) -> Amounts {
    let entries = value.as_object().into_iter().flatten();
    entries
        .filter_map(|(name, value)| Some((name.clone(), quantity(value)?)))
        .collect()
}

fn quantity(value: &Value) -> Option<Quantity> {
    match value {
        Value::String(text) => Quantity::parse(text).ok(),
        Value::Number(number) => Quantity::parse(&number.to_string()).ok(),
        _ => None,
    }
}

/// Adds an amount to what is there of its name.
pub fn add(total: &mut Amounts, name: String, amount: &Quantity) {
    let sum = match total.get(&name) {
        Some(present) => present.add(amount),
        None => amount.clone(),
    };
    total.insert(name, sum);
}

/// What one object uses, of everything that a quota could bound.
pub fn usage(kind: Counted<'_>, object: &Value) -> Amounts {
    let one = Quantity::from_value(1);
    let mut usage = Amounts::from([(kind.count_name(), one.clone())]);
    if kind.is_core("pods") {
        // Pods that have ended hold nothing but their place in the store.
        if !has_ended(object) {
            usage.insert("pods".into(), one);
            add_resources(object, &mut usage);
        }
        return usage;
    }
    if kind.group.is_empty() && NAMED.contains(&kind.plural) {
        usage.insert(kind.plural.into(), one);
    }
    if kind.is_core("services") {
        add_service(object, &mut usage);
    } else if kind.is_core("persistentvolumeclaims")
        && let Some(storage) = quantity(&object["spec"]["resources"]["requests"]["storage"])
    {
        usage.insert("requests.storage".into(), storage);
    }
    usage
}

fn has_ended(pod: &Value) -> bool {
    let phase = pod["status"]["phase"].as_str();
    matches!(phase, Some("Succeeded" | "Failed"))
}

fn containers<'a>(pod: &'a Value, list: &str) -> impl Iterator<Item = &'a Value> {
    pod["spec"][list].as_array().into_iter().flatten()
}

/// The containers together, or the greediest init container where that is more, and the overhead.
fn add_resources(pod: &Value, usage: &mut Amounts) {
    for (kind, prefix) in [("requests", "requests."), ("limits", "limits.")] {
        let mut total = Amounts::new();
        for container in containers(pod, "containers") {
            for (name, amount) in amounts(&container["resources"][kind]) {
                add(&mut total, name, &amount);
            }
        }
        for container in containers(pod, "initContainers") {
            for (name, amount) in amounts(&container["resources"][kind]) {
                let most = total.get(&name).is_none_or(|sum| *sum < amount);
                if most {
                    total.insert(name, amount);
                }
            }
        }
        for (name, amount) in amounts(&pod["spec"]["overhead"]) {
            add(&mut total, name, &amount);
        }
        for (name, amount) in total {
            let is_plain = matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage");
            if kind == "requests" && (is_plain || name.starts_with("hugepages-")) {
                usage.insert(name.clone(), amount.clone());
            }
            usage.insert(format!("{prefix}{name}"), amount);
        }
    }
}

fn add_service(service: &Value, usage: &mut Amounts) {
    let spec = &service["spec"];
    let ports = spec["ports"].as_array().map_or(0, Vec::len);
    let ports = i64::try_from(ports).unwrap_or(i64::MAX);
    match spec["type"].as_str() {
        Some("NodePort") => {
            usage.insert("services.nodeports".into(), Quantity::from_value(ports));
        }
        Some("LoadBalancer") => {
            let allocated = spec["allocateLoadBalancerNodePorts"] != Value::Bool(false);
            let node_ports = if allocated { ports } else { 0 };
            usage.insert(
                "services.nodeports".into(),
                Quantity::from_value(node_ports),
            );
            usage.insert("services.loadbalancers".into(), Quantity::from_value(1));
        }
        _ => {}
    }
}

/// Whether a quota speaks of an object at all: one with scopes speaks of the pods in all of them.
pub fn speaks_of(quota: &Value, kind: Counted<'_>, object: &Value) -> bool {
    let spec = &quota["spec"];
    let scopes = spec["scopes"].as_array().into_iter().flatten();
    let expressions = spec["scopeSelector"]["matchExpressions"].as_array();
    let mut expressions = expressions.into_iter().flatten().peekable();
    let mut scopes = scopes.peekable();
    if scopes.peek().is_none() && expressions.peek().is_none() {
        return true;
    }
    kind.is_core("pods")
        && scopes.all(|scope| is_in_scope(object, scope.as_str().unwrap_or_default()))
        && expressions.all(|expression| is_selected(object, expression))
}

fn is_in_scope(pod: &Value, scope: &str) -> bool {
    match scope {
        "Terminating" => pod["spec"]["activeDeadlineSeconds"].is_number(),
        "NotTerminating" => !pod["spec"]["activeDeadlineSeconds"].is_number(),
        "BestEffort" => is_best_effort(pod),
        "NotBestEffort" => !is_best_effort(pod),
        "PriorityClass" => !priority_class(pod).is_empty(),
        "CrossNamespacePodAffinity" => false,
        _ => false,
    }
}

fn priority_class(pod: &Value) -> &str {
    pod["spec"]["priorityClassName"]
        .as_str()
        .unwrap_or_default()
}

fn is_best_effort(pod: &Value) -> bool {
    let mut all = containers(pod, "containers").chain(containers(pod, "initContainers"));
    all.all(|container| {
        ["requests", "limits"].iter().all(|kind| {
            let resources = amounts(&container["resources"][kind]);
            ["cpu", "memory"]
                .iter()
                .all(|name| resources.get(*name).is_none_or(Quantity::is_zero))
        })
    })
}

fn is_selected(pod: &Value, expression: &Value) -> bool {
    let scope = expression["scopeName"].as_str().unwrap_or_default();
    if scope != "PriorityClass" {
        return is_in_scope(pod, scope);
    }
    let class = priority_class(pod);
    let values = expression["values"].as_array().into_iter().flatten();
    let is_listed = values.filter_map(Value::as_str).any(|value| value == class);
    match expression["operator"].as_str() {
        Some("In") => is_listed,
        Some("NotIn") => !is_listed,
        Some("DoesNotExist") => class.is_empty(),
        _ => !class.is_empty(),
    }
}

/// What a pod leaves open that a quota bounds, in the words of the refusal: each container has to
/// name the amounts of cpu and memory that are bounded.
pub fn unnamed(hard: &Amounts, pod: &Value) -> Option<String> {
    let mut open: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for container in containers(pod, "containers").chain(containers(pod, "initContainers")) {
        for what in hard.keys() {
            let (kind, name) = match what.as_str() {
                "cpu" | "memory" => ("requests", what.as_str()),
                other => match other.split_once('.') {
                    Some((kind, name @ ("cpu" | "memory"))) => (kind, name),
                    _ => continue,
                },
            };
            if container["resources"][kind][name].is_null() {
                let named = container["name"].as_str().unwrap_or_default();
                open.entry(what).or_default().insert(named);
            }
        }
    }
    let one = |(what, names): (&str, BTreeSet<&str>)| {
        let names: Vec<&str> = names.into_iter().collect();
        format!("{what} for: {}", names.join(","))
    };
    let all: Vec<String> = open.into_iter().map(one).collect();
    (!all.is_empty()).then(|| format!("must specify {}", all.join("; ")))
}

/// Whether one more object fits: the refusal, or what is used with it.
///
/// Only what the object asks for is looked at: one that asks for nothing fits into a quota that is
/// exceeded already.
pub fn charge(
    quota: &str,
    hard: &Amounts,
    used: &Amounts,
    asked: &Amounts,
) -> Result<Amounts, String> {
    let none = Quantity::from_value(0);
    let mut total = used.clone();
    let mut over = Vec::new();
    for (what, hard) in hard {
        let Some(asked) = asked.get(what) else {
            continue;
        };
        let sum = used.get(what).unwrap_or(&none).add(asked);
        if sum > *hard && !asked.is_zero() {
            over.push(what.as_str());
        }
        total.insert(what.clone(), sum);
    }
    if over.is_empty() {
        return Ok(total);
    }
    let list = |amounts: &Amounts| {
        let one = |what: &&str| format!("{what}={}", amounts.get(*what).unwrap_or(&none));
        over.iter().map(one).collect::<Vec<_>>().join(",")
    };
    Err(format!(
        "exceeded quota: {quota}, requested: {}, used: {}, limited: {}",
        list(asked),
        list(used),
        list(hard)
    ))
}

/// Use of everything that a quota bounds, nothing yet.
pub fn nothing_used(hard: &Amounts) -> Amounts {
    let zero = |what: &String| (what.clone(), Quantity::from_value(0));
    hard.keys().map(zero).collect()
}

/// Counts one object into the use of a quota, as far as the quota bounds and speaks of it.
pub fn count(quota: &Value, used: &mut Amounts, kind: Counted<'_>, object: &Value) {
    if !speaks_of(quota, kind, object) {
        return;
    }
    for (what, amount) in usage(kind, object) {
        if used.contains_key(&what) {
            add(used, what, &amount);
        }
    }
}

/// Whether objects of a kind can use what a quota bounds.
pub fn bounds(hard: &Amounts, kind: Counted<'_>) -> bool {
    let count = kind.count_name();
    hard.keys().any(|what| {
        let what = what.as_str();
        if what == count {
            return true;
        }
        let is_compute = ["cpu", "memory", "ephemeral-storage"].contains(&what)
            || what.starts_with("hugepages-")
            || what.starts_with("limits.")
            || (what.starts_with("requests.") && what != "requests.storage");
        if is_compute {
            return kind.is_core("pods");
        }
        match what {
            "requests.storage" => kind.is_core("persistentvolumeclaims"),
            what => {
                let plural = what.split_once('.').map_or(what, |(plural, _)| plural);
                NAMED.contains(&plural) && kind.is_core(plural)
            }
        }
    })
}

/// The amounts as a status shows them.
pub fn shown(amounts: &Amounts) -> Value {
    let text = |(name, amount): (&String, &Quantity)| (name.clone(), amount.to_string().into());
    Value::Object(amounts.iter().map(text).collect())
}
