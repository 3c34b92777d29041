//! Cases about revisions.

use crate::pass::{may_adopt, with_uid};
use crate::{Check, Outcome, get, op, opt, same, unknown_op};
use jiff::Timestamp;
use libtest_mimic::Failed;
use pernode_core::daemonset::history::{HistoryPlan, Taken, Target, taken};
use pernode_core::daemonset::rollback::{self, Undo};
use pernode_core::daemonset::{DaemonSet, Fleet, Revision, revision};
use pernode_core::pod::Pod;
use serde_json::{Value, json};
use std::sync::Arc;

pub(crate) fn by_op(given: &Value) -> Option<Check> {
    Some(match op(given) {
        "pass" => pass,
        "data" => data,
        "same" => describes,
        "apply" => apply,
        "list" => list,
        "show" => show,
        "undo" => undo,
        _ => unknown_op,
    })
}

fn pass(given: &Value, expect: &Value) -> Outcome {
    // The case says which hash comes out; ours is another text, so it takes the place of theirs.
    let set: DaemonSet = get(given, "daemonSet")?;
    let theirs: String = get(given, "computedHash")?;
    let ours = revision::hash(&set.spec.template, set.status.collision_count);
    let given = &rename(given, &theirs, &ours);
    let expect = &rename(expect, &theirs, &ours);
    let mut fleet = Fleet::new(Arc::new(set), Timestamp::UNIX_EPOCH);
    for revision in get::<Vec<Revision>>(given, "revisions")? {
        fleet.apply_revision(&Arc::new(revision));
    }
    for pod in get::<Vec<Pod>>(given, "pods")? {
        fleet.apply_pod(&Arc::new(with_uid(pod)));
    }
    let result = execute(given, &fleet, &fleet.plan_history())?;
    for (key, wanted) in expect.as_object().into_iter().flatten() {
        same(key, &result[key], wanted)?;
    }
    Ok(())
}

