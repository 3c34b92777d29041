//! The other kinds.

use super::{check, check_status, check_update};
use alloc::format;
use alloc::string::String;

fn object(api_version: &str, kind: &str, more: &str) -> String {
    format!(
        "{{apiVersion: {api_version}, kind: {kind}, metadata: {{name: x, namespace: ns, resourceVersion: '1'}}, {more}}}"
    )
}

fn cluster(api_version: &str, kind: &str, more: &str) -> String {
    object(api_version, kind, more).replace("namespace: ns, ", "")
}

#[test]
fn frozen_config_maps_and_secrets() {
    let map = |more: &str| object("v1", "ConfigMap", more);
    check(
        &map("data: {a: b, '..': c}"),
        &["data[..]: Invalid value: \"..\": must not be '..'"],
    );
    check_update(
        &map("immutable: true, data: {k: v}"),
        &map("immutable: true, data: {k: z}"),
        &["data: Forbidden: field is immutable when `immutable` is set"],
    );
    let secret = |more: &str| object("v1", "Secret", more);
    check(
        &secret("type: kubernetes.io/tls, data: {tls.crt: ''}"),
        &["data[tls.key]: Required value"],
    );
    check(
        &secret("type: kubernetes.io/basic-auth, stringData: {password: x}"),
        &[],
    );
    check_update(
        &secret("type: a"),
        &secret("type: b"),
        &["type: Invalid value: \"b\": field is immutable"],
    );
}

#[test]
fn finalizers_and_phases_of_namespaces() {
    let namespace = |more: &str| cluster("v1", "Namespace", more);
    check(
        &namespace("spec: {finalizers: [bad]}"),
        &[
            "spec.finalizers: Invalid value: \"bad\": name is neither a standard finalizer name nor is it fully qualified",
        ],
    );
    check_status(
        &namespace("status: {phase: Active}"),
        &namespace("status: {phase: Terminating}"),
        &[
            "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty",
        ],
    );
}

#[test]
fn names_differ_by_kind() {
    let named = |text: String, name: &str| text.replace("name: x", &format!("name: '{name}'"));
    check(
        &named(cluster("v1", "Namespace", "spec: {}"), "a.b"),
        &["metadata.name: Invalid value: \"a.b\": must not contain dots"],
    );
    let role = cluster("rbac.authorization.k8s.io/v1", "ClusterRole", "rules: []");
    check(&named(role.clone(), "system:Node"), &[]);
    check(
        &named(role, "a/b"),
        &["metadata.name: Invalid value: \"a/b\": may not contain '/'"],
    );
    check(
        &named(object("v1", "Service", "spec: {ports: [{port: 1}]}"), "1a"),
        &[
            "metadata.name: Invalid value: \"1a\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
        ],
    );
    check(
        "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, finalizers: [bad]}}",
        &[
            "metadata.name: Required value: name or generateName is required",
            "metadata.finalizers[0]: Invalid value: \"bad\": name is neither a standard finalizer name nor is it fully qualified",
        ],
    );
}

#[test]
fn events_are_where_their_object_is() {
    check(
        &object("v1", "Event", "involvedObject: {kind: Node, name: x}"),
        &["involvedObject.namespace: Invalid value: \"\": does not match event.namespace"],
    );
    check(
        &object(
            "events.k8s.io/v1",
            "Event",
            "regarding: {kind: Pod, namespace: ns}",
        ),
        &[
            "eventTime: Required value",
            "type: Invalid value: \"\": has invalid value: ",
        ],
    );
}

#[test]
fn leases_last_for_some_time() {
    check(
        &object(
            "coordination.k8s.io/v1",
            "Lease",
            "spec: {leaseDurationSeconds: 0}",
        ),
        &["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"],
    );
}

#[test]
fn priorities_are_bounded_and_final() {
    let class = |more: &str| cluster("scheduling.k8s.io/v1", "PriorityClass", more);
    check(
        &class("value: 1000000001"),
        &["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"],
    );
    let system = class("value: 2000001000").replace("name: x", "name: system-node-critical");
    check(&system, &[]);
    check_update(
        &class("value: 1"),
        &class("value: 2"),
        &["value: Forbidden: may not be changed in an update."],
    );
}

#[test]
fn budgets_say_one_thing() {
    check(
        &object(
            "policy/v1",
            "PodDisruptionBudget",
            "spec: {minAvailable: 1, maxUnavailable: '200%'}",
        ),
        &[
            "spec: Invalid value: {\"maxUnavailable\":\"200%\",\"minAvailable\":1}: minAvailable and maxUnavailable cannot be both set",
            "spec.maxUnavailable: Invalid value: \"200%\": must not be greater than 100%",
        ],
    );
}

