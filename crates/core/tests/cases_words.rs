//! The contract cases about words and single decisions: selectors, quantities, taints, node
//! affinity, the scheduler's filters, eviction.
//!
//! One test for each case, named by file and id. `PERNODE_CASES=DIR` reads another directory.

mod loader;

use jiff::{SignedDuration, Timestamp};
use libtest_mimic::Failed;
use loader::{expect_eq, list, of};
use pernode_core::affinity::required_node_affinity_matches;
use pernode_core::eviction::{Evictions, condition_patch};
use pernode_core::int_or_percent::IntOrPercent;
use pernode_core::node::Node;
use pernode_core::pod::Pod;
use pernode_core::quantity::{Notation, Quantity};
use pernode_core::schedule::{NodeInfo, filter};
use pernode_core::selector::{LabelSelector, Selector};
use pernode_core::taint::Effect;
use serde_json::{Value, json};

fn main() -> std::process::ExitCode {
    loader::run(&[
        ("label_selectors", label_selectors),
        ("quantity", quantity),
        ("int_or_percent", int_or_percent),
        ("taints", taints),
        ("node_affinity", node_affinity),
        ("scheduler_filters", scheduler_filters),
        ("taint_eviction", taint_eviction),
    ])
}

fn label_selectors(given: &Value, expect: &Value) -> Result<(), Failed> {
    if let Some(texts) = given.get("selectors") {
        let errors: Vec<String> = list(texts)
            .iter()
            .map(|text| match Selector::parse(&of::<String>(text)) {
                Ok(_) => String::from("accepted"),
                Err(error) => error.to_string(),
            })
            .collect();
        return expect_eq("errors", &json!(errors), &expect["errors"]);
    }
    let parsed = match (given.get("label_selector"), given.get("selector")) {
        (Some(Value::Null), _) => Ok(Selector::nothing()),
        (Some(object), _) => Selector::from_label_selector(&of::<LabelSelector>(object))
            .map_err(|e| format!("spec.selector.{e}")),
        (None, text) => Selector::parse(text.and_then(Value::as_str).unwrap_or_default())
            .map_err(|e| e.to_string()),
    };
    let selector = match parsed {
        Ok(selector) => selector,
        Err(error) => return expect_eq("errors", &json!([error]), &expect["errors"]),
    };
    let canonical = if selector.is_nothing() {
        Value::Null
    } else {
        json!(selector.to_string())
    };
    expect_eq("canonical", &canonical, &expect["canonical"])?;
    if let Some(wanted) = expect.get("requirements") {
        let found: Vec<Value> = selector
            .requirements()
            .iter()
            .map(|r| json!({"key": r.key(), "operator": r.operator().as_str(), "values": r.values()}))
            .collect();
        expect_eq("requirements", &json!(found), wanted)?;
    }
    let matches: Vec<bool> = list(&given["label_sets"])
        .iter()
        .map(|labels| selector.matches(&of(labels)))
        .collect();
    expect_eq(
        "matches",
        &json!(matches),
        expect.get("matches").unwrap_or(&json!([])),
    )
}

fn notation(quantity: &Quantity) -> &'static str {
    match quantity.notation() {
        Notation::Decimal => "decimal",
        Notation::Binary => "binary",
        Notation::Exponent => "exponent",
    }
}

