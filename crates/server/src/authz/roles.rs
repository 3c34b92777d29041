//! The roles and bindings a new cluster starts with.
//!
//! Names are Kubernetes' own, because tools refer to them. The rules are written here by what each
//! role is for, and cover the kinds that this server has.

use serde_json::{Value, json};

const READ: &[&str] = &["get", "list", "watch"];
const WRITE: &[&str] = &["create", "delete", "deletecollection", "patch", "update"];

fn rule(groups: &[&str], resources: &[&str], verbs: &[&[&str]]) -> Value {
    json!({"apiGroups": groups, "resources": resources, "verbs": verbs.concat()})
}

fn urls(paths: &[&str]) -> Value {
    json!({"nonResourceURLs": paths, "verbs": ["get"]})
}

fn metadata(name: &str) -> Value {
    json!({
        "name": name,
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
        "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
    })
}

fn role(name: &str, rules: Vec<Value>) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": metadata(name), "rules": rules,
    })
}

/// A role that is the sum of the roles labelled for it, as users extend admin, edit and view.
fn aggregate(name: &str, rules: Vec<Value>, into: &str) -> [Value; 2] {
    let label = format!("rbac.authorization.k8s.io/aggregate-to-{name}");
    let mut sum = role(name, Vec::new());
    sum["aggregationRule"] =
        json!({"clusterRoleSelectors": [{"matchLabels": {label.clone(): "true"}}]});
    if !into.is_empty() {
        sum["metadata"]["labels"][format!("rbac.authorization.k8s.io/aggregate-to-{into}")] =
            "true".into();
    }
    let mut part = role(&format!("system:aggregate-to-{name}"), rules);
    part["metadata"]["labels"][label] = "true".into();
    [sum, part]
}

/// What a namespace's users see.
const NAMESPACED: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "bindings",
            "configmaps",
            "endpoints",
            "events",
            "limitranges",
            "namespaces/status",
            "persistentvolumeclaims",
            "persistentvolumeclaims/status",
            "pods",
            "pods/log",
            "pods/status",
            "podtemplates",
            "replicationcontrollers",
            "resourcequotas",
            "resourcequotas/status",
            "serviceaccounts",
            "services",
            "services/status",
        ],
    ),
    ("", &["namespaces"]),
    (
        "apps",
        &[
            "controllerrevisions",
            "daemonsets",
            "daemonsets/status",
            "deployments",
            "replicasets",
            "statefulsets",
        ],
    ),
    ("autoscaling", &["horizontalpodautoscalers"]),
    ("batch", &["cronjobs", "jobs"]),
    ("discovery.k8s.io", &["endpointslices"]),
    (
        "policy",
        &["poddisruptionbudgets", "poddisruptionbudgets/status"],
    ),
];

/// What a namespace's users change.
const EDITABLE: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "configmaps",
            "endpoints",
            "events",
            "persistentvolumeclaims",
            "pods",
            "pods/attach",
            "pods/exec",
            "pods/portforward",
            "pods/proxy",
            "podtemplates",
            "replicationcontrollers",
            "secrets",
            "serviceaccounts",
            "services",
        ],
    ),
    (
        "apps",
        &["daemonsets", "deployments", "replicasets", "statefulsets"],
    ),
    ("autoscaling", &["horizontalpodautoscalers"]),
    ("batch", &["cronjobs", "jobs"]),
    ("policy", &["poddisruptionbudgets"]),
];

fn rules(table: &[(&str, &[&str])], verbs: &[&str]) -> Vec<Value> {
    table
        .iter()
        .map(|(group, resources)| rule(&[group], resources, &[verbs]))
        .collect()
}

/// The roles people are given.
fn user_roles() -> Vec<Value> {
    let mut edit = rules(EDITABLE, WRITE);
    edit.push(rule(
        &[""],
        &["pods/eviction", "serviceaccounts/token"],
        &[&["create"]],
    ));
    edit.push(rule(&[""], &["secrets"], &[READ]));
    edit.push(rule(&[""], &["serviceaccounts"], &[&["impersonate"]]));
    edit.push(rule(&["coordination.k8s.io"], &["leases"], &[READ, WRITE]));
    let admin = vec![
        rule(
            &["authorization.k8s.io"],
            &["localsubjectaccessreviews"],
            &[&["create"]],
        ),
        rule(
            &["rbac.authorization.k8s.io"],
            &["roles", "rolebindings"],
            &[READ, WRITE],
        ),
    ];
    let mut roles = vec![role(
        "cluster-admin",
        vec![
            rule(&["*"], &["*"], &[&["*"]]),
            json!({"nonResourceURLs": ["*"], "verbs": ["*"]}),
        ],
    )];
    roles.extend(aggregate("admin", admin, ""));
    roles.extend(aggregate("edit", edit, "admin"));
    roles.extend(aggregate("view", rules(NAMESPACED, READ), "edit"));
    // Sums do not nest, so what is for view and edit is labelled for the wider roles as well.
    for (name, wider) in [("edit", "admin"), ("view", "edit"), ("view", "admin")] {
        let part = format!("system:aggregate-to-{name}");
        for role in roles.iter_mut().filter(|r| r["metadata"]["name"] == part) {
            role["metadata"]["labels"][format!("rbac.authorization.k8s.io/aggregate-to-{wider}")] =
                "true".into();
        }
    }
    roles
}

