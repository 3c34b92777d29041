//! Validation of storage classes and of the drivers on nodes.

use super::check::{self, Errors, IMMUTABLE, Unique};
use crate::field_error::{FieldError, Path};
use crate::names;
use crate::object::Read;
use serde_json::Value;

/// Validates a StorageClass.
pub(super) fn storage_class(object: &Value, errors: &mut Errors) {
    let provisioner = object.text("provisioner");
    let at = Path::new("provisioner");
    check::required(provisioner, &at, errors);
    if !provisioner.is_empty() {
        let lower = provisioner.to_ascii_lowercase();
        check::format(provisioner, &at, names::qualified_name(&lower), errors);
    }
    let set = &["Delete", "Retain"];
    check::one_of(
        object.text("reclaimPolicy"),
        &Path::new("reclaimPolicy"),
        set,
        errors,
    );
    let set = &["Immediate", "WaitForFirstConsumer"];
    let mode = Path::new("volumeBindingMode");
    check::required_one_of(object.text("volumeBindingMode"), &mode, set, errors);
}

/// Validates what an update of a StorageClass must not change.
pub(super) fn storage_class_update(new: &Value, old: &Value, errors: &mut Errors) {
    for (key, detail) in [
        ("parameters", "updates to parameters are forbidden."),
        ("provisioner", "updates to provisioner are forbidden."),
        ("reclaimPolicy", "updates to reclaimPolicy are forbidden."),
    ] {
        if !check::equal(new.get(key), old.get(key)) {
            errors.push(FieldError::forbidden(&key, detail));
        }
    }
    let mode = Path::new("volumeBindingMode");
    check::immutable(new, old, "volumeBindingMode", &mode, errors);
}

/// Validates a CSINode.
pub(super) fn csi_node(object: &Value, errors: &mut Errors) {
    let path = Path::new("spec");
    let list = path.field("drivers");
    let mut names = Unique::default();
    for (index, driver) in object["spec"].list("drivers").iter().enumerate() {
        let at = list.index(index);
        let name = driver.text("name");
        check::required(name, &at.field("name"), errors);
        names.check(name, &at.field("name"), errors);
        let node = driver.text("nodeID");
        check::required(node, &at.field("nodeID"), errors);
        if node.len() > 256 {
            let detail = "must be 256 characters or less";
            errors.push(FieldError::invalid(&at.field("nodeID"), node, detail));
        }
        if let Some(limit) = driver.at("allocatable") {
            let at = at.field("allocatable");
            check::nonnegative(limit.int("count"), &at.field("count"), errors);
        }
    }
}

/// Validates what an update of a CSINode must not change: drivers come and go as a whole.
pub(super) fn csi_node_update(new: &Value, old: &Value, errors: &mut Errors) {
    let before = old["spec"].list("drivers");
    let path = Path::new("spec");
    check::each(&new["spec"], "drivers", &path, |driver, at| {
        let name = driver.text("name");
        let same = before.iter().find(|old| old.text("name") == name);
        if same.is_some_and(|old| !check::equal(Some(old), Some(driver))) {
            errors.push(FieldError::invalid(at, driver.clone(), IMMUTABLE));
        }
    });
}