fn quantity(given: &Value, expect: &Value) -> Result<(), Failed> {
    let parse = |v: &Value| Quantity::parse(v.as_str().unwrap_or_default());
    let pair = |v: &Value| {
        let both = list(v);
        (parse(&both[0]).unwrap(), parse(&both[1]).unwrap())
    };
    if let Some(texts) = given.get("parse").or(given.get("json")) {
        let parsed: Vec<Result<Quantity, String>> = if given.get("parse").is_some() {
            list(texts)
                .iter()
                .map(|t| parse(t).map_err(|e| e.to_string()))
                .collect()
        } else {
            list(texts)
                .iter()
                .map(|v| serde_json::from_value(v.clone()).map_err(|e| e.to_string()))
                .collect()
        };
        if let Some(errors) = expect.get("errors") {
            let found: Vec<String> = parsed
                .into_iter()
                .map(|p| p.err().unwrap_or_default())
                .collect();
            return expect_eq("errors", &json!(found), errors);
        }
        let canonical: Vec<String> = parsed
            .iter()
            .map(|p| p.as_ref().map_or("error".into(), ToString::to_string))
            .collect();
        expect_eq("canonical", &json!(canonical), &expect["canonical"])?;
        let kinds: Vec<Option<&str>> = parsed
            .iter()
            .map(|p| p.as_ref().ok().map(notation))
            .collect();
        return expect_eq("notation", &json!(kinds), &expect["notation"]);
    }
    if let Some(pairs) = given.get("compare") {
        let order: Vec<i8> = list(pairs)
            .iter()
            .map(|p| pair(p))
            .map(|(a, b)| a.cmp(&b) as i8)
            .collect();
        return expect_eq("order", &json!(order), &expect["order"]);
    }
    if let Some(pairs) = given.get("add") {
        let sums: Vec<String> = list(pairs)
            .iter()
            .map(|p| pair(p))
            .map(|(a, b)| a.add(&b).to_string())
            .collect();
        return expect_eq("results", &json!(sums), &expect["results"]);
    }
    if let Some(pairs) = given.get("subtract") {
        let rest: Vec<String> = list(pairs)
            .iter()
            .map(|p| pair(p))
            .map(|(a, b)| a.sub(&b).to_string())
            .collect();
        return expect_eq("results", &json!(rest), &expect["results"]);
    }
    let values: Vec<Quantity> = list(&given["values"])
        .iter()
        .map(|v| parse(v).unwrap())
        .collect();
    let column = |f: fn(&Quantity) -> i64| json!(values.iter().map(f).collect::<Vec<_>>());
    expect_eq("whole", &column(Quantity::value), &expect["whole"])?;
    expect_eq("milli", &column(Quantity::milli_value), &expect["milli"])?;
    expect_eq("sign", &column(|q| i64::from(q.signum())), &expect["sign"])
}

fn int_or_percent(given: &Value, expect: &Value) -> Result<(), Failed> {
    let value = |v: &Value| serde_json::from_value::<IntOrPercent>(v.clone());
    let found: Vec<Value> = if let Some(scale) = given.get("scale") {
        list(scale)
            .iter()
            .map(|s| {
                let up = s["round"] == "up";
                let total = s["total"].as_i64().unwrap();
                value(&s["value"])
                    .unwrap()
                    .scaled(total, up)
                    .map_or(json!("error"), |n| json!(n))
            })
            .collect()
    } else if let Some(values) = given.get("json") {
        list(values)
            .iter()
            .map(|v| value(v).map_or(json!("error"), |kept| json!({"kept": kept})))
            .collect()
    } else if let Some(texts) = given.get("text") {
        list(texts)
            .iter()
            .map(|t| json!(IntOrPercent::from_text(t.as_str().unwrap())))
            .collect()
    } else {
        let texts = list(&given["format"]);
        let valid = texts
            .iter()
            .map(|t| IntOrPercent::is_percent(t.as_str().unwrap()));
        return expect_eq("valid", &json!(valid.collect::<Vec<_>>()), &expect["valid"]);
    };
    expect_eq("results", &json!(found), &expect["results"])
}

fn taints(given: &Value, expect: &Value) -> Result<(), Failed> {
    let pod: Pod = of(&given["pod"]);
    let node: Node = of(&given["node"]);
    let effects: Option<Vec<String>> = given.get("effects").map(of);
    let counts = |effect: Effect| {
        effects
            .as_ref()
            .is_none_or(|e| e.iter().any(|e| e == effect.as_str()))
    };
    let comparison = given["comparisonOperators"] == true;
    let first = node
        .spec
        .taints
        .iter()
        .filter(|t| counts(t.effect))
        .find(|taint| {
            !pod.spec.tolerations.iter().any(|t| {
                if comparison {
                    t.tolerates_with_comparison(taint)
                } else {
                    t.tolerates(taint)
                }
            })
        });
    expect_eq("tolerated", &json!(first.is_none()), &expect["tolerated"])?;
    match (first, expect.get("firstUntolerated")) {
        (Some(taint), Some(wanted)) => expect_eq(
            "firstUntolerated",
            &json!({"key": taint.key, "effect": taint.effect.as_str()}),
            wanted,
        ),
        _ => Ok(()),
    }
}

fn node_affinity(given: &Value, expect: &Value) -> Result<(), Failed> {
    match given["op"].as_str() {
        Some("match") => {
            let pod: Pod = of(&given["pod"]);
            let matches = required_node_affinity_matches(&pod.spec, &of(&given["node"]));
            expect_eq("matches", &json!(matches), &expect["matches"])
        }
        Some("target") => {
            let pod: Pod = of(&given["pod"]);
            expect_eq("nodeName", &json!(pod.target_node()), &expect["nodeName"])
        }
        // The rendered pod belongs to the DaemonSet's cases.
        Some("pin") => Ok(()),
        other => Err(format!("unknown op {other:?}").into()),
    }
}