/// The roles everyone has.
fn common_roles() -> Vec<Value> {
    vec![
        role(
            "system:basic-user",
            vec![
                rule(
                    &["authorization.k8s.io"],
                    &["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
                    &[&["create"]],
                ),
                rule(
                    &["authentication.k8s.io"],
                    &["selfsubjectreviews"],
                    &[&["create"]],
                ),
            ],
        ),
        role(
            "system:discovery",
            vec![urls(&[
                "/api",
                "/api/*",
                "/apis",
                "/apis/*",
                "/healthz",
                "/livez",
                "/openapi",
                "/openapi/*",
                "/readyz",
                "/version",
                "/version/",
            ])],
        ),
        role(
            "system:public-info-viewer",
            vec![urls(&[
                "/healthz",
                "/livez",
                "/readyz",
                "/version",
                "/version/",
            ])],
        ),
        role(
            "system:service-account-issuer-discovery",
            vec![urls(&[
                "/.well-known/openid-configuration",
                "/openid/v1/jwks",
            ])],
        ),
        role(
            "system:monitoring",
            vec![urls(&[
                "/healthz",
                "/healthz/*",
                "/livez",
                "/livez/*",
                "/metrics",
                "/readyz",
                "/readyz/*",
            ])],
        ),
        role(
            "system:auth-delegator",
            vec![
                rule(
                    &["authentication.k8s.io"],
                    &["tokenreviews"],
                    &[&["create"]],
                ),
                rule(
                    &["authorization.k8s.io"],
                    &["subjectaccessreviews"],
                    &[&["create"]],
                ),
            ],
        ),
    ]
}

fn events() -> Value {
    rule(
        &["", "events.k8s.io"],
        &["events"],
        &[&["create", "patch", "update"]],
    )
}

fn leases() -> Value {
    rule(
        &["coordination.k8s.io"],
        &["leases"],
        &[&["create", "get", "list", "update", "patch", "watch"]],
    )
}

/// What a node agent needs.
fn node_role() -> Value {
    role(
        "system:node",
        vec![
            rule(&[""], &["services", "namespaces"], &[READ]),
            rule(
                &[""],
                &["nodes"],
                &[READ, &["create", "delete", "patch", "update"]],
            ),
            rule(
                &[""],
                &["nodes/status", "pods/status"],
                &[&["patch", "update"]],
            ),
            rule(&[""], &["pods"], &[READ, &["create", "delete"]]),
            rule(
                &[""],
                &["pods/eviction", "serviceaccounts/token"],
                &[&["create"]],
            ),
            rule(
                &[""],
                &[
                    "configmaps",
                    "secrets",
                    "serviceaccounts",
                    "persistentvolumes",
                    "persistentvolumeclaims",
                ],
                &[READ],
            ),
            rule(
                &["coordination.k8s.io"],
                &["leases"],
                &[&["create", "delete", "get", "patch", "update"]],
            ),
            rule(
                &["storage.k8s.io"],
                &["csidrivers", "csinodes", "volumeattachments"],
                &[READ],
            ),
            rule(
                &["storage.k8s.io"],
                &["csinodes"],
                &[&["create", "delete", "patch", "update"]],
            ),
            rule(&["node.k8s.io"], &["runtimeclasses"], &[READ]),
            rule(
                &["certificates.k8s.io"],
                &["certificatesigningrequests"],
                &[&["create", "get", "list", "watch"]],
            ),
            rule(
                &["authentication.k8s.io"],
                &["tokenreviews"],
                &[&["create"]],
            ),
            rule(
                &["authorization.k8s.io"],
                &["localsubjectaccessreviews", "subjectaccessreviews"],
                &[&["create"]],
            ),
            events(),
        ],
    )
}

/// The roles of the control loops, so that each can run with no more than it needs.
#[allow(clippy::too_many_lines, reason = "a table")]
fn loop_roles() -> Vec<Value> {
    vec![
        role(
            "system:controller:daemon-set-controller",
            vec![
                rule(&["apps"], &["daemonsets"], &[READ]),
                rule(&["apps"], &["daemonsets/status"], &[&["patch", "update"]]),
                rule(&["apps"], &["daemonsets/finalizers"], &[&["update"]]),
                rule(&[""], &["nodes"], &[READ]),
                rule(&[""], &["pods"], &[READ, &["create", "delete", "patch"]]),
                rule(&[""], &["pods/binding"], &[&["create"]]),
                rule(&["apps"], &["controllerrevisions"], &[READ, WRITE]),
                leases(),
                events(),
            ],
        ),
        role(
            "system:kube-scheduler",
            vec![
                rule(&[""], &["nodes", "namespaces"], &[READ]),
                rule(&[""], &["pods"], &[READ, &["delete"]]),
                rule(&[""], &["bindings", "pods/binding"], &[&["create"]]),
                rule(&[""], &["pods/status"], &[&["patch", "update"]]),
                rule(
                    &[
                        "",
                        "apps",
                        "policy",
                        "storage.k8s.io",
                        "resource.k8s.io",
                        "scheduling.k8s.io",
                    ],
                    &["*"],
                    &[READ],
                ),
                leases(),
                events(),
            ],
        ),
        role(
            "system:kube-controller-manager",
            vec![
                rule(&["*"], &["*"], &[READ]),
                rule(
                    &[""],
                    &["nodes", "nodes/status"],
                    &[&["patch", "update", "delete"]],
                ),
                rule(&[""], &["pods"], &[&["delete", "patch"]]),
                rule(&[""], &["pods/status"], &[&["patch", "update"]]),
                rule(
                    &[""],
                    &["namespaces/finalize", "namespaces/status"],
                    &[&["update"]],
                ),
                rule(
                    &[""],
                    &["configmaps", "secrets", "serviceaccounts"],
                    &[&["create", "update"]],
                ),
                rule(&[""], &["serviceaccounts/token"], &[&["create"]]),
                rule(
                    &["policy"],
                    &["poddisruptionbudgets/status"],
                    &[&["update"]],
                ),
                rule(
                    &["authentication.k8s.io"],
                    &["tokenreviews"],
                    &[&["create"]],
                ),
                rule(
                    &["authorization.k8s.io"],
                    &["subjectaccessreviews"],
                    &[&["create"]],
                ),
                leases(),
                events(),
            ],
        ),
        role(
            "system:controller:generic-garbage-collector",
            vec![
                rule(&["*"], &["*"], &[READ, &["delete", "patch", "update"]]),
                events(),
            ],
        ),
        role(
            "system:controller:namespace-controller",
            vec![
                rule(&[""], &["namespaces"], &[READ, &["delete"]]),
                rule(
                    &[""],
                    &["namespaces/finalize", "namespaces/status"],
                    &[&["update"]],
                ),
                rule(
                    &["*"],
                    &["*"],
                    &[&["delete", "deletecollection", "get", "list"]],
                ),
            ],
        ),
        role(
            "system:controller:node-controller",
            vec![
                rule(&[""], &["nodes"], &[READ, &["delete", "patch", "update"]]),
                rule(&[""], &["nodes/status"], &[&["patch", "update"]]),
                rule(&[""], &["pods"], &[READ, &["delete"]]),
                rule(&[""], &["pods/status"], &[&["patch", "update"]]),
                leases(),
                events(),
            ],
        ),
        role(
            "system:controller:pod-garbage-collector",
            vec![
                rule(&[""], &["pods"], &[READ, &["delete"]]),
                rule(&[""], &["nodes"], &[READ]),
                rule(&[""], &["pods/status"], &[&["patch"]]),
            ],
        ),
    ]
}

/// All cluster roles.
pub(crate) fn cluster_roles() -> Vec<Value> {
    let mut roles = user_roles();
    roles.extend(common_roles());
    roles.push(node_role());
    roles.extend(loop_roles());
    roles
}

fn binding(role: &str, subjects: &[(&str, &str)]) -> Value {
    let subjects: Vec<Value> = subjects
        .iter()
        .map(|(kind, name)| match name.split_once(':') {
            Some((namespace, name)) if *kind == "ServiceAccount" => {
                json!({"kind": kind, "namespace": namespace, "name": name})
            }
            _ => json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}),
        })
        .collect();
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": metadata(role), "subjects": subjects,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
    })
}

