//! What `pernode up` tells while it runs: one line for each event of interest.
//!
//! `Narrator` is a plain struct that objects go into and lines come out of; `follow` feeds it.

use crate::output::{ASIDE, BAD, GOOD, NAME, WARN, note, paint};
use futures::StreamExt;
use jiff::Timestamp;
use kube::api::{ApiResource, DynamicObject, WatchEvent, WatchParams};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Pause before a watch that broke is opened again.
const RETRY: Duration = Duration::from_millis(500);
/// Characters of an event's message that are shown.
const MESSAGE_MAX: usize = 200;
/// Nodes that are told one by one; a crowd is told as a number.
const NODES_ONE_BY_ONE_MAX: usize = 12;

/// The DaemonSets whose rollout somebody else shows, with the version at which it was done.
///
/// The narrator is silent about them until it has seen a later version.
#[derive(Debug, Default)]
pub(crate) struct Followed(Mutex<BTreeMap<String, Option<u64>>>);

impl Followed {
    /// Takes the names, as [`qualified`] has them.
    pub(crate) fn new(names: impl IntoIterator<Item = String>) -> Self {
        Self(Mutex::new(names.into_iter().map(|n| (n, None)).collect()))
    }

    fn names(&self) -> MutexGuard<'_, BTreeMap<String, Option<u64>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the rollout was shown up to this object.
    pub(crate) fn shown(&self, name: &str, object: &DynamicObject) {
        if let Some(until) = self.names().get_mut(name) {
            *until = Some(version(object.metadata.resource_version.as_deref()));
        }
    }

    /// Whether an object is somebody else's to tell of.
    fn covers(&self, name: &str, object: &Value) -> bool {
        let mut names = self.names();
        let Some(until) = names.get(name) else {
            return false;
        };
        let seen = version(object["metadata"]["resourceVersion"].as_str());
        if until.is_none_or(|until| seen <= until) {
            return true;
        }
        names.remove(name);
        false
    }
}

fn version(text: Option<&str>) -> u64 {
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Remembers what was said, so that only news is told.
#[derive(Debug, Default)]
pub(crate) struct Narrator {
    /// Whom others tell of.
    followed: Arc<Followed>,
    /// Whether each node was ready when last seen.
    nodes: BTreeMap<String, bool>,
    /// Whether each DaemonSet was rolled out when last seen.
    daemonsets: BTreeMap<String, bool>,
    /// Count of each warning event when last told.
    warnings: BTreeMap<String, i64>,
}

impl Narrator {
    /// A node was seen; `None` for the object means it left.
    fn node(&mut self, name: &str, node: Option<&Value>) -> Option<String> {
        let shown = paint(NAME, format_args!("node/{name}"));
        let Some(node) = node else {
            self.nodes.remove(name)?;
            return Some(format!("{shown} {}", paint(WARN, "left")));
        };
        let ready = condition(node, "Ready") == Some("True");
        let before = self.nodes.insert(name.to_owned(), ready);
        if before == Some(ready) || (before.is_none() && !ready) {
            return None;
        }
        if before.is_none() && self.nodes.len() > NODES_ONE_BY_ONE_MAX {
            return None;
        }
        let state = if ready {
            paint(GOOD, "ready")
        } else {
            paint(BAD, "not ready")
        };
        Some(format!("{shown} {state}"))
    }

    /// A DaemonSet was seen; `None` for the object means it is gone.
    fn daemonset(&mut self, name: &str, object: Option<&Value>) -> Option<String> {
        let shown = paint(NAME, format_args!("daemonset/{name}"));
        let Some(object) = object else {
            self.daemonsets.remove(name)?;
            return Some(format!("{shown} deleted"));
        };
        let rollout = Rollout::of(object);
        let before = self.daemonsets.insert(name.to_owned(), rollout.is_done());
        if self.followed.covers(name, object) {
            return None;
        }
        match (before, rollout.is_done()) {
            (Some(false), true) => Some(format!(
                "{shown} {} on {} nodes",
                paint(GOOD, "rolled out"),
                rollout.desired
            )),
            (Some(true) | None, false) => Some(format!("{shown} rolling out")),
            _ => None,
        }
    }

    /// An event was seen; only warnings are told, each count once.
    fn event(&mut self, event: &Value) -> Option<String> {
        if event["type"] != "Warning" {
            return None;
        }
        let count = event["count"].as_i64().unwrap_or(1);
        let key = event["metadata"]["uid"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let told = self.warnings.insert(key, count).unwrap_or(0);
        // The same trouble again is told at 10, 100 … times only.
        if told > 0 && (count < 10 || count.ilog10() == told.max(1).ilog10()) {
            return None;
        }
        let involved = &event["involvedObject"];
        let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        let message: String = text(&event["message"]).chars().take(MESSAGE_MAX).collect();
        Some(format!(
            "{} {}: {message}",
            paint(
                NAME,
                format_args!(
                    "{}/{}",
                    text(&involved["kind"]).to_lowercase(),
                    text(&involved["name"])
                )
            ),
            paint(WARN, text(&event["reason"])),
        ))
    }
}

/// How far the rollout of a DaemonSet is, read as `kubectl rollout status` reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rollout {
    observed: bool,
    /// Nodes that should have a pod.
    pub(crate) desired: u64,
    /// Nodes whose pod is of the current revision.
    pub(crate) updated: u64,
    /// Nodes whose pod is available.
    pub(crate) available: u64,
}

impl Rollout {
    /// Reads it from an object of the API.
    pub(crate) fn of(object: &Value) -> Self {
        let status = &object["status"];
        let number = |field: &str| status[field].as_u64().unwrap_or(0);
        let generation = object["metadata"]["generation"].as_u64().unwrap_or(0);
        Self {
            observed: number("observedGeneration") >= generation && generation > 0,
            desired: number("desiredNumberScheduled"),
            updated: number("updatedNumberScheduled"),
            available: number("numberAvailable"),
        }
    }

    /// Whether nothing is left to wait for.
    pub(crate) fn is_done(&self) -> bool {
        self.observed && self.updated >= self.desired && self.available >= self.desired
    }
}

fn condition<'a>(object: &'a Value, r#type: &str) -> Option<&'a str> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|c| c["type"] == r#type)?["status"].as_str()
}

