//! Tests of `defaults`.

use super::*;
use crate::resource::find_kind;
use proptest::prelude::*;
use std::string::ToString;

/// Defaults an object written as YAML; the result must contain the other one.
fn check(given: &str, wanted: &str) {
    let mut object: Value = serde_saphyr::from_str(given).unwrap();
    let wanted: Value = serde_saphyr::from_str(wanted).unwrap();
    let resource = resource_of(&object);
    apply_defaults(resource, &mut object);
    contains("", &object, &wanted);
    let once = object.clone();
    apply_defaults(resource, &mut object);
    assert_eq!(object, once, "the second time changed something");
}

fn resource_of(object: &Value) -> &'static Resource {
    let api_version = object.text("apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    find_kind(group, version, object.text("kind")).unwrap()
}

fn contains(path: &str, found: &Value, wanted: &Value) {
    match wanted {
        Value::Object(map) => {
            for (key, value) in map {
                contains(&std::format!("{path}.{key}"), &found[key], value);
            }
        }
        Value::Array(items) => {
            assert_eq!(
                found.as_array().map(std::vec::Vec::len),
                Some(items.len()),
                "{path}"
            );
            for (index, item) in items.iter().enumerate() {
                contains(&std::format!("{path}[{index}]"), &found[index], item);
            }
        }
        _ => assert_eq!(found, wanted, "{path}"),
    }
}

#[test]
fn pods_are_completed() {
    check(
        "
        apiVersion: v1
        kind: Pod
        metadata: {name: p}
        spec:
          serviceAccountName: sa
          containers:
            - name: a
              image: a
              resources: {limits: {cpu: 1000m, memory: 1Gi}, requests: {cpu: 500m}}
              lifecycle: {preStop: {httpGet: {port: 80}}}
              livenessProbe: {grpc: {port: 1}, timeoutSeconds: 7}
              env: [{name: N, valueFrom: {fieldRef: {fieldPath: metadata.name}}}, {name: C, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}]
            - {name: b, image: 'r:5000/a/b:1'}
            - {name: c, image: 'r:5000/a/b'}
            - {name: d, image: 'a@sha256:0000000000000000000000000000000000000000000000000000000000000000'}
          volumes:
            - {name: h, hostPath: {path: /x}}
            - {name: p, projected: {sources: [{serviceAccountToken: {path: t}}, {downwardAPI: {items: [{path: n, fieldRef: {fieldPath: metadata.name}}]}}]}}
        status: {podIP: 10.0.0.1}
        ",
        "
        spec:
          enableServiceLinks: true
          restartPolicy: Always
          dnsPolicy: ClusterFirst
          schedulerName: default-scheduler
          terminationGracePeriodSeconds: 30
          securityContext: {}
          serviceAccount: sa
          containers:
            - imagePullPolicy: Always
              terminationMessagePath: /dev/termination-log
              terminationMessagePolicy: File
              resources: {limits: {cpu: '1', memory: 1Gi}, requests: {cpu: 500m, memory: 1Gi}}
              lifecycle: {preStop: {httpGet: {path: /, scheme: HTTP}}}
              livenessProbe: {grpc: {service: ''}, timeoutSeconds: 7, periodSeconds: 10, successThreshold: 1, failureThreshold: 3}
              env: [{valueFrom: {fieldRef: {apiVersion: v1}}}, {valueFrom: {resourceFieldRef: {divisor: '0'}}}]
            - imagePullPolicy: IfNotPresent
            - imagePullPolicy: Always
            - imagePullPolicy: IfNotPresent
          volumes:
            - hostPath: {type: ''}
            - projected: {defaultMode: 420, sources: [{serviceAccountToken: {expirationSeconds: 3600}}, {downwardAPI: {items: [{fieldRef: {apiVersion: v1}}]}}]}
        status: {podIPs: [{ip: 10.0.0.1}]}
        ",
    );
}

#[test]
fn ports_of_pods_in_the_hosts_network_are_the_hosts() {
    check(
        "
        apiVersion: v1
        kind: Pod
        spec: {hostNetwork: true, containers: [{name: a, image: a, ports: [{containerPort: 80}]}]}
        ",
        "spec: {containers: [{ports: [{containerPort: 80, hostPort: 80, protocol: TCP}]}]}",
    );
}

#[test]
fn amounts_are_canonical_and_in_thousandths() {
    check(
        "
        apiVersion: v1
        kind: Pod
        spec: {containers: [{name: a, image: a, resources: {requests: {cpu: 0.0001, memory: 1024Mi, x.y/z: 9E}}}]}
        ",
        "spec: {containers: [{resources: {requests: {cpu: 1m, memory: 1024Mi, x.y/z: 9E}}}]}",
    );
}

#[test]
fn services_say_how_they_send_traffic() {
    check(
        "
        apiVersion: v1
        kind: Service
        spec: {type: LoadBalancer, sessionAffinity: ClientIP, ports: [{port: 80}, {name: b, port: 81, targetPort: web}]}
        ",
        "
        spec:
          ports: [{port: 80, protocol: TCP, targetPort: 80}, {targetPort: web}]
          sessionAffinityConfig: {clientIP: {timeoutSeconds: 10800}}
          externalTrafficPolicy: Cluster
          internalTrafficPolicy: Cluster
          allocateLoadBalancerNodePorts: true
        status: {loadBalancer: {}}
        ",
    );
}

