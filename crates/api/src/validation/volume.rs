//! Validation of volumes, and of where containers see them.

use super::check::{self, Errors, Unique};
use super::resources;
use crate::field_error::{FieldError, Path};
use crate::names;
use crate::object::Read;
use alloc::format;
use serde_json::Value;

/// Validates the volumes of a pod.
pub(super) fn volumes(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let mut names = Unique::default();
    let list = path.field("volumes");
    for (index, volume) in spec.list("volumes").iter().enumerate() {
        let at = list.index(index);
        source(volume, &at, errors);
        let name = volume.text("name");
        let name_at = at.field("name");
        if name.is_empty() {
            errors.push(FieldError::required(&name_at, ""));
        } else {
            check::format(name, &name_at, names::dns1123_label(name), errors);
            names.check(name, &name_at, errors);
        }
    }
}

fn source(volume: &Value, path: &Path<'_>, errors: &mut Errors) {
    let fields = volume.as_object().into_iter().flatten();
    let mut given = 0;
    for (kind, source) in fields.filter(|(key, value)| *key != "name" && !value.is_null()) {
        let at = path.field(kind);
        given += 1;
        if given > 1 {
            let detail = "may not specify more than 1 volume type";
            errors.push(FieldError::forbidden(&at, detail));
            continue;
        }
        match kind.as_str() {
            "emptyDir" => empty_dir(source, &at, errors),
            "hostPath" => host_path(source, &at, errors),
            "secret" => files(source, "secretName", &at, errors),
            "configMap" => files(source, "name", &at, errors),
            "downwardAPI" => downward(source, &at, errors),
            "projected" => projected(source, &at, errors),
            "persistentVolumeClaim" => {
                check::required(source.text("claimName"), &at.field("claimName"), errors);
            }
            "nfs" => nfs(source, &at, errors),
            "csi" => check::required(source.text("driver"), &at.field("driver"), errors),
            "ephemeral" if source.at("volumeClaimTemplate").is_none() => {
                errors.push(FieldError::required(&at.field("volumeClaimTemplate"), ""));
            }
            _ => {}
        }
    }
    if given == 0 {
        errors.push(FieldError::required(path, "must specify a volume type"));
    }
}

fn empty_dir(source: &Value, path: &Path<'_>, errors: &mut Errors) {
    let limit = source.at("sizeLimit").and_then(resources::quantity);
    if limit.is_some_and(|limit| limit.signum() < 0) {
        let detail = "SizeLimit field must be a valid resource quantity";
        errors.push(FieldError::forbidden(&path.field("sizeLimit"), detail));
    }
}

fn host_path(source: &Value, path: &Path<'_>, errors: &mut Errors) {
    let target = source.text("path");
    let at = path.field("path");
    if target.is_empty() {
        errors.push(FieldError::required(&at, ""));
        return;
    }
    no_backsteps(target, &at, errors);
    let set = &[
        "",
        "BlockDevice",
        "CharDevice",
        "Directory",
        "DirectoryOrCreate",
        "File",
        "FileOrCreate",
        "Socket",
    ];
    check::one_of(source.text("type"), &path.field("type"), set, errors);
}

fn nfs(source: &Value, path: &Path<'_>, errors: &mut Errors) {
    check::required(source.text("server"), &path.field("server"), errors);
    let target = source.text("path");
    check::required(target, &path.field("path"), errors);
    if !target.starts_with('/') {
        let detail = "must be an absolute path";
        errors.push(FieldError::invalid(&path.field("path"), target, detail));
    }
}

fn files(source: &Value, name: &str, path: &Path<'_>, errors: &mut Errors) {
    check::required(source.text(name), &path.field(name), errors);
    mode(
        source.int("defaultMode"),
        &path.field("defaultMode"),
        errors,
    );
    items(source, path, errors);
}

fn items(source: &Value, path: &Path<'_>, errors: &mut Errors) {
    check::each(source, "items", path, |item, at| {
        check::required(item.text("key"), &at.field("key"), errors);
        file_path(item.text("path"), &at.field("path"), errors);
        mode(item.int("mode"), &at.field("mode"), errors);
    });
}

fn file_path(target: &str, path: &Path<'_>, errors: &mut Errors) {
    if target.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    local_path(target, path, errors);
    if target.starts_with("..") && !has_backstep(target) {
        errors.push(FieldError::invalid(
            path,
            target,
            "must not start with '..'",
        ));
    }
}

