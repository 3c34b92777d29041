//! The cases of `tests/cases/printing.yaml`, and cells they do not have.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use std::println;

use serde_json::{Value, json};

use super::*;
use crate::resource::{RESOURCES, find_kind};

const CASES: &str = include_str!("../../../../tests/cases/printing.yaml");

fn now() -> Timestamp {
    "2026-03-10T12:00:00Z".parse().unwrap()
}

fn resource_of(object: &Value) -> &'static Resource {
    let api_version = object["apiVersion"].as_str().unwrap();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    find_kind(group, version, object["kind"].as_str().unwrap()).unwrap()
}

/// The columns without descriptions; an empty format is left out.
fn bare_columns(kind: &str) -> Value {
    let resource = RESOURCES.iter().find(|it| it.kind == kind).unwrap();
    let mut columns = columns(resource);
    for column in columns.as_array_mut().unwrap() {
        let column = column.as_object_mut().unwrap();
        let description = column.remove("description").unwrap();
        assert!(!description.as_str().unwrap().is_empty());
        if column["format"] == "" {
            column.remove("format");
        }
    }
    columns
}

fn rows(case: &Value) -> Value {
    let now = case["given"]["now"].as_str().unwrap().parse().unwrap();
    let objects = case["given"]["objects"].as_array().unwrap();
    let rows = objects.iter().map(|object| {
        let mut row = row(resource_of(object), object, now);
        assert_eq!(row["object"].take(), Value::Null);
        row.as_object_mut().unwrap().remove("object");
        row
    });
    rows.collect()
}

#[test]
fn cases_hold() {
    let cases: Vec<Value> = serde_saphyr::from_str(CASES).unwrap();
    let mut ran = 0;
    for case in &cases {
        let given = &case["given"];
        println!("case {}", case["id"]);
        if let Some(kinds) = given.get("columns_of") {
            for kind in kinds.as_array().unwrap() {
                let kind = kind.as_str().unwrap();
                assert_eq!(bare_columns(kind), case["expect"]["columns"][kind]);
            }
        } else if let Some(seconds) = given.get("seconds") {
            let seconds = seconds.as_array().unwrap().iter();
            let texts: Value = seconds
                .map(|it| human_duration(it.as_i64().unwrap()))
                .collect();
            assert_eq!(texts, case["expect"]["texts"]);
        } else if given.get("steps").is_none() {
            assert_eq!(rows(case), case["expect"]["rows"]);
        } else {
            continue;
        }
        ran += 1;
    }
    assert!(ran > 30, "only {ran} cases ran");
}

/// Checks the cells of one object, written as JSON.
#[track_caller]
fn check(object: &Value, expected: &Value) {
    let cells: Value = row_cells(resource_of(object), object, now()).into();
    assert_eq!(&cells, expected);
}

#[test]
fn every_row_has_a_cell_for_each_column() {
    for resource in RESOURCES {
        let columns = columns_of(resource);
        // An object without anything reads as empty: no kind's cells fail on it.
        let row = row(resource, &json!({}), now());
        assert_eq!(row["cells"].as_array().unwrap().len(), columns.len());
        let names: Vec<_> = columns.iter().filter(|it| it.name == "Name").collect();
        assert_eq!(names.len(), 1, "{}", resource.kind);
        assert_eq!(names[0].format, "name");
    }
}

#[test]
fn daemon_sets_and_revisions() {
    check(
        &json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet",
            "metadata": {"name": "agent", "creationTimestamp": "2026-03-10T11:00:00Z"},
            "spec": {
                "selector": {
                    "matchLabels": {"z": "1", "a": "2"},
                    "matchExpressions": [
                        {"key": "k", "operator": "In", "values": ["y", "x"]},
                        {"key": "b", "operator": "DoesNotExist"},
                    ],
                },
                "template": {"spec": {
                    "nodeSelector": {"disk": "ssd", "arch": "arm"},
                    "containers": [{"name": "c1", "image": "i:1"}, {"name": "c2", "image": "i:2"}],
                }},
            },
            "status": {
                "desiredNumberScheduled": 5, "currentNumberScheduled": 4, "numberReady": 3,
                "updatedNumberScheduled": 2, "numberAvailable": 1,
            },
        }),
        &json!([
            "agent",
            5,
            4,
            3,
            2,
            1,
            "arch=arm,disk=ssd",
            "60m",
            "c1,c2",
            "i:1,i:2",
            "a=2,!b,k in (x,y),z=1"
        ]),
    );
    let owner = json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "controller": true,
    });
    check(
        &json!({
            "apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 7,
            "metadata": {"name": "agent-1", "ownerReferences": [owner]},
        }),
        &json!(["agent-1", "daemonset.apps/agent", 7, "<unknown>"]),
    );
}

#[test]
fn pods_when_wide() {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {
            "nodeName": "n1", "containers": [{"name": "a"}],
            "readinessGates": [{"conditionType": "a"}, {"conditionType": "b"}],
        },
        "status": {
            "phase": "Running", "podIPs": [{"ip": "10.0.0.1"}], "nominatedNodeName": "n2",
            "conditions": [{"type": "a", "status": "True"}, {"type": "b", "status": "False"}],
        },
    });
    check(
        &pod,
        &json!([
            "p",
            "0/1",
            "Running",
            "0",
            "<unknown>",
            "10.0.0.1",
            "n1",
            "n2",
            "1/2"
        ]),
    );
}

