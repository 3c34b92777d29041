//! Tests of `strategy`.

use super::*;
use crate::resource::{find, find_kind};

fn kind(group: &str, kind: &str) -> &'static Resource {
    find_kind(group, "v1", kind).unwrap()
}

fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

#[test]
fn new_objects_have_no_status_of_their_own() {
    let mut node = yaml("{status: {phase: x}}");
    prepare_create(kind("", "Node"), &mut node);
    assert_eq!(
        node["status"]["phase"], "x",
        "nodes register with their status"
    );
    let mut pod = yaml("{spec: {containers: []}, status: {phase: Running}}");
    prepare_create(kind("", "Pod"), &mut pod);
    assert_eq!(
        pod["status"],
        json!({"phase": "Pending", "qosClass": "BestEffort"})
    );
    assert_eq!(pod["metadata"]["generation"], 1);
    let mut namespace = yaml("{metadata: {name: ns}}");
    prepare_create(kind("", "Namespace"), &mut namespace);
    assert_eq!(namespace["spec"], json!({"finalizers": ["kubernetes"]}));
    assert_eq!(namespace["status"], json!({"phase": "Active"}));
    let mut map = yaml("{metadata: {name: c}}");
    prepare_create(kind("", "ConfigMap"), &mut map);
    assert_eq!(map, yaml("{metadata: {name: c}}"));
}

#[test]
fn system_fields_are_the_servers() {
    let mut object = yaml("{metadata: {uid: mine, creationTimestamp: x, deletionTimestamp: y}}");
    prepare_create(kind("", "ConfigMap"), &mut object);
    fill_system_fields(&mut object, "u1", at(1000));
    let wanted = json!({"uid": "u1", "creationTimestamp": "1970-01-01T00:16:40Z"});
    assert_eq!(object["metadata"], wanted);
}