fn mode(mode: Option<i64>, path: &Path<'_>, errors: &mut Errors) {
    if let Some(mode) = mode.filter(|mode| !(0..=0o777).contains(mode)) {
        let detail = "must be a number between 0 and 0777 (octal), both inclusive";
        errors.push(FieldError::invalid(path, mode, detail));
    }
}

/// The fields of a pod that a volume can show.
const VOLUME_FIELDS: &[&str] = &[
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
];

fn downward(source: &Value, path: &Path<'_>, errors: &mut Errors) {
    mode(
        source.int("defaultMode"),
        &path.field("defaultMode"),
        errors,
    );
    check::each(source, "items", path, |item, at| {
        file_path(item.text("path"), &at.field("path"), errors);
        let (field, resource) = (item.at("fieldRef"), item.at("resourceFieldRef"));
        if let Some(field) = field {
            field_reference(field, VOLUME_FIELDS, &at.field("fieldRef"), errors);
            if resource.is_some() {
                let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
                errors.push(FieldError::invalid(at, "resource", detail));
            }
        } else if let Some(resource) = resource {
            resource_reference(resource, true, &at.field("resourceFieldRef"), errors);
        } else {
            let detail = "one of fieldRef and resourceFieldRef is required";
            errors.push(FieldError::required(at, detail));
        }
        mode(item.int("mode"), &at.field("mode"), errors);
    });
}

fn projected(source: &Value, path: &Path<'_>, errors: &mut Errors) {
    mode(
        source.int("defaultMode"),
        &path.field("defaultMode"),
        errors,
    );
    check::each(source, "sources", path, |source, at| {
        let kinds = source.as_object().into_iter().flatten();
        for (index, (kind, projection)) in kinds.filter(|(_, v)| !v.is_null()).enumerate() {
            let at = at.field(kind);
            if index > 0 {
                let detail = "may not specify more than 1 volume type per source";
                errors.push(FieldError::forbidden(&at, detail));
                continue;
            }
            match kind.as_str() {
                "secret" | "configMap" => {
                    check::required(projection.text("name"), &at.field("name"), errors);
                    items(projection, &at, errors);
                }
                "downwardAPI" => downward(projection, &at, errors),
                "serviceAccountToken" => token(projection, &at, errors),
                _ => {}
            }
        }
    });
}

fn token(projection: &Value, path: &Path<'_>, errors: &mut Errors) {
    let at = path.field("expirationSeconds");
    match projection.int("expirationSeconds") {
        Some(seconds) if seconds < 600 => {
            let detail = "may not specify a duration less than 10 minutes";
            errors.push(FieldError::invalid(&at, seconds, detail));
        }
        Some(seconds) if seconds > 1 << 32 => {
            let detail = "may not specify a duration larger than 2^32 seconds";
            errors.push(FieldError::invalid(&at, seconds, detail));
        }
        _ => {}
    }
    file_path(projection.text("path"), &path.field("path"), errors);
}

/// Validates a reference to a field of the pod.
pub(super) fn field_reference(
    reference: &Value,
    allowed: &[&str],
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let field = reference.text("fieldPath");
    let at = path.field("fieldPath");
    if reference.text("apiVersion").is_empty() {
        errors.push(FieldError::required(&path.field("apiVersion"), ""));
    } else if field.is_empty() {
        errors.push(FieldError::required(&at, ""));
    } else if let Some((map, key)) = subscript(field) {
        let messages = match map {
            "metadata.annotations" => names::qualified_name(&key.to_ascii_lowercase()),
            "metadata.labels" => names::qualified_name(key),
            _ => alloc::vec!["does not support subscript".into()],
        };
        check::format(key, path, messages, errors);
    } else if !is_known_field(field) {
        let detail = format!("error converting fieldPath: field label not supported: {field}");
        errors.push(FieldError::invalid(&at, field, detail));
    } else {
        check::one_of(field, &at, allowed, errors);
    }
}

/// Splits `metadata.labels['key']` into the map and the key.
fn subscript(field: &str) -> Option<(&str, &str)> {
    let (map, rest) = field.split_once("['")?;
    Some((map, rest.strip_suffix("']")?))
}

