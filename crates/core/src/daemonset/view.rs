//! The read models of DaemonSet and ControllerRevision.

use crate::int_or_percent::IntOrPercent;
use crate::meta::{Meta, StringMap, null_as_default};
use crate::pod::PodSpec;
use crate::selector::LabelSelector;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// Label of pods and revisions that names the template they were made from.
pub const HASH_LABEL: &str = "controller-revision-hash";
/// Label of pods with the template generation, from before revisions existed.
pub const GENERATION_LABEL: &str = "pod-template-generation";
/// Annotation of a DaemonSet that counts the changes of its template.
pub const GENERATION_ANNOTATION: &str = "deprecated.daemonset.template.generation";

/// A DaemonSet as the controller sees it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DaemonSet {
    /// Metadata.
    pub metadata: Meta,
    /// Wanted state.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: DaemonSetSpec,
    /// Reported state.
    #[serde(deserialize_with = "null_as_default")]
    pub status: DaemonSetStatus,
}

/// Wanted state of a DaemonSet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DaemonSetSpec {
    /// Which pods belong to it.
    #[serde(deserialize_with = "null_as_default")]
    pub selector: LabelSelector,
    /// What its pods look like.
    #[serde(deserialize_with = "null_as_default")]
    pub template: Template,
    /// How pods of an old template are replaced.
    #[serde(deserialize_with = "null_as_default")]
    pub update_strategy: UpdateStrategy,
    /// Seconds a pod must be Ready before it counts as available.
    #[serde(deserialize_with = "null_as_default")]
    pub min_ready_seconds: i64,
    /// Number of old revisions that are kept; 10 when absent.
    pub revision_history_limit: Option<i64>,
}

impl DaemonSetSpec {
    /// Number of old revisions to keep; the API's default is 10.
    pub fn history_limit(&self) -> usize {
        usize::try_from(self.revision_history_limit.unwrap_or(10)).unwrap_or(0)
    }
}

/// A pod template: the whole JSON, for pods and revisions, and the parts that decisions look at.
///
/// Cloning is cheap. Two templates are equal when their JSON is.
#[derive(Debug, Clone, Default)]
pub struct Template(Arc<TemplateParts>);

#[derive(Debug, Default)]
struct TemplateParts {
    json: Value,
    metadata: TemplateMeta,
    spec: PodSpec,
}

/// The metadata of a pod template that its pods inherit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct TemplateMeta {
    /// Labels.
    #[serde(deserialize_with = "null_as_default")]
    pub labels: StringMap,
    /// Annotations.
    #[serde(deserialize_with = "null_as_default")]
    pub annotations: StringMap,
    /// Finalizers.
    #[serde(deserialize_with = "null_as_default")]
    pub finalizers: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct TemplateShape {
    #[serde(deserialize_with = "null_as_default")]
    metadata: TemplateMeta,
    #[serde(deserialize_with = "null_as_default")]
    spec: PodSpec,
}

impl Template {
    /// Reads a template from its JSON.
    ///
    /// # Errors
    /// When a part that decisions look at has the wrong type.
    pub fn from_json(json: Value) -> Result<Self, serde_json::Error> {
        let shape = TemplateShape::deserialize(&json)?;
        Ok(Self(Arc::new(TemplateParts {
            json,
            metadata: shape.metadata,
            spec: shape.spec,
        })))
    }

    /// The template as the API has it.
    pub fn json(&self) -> &Value {
        &self.0.json
    }

    /// What pods inherit from the template's metadata.
    pub fn metadata(&self) -> &TemplateMeta {
        &self.0.metadata
    }

    /// The part of the pod spec that decisions look at.
    pub fn spec(&self) -> &PodSpec {
        &self.0.spec
    }

    /// Whether both are the same value in memory, which makes a comparison of the JSON needless.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl PartialEq for Template {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other) || self.0.json == other.0.json
    }
}

