//! Validation of containers.

use super::check::{self, Errors, Unique};
use super::{probe, resources, security, volume};
use crate::field_error::{FieldError, Path};
use crate::names;
use crate::object::Read;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde_json::Value;

/// What containers are validated against.
pub(super) struct Context<'a> {
    /// The pod they belong to.
    pub(super) spec: &'a Value,
}

impl Context<'_> {
    fn grace(&self) -> i64 {
        self.spec.int("terminationGracePeriodSeconds").unwrap_or(0)
    }
}

/// Validates all containers of a pod.
pub(super) fn containers(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let context = Context { spec };
    if spec.list("containers").is_empty() {
        errors.push(FieldError::required(&path.field("containers"), ""));
    }
    let mut names = Unique::default();
    let mut ports = HostPorts::default();
    for (index, container) in spec.list("containers").iter().enumerate() {
        let list = path.field("containers");
        let at = list.index(index);
        common(container, &context, &at, errors);
        // A missing name is reported as missing, not as a duplicate of another missing one.
        let name = container.text("name");
        if !name.is_empty() {
            names.check(name, &at.field("name"), errors);
        }
        probe::container(container, context.grace(), &at, errors);
        if container.at("restartPolicy").is_some() {
            restart_policy(container, &at, errors);
        }
    }
    check::each(spec, "containers", path, |container, at| {
        ports.check(container, at, errors);
    });
    init_containers(&context, &mut names, path, errors);
    ephemeral_containers(&context, &mut names, path, errors);
}

fn init_containers<'a>(
    context: &Context<'a>,
    names: &mut Unique<'a>,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let list = path.field("initContainers");
    for (index, container) in context.spec.list("initContainers").iter().enumerate() {
        let at = list.index(index);
        common(container, context, &at, errors);
        let name = container.text("name");
        if !name.is_empty() {
            names.check(name, &at.field("name"), errors);
        }
        HostPorts::default().check(container, &at, errors);
        if container.text("restartPolicy") == "Always" {
            probe::container(container, context.grace(), &at, errors);
            continue;
        }
        // Only a container that keeps running beside the others has a life to look after.
        for key in [
            "lifecycle",
            "livenessProbe",
            "readinessProbe",
            "startupProbe",
        ] {
            if container.at(key).is_some() {
                let detail = "may not be set for init containers without restartPolicy=Always";
                errors.push(FieldError::forbidden(&at.field(key), detail));
            }
        }
        if container.at("restartPolicy").is_some() {
            restart_policy(container, &at, errors);
        }
    }
}

fn ephemeral_containers<'a>(
    context: &Context<'a>,
    names: &mut Unique<'a>,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let list = path.field("ephemeralContainers");
    for (index, container) in context.spec.list("ephemeralContainers").iter().enumerate() {
        let at = list.index(index);
        common(container, context, &at, errors);
        let name = container.text("name");
        if !name.is_empty() {
            names.check(name, &at.field("name"), errors);
        }
        for key in [
            "ports",
            "lifecycle",
            "livenessProbe",
            "readinessProbe",
            "startupProbe",
        ] {
            if container.at(key).is_some() {
                let detail = "cannot be set for an Ephemeral Container";
                errors.push(FieldError::forbidden(&at.field(key), detail));
            }
        }
    }
}

/// Plain containers follow the pod's policy unless they state a known one.
fn restart_policy(container: &Value, path: &Path<'_>, errors: &mut Errors) {
    let word = container.text("restartPolicy");
    let set = &["Always", "Never", "OnFailure"];
    check::one_of(word, &path.field("restartPolicy"), set, errors);
}

fn common(container: &Value, context: &Context<'_>, path: &Path<'_>, errors: &mut Errors) {
    let name = container.text("name");
    let at = path.field("name");
    if name.is_empty() {
        errors.push(FieldError::required(&at, ""));
    } else {
        check::format(name, &at, names::dns1123_label(name), errors);
    }
    image(container.text("image"), &path.field("image"), errors);
    if container.at("terminationMessagePolicy").is_some() {
        let set = &["FallbackToLogsOnError", "File"];
        let at = path.field("terminationMessagePolicy");
        check::required_one_of(container.text("terminationMessagePolicy"), &at, set, errors);
    }
    ports(container, context.spec.flag("hostNetwork"), path, errors);
    check::each(container, "env", path, |variable, at| {
        environment(variable, at, errors);
    });
    check::each(container, "envFrom", path, |source, at| {
        environment_source(source, at, errors);
    });
    volume::mounts(container, context.spec, path, errors);
    volume::devices(container, context.spec, path, errors);
    let policy = path.field("imagePullPolicy");
    let set = &["Always", "IfNotPresent", "Never"];
    check::required_one_of(container.text("imagePullPolicy"), &policy, set, errors);
    resources::requirements(&container["resources"], &path.field("resources"), errors);
    resize_policy(container, path, errors);
    security::container(container, path, errors);
}

/// Validates an image: given, and without space around it.
pub(super) fn image(image: &str, path: &Path<'_>, errors: &mut Errors) {
    if image.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if image.trim() != image {
        let detail = "must not have leading or trailing whitespace";
        errors.push(FieldError::invalid(path, image, detail));
    }
}