#[test]
fn repeated_owners_are_dropped_with_a_warning() {
    let mut object = yaml(
        "{metadata: {ownerReferences: [{name: o, uid: u-1}, {name: o, uid: u-1}, {name: p, uid: u-1}]}}",
    );
    let warnings = prepare_create(kind("", "ConfigMap"), &mut object);
    assert_eq!(
        object["metadata"]["ownerReferences"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert_eq!(
        warnings,
        [
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: u-1"
        ]
    );
}

#[test]
fn deprecated_annotations_are_warned_about() {
    let object = yaml(
        "{spec: {template: {metadata: {annotations: {container.apparmor.security.beta.kubernetes.io/c: x}}}}}",
    );
    assert_eq!(
        warnings(kind("apps", "DaemonSet"), &object),
        [
            "spec.template.metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: deprecated since v1.30; use the \"appArmorProfile\" field instead"
        ]
    );
}

#[test]
fn classes_of_service_follow_from_resources() {
    let check = |resources: &[&str], wanted: &str| {
        let containers: Vec<Value> = resources
            .iter()
            .map(|text| json!({"resources": yaml(text)}))
            .collect();
        assert_eq!(pod::qos_class(&json!({"containers": containers})), wanted);
    };
    check(&["{}"], "BestEffort");
    check(&["{requests: {cpu: '0'}}"], "BestEffort");
    check(&["{requests: {cpu: 1}}"], "BestEffort");
    check(&["{requests: {cpu: '1'}}"], "Burstable");
    check(&["{limits: {cpu: '1', memory: 1Gi}}"], "Guaranteed");
    let full = "{limits: {cpu: '1', memory: 1Gi}, requests: {cpu: 1000m, memory: 1024Mi}}";
    check(&[full], "Guaranteed");
    check(&[full, "{}"], "Burstable");
    check(
        &["{limits: {cpu: '1', memory: 1Gi}, requests: {cpu: 500m}}"],
        "Burstable",
    );
}

#[test]
fn updates_keep_what_is_the_servers() {
    let old = yaml(
        "
        metadata: {name: c, uid: u, resourceVersion: '5', creationTimestamp: t, generation: 4}
        status: {a: 1}
        spec: {b: 1}
        ",
    );
    let mut new =
        yaml("{metadata: {creationTimestamp: x, generation: 9}, status: {a: 2}, spec: {b: 1}}");
    prepare_update(kind("", "Pod"), &mut new, &old);
    assert_eq!(new, old);
    let mut new = yaml("{metadata: {}, spec: {b: 2}}");
    prepare_update(kind("", "Pod"), &mut new, &old);
    assert_eq!(new["metadata"]["generation"], 5);
    let mut new = yaml("{metadata: {labels: {x: z}}, spec: {b: 2}, status: {a: 2}}");
    prepare_status_update(kind("", "Pod"), &mut new, &old);
    assert_eq!(new["spec"], old["spec"]);
    assert_eq!(new["status"]["a"], 2);
    assert_eq!(new["metadata"]["labels"], json!({"x": "z"}));
    assert_eq!(new["metadata"]["generation"], 4);
}

#[test]
fn status_writes_cannot_touch_owners_or_the_class_of_pods() {
    let old = yaml("{metadata: {ownerReferences: [{uid: o}]}, status: {qosClass: Burstable}}");
    let mut new = yaml("{metadata: {ownerReferences: []}, status: {phase: Running}}");
    prepare_status_update(kind("", "Pod"), &mut new, &old);
    assert_eq!(new["metadata"]["ownerReferences"], json!([{"uid": "o"}]));
    assert_eq!(
        new["status"],
        json!({"phase": "Running", "qosClass": "Burstable"})
    );
}

#[test]
fn approving_changes_conditions_only() {
    let old = yaml("{metadata: {name: r}, spec: {request: x}, status: {certificate: c}}");
    let mut new = yaml("{metadata: {name: r}, spec: {}, status: {conditions: [{type: Approved}]}}");
    prepare_approval_update(&mut new, &old);
    assert_eq!(new["spec"], old["spec"]);
    assert_eq!(
        new["status"],
        json!({"certificate": "c", "conditions": [{"type": "Approved"}]})
    );
}

#[test]
fn services_keep_their_address() {
    let mut service = yaml("{spec: {type: NodePort, ports: [{port: 80, protocol: TCP}]}}");
    prepare_create(kind("", "Service"), &mut service);
    assert!(service::needs_node_ports(&service));
    for (key, value) in [
        ("clusterIP", json!("10.0.0.7")),
        ("clusterIPs", json!(["10.0.0.7"])),
        ("ipFamilies", json!(["IPv4"])),
        ("ipFamilyPolicy", json!("SingleStack")),
    ] {
        service["spec"][key] = value;
    }
    service::set_node_ports(&mut service, || Some(30000));
    let mut new = yaml("{spec: {type: NodePort, ports: [{port: 80, protocol: TCP}]}}");
    prepare_update(kind("", "Service"), &mut new, &service);
    assert_eq!(new["spec"], service["spec"]);
    assert_eq!(
        new["spec"],
        json!({
            "type": "NodePort", "clusterIP": "10.0.0.7", "clusterIPs": ["10.0.0.7"],
            "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
            "ports": [{"port": 80, "protocol": "TCP", "nodePort": 30000}],
        })
    );
    let mut headless = yaml("{spec: {type: ClusterIP, clusterIP: None}}");
    prepare_create(kind("", "Service"), &mut headless);
    assert_eq!(headless["spec"]["clusterIPs"], json!(["None"]));
}

#[test]
fn services_leave_behind_what_belonged_to_their_old_type() {
    let old = yaml(
        "{spec: {type: LoadBalancer, clusterIP: 10.0.0.7, clusterIPs: [10.0.0.7], externalTrafficPolicy: Local,
          internalTrafficPolicy: Cluster, allocateLoadBalancerNodePorts: true, healthCheckNodePort: 30001,
          ports: [{port: 80, protocol: TCP, nodePort: 30000}]}}",
    );
    let check = |kind_of_service: &str, wanted: &str| {
        let mut new = old.clone();
        new["spec"]["type"] = kind_of_service.into();
        prepare_update(kind("", "Service"), &mut new, &old);
        assert_eq!(new["spec"], yaml(wanted));
    };
    check(
        "NodePort",
        "{type: NodePort, clusterIP: 10.0.0.7, clusterIPs: [10.0.0.7], externalTrafficPolicy: Local,
          internalTrafficPolicy: Cluster, ports: [{port: 80, protocol: TCP, nodePort: 30000}]}",
    );
    check(
        "ClusterIP",
        "{type: ClusterIP, clusterIP: 10.0.0.7, clusterIPs: [10.0.0.7],
          internalTrafficPolicy: Cluster, ports: [{port: 80, protocol: TCP}]}",
    );
    check(
        "ExternalName",
        "{type: ExternalName, ports: [{port: 80, protocol: TCP}]}",
    );
}