fn rename(value: &Value, from: &str, to: &str) -> Value {
    match value {
        Value::String(text) if text == from => to.into(),
        Value::String(text) => match text.strip_suffix(&format!("-{from}")) {
            Some(prefix) => format!("{prefix}-{to}").into(),
            None => value.clone(),
        },
        Value::Array(items) => items.iter().map(|item| rename(item, from, to)).collect(),
        Value::Object(map) => map
            .iter()
            .map(|(k, v)| (k.clone(), rename(v, from, to)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Carries the writes to revisions out, in the order the executor does, and tells what happened.
fn execute(given: &Value, fleet: &Fleet, plan: &HistoryPlan) -> Result<Value, Failed> {
    let set = fleet.daemon_set();
    let updates = plan.updates.iter().map(|update| {
        let mut row = json!({"name": update.target.name});
        if let Some(number) = update.revision {
            row["revision"] = json!(number);
        }
        if let Some(hash) = &update.hash_label {
            row["hashLabel"] = json!(hash);
        }
        row
    });
    let current = fleet.current();
    let mut result = json!({
        "current": {"name": current.name, "revision": current.revision, "hash": current.hash},
        "creates": [], "updates": [], "deletes": [], "adopts": [],
        "releases": names(&plan.releases),
        "podRelabels": [], "collisionCount": null, "retry": false,
    });
    if !plan.adopts.is_empty() && !may_adopt(given)? {
        result["current"] = Value::Null;
        result["retry"] = json!(true);
        return Ok(result);
    }
    result["adopts"] = names(&plan.adopts);
    result["updates"] = updates.collect();
    if let Some(create) = &plan.create {
        check_body(set, &create.body, &current.hash)?;
        match name_taken(given, set, &create.name)? {
            None => result["creates"] = json!([{"name": create.name, "revision": create.revision}]),
            Some((existing, Taken::Same)) => {
                result["current"]["revision"] = json!(existing.revision);
                result["current"]["hash"] = json!(existing.hash());
            }
            Some((_, failure)) => {
                result["current"] = Value::Null;
                result["retry"] = json!(true);
                if let Taken::Bump(count) = failure {
                    result["collisionCount"] = json!(count);
                }
                return Ok(result);
            }
        }
    }
    let relabels = plan
        .relabels
        .iter()
        .map(|r| json!({"pod": r.pod.name, "hash": r.hash}));
    result["podRelabels"] = relabels.collect();
    let deletes: Vec<Target> = plan
        .duplicates
        .iter()
        .chain(&plan.cleanup)
        .cloned()
        .collect();
    result["deletes"] = names(&deletes);
    Ok(result)
}

fn names(targets: &[Target]) -> Value {
    targets.iter().map(|target| json!(target.name)).collect()
}

/// What the server holds under the name of the new revision, if anything, and what follows.
fn name_taken(
    given: &Value,
    set: &DaemonSet,
    name: &str,
) -> Result<Option<(Revision, Taken)>, Failed> {
    let cached = get::<Vec<Revision>>(given, "revisions")?;
    let live = opt::<Vec<Revision>>(given, "liveRevisions")?.unwrap_or_default();
    let existing = cached
        .into_iter()
        .chain(live)
        .find(|r| r.metadata.name == name);
    let live_set = opt::<DaemonSet>(given, "liveDaemonSet")?.unwrap_or_else(|| set.clone());
    Ok(existing.map(|existing| {
        let taken = taken(set, &existing, &live_set);
        (existing, taken)
    }))
}

fn check_body(set: &DaemonSet, body: &Value, hash: &str) -> Outcome {
    let made: Revision = serde_json::from_value(body.clone())?;
    let mut labels = set.spec.template.metadata().labels.clone();
    labels.insert("controller-revision-hash".into(), hash.into());
    same("labels of the new revision", &made.metadata.labels, &labels)?;
    same(
        "its annotations",
        &made.metadata.annotations,
        &set.metadata.annotations,
    )?;
    same(
        "its owner",
        &made.metadata.owner_references,
        &vec![set.owner_reference()],
    )?;
    same("its data", &made.data, &revision::data(&set.spec.template))
}

fn data(given: &Value, expect: &Value) -> Outcome {
    let set: DaemonSet = get(given, "daemonSet")?;
    same(
        "data",
        &revision::data(&set.spec.template),
        &get(expect, "data")?,
    )
}

fn describes(given: &Value, expect: &Value) -> Outcome {
    let set: DaemonSet = get(given, "daemonSet")?;
    let stored: Revision = get(given, "revision")?;
    same(
        "same",
        &revision::describes(&stored, &set.spec.template),
        &get(expect, "same")?,
    )
}

fn apply(given: &Value, expect: &Value) -> Outcome {
    let stored: Revision = get(given, "revision")?;
    let template = rollback::apply(&stored).ok_or("the revision holds no template")?;
    same(
        "template",
        &without_empty_lists(&template),
        &without_empty_lists(&get(expect, "template")?),
    )
}

fn without_empty_lists(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map
                .iter()
                .filter(|(_, v)| !v.as_array().is_some_and(Vec::is_empty));
            kept.map(|(k, v)| (k.clone(), without_empty_lists(v)))
                .collect()
        }
        Value::Array(items) => items.iter().map(without_empty_lists).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn list(given: &Value, expect: &Value) -> Outcome {
    let set: DaemonSet = get(given, "daemonSet")?;
    let revisions: Vec<Revision> = get(given, "revisions")?;
    let rows = rollback::list(&set, &revisions).into_iter();
    let rows = rows.map(|row| json!({"revision": row.revision, "changeCause": row.change_cause}));
    same("rows", &rows.collect::<Vec<_>>(), &get(expect, "rows")?)
}

fn show(given: &Value, expect: &Value) -> Outcome {
    let set: DaemonSet = get(given, "daemonSet")?;
    let revisions: Vec<Revision> = get(given, "revisions")?;
    let ours = match rollback::show(&set, &revisions, get(given, "revision")?) {
        Ok(template) => json!({"template": template}),
        Err(_) => json!({"error": "revision-not-found"}),
    };
    same("answer", &ours, expect)
}

fn undo(given: &Value, expect: &Value) -> Outcome {
    let set: DaemonSet = get(given, "daemonSet")?;
    let revisions: Vec<Revision> = get(given, "revisions")?;
    let ours = match rollback::undo(&set, &revisions, get(given, "toRevision")?) {
        Ok(Undo::Patched { from, template }) => {
            json!({"result": "patched", "fromRevision": from, "template": template})
        }
        Ok(Undo::AlreadyCurrent) => json!({"result": "already-current"}),
        Err(rollback::Error::NoEarlierRevision) => {
            json!({"result": "error", "error": "no-earlier-revision"})
        }
        Err(rollback::Error::NotFound(_)) => {
            json!({"result": "error", "error": "revision-not-found"})
        }
    };
    same("answer", &ours, expect)
}