/// Tells news on standard error until stopped.
pub(crate) async fn run(client: kube::Client, followed: Arc<Followed>, stop: CancellationToken) {
    let narrator = Mutex::new(Narrator {
        followed,
        ..Narrator::default()
    });
    let tell = |object: &DynamicObject, gone: bool, kind: &str| {
        let mut narrator = narrator.lock().expect("no line is told while panicking");
        let value = serde_json::to_value(object).unwrap_or_default();
        let name = object.metadata.name.clone().unwrap_or_default();
        let line = match kind {
            "Node" => narrator.node(&name, (!gone).then_some(&value)),
            "DaemonSet" => {
                let namespace = object.metadata.namespace.as_deref();
                let name = qualified(namespace, &name);
                narrator.daemonset(&name, (!gone).then_some(&value))
            }
            _ if gone => None,
            _ => narrator.event(&value),
        };
        if let Some(line) = line {
            let time = Timestamp::now().strftime("%H:%M:%S").to_string();
            note(format_args!("{} {line}", paint(ASIDE, time)));
        }
    };
    let all = async {
        tokio::join!(
            follow(&client, resource("", "Node", "nodes"), |o, gone| tell(
                o, gone, "Node"
            )),
            follow(
                &client,
                resource("apps", "DaemonSet", "daemonsets"),
                |o, gone| {
                    tell(o, gone, "DaemonSet");
                }
            ),
            follow(&client, resource("", "Event", "events"), |o, gone| tell(
                o, gone, "Event"
            )),
        )
    };
    tokio::select! {
        _ = all => {}
        () = stop.cancelled() => {}
    }
}

/// `name`, with its namespace in front unless that is `default`.
pub(crate) fn qualified(namespace: Option<&str>, name: &str) -> String {
    match namespace {
        None | Some("default") => name.to_owned(),
        Some(namespace) => format!("{namespace}/{name}"),
    }
}

/// The resource of a kind in version v1 of its group.
pub(crate) fn resource(group: &str, kind: &str, plural: &str) -> ApiResource {
    let gvk = kube::api::GroupVersionKind::gvk(group, "v1", kind);
    ApiResource::from_gvk_with_plural(&gvk, plural)
}

