//! Services get an address, and ports on the nodes where their type has them. Nothing routes to
//! either here; clients look at them all the same.

mod node_ports;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use pernode_api::field_error::FieldError;
use pernode_api::resource::find;
use pernode_api::status::Status;
use serde_json::{Value, json};

use crate::call::Actor;
use crate::key;
use crate::object;
use crate::registry::Place;

pub(crate) use node_ports::NodePorts;

/// The host part of an address: the first and the last are not for hosts.
const HOSTS: std::ops::RangeInclusive<u16> = 1..=65_534;

/// Hands out service addresses.
///
/// What is taken is read from the stored services; addresses handed out a moment ago, whose
/// services are not stored yet, are remembered as well.
#[derive(Debug)]
pub(crate) struct Addresses {
    network: [u8; 2],
    recent: Mutex<Vec<String>>,
}

/// Addresses remembered as handed out; far more than there are concurrent writes of services.
const RECENT_MAX: usize = 64;

impl Addresses {
    pub(crate) fn new(network: [u8; 2]) -> Self {
        Self {
            network,
            recent: Mutex::default(),
        }
    }

    /// The first address, which is the API server's own.
    pub(crate) fn first(&self) -> String {
        self.address(*HOSTS.start())
    }

    fn address(&self, host: u16) -> String {
        let ([a, b], [c, d]) = (self.network, host.to_be_bytes());
        format!("{a}.{b}.{c}.{d}")
    }

    fn take(&self, taken: &BTreeSet<String>) -> Option<String> {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let free = HOSTS
            .skip(1)
            .map(|host| self.address(host))
            .find(|address| !taken.contains(address) && !recent.contains(address))?;
        if recent.len() >= RECENT_MAX {
            recent.remove(0);
        }
        recent.push(free.clone());
        Some(free)
    }
}

/// Gives a service an address and ports on the nodes, or checks those it asks for.
pub(super) fn admit(
    actor: &Actor,
    place: &Place,
    (old, service): (Option<&Value>, &mut Value),
) -> Result<(), Status> {
    address(actor, place, service)?;
    node_ports::admit(actor, place, (old, service))
}

fn address(actor: &Actor, place: &Place, service: &mut Value) -> Result<(), Status> {
    let spec = &service["spec"];
    if spec["type"] == "ExternalName" {
        return Ok(());
    }
    let asked = spec["clusterIP"].as_str().unwrap_or_default().to_owned();
    if asked == "None" {
        service["spec"]["clusterIPs"] = json!(["None"]);
        return Ok(());
    }
    let taken = taken(actor, place);
    let address = if asked.is_empty() {
        let addresses = &actor.api.addresses;
        addresses
            .take(&taken)
            .ok_or_else(|| Status::internal("failed to allocate a serviceIP: range is full"))?
    } else if taken.contains(&asked) {
        let error = FieldError::invalid(
            &"spec.clusterIPs",
            json!([asked]),
            "failed to allocate IP: provided IP is already allocated",
        );
        return Err(Status::invalid(place.resource, &place.name, &[error]));
    } else {
        asked
    };
    let spec = &mut service["spec"];
    spec["clusterIPs"] = json!([address]);
    spec["clusterIP"] = address.into();
    if spec["ipFamilies"].is_null() {
        spec["ipFamilies"] = json!(["IPv4"]);
    }
    if spec["ipFamilyPolicy"].is_null() {
        spec["ipFamilyPolicy"] = json!("SingleStack");
    }
    Ok(())
}

/// The addresses of all other services.
fn taken(actor: &Actor, place: &Place) -> BTreeSet<String> {
    let resource = find("", "v1", "services").expect("services are in the table");
    let own = place.key();
    actor
        .api
        .store
        .list(&key::prefix(resource, None))
        .iter()
        .filter(|item| *item.key != *own)
        .filter_map(|item| match item.attrs.field("spec.clusterIP") {
            Some(address) => Some(address.to_owned()),
            None => object::parse(&item.bytes)["spec"]["clusterIP"]
                .as_str()
                .map(str::to_owned),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_handed_out_once() {
        let addresses = Addresses::new([10, 96]);
        assert_eq!(addresses.first(), "10.96.0.1");
        let taken = BTreeSet::from(["10.96.0.2".to_owned()]);
        assert_eq!(addresses.take(&taken).unwrap(), "10.96.0.3");
        assert_eq!(addresses.take(&taken).unwrap(), "10.96.0.4");
        let mut all: BTreeSet<String> = HOSTS.map(|host| addresses.address(host)).collect();
        assert_eq!(addresses.take(&all), None);
        all.remove("10.96.200.7");
        assert_eq!(addresses.take(&all).unwrap(), "10.96.200.7");
    }
}