fn ports(container: &Value, host_network: bool, path: &Path<'_>, errors: &mut Errors) {
    let mut names = Unique::default();
    let list = path.field("ports");
    for (index, port) in container.list("ports").iter().enumerate() {
        let at = list.index(index);
        let name = port.text("name");
        if !name.is_empty() {
            let messages = names::port_name(name);
            if messages.is_empty() {
                names.check(name, &at.field("name"), errors);
            }
            check::format(name, &at.field("name"), messages, errors);
        }
        let number = port.int("containerPort").unwrap_or(0);
        let container_at = at.field("containerPort");
        if number == 0 {
            errors.push(FieldError::required(&container_at, ""));
        } else {
            check::within(number, (1, 65535), &container_at, errors);
        }
        let host = port.int("hostPort").unwrap_or(0);
        let host_at = at.field("hostPort");
        if host != 0 {
            check::within(host, (1, 65535), &host_at, errors);
            if host_network && host != number {
                let detail = "must match `containerPort` when `hostNetwork` is true";
                errors.push(FieldError::invalid(&host_at, host, detail));
            }
        }
        let protocol = port.text("protocol");
        let set = &["SCTP", "TCP", "UDP"];
        check::required_one_of(protocol, &at.field("protocol"), set, errors);
    }
}

/// Ports of the host that containers of one pod have taken.
#[derive(Default)]
struct HostPorts(Vec<String>);

impl HostPorts {
    fn check(&mut self, container: &Value, path: &Path<'_>, errors: &mut Errors) {
        check::each(container, "ports", path, |port, at| {
            let number = port.int("hostPort").unwrap_or(0);
            if number == 0 {
                return;
            }
            let taken = format!("{}/{}/{number}", port.text("protocol"), port.text("hostIP"));
            if self.0.contains(&taken) {
                errors.push(FieldError::duplicate(&at.field("hostPort"), taken));
            } else {
                self.0.push(taken);
            }
        });
    }
}

fn environment(variable: &Value, path: &Path<'_>, errors: &mut Errors) {
    let name = variable.text("name");
    let at = path.field("name");
    if name.is_empty() {
        errors.push(FieldError::required(&at, ""));
    } else {
        check::format(name, &at, names::env_var_name(name), errors);
    }
    let Some(source) = variable.at("valueFrom") else {
        return;
    };
    let at = path.field("valueFrom");
    let kinds = [
        "fieldRef",
        "resourceFieldRef",
        "configMapKeyRef",
        "secretKeyRef",
        "fileKeyRef",
    ];
    let given = kinds
        .iter()
        .filter(|kind| source.at(kind).is_some())
        .count();
    if given == 0 {
        let detail = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
        errors.push(FieldError::invalid(&at, "", detail));
    } else if given > 1 {
        let detail = "may not have more than one field specified at a time";
        errors.push(FieldError::invalid(&at, "", detail));
    }
    if given > 0 && !variable.text("value").is_empty() {
        let detail = "may not be specified when `value` is not empty";
        errors.push(FieldError::invalid(&at, "", detail));
    }
    if let Some(field) = source.at("fieldRef") {
        volume::field_reference(field, ENV_FIELDS, &at.field("fieldRef"), errors);
    }
    if let Some(field) = source.at("resourceFieldRef") {
        volume::resource_reference(field, false, &at.field("resourceFieldRef"), errors);
    }
    for kind in ["configMapKeyRef", "secretKeyRef"] {
        if let Some(found) = source.at(kind) {
            key_reference(found, &at.field(kind), errors);
        }
    }
}

/// The fields of a pod that a variable can show.
const ENV_FIELDS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

fn key_reference(reference: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (name, key) = (reference.text("name"), reference.text("key"));
    check::required(name, &path.field("name"), errors);
    let at = path.field("key");
    if key.is_empty() {
        errors.push(FieldError::required(&at, ""));
    } else {
        check::format(key, &at, names::config_map_key(key), errors);
    }
}

fn environment_source(source: &Value, path: &Path<'_>, errors: &mut Errors) {
    let prefix = source.text("prefix");
    if !prefix.is_empty() {
        check::format(
            prefix,
            &path.field("prefix"),
            names::env_var_name(prefix),
            errors,
        );
    }
    let kinds = ["configMapRef", "secretRef"];
    let mut given = 0;
    for kind in kinds {
        if let Some(found) = source.at(kind) {
            given += 1;
            let at = path.field(kind);
            check::required(found.text("name"), &at.field("name"), errors);
        }
    }
    if given == 0 {
        let detail = "must specify one of: `configMapRef` or `secretRef`";
        errors.push(FieldError::invalid(path, "", detail));
    } else if given > 1 {
        let detail = "may not have more than one field specified at a time";
        errors.push(FieldError::invalid(path, "", detail));
    }
}

fn resize_policy(container: &Value, path: &Path<'_>, errors: &mut Errors) {
    let mut names = Unique::default();
    let list = path.field("resizePolicy");
    for (index, policy) in container.list("resizePolicy").iter().enumerate() {
        let at = list.index(index);
        let name = policy.text("resourceName");
        names.check(name, &at, errors);
        check::required_one_of(name, &at.field("resourceName"), &["cpu", "memory"], errors);
        let set = &["NotRequired", "RestartContainer"];
        let word = policy.text("restartPolicy");
        check::required_one_of(word, &at.field("restartPolicy"), set, errors);
    }
}
