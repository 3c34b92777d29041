//! Logs. A simulated pod prints nothing, so its log is what happened to it: made from its status.

use pernode_api::resource::find;
use pernode_api::status::Status;
use serde_json::Value;

use crate::call::Call;
use crate::key;
use crate::object::{self, Object as _};
use crate::registry::Place;
use crate::reply::{Failure, Response};

/// `GET` of a pod's log.
pub(super) async fn get(call: &Call) -> Result<Response, Failure> {
    let place = Place::new(call.resource, call.namespace(), call.name());
    let pod = object::parse(&place.read(&call.actor)?.bytes);
    let container = container(call, &pod)?;
    if pod["spec"]["nodeName"]
        .as_str()
        .unwrap_or_default()
        .is_empty()
    {
        return Ok(super::plain(204, String::new()));
    }
    let mut lines = life(&pod, &container);
    lines.extend(events(call, pod.meta("uid")));
    lines.sort();
    if call.query.flag("previous") && restarts(&pod, &container) == 0 {
        return Err(Status::bad_request(format!(
            "previous terminated container {container:?} in pod {:?} not found",
            call.name()
        ))
        .into());
    }
    Ok(super::plain(200, text(call, &lines)?))
}

/// The container asked for, or the only one.
fn container(call: &Call, pod: &Value) -> Result<String, Failure> {
    let names = |list: &str| -> Vec<String> {
        pod["spec"][list]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|container| container["name"].as_str().map(str::to_owned))
            .collect()
    };
    let main = names("containers");
    let all = [
        main.clone(),
        names("initContainers"),
        names("ephemeralContainers"),
    ]
    .concat();
    let pod_name = call.name();
    match call.query.text("container") {
        Some(name) if all.iter().any(|known| known == name) => Ok(name.to_owned()),
        Some(name) => Err(Status::bad_request(format!(
            "container {name} is not valid for pod {pod_name}"
        ))
        .into()),
        None if main.len() == 1 => Ok(main.into_iter().next().unwrap_or_default()),
        None => Err(Status::bad_request(format!(
            "a container name must be specified for pod {pod_name}, choose one of: [{}]",
            main.join(" ")
        ))
        .into()),
    }
}

fn status_of<'a>(pod: &'a Value, container: &str) -> Option<&'a Value> {
    ["containerStatuses", "initContainerStatuses"]
        .iter()
        .flat_map(|list| pod["status"][*list].as_array().into_iter().flatten())
        .find(|status| status["name"] == container)
}

fn restarts(pod: &Value, container: &str) -> i64 {
    status_of(pod, container).map_or(0, |status| status["restartCount"].as_i64().unwrap_or(0))
}

/// What the status says happened, as (time, text).
fn life(pod: &Value, container: &str) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut lines = vec![(
        text(&pod["metadata"]["creationTimestamp"]),
        "pod created".to_owned(),
    )];
    for condition in pod["status"]["conditions"].as_array().into_iter().flatten() {
        let reason = match condition["reason"].as_str() {
            Some(reason) => format!(" ({reason})"),
            None => String::new(),
        };
        let what = format!(
            "{} is {}{reason}",
            text(&condition["type"]),
            text(&condition["status"])
        );
        lines.push((text(&condition["lastTransitionTime"]), what));
    }
    let status = status_of(pod, container).unwrap_or(&Value::Null);
    for (field, when) in [("lastState", "before: "), ("state", "")] {
        let state = &status[field];
        if let Some(started) = state["running"]["startedAt"].as_str() {
            let image = text(&status["image"]);
            lines.push((
                started.to_owned(),
                format!("{when}container {container} started, image {image}"),
            ));
        }
        if let Some(ended) = state["terminated"]["finishedAt"].as_str() {
            let code = &state["terminated"]["exitCode"];
            let reason = text(&state["terminated"]["reason"]);
            lines.push((
                ended.to_owned(),
                format!("{when}container {container} ended: {reason}, exit code {code}"),
            ));
        }
        if let Some(reason) = state["waiting"]["reason"].as_str() {
            lines.push((
                String::new(),
                format!("container {container} waits: {reason}"),
            ));
        }
    }
    if let Some(deleted) = pod["metadata"]["deletionTimestamp"].as_str() {
        lines.push((deleted.to_owned(), "pod is to be gone by now".to_owned()));
    }
    lines
}

/// The events about the pod.
fn events(call: &Call, uid: &str) -> Vec<(String, String)> {
    let resource = find("", "v1", "events").expect("events are in the table");
    let prefix = key::prefix(resource, call.namespace());
    call.api()
        .store
        .list(&prefix)
        .iter()
        .filter(|item| item.attrs.field("involvedObject.uid") == Some(uid))
        .map(|item| {
            let event = object::parse(&item.bytes);
            let text = |field: &str| event[field].as_str().unwrap_or_default().to_owned();
            let time = match text("lastTimestamp") {
                time if time.is_empty() => text("eventTime"),
                time => time,
            };
            (time, format!("{}: {}", text("reason"), text("message")))
        })
        .collect()
}

/// The lines as the query wants them: the last few, within bytes, with or without times.
fn text(call: &Call, lines: &[(String, String)]) -> Result<String, Failure> {
    let number = |name: &str| call.query.number(name).map_err(Status::bad_request);
    let tail = number("tailLines")?.map_or(lines.len(), |n| n.max(0) as usize);
    let timestamps = call.query.flag("timestamps");
    let mut out = String::new();
    for (time, what) in &lines[lines.len().saturating_sub(tail)..] {
        if timestamps && !time.is_empty() {
            out.push_str(time);
            out.push(' ');
        }
        out.push_str(what);
        out.push('\n');
    }
    if let Some(bytes) = number("limitBytes")? {
        let mut end = out.len().min(bytes.max(0) as usize);
        while !out.is_char_boundary(end) {
            end -= 1;
        }
        out.truncate(end);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_life_in_lines() {
        let pod = json!({
            "metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"},
            "status": {
                "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:02Z"}],
                "containerStatuses": [{"name": "c", "image": "i", "restartCount": 1,
                    "state": {"running": {"startedAt": "2026-01-01T00:00:01Z"}}}],
            },
        });
        let mut lines = life(&pod, "c");
        lines.sort();
        let texts: Vec<&str> = lines.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "pod created",
                "container c started, image i",
                "Ready is True"
            ]
        );
        assert_eq!(restarts(&pod, "c"), 1);
    }
}
