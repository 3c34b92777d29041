//! Logs. A simulated pod prints nothing, so its log is what happened to it: made from its status
//! and its events.

mod follow;
mod life;
mod options;

use pernode_api::status::Status;
use serde_json::Value;

use crate::body::Body;
use crate::call::Call;
use crate::object;
use crate::registry::Place;
use crate::reply::{self, Failure, Response};

use life::Line;
use options::Options;

/// `GET` of a pod's log.
pub(super) async fn get(call: &Call) -> Result<Response, Failure> {
    let place = Place::new(call.resource, call.namespace(), call.name());
    let pod = object::parse(&place.read(&call.actor)?.bytes);
    let options = Options::of(call)?;
    let container = container(call, &pod)?;
    if pod["spec"]["nodeName"]
        .as_str()
        .unwrap_or_default()
        .is_empty()
    {
        return Ok(super::plain(204, String::new()));
    }
    let ended = life::ended_before(&pod, &container);
    if options.previous && ended.is_none() {
        return Err(Status::bad_request(format!(
            "previous terminated container {container:?} in pod {:?} not found",
            call.name()
        ))
        .into());
    }
    if options.follow && !options.previous {
        let lines = follow::stream(call, place, container, options)?;
        return Ok(reply::typed(200, "text/plain", Body::stream(lines)));
    }
    let mut lines = life::lines(call.api(), &pod, &container);
    if options.previous {
        lines.retain(|line| line.time <= ended);
    }
    Ok(super::plain(200, options.text(options.last(&lines))))
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
