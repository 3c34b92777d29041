//! Cases about which DaemonSets an event wakes.

use crate::{Outcome, get, opt, same};
use libtest_mimic::Failed;
use pernode_core::daemonset::{DaemonSet, Index, Revision, Wakes};
use pernode_core::meta::Meta;
use pernode_core::node::Node;
use pernode_core::pod::Pod;
use serde_json::{Value, json};
use std::sync::Arc;

pub(crate) fn wakes(given: &Value, expect: &Value) -> Outcome {
    let mut index = Index::default();
    let event: Value = get(given, "event")?;
    let object: Value = get(&event, "object")?;
    for set in get::<Vec<DaemonSet>>(given, "daemonSets")? {
        index.apply_daemon_set(&Arc::new(set));
    }
    for pod in opt::<Vec<Pod>>(given, "pods")?.unwrap_or_default() {
        index.apply_pod(&Arc::new(crate::pass::with_uid(pod)));
    }
    let kind: String = get(&event, "type")?;
    match kind.as_str() {
        "MODIFIED" => drop(apply(&mut index, &get(&event, "old")?)?),
        "DELETED" => drop(apply(&mut index, &object)?),
        _ => {}
    }
    let wakes = match kind.as_str() {
        "DELETED" => remove(&mut index, &object)?,
        _ => apply(&mut index, &object)?,
    };
    compare(&wakes, expect)
}

fn apply(index: &mut Index, object: &Value) -> Result<Wakes, Failed> {
    Ok(match object["kind"].as_str() {
        Some("Node") => {
            index.apply_node(&Arc::new(serde_json::from_value::<Node>(object.clone())?))
        }
        Some("Pod") => {
            let pod: Pod = serde_json::from_value(object.clone())?;
            index.apply_pod(&Arc::new(crate::pass::with_uid(pod)))
        }
        Some("DaemonSet") => index.apply_daemon_set(&Arc::new(
            serde_json::from_value::<DaemonSet>(object.clone())?,
        )),
        _ => index.apply_revision(&Arc::new(serde_json::from_value::<Revision>(
            object.clone(),
        )?)),
    })
}

fn remove(index: &mut Index, object: &Value) -> Result<Wakes, Failed> {
    let meta: Meta = get(object, "metadata")?;
    Ok(match object["kind"].as_str() {
        Some("Node") => index.remove_node(&meta.name),
        Some("Pod") => {
            let pod: Pod = serde_json::from_value(object.clone())?;
            index.remove_pod(&crate::pass::with_uid(pod))
        }
        Some("DaemonSet") => index.remove_daemon_set(&meta),
        _ => index.remove_revision(&serde_json::from_value(object.clone())?),
    })
}

fn compare(wakes: &Wakes, expect: &Value) -> Outcome {
    let ours: Vec<String> = wakes.now.iter().map(ToString::to_string).collect();
    same("wakes", &ours, &crate::pass::sorted(get(expect, "wakes")?))?;
    let later =
        |(key, seconds): (&_, &i64)| json!({"daemonSet": format!("{key}"), "seconds": seconds});
    let ours: Vec<Value> = wakes
        .later
        .iter()
        .map(|(k, s): (&pernode_core::daemonset::Key, _)| later((k, s)))
        .collect();
    same(
        "wakesLater",
        &ours,
        &opt(expect, "wakesLater")?.unwrap_or_default(),
    )
}