impl Serialize for Template {
    fn serialize<S: Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
        self.0.json.serialize(output)
    }
}

impl<'de> Deserialize<'de> for Template {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        Self::from_json(Value::deserialize(input)?).map_err(serde::de::Error::custom)
    }
}

/// How pods of an old template are replaced.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UpdateStrategy {
    /// `RollingUpdate` (also when empty) or `OnDelete`, kept as text.
    pub r#type: String,
    /// Limits of a rolling update.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rolling_update: Option<RollingUpdate>,
}

impl UpdateStrategy {
    /// Whether old pods are replaced by the controller at all.
    pub fn is_rolling(&self) -> bool {
        self.r#type.is_empty() || self.r#type == "RollingUpdate"
    }

    /// Whether a new pod may start beside the old one: a rolling update with `maxSurge` above zero.
    pub fn allows_surge(&self) -> bool {
        let surge = self
            .rolling_update
            .as_ref()
            .and_then(|r| r.max_surge.as_ref());
        self.is_rolling() && surge.is_some_and(|s| s.scaled(100, true).is_ok_and(|n| n > 0))
    }
}

/// Limits of a rolling update.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RollingUpdate {
    /// Pods that may be missing; 1 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrPercent>,
    /// Pods that may be there in addition; 0 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<IntOrPercent>,
}

/// The status of a DaemonSet, in the spelling and with the omissions of the API.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DaemonSetStatus {
    /// Nodes that should run the pod and have one.
    pub current_number_scheduled: i64,
    /// Nodes that should not run the pod and have one.
    pub number_misscheduled: i64,
    /// Nodes that should run the pod.
    pub desired_number_scheduled: i64,
    /// Nodes that should run it and whose pod is Ready.
    pub number_ready: i64,
    /// Generation of the spec that was acted on last.
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    /// Nodes that should run it and whose pod is of the current template.
    #[serde(skip_serializing_if = "is_zero")]
    pub updated_number_scheduled: i64,
    /// Nodes that should run it and whose pod is available.
    #[serde(skip_serializing_if = "is_zero")]
    pub number_available: i64,
    /// Nodes that should run it and have no available pod.
    #[serde(skip_serializing_if = "is_zero")]
    pub number_unavailable: i64,
    /// How often the name for a new revision was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collision_count: Option<i64>,
    /// Conditions; upstream defines none, whatever is there is kept.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub conditions: Vec<Value>,
}

/// A ControllerRevision: one template a DaemonSet had.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Revision {
    /// Metadata.
    pub metadata: Meta,
    /// The template, as a patch.
    pub data: Value,
    /// Its number: 1, 2, 3 …, raised when an old template comes back.
    #[serde(deserialize_with = "null_as_default")]
    pub revision: i64,
}

impl Revision {
    /// The hash label, if it has one.
    pub fn hash(&self) -> Option<&str> {
        self.metadata.labels.get(HASH_LABEL).map(String::as_str)
    }
}

impl DaemonSet {
    /// The count of template changes that old pods are recognised by, if it can be read.
    pub fn template_generation(&self) -> Option<i64> {
        self.metadata
            .annotations
            .get(GENERATION_ANNOTATION)?
            .parse()
            .ok()
    }

    /// How long a pod must be Ready before it is available.
    pub fn min_ready(&self) -> jiff::SignedDuration {
        jiff::SignedDuration::from_secs(self.spec.min_ready_seconds.max(0))
    }

    /// The owner reference its pods and revisions carry.
    pub fn owner_reference(&self) -> crate::meta::OwnerReference {
        crate::meta::OwnerReference {
            api_version: "apps/v1".into(),
            kind: "DaemonSet".into(),
            name: self.metadata.name.clone(),
            uid: self.metadata.uid.clone(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        }
    }
}

/// The later of two optional times is not what loops look for: the earlier one that exists.
pub fn earlier(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(n: &i64) -> bool {
    *n == 0
}