#[test]
fn roles_and_bindings() {
    let group = "rbac.authorization.k8s.io/v1";
    check(
        &object(
            group,
            "Role",
            "rules: [{verbs: [get], nonResourceURLs: [/x]}, {}]",
        ),
        &[
            "rules[0].nonResourceURLs: Invalid value: [\"/x\"]: namespaced rules cannot apply to non-resource URLs",
            "rules[1].verbs: Required value: verbs must contain at least one value",
            "rules[1].apiGroups: Required value: resource rules must supply at least one api group",
            "rules[1].resources: Required value: resource rules must supply at least one resource",
        ],
    );
    check(
        &object(
            group,
            "RoleBinding",
            "roleRef: {kind: Thing, name: ''}, subjects: [{kind: ServiceAccount, name: a}, {kind: X, name: b}]",
        ),
        &[
            "roleRef.kind: Unsupported value: \"Thing\": supported values: \"Role\", \"ClusterRole\"",
            "roleRef.name: Required value",
            "subjects[1].kind: Unsupported value: \"X\": supported values: \"ServiceAccount\", \"User\", \"Group\"",
        ],
    );
    check_update(
        &object(group, "RoleBinding", "roleRef: {kind: Role, name: a}"),
        &object(group, "RoleBinding", "roleRef: {kind: Role, name: b}"),
        &[
            "roleRef: Invalid value: {\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"Role\",\"name\":\"b\"}: cannot change roleRef",
        ],
    );
}

#[test]
fn services_and_endpoints() {
    check(
        &object(
            "v1",
            "Service",
            "spec: {type: Odd, ports: [{port: 0}, {port: 1, nodePort: 5}]}",
        ),
        &[
            "spec.ports[0].name: Required value",
            "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
            "spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive",
            "spec.ports[1].name: Required value",
            "spec.type: Unsupported value: \"Odd\": supported values: \"ClusterIP\", \"ExternalName\", \"LoadBalancer\", \"NodePort\"",
        ],
    );
    check(&object("v1", "Service", "spec: {clusterIP: None}"), &[]);
    check(
        &object(
            "discovery.k8s.io/v1",
            "EndpointSlice",
            "addressType: IPv4, endpoints: [{addresses: [x]}]",
        ),
        &[
            "endpoints[0].addresses[0]: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        ],
    );
}

#[test]
fn limits_and_quotas() {
    check(
        &object(
            "v1",
            "LimitRange",
            "spec: {limits: [{type: Container, max: {cpu: '1'}, min: {cpu: '2'}}]}",
        ),
        &[
            "spec.limits[0].min[cpu]: Invalid value: \"2\": min value 2 is greater than max value 1",
            "spec.limits[0].defaultRequest[cpu]: Invalid value: \"2\": min value 2 is greater than default request value 1",
            "spec.limits[0].default[cpu]: Invalid value: \"2\": min value 2 is greater than default value 1",
        ],
    );
    check(
        &object(
            "v1",
            "ResourceQuota",
            "spec: {hard: {pods: 500m, odd: '1'}}",
        ),
        &[
            "spec.hard[odd]: Invalid value: \"odd\": must be a standard resource type or fully qualified",
            "spec.hard[pods]: Invalid value: \"500m\": must be an integer",
        ],
    );
}

#[test]
fn classes_and_drivers() {
    let class = |more: &str| cluster("storage.k8s.io/v1", "StorageClass", more);
    check(
        &class("reclaimPolicy: Delete"),
        &["provisioner: Required value"],
    );
    check_update(
        &class("provisioner: a"),
        &class("provisioner: b"),
        &["provisioner: Forbidden: updates to provisioner are forbidden."],
    );
    check(
        &cluster(
            "storage.k8s.io/v1",
            "CSINode",
            "spec: {drivers: [{name: d}]}",
        ),
        &["spec.drivers[0].nodeID: Required value"],
    );
    let class = |more: &str| cluster("node.k8s.io/v1", "RuntimeClass", more);
    check_update(
        &class("handler: a"),
        &class("handler: b"),
        &["handler: Invalid value: \"b\": field is immutable"],
    );
}

#[test]
fn managers_have_printable_names() {
    let map = |manager: &str| {
        format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: x, namespace: ns, managedFields: [{{manager: \"{manager}\", operation: Update}}]}}}}"
        )
    };
    check(&map("kubectl-édit"), &[]);
    check(
        &map("a\\tb"),
        &[
            "metadata.managedFields[0].manager: Invalid value: \"a\\tb\": invalid character U+0009 (at position 1)",
        ],
    );
    check(
        &map(&"m".repeat(129)),
        &["metadata.managedFields[0].manager: Too long: may not be more than 128 bytes"],
    );
}

#[test]
fn certificates_are_requested_in_pem() {
    let request = |spec: &str| {
        cluster(
            "certificates.k8s.io/v1",
            "CertificateSigningRequest",
            &format!("spec: {{{spec}}}"),
        )
    };
    check(
        &request(
            "usages: [client auth, client auth, flying], signerName: mine, expirationSeconds: 5",
        ),
        &[
            "spec.request: Invalid value: \"\": PEM block type must be CERTIFICATE REQUEST",
            "spec.usages[1]: Duplicate value: \"client auth\"",
            "spec.usages[2]: Unsupported value: \"flying\": supported values: \"any\", \"cert sign\", \"client auth\", \"code signing\", \"content commitment\", \"crl sign\", \"data encipherment\", \"decipher only\", \"digital signature\", \"email protection\", \"encipher only\", \"ipsec end system\", \"ipsec tunnel\", \"ipsec user\", \"key agreement\", \"key encipherment\", \"microsoft sgc\", \"netscape sgc\", \"ocsp signing\", \"s/mime\", \"server auth\", \"signing\", \"timestamping\"",
            "spec.signerName: Invalid value: \"mine\": must be a fully qualified domain and path of the form 'example.com/signer-name'",
            "spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 600 seconds (10 minutes)",
        ],
    );
    let pem = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==";
    check(
        &request(&format!(
            "request: {pem}, usages: [client auth], signerName: a.b/c"
        )),
        &[],
    );
}