#[test]
fn services() {
    let service = |kind: &str, extra: Value| {
        let mut service = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
            "spec": {
                "type": kind, "clusterIP": "10.0.0.1",
                "ports": [
                    {"port": 80, "protocol": "TCP"},
                    {"port": 53, "nodePort": 30053, "protocol": "UDP"},
                ],
            },
        });
        for (key, value) in extra.as_object().unwrap() {
            service["spec"][key] = value.clone();
        }
        service
    };
    let ports = "80/TCP,53:30053/UDP";
    check(
        &service("ClusterIP", json!({"selector": {"app": "x"}})),
        &json!([
            "s",
            "ClusterIP",
            "10.0.0.1",
            "<none>",
            ports,
            "<unknown>",
            "app=x"
        ]),
    );
    check(
        &service("LoadBalancer", json!({})),
        &json!([
            "s",
            "LoadBalancer",
            "10.0.0.1",
            "<pending>",
            ports,
            "<unknown>",
            "<none>"
        ]),
    );
    check(
        &service(
            "ExternalName",
            json!({"externalName": "x.org", "clusterIP": "", "ports": []}),
        ),
        &json!([
            "s",
            "ExternalName",
            "<none>",
            "x.org",
            "<none>",
            "<unknown>",
            "<none>"
        ]),
    );
}

#[test]
fn endpoints_and_slices() {
    let addresses: Vec<_> = (1..=5)
        .map(|n| json!({"ip": format!("fd00::{n}")}))
        .collect();
    check(
        &json!({
            "apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "e"},
            "subsets": [{"addresses": addresses, "ports": [{"port": 80}]}],
        }),
        &json!([
            "e",
            "[fd00::1]:80,[fd00::2]:80,[fd00::3]:80 + 2 more...",
            "<unknown>"
        ]),
    );
    check(
        &json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": {"name": "e"},
            "addressType": "IPv4", "ports": [{"port": 80}, {"name": "all"}],
            "endpoints": [{"addresses": ["10.0.0.1"]}, {"addresses": ["10.0.0.2"]}],
        }),
        &json!(["e", "IPv4", "80,all", "10.0.0.1,10.0.0.2", "<unknown>"]),
    );
}

#[test]
fn ingresses_and_network_policies() {
    let rules: Vec<_> = ["a", "b", "", "c", "d"]
        .iter()
        .map(|host| json!({"host": host}))
        .collect();
    check(
        &json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "i"},
            "spec": {"ingressClassName": "c", "rules": rules, "tls": [{}]},
            "status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}, {"hostname": "h"}]}},
        }),
        &json!([
            "i",
            "c",
            "a,b,* + 2 more...",
            "10.0.0.1,h",
            "80, 443",
            "<unknown>"
        ]),
    );
    check(
        &json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "i"},
            "spec": {"controller": "a.b/c", "parameters": {"apiGroup": "g", "kind": "K", "name": "x"}},
        }),
        &json!(["i", "a.b/c", "K.g/x", "<unknown>"]),
    );
    check(
        &json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "p"},
            "spec": {"podSelector": {"matchLabels": {"app": "x"}}},
        }),
        &json!(["p", "app=x", "<unknown>"]),
    );
}

#[test]
fn budgets_bindings_and_requests() {
    check(
        &json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"},
            "spec": {"minAvailable": "50%"}, "status": {"disruptionsAllowed": 2},
        }),
        &json!(["b", "50%", "N/A", 2, "<unknown>"]),
    );
    check(
        &json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": "view"},
            "subjects": [
                {"kind": "User", "name": "ann"}, {"kind": "User", "name": "bob"},
                {"kind": "ServiceAccount", "namespace": "x", "name": "sa"},
            ],
        }),
        &json!(["b", "ClusterRole/view", "<unknown>", "ann, bob", "", "x/sa"]),
    );
    check(
        &json!({
            "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
            "metadata": {"name": "c"},
            "spec": {"signerName": "s", "username": "u", "expirationSeconds": 86400},
            "status": {"conditions": [{"type": "Approved"}], "certificate": "x"},
        }),
        &json!(["c", "<unknown>", "s", "u", "24h", "Approved,Issued"]),
    );
}

#[test]
fn events_of_the_other_group() {
    let event = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"},
        "regarding": {"kind": "Node", "name": "n1"}, "type": "Normal", "reason": "Why",
        "note": "text", "reportingController": "ctl", "eventTime": "2026-03-10T10:00:00.000000Z",
        "series": {"count": 4, "lastObservedTime": "2026-03-10T11:59:00.000000Z"},
    });
    check(
        &event,
        &json!([
            "60s", "Normal", "Why", "node/n1", "", "ctl", "text", "120m", 4, "e"
        ]),
    );
}

#[test]
fn a_kind_without_a_printer_shows_its_time() {
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": "r", "creationTimestamp": "2026-03-10T11:00:00Z"},
    });
    check(&role, &json!(["r", "2026-03-10T11:00:00Z"]));
    let headings: Vec<String> = columns_of(find_kind("", "v1", "LimitRange").unwrap())
        .iter()
        .map(|it| it.name.to_owned())
        .collect();
    assert_eq!(headings, ["Name", "Created At"]);
}
