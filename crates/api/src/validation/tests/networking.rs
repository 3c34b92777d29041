//! Network policies, ingresses and their classes.

use super::check;
use alloc::format;

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

fn check_spec(kind: &str, spec: &str, wanted: &[&str]) {
    let object = format!(
        "{{apiVersion: networking.k8s.io/v1, kind: {kind}, metadata: {{name: x, namespace: d}}, spec: {spec}}}"
    );
    let object = if kind == "IngressClass" {
        object.replace(", namespace: d}", "}")
    } else {
        object
    };
    check(&object, wanted);
}

#[test]
fn network_policies() {
    let check = |spec: &str, wanted: &[&str]| check_spec("NetworkPolicy", spec, wanted);
    check("{}", &[]);
    check(
        "{policyTypes: [Ingress, Foo]}",
        &[
            "spec.policyTypes[1]: Unsupported value: \"Foo\": supported values: \"Ingress\", \"Egress\"",
        ],
    );
    check(
        "{policyTypes: [Ingress, Egress, Foo]}",
        &[
            "spec.policyTypes: Invalid value: [\"Ingress\",\"Egress\",\"Foo\"]: may not specify more than two policyTypes",
        ],
    );
    check(
        "{ingress: [{ports: [{protocol: X, port: 0}, {port: '-a-'}, {port: 5, endPort: 3},
          {port: web, endPort: 3}, {endPort: 4}, {port: 1, endPort: 70000}]}]}",
        &[
            "spec.ingress[0].ports[0].protocol: Unsupported value: \"X\": supported values: \"TCP\", \"UDP\", \"SCTP\"",
            "spec.ingress[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
            "spec.ingress[0].ports[1].port: Invalid value: \"-a-\": must not begin or end with a hyphen",
            "spec.ingress[0].ports[2].endPort: Invalid value: 5: must be greater than or equal to `port`",
            "spec.ingress[0].ports[3].endPort: Invalid value: 3: may not be specified when `port` is non-numeric",
            "spec.ingress[0].ports[4].endPort: Invalid value: 4: may not be specified when `port` is not specified",
            "spec.ingress[0].ports[5].endPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
        ],
    );
    check(
        "{egress: [{to: [{}, {ipBlock: {cidr: x}}, {ipBlock: {}}, {ipBlock: {cidr: 10.0.0.0/8}, podSelector: {}},
          {ipBlock: {cidr: 10.0.0.0/8, except: [11.0.0.0/8, 10.0.0.0/8, 10.1.0.0/16, 'fd00::/64']}},
          {ipBlock: {cidr: 0.0.0.0/0, except: [1.2.3.4/32]}}]}]}",
        &[
            "spec.egress[0].to[0]: Required value: must specify a peer",
            "spec.egress[0].to[1].ipBlock.cidr: Invalid value: \"x\": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
            "spec.egress[0].to[2].ipBlock.cidr: Required value",
            "spec.egress[0].to[3]: Forbidden: may not specify both ipBlock and another peer",
            "spec.egress[0].to[4].ipBlock.except[0]: Invalid value: \"11.0.0.0/8\": must be a strict subset of `cidr`",
            "spec.egress[0].to[4].ipBlock.except[1]: Invalid value: \"10.0.0.0/8\": must be a strict subset of `cidr`",
            "spec.egress[0].to[4].ipBlock.except[3]: Invalid value: \"fd00::/64\": must be a strict subset of `cidr`",
        ],
    );
}

#[test]
fn ingress_classes() {
    let check = |spec: &str, wanted: &[&str]| check_spec("IngressClass", spec, wanted);
    check("{}", &["spec.controller: Required value"]);
    check(
        "{controller: foo, parameters: {}}",
        &[
            "spec.controller: Invalid value: \"foo\": must be a domain-prefixed path (such as \"acme.io/foo\")",
            "spec.parameters.kind: Required value",
            "spec.parameters.name: Required value",
        ],
    );
    check(
        "{controller: a.b/c, parameters: {kind: K/, name: x%, namespace: x}}",
        &[
            "spec.parameters.kind: Invalid value: \"K/\": may not contain '/'",
            "spec.parameters.name: Invalid value: \"x%\": may not contain '%'",
            "spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'",
        ],
    );
    check(
        "{controller: a.b/c, parameters: {kind: K, name: x, scope: Namespace}}",
        &["spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"],
    );
}

#[test]
fn ingresses() {
    let check = |spec: &str, wanted: &[&str]| check_spec("Ingress", spec, wanted);
    check(
        "{}",
        &["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"],
    );
    check(
        "{defaultBackend: {}}",
        &["spec.defaultBackend: Invalid value: \"\": resource or service backend is required"],
    );
    check(
        "{defaultBackend: {service: {name: s, port: {number: 7, name: a}}}}",
        &["spec.defaultBackend: Invalid value: \"\": cannot set both port name & port number"],
    );
    check(
        "{defaultBackend: {resource: {apiGroup: a.b}}}",
        &[
            "spec.defaultBackend.resource.kind: Required value",
            "spec.defaultBackend.resource.name: Required value",
        ],
    );
    check(
        "{rules: [{host: 1.2.3.4}, {host: '*.a.b'}, {host: A}, {http: {}}, {http: {paths: [{}]}}]}",
        &[
            "spec.rules[0].host: Invalid value: \"1.2.3.4\": must be a DNS name, not an IP address",
            &format!("spec.rules[2].host: Invalid value: \"A\": {SUBDOMAIN}"),
            "spec.rules[3].http.paths: Required value",
            "spec.rules[4].http.paths[0].pathType: Required value: pathType must be specified",
        ],
    );
    let path = |path: &str, kind: &str| {
        format!(
            "{{rules: [{{http: {{paths: [{{path: '{path}', pathType: {kind}, backend: {{service: {{name: s, port: {{number: 1}}}}}}}}]}}}}]}}"
        )
    };
    let at = "spec.rules[0].http.paths[0]";
    for (text, kind, wanted) in [
        (
            "x",
            "Prefix",
            "path: Invalid value: \"x\": must be an absolute path",
        ),
        (
            "/a//b",
            "Exact",
            "path: Invalid value: \"/a//b\": must not contain '//'",
        ),
        (
            "/b",
            "Foo",
            "pathType: Unsupported value: \"Foo\": supported values: \"Exact\", \"ImplementationSpecific\", \"Prefix\"",
        ),
        (
            "",
            "Prefix",
            "path: Invalid value: \"\": must be an absolute path",
        ),
    ] {
        check(&path(text, kind), &[&format!("{at}.{wanted}")]);
    }
    check(&path("", "ImplementationSpecific"), &[]);
}