/// Watches from now on, for ever; `see` gets each object and whether it is gone.
async fn follow(client: &kube::Client, resource: ApiResource, see: impl Fn(&DynamicObject, bool)) {
    let api = kube::Api::<DynamicObject>::all_with(client.clone(), &resource);
    let mut version = "0".to_owned();
    loop {
        if let Ok(stream) = api
            .watch(&WatchParams::default().timeout(290), &version)
            .await
        {
            let mut stream = std::pin::pin!(stream);
            while let Some(Ok(event)) = stream.next().await {
                version = match event {
                    WatchEvent::Added(o) | WatchEvent::Modified(o) => seen(&o, false, &see),
                    WatchEvent::Deleted(o) => seen(&o, true, &see),
                    WatchEvent::Bookmark(b) => b.metadata.resource_version,
                    // Too old: start over with what there is now; the narrator knows what it said.
                    WatchEvent::Error(_) => "0".to_owned(),
                };
            }
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// Shows an object and returns the version to go on from.
fn seen(object: &DynamicObject, gone: bool, see: &impl Fn(&DynamicObject, bool)) -> String {
    see(object, gone);
    object.metadata.resource_version.clone().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn plain(line: Option<String>) -> String {
        anstream::adapter::strip_str(&line.unwrap_or_default()).to_string()
    }

    fn node(ready: &str) -> Value {
        json!({"status": {"conditions": [{"type": "Ready", "status": ready}]}})
    }

    #[test]
    fn a_node_is_told_when_it_changes() {
        let mut n = Narrator::default();
        assert_eq!(plain(n.node("a", Some(&node("False")))), "");
        assert_eq!(plain(n.node("a", Some(&node("True")))), "node/a ready");
        assert_eq!(plain(n.node("a", Some(&node("True")))), "");
        assert_eq!(
            plain(n.node("a", Some(&node("Unknown")))),
            "node/a not ready"
        );
        assert_eq!(plain(n.node("a", None)), "node/a left");
        assert_eq!(plain(n.node("a", None)), "");
    }

    #[test]
    fn a_rollout_is_told_at_its_start_and_end() {
        let at = |generation: u64, available: u64| {
            json!({"metadata": {"generation": generation}, "status": {"observedGeneration": 1,
                "desiredNumberScheduled": 3, "updatedNumberScheduled": 3, "numberAvailable": available}})
        };
        let mut n = Narrator::default();
        assert_eq!(
            plain(n.daemonset("d", Some(&at(1, 0)))),
            "daemonset/d rolling out"
        );
        assert_eq!(plain(n.daemonset("d", Some(&at(1, 1)))), "");
        assert_eq!(
            plain(n.daemonset("d", Some(&at(1, 3)))),
            "daemonset/d rolled out on 3 nodes"
        );
        assert_eq!(
            plain(n.daemonset("d", Some(&at(2, 3)))),
            "daemonset/d rolling out"
        );
    }

    #[test]
    fn what_others_show_is_told_once() {
        let at = |version: u64, available: u64| {
            json!({"metadata": {"generation": 1, "resourceVersion": version.to_string()},
                "status": {"observedGeneration": 1, "desiredNumberScheduled": 3,
                    "updatedNumberScheduled": 3, "numberAvailable": available}})
        };
        let followed = Arc::new(Followed::new(["d".to_owned()]));
        let mut n = Narrator {
            followed: followed.clone(),
            ..Narrator::default()
        };
        assert_eq!(plain(n.daemonset("d", Some(&at(5, 0)))), "");
        let done: DynamicObject = serde_json::from_value(json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"resourceVersion": "7"},
        }))
        .unwrap();
        followed.shown("d", &done);
        assert_eq!(plain(n.daemonset("d", Some(&at(7, 3)))), "");
        assert_eq!(
            plain(n.daemonset("d", Some(&at(8, 2)))),
            "daemonset/d rolling out"
        );
        assert_eq!(
            plain(n.daemonset("d", Some(&at(9, 3)))),
            "daemonset/d rolled out on 3 nodes"
        );
    }

    #[test]
    fn the_same_warning_is_told_at_powers_of_ten() {
        let mut n = Narrator::default();
        let mut told = 0;
        for count in 1..=150 {
            let event = json!({"type": "Warning", "count": count, "metadata": {"uid": "u"},
                "reason": "FailedScheduling", "involvedObject": {"kind": "Pod", "name": "p"}});
            told += usize::from(n.event(&event).is_some());
        }
        assert_eq!(told, 3);
        assert!(n.event(&json!({"type": "Normal"})).is_none());
    }
}