#[test]
fn ports_on_nodes_are_shared_between_protocols() {
    let mut service = yaml(
        "{spec: {type: NodePort, ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP},
          {port: 80, protocol: TCP}, {port: 81, protocol: TCP, nodePort: 31000}]}}",
    );
    let mut numbers = 30000..;
    service::set_node_ports(&mut service, || numbers.next());
    assert_eq!(
        service::node_ports(&service),
        [
            (0, 30000, "UDP"),
            (1, 30000, "TCP"),
            (2, 30001, "TCP"),
            (3, 31000, "TCP")
        ]
    );
}

const RUNNING: &str = "
    metadata: {name: p, generation: 1}
    spec: {nodeName: n1, terminationGracePeriodSeconds: 30}
    status: {phase: Running}
    ";

#[test]
fn grace_is_for_pods_that_run() {
    let pods = kind("", "Pod");
    let check = |pod: &str, requested, wanted| {
        assert_eq!(deletion_grace(pods, &yaml(pod), requested), wanted);
    };
    check(RUNNING, None, Grace::Begin { seconds: 30 });
    check(RUNNING, Some(5), Grace::Begin { seconds: 5 });
    check(RUNNING, Some(-5), Grace::Begin { seconds: 1 });
    check(
        "{spec: {terminationGracePeriodSeconds: 30}}",
        Some(300),
        Grace::Begin { seconds: 0 },
    );
    check(
        "{spec: {nodeName: n}, status: {phase: Failed}}",
        Some(9),
        Grace::Begin { seconds: 0 },
    );
    let deleting = "{metadata: {deletionTimestamp: x, deletionGracePeriodSeconds: 20}}";
    check(deleting, None, Grace::Running);
    check(deleting, Some(20), Grace::Running);
    check(deleting, Some(19), Grace::Shorten { seconds: 19 });
    check("{metadata: {deletionTimestamp: x}}", Some(9), Grace::Absent);
    let map = deletion_grace(kind("", "ConfigMap"), &yaml("{}"), Some(9));
    assert_eq!(map, Grace::Absent);
}

fn options(seconds: Option<i64>) -> deletion::Options {
    deletion::Options {
        grace_period_seconds: seconds,
        ..deletion::Options::default()
    }
}

#[test]
fn a_pod_is_marked_shortened_and_removed() {
    let pods = kind("", "Pod");
    let Deletion::Keep(marked) = plan_deletion(pods, &yaml(RUNNING), &options(None), at(1000))
    else {
        panic!("a running pod stays");
    };
    assert_eq!(
        marked["metadata"],
        json!({
            "name": "p", "generation": 2, "deletionGracePeriodSeconds": 30,
            "deletionTimestamp": "1970-01-01T00:17:10Z",
        })
    );
    assert_eq!(
        plan_deletion(pods, &marked, &options(None), at(1001)),
        Deletion::Unchanged
    );
    let Deletion::Keep(shorter) = plan_deletion(pods, &marked, &options(Some(10)), at(1002)) else {
        panic!("a shorter grace is kept");
    };
    assert_eq!(
        shorter["metadata"]["deletionTimestamp"],
        "1970-01-01T00:16:50Z"
    );
    assert_eq!(shorter["metadata"]["generation"], 2);
    assert!(!deletion::is_finished(&shorter));
    let Deletion::Remove(last) = plan_deletion(pods, &shorter, &options(Some(0)), at(1003)) else {
        panic!("grace 0 removes");
    };
    assert_eq!(last["metadata"]["deletionGracePeriodSeconds"], 0);
}

fn finalizers_after(before: &str, options: &deletion::Options) -> (Value, bool) {
    let object = yaml(&format!("{{metadata: {{finalizers: {before}}}}}"));
    match plan_deletion(kind("", "ConfigMap"), &object, options, at(0)) {
        Deletion::Keep(object) => (object["metadata"]["finalizers"].clone(), true),
        Deletion::Remove(object) => (object["metadata"]["finalizers"].clone(), false),
        Deletion::Unchanged => (Value::Null, true),
    }
}

