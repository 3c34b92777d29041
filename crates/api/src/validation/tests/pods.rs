//! Pods and nodes.

use super::{check, check_status, check_update};
use alloc::format;
use alloc::string::String;

/// A pod with something put into its spec.
fn pod(more: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: p, namespace: ns, resourceVersion: '1'}}, spec: {{containers: [{{name: c, image: i}}]{more}}}}}"
    )
}

/// A pod whose container has something more.
fn container(more: &str) -> String {
    pod("").replacen("image: i", &format!("image: i, {more}"), 1)
}

fn spec(more: &str, wanted: &[&str]) {
    check(&pod(&format!(", {more}")), wanted);
}

fn with(more: &str, wanted: &[&str]) {
    check(&container(more), wanted);
}

#[test]
fn an_ordinary_pod_is_fine() {
    check(
        "
        apiVersion: v1
        kind: Pod
        metadata: {name: p, namespace: ns, labels: {a: b}, annotations: {A.b/c: d}}
        spec:
          nodeName: node-1
          hostNetwork: true
          priorityClassName: system-node-critical
          tolerations: [{operator: Exists}, {key: a, value: b, effect: NoExecute, tolerationSeconds: 5}]
          affinity:
            nodeAffinity:
              requiredDuringSchedulingIgnoredDuringExecution:
                nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [node-1]}]}]
          securityContext: {runAsUser: 0, fsGroup: 1, sysctls: [{name: net.core/somaxconn, value: '1'}], seccompProfile: {type: RuntimeDefault}}
          initContainers: [{name: i, image: i, restartPolicy: Always, startupProbe: {exec: {command: [x]}}}]
          containers:
            - name: c
              image: i
              args: [x]
              ports: [{name: http, containerPort: 80}, {containerPort: 81, protocol: UDP}]
              env: [{name: A, value: b}, {name: B, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['a']\"}}}]
              envFrom: [{configMapRef: {name: x}}]
              resources: {requests: {cpu: 100m, example.com/gpu: 1}, limits: {cpu: '1', example.com/gpu: 1}}
              volumeMounts: [{name: v, mountPath: /v}, {name: s, mountPath: /s, subPath: a/b}]
              livenessProbe: {httpGet: {port: http}, initialDelaySeconds: 3}
              readinessProbe: {tcpSocket: {port: 80}, successThreshold: 3}
              lifecycle: {preStop: {sleep: {seconds: 5}}}
              securityContext: {privileged: true, capabilities: {add: [NET_ADMIN]}}
          volumes: [{name: v}, {name: s, secret: {secretName: x, items: [{key: a, path: b}]}}, {name: h, hostPath: {path: /var, type: Directory}}]
          dnsConfig: {nameservers: [1.1.1.1], searches: [., a.b.], options: [{name: ndots, value: '2'}]}
          hostAliases: [{ip: 10.0.0.1, hostnames: [a.b]}]
          topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]
        ",
        &[],
    );
}

#[test]
fn containers_have_names_images_and_ports() {
    check(
        &pod("").replace("name: c, image: i", "name: C_, image: ' i'"),
        &[
            "spec.containers[0].name: Invalid value: \"C_\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
            "spec.containers[0].image: Invalid value: \" i\": must not have leading or trailing whitespace",
        ],
    );
    with(
        "ports: [{containerPort: 0}, {containerPort: 70000, protocol: ICMP}, {containerPort: 1, name: a}, {containerPort: 2, name: a}]",
        &[
            "spec.containers[0].ports[0].containerPort: Required value",
            "spec.containers[0].ports[1].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
            "spec.containers[0].ports[1].protocol: Unsupported value: \"ICMP\": supported values: \"SCTP\", \"TCP\", \"UDP\"",
            "spec.containers[0].ports[3].name: Duplicate value: \"a\"",
        ],
    );
    with(
        "ports: [{containerPort: 1, hostPort: 9}, {containerPort: 2, hostPort: 9}]",
        &["spec.containers[0].ports[1].hostPort: Duplicate value: \"TCP//9\""],
    );
    with(
        "imagePullPolicy: Often, terminationMessagePolicy: Screen",
        &[
            "spec.containers[0].terminationMessagePolicy: Unsupported value: \"Screen\": supported values: \"FallbackToLogsOnError\", \"File\"",
            "spec.containers[0].imagePullPolicy: Unsupported value: \"Often\": supported values: \"Always\", \"IfNotPresent\", \"Never\"",
        ],
    );
}

#[test]
fn requests_are_within_limits() {
    with(
        "resources: {requests: {cpu: '2', foo: '1', example.com/gpu: '1'}, limits: {cpu: '1', memory: '-1', example.com/gpu: 500m}}",
        &[
            "spec.containers[0].resources.limits[example.com/gpu]: Invalid value: \"500m\": must be an integer",
            "spec.containers[0].resources.limits[memory]: Invalid value: \"-1\": must be greater than or equal to 0",
            "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1",
            "spec.containers[0].resources.requests: Invalid value: \"1\": must be equal to example.com/gpu limit of 500m",
            "spec.containers[0].resources.requests[foo]: Invalid value: \"foo\": must be a standard resource type or fully qualified",
            "spec.containers[0].resources.requests[foo]: Invalid value: \"foo\": must be a standard resource for containers",
            "spec.containers[0].resources.requests[memory]: Invalid value: \"-1\": must be greater than or equal to 0",
        ],
    );
    with(
        "resources: {requests: {example.com/gpu: '1'}}",
        &[
            "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources",
        ],
    );
    with(
        "resources: {limits: {hugepages-2Mi: 2Mi}}",
        &["spec.containers[0].resources: Forbidden: HugePages require cpu or memory"],
    );
}

