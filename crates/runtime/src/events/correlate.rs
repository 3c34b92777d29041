//! Which events become which writes: counting, combining, cutting down.

use super::{Happening, ObjectRef, Severity};
use jiff::{Timestamp, ToSpan};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Distinct messages of one reason about one object before they are combined (client-go: 10).
const ALIKE_MAX: usize = 10;
/// How long messages count as alike (client-go: 600 s).
const ALIKE_SECONDS: i64 = 600;
/// Writes one object may cause at once (client-go: 25).
const BURST: f64 = 25.0;
/// Seconds after which one more is allowed (client-go: 300).
const REFILL_SECONDS: f64 = 300.0;
/// Events, groups and objects remembered; the oldest are forgotten first (client-go: 4096).
const REMEMBERED_MAX: usize = 4096;

/// What makes two events one: everything but time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    group: Group,
    /// Empty for the combined event.
    message: String,
}

/// What makes two events alike.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    object: ObjectRef,
    host: String,
    severity: Severity,
    reason: &'static str,
}

#[derive(Debug)]
struct Known {
    name: String,
    message: String,
    count: u64,
    first: Timestamp,
    last: Timestamp,
    stored: bool,
    dirty: bool,
}

#[derive(Debug)]
struct Alike {
    messages: BTreeSet<String>,
    last: Timestamp,
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    last: Timestamp,
}

/// An event that has to be written.
#[derive(Debug)]
pub(super) struct Write {
    pub(super) key: Key,
    pub(super) namespace: String,
    pub(super) name: String,
    /// Whether it exists already, so that a patch will do.
    pub(super) stored: bool,
    pub(super) body: Value,
}

impl Write {
    /// What a repetition changes.
    pub(super) fn patch(&self) -> Value {
        json!({
            "count": self.body["count"],
            "message": self.body["message"],
            "lastTimestamp": self.body["lastTimestamp"],
        })
    }
}

/// Remembers what was recorded.
#[derive(Debug)]
pub(super) struct Correlator {
    component: String,
    known: BTreeMap<Key, Known>,
    alike: BTreeMap<Group, Alike>,
    buckets: BTreeMap<(String, ObjectRef), Bucket>,
}

impl Correlator {
    pub(super) fn new(component: &str) -> Self {
        Self {
            component: component.to_owned(),
            known: BTreeMap::new(),
            alike: BTreeMap::new(),
            buckets: BTreeMap::new(),
        }
    }

    /// Takes an event; `false` when its object made more than its share.
    pub(super) fn observe(&mut self, happening: &Happening, now: Timestamp) -> bool {
        let group = Group {
            object: ObjectRef {
                resource_version: String::new(),
                ..happening.object.clone()
            },
            host: happening.host.clone(),
            severity: happening.severity,
            reason: happening.reason,
        };
        let combined = self.is_one_too_many(&group, &happening.message, now);
        let source = (group.host.clone(), group.object.clone());
        if !self.may_write(source, now) {
            return false;
        }
        let (key_message, message) = if combined {
            let text = format!("(combined from similar events): {}", happening.message);
            (String::new(), text)
        } else {
            (happening.message.clone(), happening.message.clone())
        };
        let key = Key {
            group,
            message: key_message,
        };
        let name = format!("{}.{:x}", happening.object.name, now.as_nanosecond());
        let serial = self.known.len();
        let known = self.known.entry(key).or_insert_with(|| Known {
            // Two events of one batch have one time: the serial keeps their names apart.
            name: format!("{name}{serial:x}"),
            message: String::new(),
            count: 0,
            first: now,
            last: now,
            stored: false,
            dirty: false,
        });
        known.message = message;
        known.count += 1;
        known.last = now;
        known.dirty = true;
        true
    }

    fn is_one_too_many(&mut self, group: &Group, message: &str, now: Timestamp) -> bool {
        let alike = self.alike.entry(group.clone()).or_insert_with(|| Alike {
            messages: BTreeSet::new(),
            last: now,
        });
        if alike.last + ALIKE_SECONDS.seconds() < now {
            alike.messages.clear();
        }
        alike.last = now;
        if alike.messages.len() < ALIKE_MAX || alike.messages.contains(message) {
            alike.messages.insert(message.to_owned());
            return false;
        }
        true
    }

    fn may_write(&mut self, source: (String, ObjectRef), now: Timestamp) -> bool {
        let bucket = self.buckets.entry(source).or_insert(Bucket {
            tokens: BURST,
            last: now,
        });
        let passed = now.duration_since(bucket.last).as_secs_f64();
        bucket.tokens = (bucket.tokens + passed / REFILL_SECONDS).min(BURST);
        bucket.last = now;
        if bucket.tokens < 1.0 {
            return false;
        }
        bucket.tokens -= 1.0;
        true
    }

    /// The events to write now; each key at most once, so that they may be sent in any order.
    pub(super) fn writes(&mut self, now: Timestamp) -> Vec<Write> {
        let writes = self
            .known
            .iter_mut()
            .filter_map(|(key, known)| {
                std::mem::take(&mut known.dirty).then(|| write(&self.component, key, known))
            })
            .collect();
        self.forget(now);
        writes
    }

