//! The parts of `ObjectMeta` that decisions look at.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};

/// A map of strings, as labels and annotations are.
pub type StringMap = BTreeMap<String, String>;

/// What a loop knows about an object apart from its spec and status.
///
/// Fields that are absent or `null` in the API are empty here. `managedFields` are never kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Meta {
    /// Name, unique in its namespace for the kind.
    pub name: String,
    /// Prefix the server makes a name from when `name` is empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub generate_name: String,
    /// Namespace; empty for cluster-scoped objects.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Unique over all time; a re-created object of the same name has another one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Revision of the last write, a decimal integer in text form.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// Counts changes of the spec.
    #[serde(skip_serializing_if = "is_zero")]
    pub generation: i64,
    /// When the server stored it first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<Timestamp>,
    /// When it is to be gone at the latest; present once deletion was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<Timestamp>,
    /// Seconds between the request to delete and `deletion_timestamp`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_grace_period_seconds: Option<i64>,
    /// Labels.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub labels: StringMap,
    /// Annotations.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub annotations: StringMap,
    /// What has to happen before the object may go.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub finalizers: Vec<String>,
    /// Owners; at most one of them is the controller.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "null_as_default"
    )]
    pub owner_references: Vec<OwnerReference>,
}

/// A reference from a dependent to its owner.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    /// `group/version`, or `version` for the core group.
    pub api_version: String,
    /// Kind of the owner.
    pub kind: String,
    /// Name of the owner, in the same namespace or cluster-scoped.
    pub name: String,
    /// Uid of the owner: what counts when an owner is looked up.
    pub uid: String,
    /// Whether this owner manages the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<bool>,
    /// Whether a foreground deletion of the owner waits for this dependent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_owner_deletion: Option<bool>,
}

impl Meta {
    /// The owner that manages this object, if it has one.
    pub fn controller(&self) -> Option<&OwnerReference> {
        self.owner_references
            .iter()
            .find(|o| o.controller == Some(true))
    }

    /// Whether deletion was asked for.
    pub fn is_deleting(&self) -> bool {
        self.deletion_timestamp.is_some()
    }
}

/// A time as Kubernetes prints it: RFC 3339 in whole seconds, UTC.
pub fn seconds(time: Timestamp) -> String {
    let whole = Timestamp::from_second(time.as_second());
    whole.map_or_else(|_| time.to_string(), |whole| whole.to_string())
}

/// Reads JSON `null` as the type's default, as Go does.
///
/// # Errors
/// Whatever reading `T` itself gives.
pub fn null_as_default<'de, D, T>(input: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(input)?.unwrap_or_default())
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(n: &i64) -> bool {
    *n == 0
}