#[test]
fn variables_have_one_source() {
    with(
        "env: [{name: ''}, {name: a=b}, {name: c, value: x, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}, {name: d, valueFrom: {}}, {name: e, valueFrom: {fieldRef: {fieldPath: status.phase}}}, {name: f, valueFrom: {secretKeyRef: {name: s, key: ..}}}]",
        &[
            "spec.containers[0].env[0].name: Required value",
            "spec.containers[0].env[1].name: Invalid value: \"a=b\": a valid environment variable name must consist only of printable ASCII characters other than '='",
            "spec.containers[0].env[2].valueFrom: Invalid value: \"\": may not be specified when `value` is not empty",
            "spec.containers[0].env[3].valueFrom: Invalid value: \"\": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
            "spec.containers[0].env[4].valueFrom.fieldRef.fieldPath: Unsupported value: \"status.phase\": supported values: \"metadata.name\", \"metadata.namespace\", \"metadata.uid\", \"spec.nodeName\", \"spec.serviceAccountName\", \"status.hostIP\", \"status.hostIPs\", \"status.podIP\", \"status.podIPs\"",
            "spec.containers[0].env[5].valueFrom.secretKeyRef.key: Invalid value: \"..\": must not be '..'",
        ],
    );
}

#[test]
fn probes_have_one_handler() {
    with(
        "livenessProbe: {successThreshold: 2, periodSeconds: -1}",
        &[
            "spec.containers[0].livenessProbe: Required value: must specify a handler type",
            "spec.containers[0].livenessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0",
            "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
        ],
    );
    with(
        "readinessProbe: {exec: {command: []}, httpGet: {port: 80}}",
        &[
            "spec.containers[0].readinessProbe.exec.command: Required value",
            "spec.containers[0].readinessProbe.httpGet: Forbidden: may not specify more than 1 handler type",
        ],
    );
    check(
        &pod(
            ", initContainers: [{name: i, image: i, livenessProbe: {tcpSocket: {port: 1}}}, {name: c, image: i}]",
        ),
        &[
            "spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always",
            "spec.initContainers[1].name: Duplicate value: \"c\"",
        ],
    );
}

#[test]
fn volumes_have_one_source_and_are_mounted_by_name() {
    spec(
        "volumes: [{name: a, secret: {}}, {name: a, hostPath: {path: /a/../b, type: Nothing}}, {name: c, configMap: {name: x, defaultMode: 512}, emptyDir: {}}]",
        &[
            "spec.volumes[0].secret.secretName: Required value",
            "spec.volumes[1].hostPath.path: Invalid value: \"/a/../b\": must not contain '..'",
            "spec.volumes[1].hostPath.type: Unsupported value: \"Nothing\": supported values: \"\", \"BlockDevice\", \"CharDevice\", \"Directory\", \"DirectoryOrCreate\", \"File\", \"FileOrCreate\", \"Socket\"",
            "spec.volumes[1].name: Duplicate value: \"a\"",
            "spec.volumes[2].configMap.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive",
            "spec.volumes[2].emptyDir: Forbidden: may not specify more than 1 volume type",
        ],
    );
    with(
        "volumeMounts: [{name: nope, mountPath: ''}]",
        &[
            "spec.containers[0].volumeMounts[0].name: Not found: \"nope\"",
            "spec.containers[0].volumeMounts[0].mountPath: Required value",
        ],
    );
}

#[test]
fn tolerations_follow_their_rules() {
    spec(
        "tolerations: [{key: ''}, {key: a, operator: Exists, value: b}, {key: a, effect: Maybe}, {key: a, tolerationSeconds: 1}]",
        &[
            "spec.tolerations[0].operator: Invalid value: \"\": operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
            "spec.tolerations[1].operator: Invalid value: {\"key\":\"a\",\"operator\":\"Exists\",\"value\":\"b\"}: value must be empty when `operator` is 'Exists'",
            "spec.tolerations[2].effect: Unsupported value: \"Maybe\": supported values: \"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\"",
            "spec.tolerations[3].effect: Invalid value: \"\": effect must be 'NoExecute' when `tolerationSeconds` is set",
        ],
    );
}

#[test]
fn affinities_follow_their_rules() {
    spec(
        "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {}}, podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 0, podAffinityTerm: {topologyKey: zone}}]}}",
        &[
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: must have at least one node selector term",
            "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 0: must be in the range 1-100",
        ],
    );
}