fn is_known_field(field: &str) -> bool {
    VOLUME_FIELDS.contains(&field)
        || [
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.serviceAccountName",
            "spec.schedulerName",
            "status.phase",
            "status.hostIP",
            "status.hostIPs",
            "status.podIP",
            "status.podIPs",
        ]
        .contains(&field)
}

/// Validates a reference to a resource of a container.
pub(super) fn resource_reference(
    reference: &Value,
    in_volume: bool,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let resource = reference.text("resource");
    if in_volume && reference.text("containerName").is_empty() {
        errors.push(FieldError::required(&path.field("containerName"), ""));
    } else if resource.is_empty() {
        errors.push(FieldError::required(&path.field("resource"), ""));
    } else if !resource.contains("hugepages-") {
        let set = &[
            "limits.cpu",
            "limits.ephemeral-storage",
            "limits.memory",
            "requests.cpu",
            "requests.ephemeral-storage",
            "requests.memory",
        ];
        check::one_of(resource, &path.field("resource"), set, errors);
    }
}

/// Validates a path that must stay below where it starts.
pub(super) fn local_path(target: &str, path: &Path<'_>, errors: &mut Errors) {
    if target.starts_with('/') {
        errors.push(FieldError::invalid(path, target, "must be a relative path"));
    }
    no_backsteps(target, path, errors);
}

fn has_backstep(target: &str) -> bool {
    target.split('/').any(|part| part == "..")
}

fn no_backsteps(target: &str, path: &Path<'_>, errors: &mut Errors) {
    if has_backstep(target) {
        errors.push(FieldError::invalid(path, target, "must not contain '..'"));
    }
}

/// Validates where a container sees the volumes of its pod.
pub(super) fn mounts(container: &Value, spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let list = path.field("volumeMounts");
    let mut paths = alloc::vec::Vec::new();
    for (index, mount) in container.list("volumeMounts").iter().enumerate() {
        let at = list.index(index);
        let name = mount.text("name");
        check::required(name, &at.field("name"), errors);
        if !has_volume(spec, name) {
            errors.push(FieldError::not_found(&at.field("name"), name));
        }
        let target = mount.text("mountPath");
        check::required(target, &at.field("mountPath"), errors);
        if paths.contains(&target) {
            errors.push(FieldError::invalid(
                &at.field("mountPath"),
                target,
                "must be unique",
            ));
        }
        paths.push(target);
        // Upstream names the list and not its item in the paths of these two.
        sub_paths(mount, &list, errors);
        propagation(mount, container, &at, errors);
    }
}

fn has_volume(spec: &Value, name: &str) -> bool {
    spec.list("volumes")
        .iter()
        .any(|volume| volume.text("name") == name)
}

fn sub_paths(mount: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (fixed, expanded) = (mount.text("subPath"), mount.text("subPathExpr"));
    if !fixed.is_empty() {
        local_path(fixed, &path.field("subPath"), errors);
    }
    if !expanded.is_empty() {
        let at = path.field("subPathExpr");
        if !fixed.is_empty() {
            let detail = "subPathExpr and subPath are mutually exclusive";
            errors.push(FieldError::invalid(&at, expanded, detail));
        }
        local_path(expanded, &at, errors);
    }
}

fn propagation(mount: &Value, container: &Value, path: &Path<'_>, errors: &mut Errors) {
    if mount.at("mountPropagation").is_none() {
        return;
    }
    let word = mount.text("mountPropagation");
    let at = path.field("mountPropagation");
    check::one_of(
        word,
        &at,
        &["Bidirectional", "HostToContainer", "None"],
        errors,
    );
    let privileged = container
        .at("securityContext")
        .is_some_and(|context| context.flag("privileged"));
    if word == "Bidirectional" && !privileged {
        let detail = "Bidirectional mount propagation is available only to privileged containers";
        errors.push(FieldError::forbidden(&at, detail));
    }
}

/// Validates the volumes that a container gets as block devices.
pub(super) fn devices(container: &Value, spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    check::each(container, "volumeDevices", path, |device, at| {
        let name = device.text("name");
        check::required(name, &at.field("name"), errors);
        if !name.is_empty() && !has_volume(spec, name) {
            errors.push(FieldError::not_found(&at.field("name"), name));
        }
        let target = device.text("devicePath");
        let device_at = at.field("devicePath");
        check::required(target, &device_at, errors);
        no_backsteps(target, &device_at, errors);
    });
}