#[test]
fn secrets_fold_texts_into_data() {
    check(
        "
        apiVersion: v1
        kind: Secret
        data: {a: b2xk, b: Yg==}
        stringData: {a: new}
        ",
        "{type: Opaque, data: {a: bmV3, b: Yg==}, stringData: null}",
    );
}

#[test]
fn namespaces_carry_their_name() {
    check(
        "{apiVersion: v1, kind: Namespace, metadata: {name: ns}}",
        "{metadata: {labels: {kubernetes.io/metadata.name: ns}}, status: {phase: Active}}",
    );
}

#[test]
fn nodes_offer_all_they_have() {
    check(
        "{apiVersion: v1, kind: Node, spec: {podCIDR: 10.0.0.0/24}, status: {capacity: {cpu: '4'}}}",
        "{spec: {podCIDRs: [10.0.0.0/24]}, status: {allocatable: {cpu: '4'}}}",
    );
}

#[test]
fn limit_ranges_complete_themselves() {
    check(
        "
        apiVersion: v1
        kind: LimitRange
        spec: {limits: [{type: Container, max: {cpu: '1'}, min: {cpu: 100m, memory: 1Mi}}]}
        ",
        "spec: {limits: [{default: {cpu: '1'}, defaultRequest: {cpu: '1', memory: 1Mi}}]}",
    );
}

#[test]
fn bindings_and_classes_have_defaults() {
    check(
        "
        apiVersion: rbac.authorization.k8s.io/v1
        kind: RoleBinding
        roleRef: {kind: Role, name: r}
        subjects: [{kind: User, name: u}, {kind: ServiceAccount, name: s}]
        ",
        "{roleRef: {apiGroup: rbac.authorization.k8s.io}, subjects: [{apiGroup: rbac.authorization.k8s.io}, {apiGroup: null}]}",
    );
    check(
        "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass}",
        "preemptionPolicy: PreemptLowerPriority",
    );
    check(
        "{apiVersion: storage.k8s.io/v1, kind: StorageClass}",
        "{reclaimPolicy: Delete, volumeBindingMode: Immediate}",
    );
}

#[test]
fn the_template_generation_must_be_a_number() {
    let resource = find_kind("apps", "v1", "DaemonSet").unwrap();
    let check = |text: &str, wanted: Result<(), &str>| {
        let object = json!({"metadata": {"annotations": {TEMPLATE_GENERATION: text}}});
        assert_eq!(
            check_conversion(resource, &object),
            wanted.map_err(ToString::to_string)
        );
    };
    check("-3", Ok(()));
    check(
        "two",
        Err("strconv.ParseInt: parsing \"two\": invalid syntax"),
    );
    check("", Err("strconv.ParseInt: parsing \"\": invalid syntax"));
    check(
        "9223372036854775808",
        Err("strconv.ParseInt: parsing \"9223372036854775808\": value out of range"),
    );
}

/// Values that an object may hold at any place, well-typed or not.
fn any_value() -> impl Strategy<Value = Value> {
    let keys = prop::sample::select(std::vec![
        "name",
        "image",
        "containers",
        "initContainers",
        "volumes",
        "ports",
        "resources",
        "limits",
        "requests",
        "cpu",
        "hostNetwork",
        "hostPort",
        "containerPort",
        "template",
        "spec",
        "metadata",
        "updateStrategy",
        "type",
        "rollingUpdate",
        "maxSurge",
        "configMap",
        "projected",
        "sources",
        "livenessProbe",
        "httpGet",
        "env",
        "valueFrom",
        "fieldRef",
        "serviceAccount",
        "serviceAccountName",
        "status",
        "podIP",
        "podIPs",
        "stringData",
        "data",
        "targetPort",
        "port",
        "sessionAffinity",
        "subsets",
        "subjects",
        "kind",
        "capacity",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..100).prop_map(Value::from),
        "(|[a-z]{1,4}|1000m|0\\.5|RollingUpdate|None|ClientIP)".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(keys.clone(), inner, 0..6).prop_map(|map| {
                Value::Object(map.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn defaulting_twice_changes_nothing_more(
        index in 0..crate::resource::RESOURCES.len(),
        mut object in any_value(),
    ) {
        let resource = &crate::resource::RESOURCES[index];
        apply_defaults(resource, &mut object);
        let once = object.clone();
        apply_defaults(resource, &mut object);
        prop_assert_eq!(object, once);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Objects come from decoding, which knows their types. Should one be odd all the same, it may
    /// be refused or accepted, but nothing breaks.
    #[test]
    fn no_object_breaks_the_pipeline(
        index in 0..crate::resource::RESOURCES.len(),
        mut object in any_value(),
        mut old in any_value(),
    ) {
        use crate::{strategy, validation};
        let resource = &crate::resource::RESOURCES[index];
        apply_defaults(resource, &mut object);
        apply_defaults(resource, &mut old);
        let mut new = object.clone();
        strategy::prepare_create(resource, &mut new);
        for error in validation::validate_create(resource, &new) {
            prop_assert!(!error.to_string().is_empty());
        }
        let mut new = object.clone();
        strategy::prepare_update(resource, &mut new, &old);
        validation::validate_update(resource, &new, &old);
        strategy::prepare_status_update(resource, &mut object, &old);
        validation::validate_status_update(resource, &object, &old);
        let now = jiff::Timestamp::UNIX_EPOCH;
        let options = strategy::deletion::Options::default();
        strategy::plan_deletion(resource, &old, &options, now);
    }
}