/// All cluster role bindings.
pub(crate) fn cluster_role_bindings() -> Vec<Value> {
    let account = |name: &'static str| [("ServiceAccount", name)];
    vec![
        binding("cluster-admin", &[("Group", "system:masters")]),
        binding("system:basic-user", &[("Group", "system:authenticated")]),
        binding("system:discovery", &[("Group", "system:authenticated")]),
        binding(
            "system:public-info-viewer",
            &[
                ("Group", "system:authenticated"),
                ("Group", "system:unauthenticated"),
            ],
        ),
        binding(
            "system:service-account-issuer-discovery",
            &[("Group", "system:serviceaccounts")],
        ),
        binding("system:monitoring", &[("Group", "system:monitoring")]),
        binding("system:node", &[("Group", "system:nodes")]),
        binding(
            "system:kube-scheduler",
            &[("User", "system:kube-scheduler")],
        ),
        binding(
            "system:kube-controller-manager",
            &[("User", "system:kube-controller-manager")],
        ),
        binding(
            "system:controller:daemon-set-controller",
            &account("kube-system:daemon-set-controller"),
        ),
        binding(
            "system:controller:generic-garbage-collector",
            &account("kube-system:generic-garbage-collector"),
        ),
        binding(
            "system:controller:namespace-controller",
            &account("kube-system:namespace-controller"),
        ),
        binding(
            "system:controller:node-controller",
            &account("kube-system:node-controller"),
        ),
        binding(
            "system:controller:pod-garbage-collector",
            &account("kube-system:pod-garbage-collector"),
        ),
    ]
}