#[test]
fn names_addresses_and_contexts_are_checked() {
    spec(
        "nodeName: N_, hostname: a.b, dnsPolicy: None, hostAliases: [{ip: x}]",
        &[
            "spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None",
            "spec.nodeName: Invalid value: \"N_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            "spec.hostname: Invalid value: \"a.b\": must not contain dots",
            "spec.hostAliases[0].ip: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        ],
    );
    spec(
        "hostUsers: false, hostPID: true, securityContext: {runAsUser: -1, seccompProfile: {type: Localhost}}",
        &[
            "spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
            "spec.securityContext.seccompProfile.localhostProfile: Required value: must be set when type is Localhost",
            "spec.hostPID: Forbidden: when `hostUsers` is false",
        ],
    );
    with(
        "securityContext: {privileged: true, allowPrivilegeEscalation: false}",
        &[
            "spec.containers[0].securityContext.allowPrivilegeEscalation: Invalid value: false: cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
        ],
    );
}

#[test]
fn few_things_of_a_pod_can_change() {
    let old = pod(", nodeName: a, tolerations: [{key: k, operator: Exists}]");
    let images = old.replace("image: i", "image: j, imagePullPolicy: Always");
    check_update(&old, &images, &[]);
    let tolerated = old.replace(
        "tolerations: [",
        "tolerations: [{key: m, operator: Exists}, ",
    );
    check_update(&old, &tolerated, &[]);
    check_update(
        &old,
        &old.replace("nodeName: a", "nodeName: a, activeDeadlineSeconds: 5"),
        &[],
    );
    check_update(
        &old,
        &old.replace("key: k", "key: l"),
        &[
            "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds",
        ],
    );
    check_update(
        &old,
        &old.replace("image: i}", "image: i}, {name: d, image: i}"),
        &["spec.containers: Forbidden: pod updates may not add or remove containers"],
    );
    check_update(
        &old,
        &old.replace("nodeName: a", "nodeName: b"),
        &[
            "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n@@ -11,7 +11,7 @@\n   ],\n   \"dnsPolicy\": \"ClusterFirst\",\n   \"enableServiceLinks\": true,\n-  \"nodeName\": \"a\",\n+  \"nodeName\": \"b\",\n   \"restartPolicy\": \"Always\",\n   \"schedulerName\": \"default-scheduler\",\n   \"securityContext\": {},\n",
        ],
    );
}

#[test]
fn a_gated_pod_has_no_node_and_a_new_one_no_visitors() {
    spec(
        "nodeName: a, schedulingGates: [{name: g}], ephemeralContainers: [{name: e, image: i}]",
        &[
            "spec.ephemeralContainers: Forbidden: cannot be set on create",
            "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
        ],
    );
}

#[test]
fn a_gated_pod_may_become_choosier() {
    let old = pod(", schedulingGates: [{name: g}], nodeSelector: {a: b}");
    check_update(&old, &pod(", nodeSelector: {a: b, c: d}"), &[]);
    check_update(
        &old,
        &pod(", schedulingGates: [{name: g}, {name: h}], nodeSelector: {c: d}"),
        &[
            "spec.schedulingGates: Forbidden: only deletion is allowed, but found new scheduling gate 'h'",
            "spec.nodeSelector: Invalid value: {\"c\":\"d\"}: only additions to spec.nodeSelector are allowed (no mutations or deletions)",
        ],
    );
}

#[test]
fn a_finished_container_stays_finished() {
    let status = |policy: &str, state: &str| {
        format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: p, namespace: ns, resourceVersion: '1'}}, spec: {{restartPolicy: {policy}, containers: []}}, status: {{containerStatuses: [{{name: c, state: {{{state}}}}}]}}}}"
        )
    };
    let (ended, running) = ("terminated: {exitCode: 0}", "running: {}");
    check_status(
        &status("Never", ended),
        &status("Never", running),
        &[
            "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state",
        ],
    );
    check_status(&status("Always", ended), &status("Always", running), &[]);
    let failed = "terminated: {exitCode: 1}";
    check_status(
        &status("OnFailure", failed),
        &status("OnFailure", running),
        &[],
    );
}

#[test]
fn taints_of_nodes() {
    let node = |more: &str| {
        format!(
            "{{apiVersion: v1, kind: Node, metadata: {{name: node-a, resourceVersion: '1'}}, spec: {{{more}}}}}"
        )
    };
    check(
        &node(
            "taints: [{key: a, effect: Bogus}, {key: a, effect: NoSchedule}, {key: a, effect: NoSchedule}]",
        ),
        &[
            "metadata.taints[0].effect: Unsupported value: \"Bogus\": supported values: \"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\"",
            "metadata.taints[2]: Duplicate value: {\"effect\":\"NoSchedule\",\"key\":\"a\"}: taints must be unique by key and effect pair",
        ],
    );
    check_update(
        &node("podCIDR: 10.0.0.0/24, providerID: x"),
        &node("podCIDR: 10.2.0.0/24, providerID: y"),
        &[
            "spec.podCIDRs: Forbidden: node updates may not change podCIDR except from \"\" to valid",
            "spec.providerID: Forbidden: node updates may not change providerID except from \"\" to valid",
        ],
    );
}