#[test]
fn propagation_sets_finalizers() {
    let policy = |word| deletion::Options {
        propagation: Propagation::parse(word),
        ..deletion::Options::default()
    };
    let orphan = |orphan| deletion::Options {
        orphan_dependents: Some(orphan),
        ..deletion::Options::default()
    };
    let check = |before: &str, options, after: Value, stays: bool| {
        assert_eq!(
            finalizers_after(before, &options),
            (after, stays),
            "{before}"
        );
    };
    check(
        "[]",
        policy("Foreground"),
        json!(["foregroundDeletion"]),
        true,
    );
    check(
        "[e/a]",
        policy("Foreground"),
        json!(["e/a", "foregroundDeletion"]),
        true,
    );
    check(
        "[orphan]",
        policy("Foreground"),
        json!(["foregroundDeletion"]),
        true,
    );
    check("[orphan]", policy("Background"), Value::Null, false);
    check(
        "[foregroundDeletion, e/x]",
        policy("Background"),
        json!(["e/x"]),
        true,
    );
    check(
        "[orphan]",
        deletion::Options::default(),
        json!(["orphan"]),
        true,
    );
    check(
        "[e/x, orphan, e/y]",
        orphan(false),
        json!(["e/x", "e/y"]),
        true,
    );
    check(
        "[e/a, e/b]",
        orphan(true),
        json!(["e/a", "e/b", "orphan"]),
        true,
    );
}

#[test]
fn a_marked_object_goes_with_its_last_finalizer() {
    let object = yaml("{metadata: {generation: 3, finalizers: [e/a]}}");
    let sets = kind("apps", "DaemonSet");
    let Deletion::Keep(mut marked) = plan_deletion(sets, &object, &options(None), at(0)) else {
        panic!("finalizers hold it");
    };
    assert_eq!(marked["metadata"]["generation"], 4);
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 0);
    assert!(!deletion::is_finished(&marked));
    let again = plan_deletion(sets, &marked, &options(None), at(9));
    assert_eq!(again, Deletion::Unchanged);
    marked["metadata"]["finalizers"] = json!([]);
    assert!(deletion::is_finished(&marked));
}

#[test]
fn a_namespace_goes_when_it_is_empty() {
    let namespaces = kind("", "Namespace");
    let object = yaml("{kind: Namespace, metadata: {name: ns}, spec: {finalizers: [kubernetes]}}");
    let Deletion::Keep(mut marked) = plan_deletion(namespaces, &object, &options(None), at(0))
    else {
        panic!("its content holds it");
    };
    assert_eq!(marked["status"]["phase"], "Terminating");
    assert_eq!(
        plan_deletion(namespaces, &marked, &options(None), at(1)),
        Deletion::Unchanged
    );
    assert!(!deletion::is_finished(&marked));
    marked["spec"]["finalizers"] = json!([]);
    assert!(deletion::is_finished(&marked));
}

#[test]
fn events_own_nothing() {
    let events = find("", "v1", "events").unwrap();
    let foreground = deletion::Options {
        propagation: Some(Propagation::Foreground),
        ..deletion::Options::default()
    };
    let plan = plan_deletion(events, &yaml("{metadata: {}}"), &foreground, at(0));
    assert!(matches!(plan, Deletion::Remove(_)));
}

#[test]
fn a_surge_over_a_host_port_is_warned_about() {
    let spec = |strategy: Value, port: Value| {
        let template = json!({"spec": {"containers": [{"name": "c", "ports": [port]}]}});
        json!({"spec": {"updateStrategy": {"rollingUpdate": strategy}, "template": template}})
    };
    let daemonsets = crate::resource::find("apps", "v1", "daemonsets").unwrap();
    let count = |strategy, port| warnings(daemonsets, &spec(strategy, port)).len();
    let taken = json!({"containerPort": 80, "hostPort": 8080});
    assert_eq!(count(json!({"maxSurge": 1}), taken.clone()), 1);
    assert_eq!(count(json!({"maxSurge": 0}), taken), 0);
    assert_eq!(
        count(json!({"maxSurge": "10%"}), json!({"containerPort": 80})),
        0
    );
}
