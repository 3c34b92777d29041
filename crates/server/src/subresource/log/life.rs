//! The lines of a simulated life, in the order in which things happened.

use jiff::Timestamp;
use pernode_api::resource::find;
use serde_json::Value;

use crate::api::Inner;
use crate::key;
use crate::object::{self, Object as _};

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Line {
    /// When; nothing for what is so now.
    pub(super) time: Option<Timestamp>,
    pub(super) text: String,
}

/// The place of a line among those of one second: most times in the API are no finer, and a pod
/// lives through its first steps within one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Created,
    Scheduled,
    Sandboxed,
    Initialized,
    /// Events of the node, in the order in which they were written.
    Event(u64),
    Ran,
    ContainersReady,
    Ready,
    Deleted,
}

/// All lines about a container of a pod.
pub(super) fn lines(api: &Inner, pod: &Value, container: &str) -> Vec<Line> {
    let mut found = of_status(pod, container);
    found.extend(of_events(api, pod, container));
    sorted(found)
}

fn sorted(mut found: Vec<(Step, Line)>) -> Vec<Line> {
    // What is so now comes last.
    found.sort_by_key(|(step, line)| {
        let second = line.time.map_or(i64::MAX, Timestamp::as_second);
        (second, *step)
    });
    found.into_iter().map(|(_, line)| line).collect()
}

/// When the last run of a container ended that was followed by another.
pub(super) fn ended_before(pod: &Value, container: &str) -> Option<Timestamp> {
    time(&status_of(pod, container)?["lastState"]["terminated"]["finishedAt"])
}

/// Whether nothing will be added: the pod is over, or goes.
pub(super) fn is_over(pod: &Value) -> bool {
    matches!(
        pod["status"]["phase"].as_str(),
        Some("Succeeded" | "Failed")
    )
}

fn status_of<'a>(pod: &'a Value, container: &str) -> Option<&'a Value> {
    ["containerStatuses", "initContainerStatuses"]
        .iter()
        .flat_map(|list| pod["status"][*list].as_array().into_iter().flatten())
        .find(|status| status["name"] == container)
}

fn time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn of_status(pod: &Value, container: &str) -> Vec<(Step, Line)> {
    let line = |time, text: &str| Line {
        time,
        text: text.to_owned(),
    };
    let created = time(&pod["metadata"]["creationTimestamp"]);
    let mut lines = vec![(Step::Created, line(created, "pod created"))];
    lines.extend(of_conditions(pod));
    let status = status_of(pod, container).unwrap_or(&Value::Null);
    for (field, when) in [("lastState", "before: "), ("state", "")] {
        lines.extend(of_state(status, field, when));
    }
    if let Some(deleted) = time(&pod["metadata"]["deletionTimestamp"]) {
        let text = "pod is to be gone by now";
        lines.push((Step::Deleted, line(Some(deleted), text)));
    }
    lines
}

fn of_conditions(pod: &Value) -> impl Iterator<Item = (Step, Line)> + '_ {
    let conditions = pod["status"]["conditions"].as_array();
    conditions.into_iter().flatten().map(|condition| {
        let reason = match condition["reason"].as_str() {
            Some(reason) => format!(" ({reason})"),
            None => String::new(),
        };
        let kind = text(&condition["type"]);
        let step = match kind {
            "PodScheduled" => Step::Scheduled,
            "PodReadyToStartContainers" => Step::Sandboxed,
            "Initialized" => Step::Initialized,
            "ContainersReady" => Step::ContainersReady,
            _ => Step::Ready,
        };
        let line = Line {
            time: time(&condition["lastTransitionTime"]),
            text: format!("{kind} is {}{reason}", text(&condition["status"])),
        };
        (step, line)
    })
}

fn of_state(status: &Value, field: &str, when: &str) -> Vec<(Step, Line)> {
    let (container, state) = (text(&status["name"]), &status[field]);
    let mut lines = Vec::new();
    let mut add = |time: Option<Timestamp>, what: String| {
        let text = format!("{when}container {container} {what}");
        lines.push((Step::Ran, Line { time, text }));
    };
    let started = &state["running"]["startedAt"];
    if started.is_string() {
        let image = text(&status["image"]);
        add(time(started), format!("started, image {image}"));
    }
    let ended = &state["terminated"];
    if ended["finishedAt"].is_string() {
        let reason = text(&ended["reason"]);
        let code = &ended["exitCode"];
        add(
            time(&ended["finishedAt"]),
            format!("ended: {reason}, exit code {code}"),
        );
    }
    if let Some(reason) = state["waiting"]["reason"].as_str() {
        add(None, format!("waits: {reason}"));
    }
    lines
}

/// The events about the pod as a whole or about the container.
fn of_events(api: &Inner, pod: &Value, container: &str) -> Vec<(Step, Line)> {
    let resource = find("", "v1", "events").expect("events are in the table");
    let prefix = key::prefix(resource, Some(pod.meta("namespace")));
    let uid = pod.meta("uid");
    let about = format!("{{{container}}}");
    api.store
        .list(&prefix)
        .iter()
        .filter(|item| item.attrs.field("involvedObject.uid") == Some(uid))
        .map(|item| (item.revision, object::parse(&item.bytes)))
        .filter(|(_, event)| {
            let path = text(&event["involvedObject"]["fieldPath"]);
            path.is_empty() || path.ends_with(&about)
        })
        .map(|(revision, event)| of_event(revision, &event))
        .collect()
}

fn of_event(revision: u64, event: &Value) -> (Step, Line) {
    let step = match text(&event["reason"]) {
        "Scheduled" | "FailedScheduling" => Step::Scheduled,
        "Killing" => Step::Deleted,
        _ => Step::Event(revision),
    };
    let line = Line {
        time: time(&event["lastTimestamp"]).or_else(|| time(&event["eventTime"])),
        text: format!("{}: {}", text(&event["reason"]), text(&event["message"])),
    };
    (step, line)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_life_in_lines() {
        let at = "2026-01-01T00:00:01Z";
        let condition =
            |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": at});
        let pod = json!({
            "metadata": {"creationTimestamp": at},
            "status": {
                "conditions": [condition("ContainersReady"), condition("Ready"), condition("Initialized"), condition("PodScheduled")],
                "containerStatuses": [{"name": "c", "image": "i", "restartCount": 1,
                    "state": {"running": {"startedAt": at}},
                    "lastState": {"terminated": {"finishedAt": "2026-01-01T00:00:00Z", "exitCode": 1, "reason": "Error"}}}],
            },
        });
        let event = |reason: &str| json!({"reason": reason, "message": "m", "lastTimestamp": at});
        let mut found = of_status(&pod, "c");
        for (revision, reason) in [(9, "Started"), (7, "Pulled"), (12, "Scheduled")] {
            found.push(of_event(revision, &event(reason)));
        }
        let lines = sorted(found);
        let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "before: container c ended: Error, exit code 1",
                "pod created",
                "PodScheduled is True",
                "Scheduled: m",
                "Initialized is True",
                "Pulled: m",
                "Started: m",
                "container c started, image i",
                "ContainersReady is True",
                "Ready is True",
            ]
        );
        let ended = ended_before(&pod, "c").unwrap();
        assert_eq!(ended.to_string(), "2026-01-01T00:00:00Z");
    }
}