    /// Notes whether a write succeeded.
    pub(super) fn written(&mut self, key: &Key, stored: bool) {
        if let Some(known) = self.known.get_mut(key) {
            known.stored |= stored;
        }
    }

    /// Keeps memory bounded: first what is old goes, then everything if that is not enough.
    fn forget(&mut self, now: Timestamp) {
        let old = now - ALIKE_SECONDS.seconds();
        if self.known.len() > REMEMBERED_MAX {
            self.known.retain(|_, known| known.last > old);
            if self.known.len() > REMEMBERED_MAX {
                self.known.clear();
            }
        }
        if self.alike.len() > REMEMBERED_MAX {
            self.alike.retain(|_, alike| alike.last > old);
            if self.alike.len() > REMEMBERED_MAX {
                self.alike.clear();
            }
        }
        if self.buckets.len() > REMEMBERED_MAX {
            self.buckets
                .retain(|_, bucket| bucket.last > old || bucket.tokens < 1.0);
            if self.buckets.len() > 4 * REMEMBERED_MAX {
                self.buckets.clear();
            }
        }
    }
}

fn write(component: &str, key: &Key, known: &Known) -> Write {
    let object = &key.group.object;
    // Events about cluster-scoped objects live in `default`: every event needs a namespace.
    let namespace = match &*object.namespace {
        "" => "default",
        namespace => namespace,
    };
    let mut source = json!({"component": component});
    if !key.group.host.is_empty() {
        source["host"] = key.group.host.clone().into();
    }
    let body = json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": known.name, "namespace": namespace},
        "involvedObject": reference(object),
        "reason": key.group.reason,
        "message": known.message,
        "source": source,
        "firstTimestamp": seconds(known.first),
        "lastTimestamp": seconds(known.last),
        "count": known.count,
        "type": key.group.severity.as_str(),
        "reportingComponent": component,
        "reportingInstance": key.group.host,
    });
    Write {
        key: key.clone(),
        namespace: namespace.to_owned(),
        name: known.name.clone(),
        stored: known.stored,
        body,
    }
}

fn reference(object: &ObjectRef) -> Value {
    let mut reference = json!({
        "apiVersion": object.api_version,
        "kind": object.kind,
        "name": object.name,
        "uid": object.uid,
    });
    if !object.namespace.is_empty() {
        reference["namespace"] = object.namespace.clone().into();
    }
    reference
}

/// Kubernetes' Time: RFC 3339 in whole seconds.
fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn happening(reason: &'static str, message: &str) -> Happening {
        Happening {
            object: ObjectRef {
                api_version: "apps/v1".into(),
                kind: "DaemonSet".into(),
                namespace: "n".into(),
                name: "web".into(),
                uid: "u".into(),
                resource_version: "7".into(),
            },
            host: String::new(),
            severity: Severity::Normal,
            reason,
            message: message.into(),
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + second).unwrap()
    }

    fn lines(writes: &[Write]) -> Vec<String> {
        writes
            .iter()
            .map(|w| {
                let verb = if w.stored { "patch" } else { "create" };
                format!("{verb} {} x{}", w.body["message"], w.body["count"])
            })
            .collect()
    }

    #[test]
    fn repetitions_are_counted() {
        let mut c = Correlator::new("test");
        assert!(c.observe(&happening("Made", "a"), at(0)));
        assert!(c.observe(&happening("Made", "a"), at(0)));
        let writes = c.writes(at(0));
        assert_eq!(lines(&writes), [r#"create "a" x2"#]);
        c.written(&writes[0].key, true);
        assert!(c.observe(&happening("Made", "a"), at(9)));
        let again = c.writes(at(9));
        assert_eq!(lines(&again), [r#"patch "a" x3"#]);
        assert_eq!(again[0].name, writes[0].name);
        assert_eq!(again[0].patch()["lastTimestamp"], "2023-11-14T22:13:29Z");
        assert!(c.writes(at(9)).is_empty());
    }

    #[test]
    fn many_alike_are_combined_and_then_cut_down() {
        let mut c = Correlator::new("test");
        let accepted = (0..100)
            .filter(|i| c.observe(&happening("Made", &format!("pod {i}")), at(0)))
            .count();
        assert_eq!(accepted, 25);
        let writes = c.writes(at(0));
        assert_eq!(writes.len(), 11);
        assert!(
            lines(&writes)
                .contains(&r#"create "(combined from similar events): pod 24" x15"#.into()),
            "{:?}",
            lines(&writes)
        );
        assert!(!c.observe(&happening("Made", "x"), at(200)));
        assert!(c.observe(&happening("Made", "x"), at(301)));
    }

    #[test]
    fn names_are_unique_within_a_batch() {
        let mut c = Correlator::new("test");
        for message in ["a", "b", "c"] {
            c.observe(&happening("Made", message), at(0));
        }
        let names: BTreeSet<String> = c.writes(at(0)).into_iter().map(|w| w.name).collect();
        assert_eq!(names.len(), 3);
    }
}
