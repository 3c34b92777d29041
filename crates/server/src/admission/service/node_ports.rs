//! Ports on the nodes: one number for each service port that is reached through every node.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::{Mutex, PoisonError};

use pernode_api::field_error::FieldError;
use pernode_api::resource::find;
use pernode_api::status::Status;
use pernode_api::strategy::service::{
    needs_health_port, needs_node_ports, node_ports, set_node_ports,
};
use serde_json::Value;

use super::RECENT_MAX;
use crate::call::Actor;
use crate::key;
use crate::object;
use crate::registry::Place;

/// The ports there are, Kubernetes' default.
const RANGE: RangeInclusive<u16> = 30_000..=32_767;
/// The ports that are handed out first: those below are left to people who choose their own, as
/// long as there are others.
const HANDED_OUT_FROM: u16 = 30_086;

/// Ports handed out a moment ago, whose services are not stored yet.
#[derive(Debug, Default)]
pub(crate) struct NodePorts {
    recent: Mutex<Vec<u16>>,
}

impl NodePorts {
    fn take(&self, taken: &BTreeSet<i64>) -> Option<u16> {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let free = (HANDED_OUT_FROM..=*RANGE.end())
            .chain(*RANGE.start()..HANDED_OUT_FROM)
            .find(|port| !taken.contains(&i64::from(*port)) && !recent.contains(port))?;
        if recent.len() >= RECENT_MAX {
            recent.remove(0);
        }
        recent.push(free);
        Some(free)
    }
}

/// Gives a service the ports on the nodes that it needs, and checks those it asks for.
pub(super) fn admit(
    actor: &Actor,
    place: &Place,
    (old, service): (Option<&Value>, &mut Value),
) -> Result<(), Status> {
    let health = needs_health_port(service);
    if !health && !needs_node_ports(service) {
        return Ok(());
    }
    let taken = taken(actor, place);
    let own: BTreeSet<i64> = old.map(ports_of).unwrap_or_default();
    if let Err(error) = check(service, &own, &taken) {
        return Err(Status::invalid(place.resource, &place.name, &[error]));
    }
    let used: BTreeSet<i64> = taken.union(&ports_of(service)).copied().collect();
    let mut full = false;
    let mut next = || {
        let port = actor.api.node_ports.take(&used);
        full |= port.is_none();
        port
    };
    if needs_node_ports(service) {
        set_node_ports(service, &mut next);
    }
    if health
        && service["spec"]["healthCheckNodePort"].as_i64().unwrap_or(0) == 0
        && let Some(port) = next()
    {
        service["spec"]["healthCheckNodePort"] = port.into();
    }
    if full {
        return Err(Status::internal(
            "failed to allocate a nodePort: range is full",
        ));
    }
    Ok(())
}

/// Checks the ports a service asks for, beside those it has.
fn check(service: &Value, own: &BTreeSet<i64>, taken: &BTreeSet<i64>) -> Result<(), FieldError> {
    let mut seen: Vec<(i64, &str)> = Vec::new();
    for (index, number, protocol) in node_ports(service) {
        let refuse = |detail: &str| {
            let path = format!("spec.ports[{index}].nodePort");
            Err(FieldError::invalid(&path.as_str(), number, detail))
        };
        if own.contains(&number) {
            continue;
        }
        if !u16::try_from(number).is_ok_and(|port| RANGE.contains(&port)) {
            return refuse(&format!(
                "provided port is not in the valid range. The range of valid ports is {}-{}",
                RANGE.start(),
                RANGE.end()
            ));
        }
        if taken.contains(&number) || seen.contains(&(number, protocol)) {
            return refuse("provided port is already allocated");
        }
        seen.push((number, protocol));
    }
    Ok(())
}

fn ports_of(service: &Value) -> BTreeSet<i64> {
    let health = service["spec"]["healthCheckNodePort"].as_i64();
    node_ports(service)
        .into_iter()
        .map(|(_, number, _)| number)
        .chain(health)
        .collect()
}

/// The ports of all other services.
fn taken(actor: &Actor, place: &Place) -> BTreeSet<i64> {
    let resource = find("", "v1", "services").expect("services are in the table");
    let own = place.key();
    let services = actor.api.store.list(&key::prefix(resource, None));
    services
        .iter()
        .filter(|item| *item.key != *own)
        // Most services have no such port, and then need not be parsed.
        .filter(|item| memchr::memmem::find(&item.bytes, b"odePort\":").is_some())
        .flat_map(|item| ports_of(&object::parse(&item.bytes)))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ports_are_handed_out_once_and_the_lower_ones_last() {
        let ports = NodePorts::default();
        let taken = BTreeSet::from([30_086]);
        assert_eq!(ports.take(&taken), Some(30_087));
        assert_eq!(ports.take(&taken), Some(30_088));
        let upper = (30_086..=32_767).collect();
        assert_eq!(ports.take(&upper), Some(30_000));
        let all = (30_000..=32_767).collect();
        assert_eq!(ports.take(&all), None);
    }

    #[test]
    fn asked_for_ports_are_checked() {
        let check = |ports: Value, expected: &str| {
            let service = json!({"spec": {"type": "NodePort", "ports": ports}});
            let found = check(&service, &BTreeSet::from([80]), &BTreeSet::from([30_001]));
            let found = found.err().map(|error| error.to_string());
            assert_eq!(found.unwrap_or_default(), expected);
        };
        let port = |number: u16, protocol: &str| json!({"nodePort": number, "protocol": protocol});
        check(json!([port(30_000, "TCP"), port(30_000, "UDP")]), "");
        check(json!([port(80, "TCP")]), "");
        check(
            json!([port(30_000, "TCP"), port(30_000, "TCP")]),
            "spec.ports[1].nodePort: Invalid value: 30000: provided port is already allocated",
        );
        check(
            json!([port(30_001, "UDP")]),
            "spec.ports[0].nodePort: Invalid value: 30001: provided port is already allocated",
        );
        check(
            json!([port(81, "TCP")]),
            "spec.ports[0].nodePort: Invalid value: 81: provided port is not in the valid range. The range of valid ports is 30000-32767",
        );
    }
}