fn scheduler_filters(given: &Value, expect: &Value) -> Result<(), Failed> {
    let pod: Pod = of(&given["pod"]);
    let node: Node = of(&given["node"]);
    let mut info = NodeInfo::default();
    for (index, there) in list(&given["podsOnNode"]).iter().enumerate() {
        let mut there: Pod = of(there);
        there.metadata.uid = index.to_string();
        info.add_pod(&there);
    }
    let rejections = filter(&pod, &node, &info).err().unwrap_or_default();
    let name = given["filter"].as_str().unwrap_or_default();
    if name == "all" {
        expect_eq("fits", &json!(rejections.is_empty()), &expect["fits"])?;
        let failed: Vec<&str> = rejections.iter().map(|r| r.filter.as_str()).collect();
        let wanted = expect.get("failed").cloned().unwrap_or_else(|| json!([]));
        return expect_eq("failed", &sorted(json!(failed)), &sorted(wanted));
    }
    let rejection = rejections.into_iter().find(|r| r.filter.as_str() == name);
    expect_eq("fits", &json!(rejection.is_none()), &expect["fits"])?;
    let Some(rejection) = rejection else {
        return Ok(());
    };
    if let Some(wanted) = expect.get("insufficient") {
        let found = json!(rejection.insufficient);
        expect_eq("insufficient", &sorted(found), &sorted(wanted.clone()))?;
    }
    expect_eq(
        "preemptionMayHelp",
        &json!(rejection.preemption_may_help),
        &expect["preemptionMayHelp"],
    )
}

fn sorted(list: Value) -> Value {
    let mut texts: Vec<String> = of(&list);
    texts.sort();
    json!(texts)
}

/// A world without delays: each event is taken at its time, each deletion is seen at once.
struct World {
    evictions: Evictions,
    alive: Vec<String>,
    evicted: Vec<Value>,
}

impl World {
    fn seconds(at: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_secs(at)
    }

    fn pod(&mut self, value: &Value, at: i64) {
        let mut pod: Pod = of(value);
        pod.metadata.uid.clone_from(&pod.metadata.name);
        if !self.alive.contains(&pod.metadata.name) {
            self.alive.push(pod.metadata.name.clone());
        }
        self.evictions.apply_pod(&pod, Self::seconds(at));
    }

    /// Lets time pass up to a moment, stopping wherever something is due.
    fn pass(&mut self, to: i64) {
        let mut at = None;
        loop {
            let now = at.unwrap_or(i64::MIN);
            let next = self.next();
            let Some(next) = next.filter(|next| *next <= to && *next > now) else {
                return;
            };
            self.act(next);
            at = Some(next);
        }
    }

    fn next(&mut self) -> Option<i64> {
        let plan = self.evictions.plan(Timestamp::MIN);
        plan.next.map(Timestamp::as_second)
    }

    fn act(&mut self, at: i64) {
        for pod in self.evictions.plan(Self::seconds(at)).evict {
            self.alive.retain(|name| *name != pod.name);
            self.evicted.push(json!({"pod": pod.name, "atSeconds": at}));
            self.evictions.remove_pod(&pod.uid);
        }
    }
}

fn taint_eviction(given: &Value, expect: &Value) -> Result<(), Failed> {
    let mut world = World {
        evictions: Evictions::new(),
        alive: Vec::new(),
        evicted: Vec::new(),
    };
    for pod in list(&given["pods"]) {
        world.pod(pod, 0);
    }
    for event in list(&given["timeline"]) {
        let at = event["atSeconds"].as_i64().unwrap();
        world.pass(at - 1);
        if let Some(node) = event.get("node") {
            let now = World::seconds(at);
            world.evictions.apply_node(&of(node), now);
        }
        if let Some(pod) = event.get("pod") {
            world.pod(pod, at);
        }
        world.act(at);
    }
    world.pass(given["horizonSeconds"].as_i64().unwrap());
    let by_time = |list: &Value| {
        let mut list = list.as_array().cloned().unwrap_or_default();
        list.sort_by_key(|e| (e["atSeconds"].as_i64(), e["pod"].to_string()));
        json!(list)
    };
    let found = by_time(&json!(world.evicted));
    expect_eq("evictions", &found, &by_time(&expect["evictions"]))?;
    let kept = sorted(json!(world.alive));
    expect_eq("kept", &kept, &sorted(expect["kept"].clone()))?;
    let Some(wanted) = expect.get("conditionOnDelete") else {
        return Ok(());
    };
    let condition = &condition_patch(World::seconds(0))["status"]["conditions"][0];
    let keys = ["type", "status", "reason"];
    let found: serde_json::Map<String, Value> = keys
        .iter()
        .map(|key| ((*key).to_owned(), condition[key].clone()))
        .collect();
    expect_eq("conditionOnDelete", &json!(found), wanted)
}
