//! Kinds that own pods, and their revisions.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::Value;

use super::cell::{NONE, Object, Or, UNKNOWN, UNSET, int_at, list_at, scalar, text_at};
use super::{AGE, Column, NAME, human_duration};

const CONTAINERS: Column =
    Column::text("Containers", "Names of the template's containers.", |it| {
        it.joined("/spec/template/spec/containers", "/name")
    })
    .wide();
const IMAGES: Column = Column::text("Images", "Images of the template's containers.", |it| {
    it.joined("/spec/template/spec/containers", "/image")
})
.wide();
const SELECTOR: Column =
    Column::text("Selector", "Which pods belong to it.", label_selector).wide();

pub(super) static DAEMON_SETS: &[Column] = &[
    NAME,
    Column::integer("Desired", "Nodes that should run its pod.", |it| {
        it.number("/status/desiredNumberScheduled")
    }),
    Column::integer("Current", "Nodes that should run its pod and do.", |it| {
        it.number("/status/currentNumberScheduled")
    }),
    Column::integer("Ready", "Nodes whose pod is ready.", |it| {
        it.number("/status/numberReady")
    }),
    Column::integer(
        "Up-to-date",
        "Nodes whose pod has the newest template.",
        |it| it.number("/status/updatedNumberScheduled"),
    ),
    Column::integer(
        "Available",
        "Nodes whose pod has been ready for long enough.",
        |it| it.number("/status/numberAvailable"),
    ),
    Column::text("Node Selector", "Labels a node must have.", |it| {
        it.labels("/spec/template/spec/nodeSelector")
    }),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

pub(super) static CONTROLLER_REVISIONS: &[Column] = &[
    NAME,
    Column::text("Controller", "What the revision is of.", controller),
    Column::text("Revision", "Its number; the largest is the newest.", |it| {
        it.number("/revision")
    }),
    AGE,
];

pub(super) static DEPLOYMENTS: &[Column] = &[
    NAME,
    Column::text(
        "Ready",
        "Pods that are ready, of those wanted.",
        ready_of_desired,
    ),
    Column::text("Up-to-date", "Pods with the newest template.", |it| {
        it.number("/status/updatedReplicas")
    }),
    Column::text(
        "Available",
        "Pods that have been ready for long enough.",
        |it| it.number("/status/availableReplicas"),
    ),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

/// ReplicaSets and ReplicationControllers, whose selector is a map of labels.
pub(super) static REPLICA_SETS: &[Column] = &[
    NAME,
    Column::integer("Desired", "Pods wanted.", |it| it.number("/spec/replicas")),
    Column::integer("Current", "Pods there are.", |it| {
        it.number("/status/replicas")
    }),
    Column::integer("Ready", "Pods that are ready.", |it| {
        it.number("/status/readyReplicas")
    }),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

pub(super) static STATEFUL_SETS: &[Column] = &[
    NAME,
    Column::text(
        "Ready",
        "Pods that are ready, of those wanted.",
        ready_of_desired,
    ),
    AGE,
    CONTAINERS,
    IMAGES,
];

pub(super) static POD_TEMPLATES: &[Column] = &[
    NAME,
    Column::text("Containers", "Names of the containers.", |it| {
        it.joined("/template/spec/containers", "/name")
    }),
    Column::text("Images", "Images of the containers.", |it| {
        it.joined("/template/spec/containers", "/image")
    }),
    Column::text("Pod Labels", "Labels of the pods.", |it| {
        it.labels("/template/metadata/labels")
    }),
];

pub(super) static JOBS: &[Column] = &[
    NAME,
    Column::text("Status", "How far it has come.", job_status),
    Column::text(
        "Completions",
        "Pods that have succeeded, of those wanted.",
        |it| {
            let wanted = it
                .at("/spec/completions")
                .and_then(Value::as_i64)
                .unwrap_or(1);
            format!("{}/{wanted}", int_at(it.value, "/status/succeeded")).into()
        },
    ),
    Column::text(
        "Duration",
        "Time it took, or has taken so far.",
        job_duration,
    ),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

pub(super) static CRON_JOBS: &[Column] = &[
    NAME,
    Column::text("Schedule", "When it runs, in cron's notation.", |it| {
        it.text("/spec/schedule")
    }),
    Column::text("Timezone", "Time zone of the schedule.", |it| {
        it.text_or("/spec/timeZone", NONE)
    }),
    Column::boolean("Suspend", "Whether it is suspended.", |it| {
        it.truth_or("/spec/suspend", false)
    }),
    Column::integer("Active", "Jobs that are running.", |it| {
        it.count("/status/active").into()
    }),
    Column::text("Last Schedule", "Time since it last ran.", |it| {
        match it.time("/status/lastScheduleTime") {
            Some(time) => it.since(Some(time)).into(),
            None => NONE.into(),
        }
    }),
    AGE,
    Column::text("Containers", "Names of the containers.", |it| {
        it.joined("/spec/jobTemplate/spec/template/spec/containers", "/name")
    })
    .wide(),
    Column::text("Images", "Images of the containers.", |it| {
        it.joined("/spec/jobTemplate/spec/template/spec/containers", "/image")
    })
    .wide(),
    Column::text("Selector", "Which pods belong to it.", |it| {
        selector_at(it, "/spec/jobTemplate/spec/selector")
    })
    .wide(),
];

pub(super) static AUTOSCALERS: &[Column] = &[
    NAME,
    Column::text("Reference", "What it scales.", |it| {
        let target = |field| it.str(field);
        let kind = target("/spec/scaleTargetRef/kind");
        format!("{kind}/{}", target("/spec/scaleTargetRef/name")).into()
    }),
    Column::text("Targets", "Metrics it scales by.", |it| {
        let metrics = it.list("/spec/metrics").iter();
        let kinds: Vec<_> = metrics.map(|metric| text_at(metric, "/type")).collect();
        kinds.join(",").or(NONE)
    }),
    Column::text("MinPods", "Fewest pods.", |it| {
        it.at("/spec/minReplicas")
            .map_or_else(|| UNSET.into(), |min| scalar(min).into())
    }),
    Column::text("MaxPods", "Most pods.", |it| it.number("/spec/maxReplicas")),
    Column::text("Replicas", "Pods there are.", |it| {
        it.number("/status/currentReplicas")
    }),
    AGE,
];

fn ready_of_desired(object: &Object<'_>) -> Value {
    let ready = int_at(object.value, "/status/readyReplicas");
    format!("{ready}/{}", int_at(object.value, "/spec/replicas")).into()
}

/// `kind.group/name` of the owner that controls it.
fn controller(object: &Object<'_>) -> Value {
    let owners = object.list("/metadata/ownerReferences");
    let is_controller = |it: &&Value| it.get("controller").and_then(Value::as_bool) == Some(true);
    let Some(owner) = owners.iter().find(is_controller) else {
        return NONE.into();
    };
    let kind = text_at(owner, "/kind").to_lowercase();
    let name = text_at(owner, "/name");
    match text_at(owner, "/apiVersion").split_once('/') {
        Some((group, _)) => format!("{kind}.{group}/{name}").into(),
        None => format!("{kind}/{name}").into(),
    }
}

fn label_selector(object: &Object<'_>) -> Value {
    selector_at(object, "/spec/selector")
}

/// A selector as kubectl takes it: labels by key, then expressions.
pub(super) fn selector_at(object: &Object<'_>, pointer: &str) -> Value {
    let Some(selector) = object.map(pointer) else {
        return NONE.into();
    };
    // A ReplicationController's selector is the labels themselves.
    if selector.values().all(Value::is_string) {
        return object.labels(pointer);
    }
    let labels = selector
        .get("matchLabels")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    let mut terms: Vec<String> = labels
        .map(|(key, value)| format!("{key}={}", scalar(value)))
        .collect();
    let expressions = object.list(&format!("{pointer}/matchExpressions"));
    terms.extend(expressions.iter().map(expression));
    // Requirements are listed by key; equal keys stay in order.
    terms.sort_by(|a, b| term_key(a).cmp(term_key(b)));
    terms.join(",").or(NONE)
}

fn expression(requirement: &Value) -> String {
    let key = text_at(requirement, "/key");
    let mut values: Vec<_> = list_at(requirement, "/values")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    values.sort_unstable();
    let values = values.join(",");
    match text_at(requirement, "/operator") {
        "In" => format!("{key} in ({values})"),
        "NotIn" => format!("{key} notin ({values})"),
        "Exists" => key.into(),
        "DoesNotExist" => format!("!{key}"),
        _ => "<error>".into(),
    }
}

fn term_key(term: &str) -> &str {
    let term = term.trim_start_matches('!');
    term.split(['=', ' ']).next().unwrap_or(term)
}

fn job_status(object: &Object<'_>) -> Value {
    let has = |kind: &str| {
        object
            .list("/status/conditions")
            .iter()
            .any(|it| text_at(it, "/type") == kind && text_at(it, "/status") == "True")
    };
    let told = [
        ("Complete", "Complete"),
        ("Failed", "Failed"),
        ("Suspended", "Suspended"),
        ("FailureTarget", "FailureTarget"),
        ("SuccessCriteriaMet", "SuccessCriteriaMet"),
    ];
    let terminating = if object.is_terminating() {
        "Terminating"
    } else {
        "Running"
    };
    told.iter()
        .find(|(kind, _)| has(kind))
        .map_or(terminating, |(_, text)| text)
        .into()
}

fn job_duration(object: &Object<'_>) -> Value {
    let Some(start) = object.time("/status/startTime") else {
        return "".into();
    };
    let end = object.time("/status/completionTime").unwrap_or(object.now);
    match end.duration_since(start).as_secs() {
        seconds if seconds < 0 => UNKNOWN.into(),
        seconds => human_duration(seconds).into(),
    }
}
