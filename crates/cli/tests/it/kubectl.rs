//! Unmodified kubectl against `pernode up`, and the claims of the seed documents.

use crate::process::Pernode;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Whether a program is there; without it a test is skipped, unless CI says it must not be.
fn have(program: &str) -> bool {
    let found = Command::new(program)
        .arg(if program == "kubectl" {
            "version"
        } else {
            "--version"
        })
        .args(if program == "kubectl" {
            &["--client"][..]
        } else {
            &[]
        })
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success());
    let required = std::env::var_os("PERNODE_REQUIRE_KUBECTL").is_some();
    assert!(
        found || !required,
        "{program} is missing and PERNODE_REQUIRE_KUBECTL is set"
    );
    if !found {
        println!("skipped: {program} is not on PATH");
    }
    found
}

struct Kubectl<'a> {
    pernode: &'a Pernode,
    cache: &'a Path,
}

impl Kubectl<'_> {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("kubectl");
        command
            .args(arguments)
            .env("KUBECONFIG", self.pernode.kubeconfig())
            .env("KUBECACHEDIR", self.cache.join("kube-cache"));
        command
    }

    fn run(&self, arguments: &[&str], input: &str) -> Output {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A kubectl that refuses its arguments does not read its input.
        drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
        child.wait_with_output().unwrap()
    }

    /// Standard output of a command that has to succeed.
    fn ok(&self, arguments: &[&str], input: &str) -> String {
        let output = self.run(arguments, input);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {arguments:?}: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Standard error of a command that has to fail.
    fn refused(&self, arguments: &[&str], input: &str) -> String {
        let output = self.run(arguments, input);
        assert!(
            !output.status.success(),
            "kubectl {arguments:?} should fail"
        );
        String::from_utf8(output.stderr).unwrap()
    }
}

/// Starts a cluster and hands a kubectl to the test.
fn with_kubectl(nodes: &str, test: impl FnOnce(&Kubectl<'_>)) {
    if !have("kubectl") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let pernode = Pernode::start(folder.path(), &["--nodes", nodes]);
    test(&Kubectl {
        pernode: &pernode,
        cache: folder.path(),
    });
    assert_eq!(pernode.stop(), Some(0));
}

/// Sections of seeds.py that take seconds; `.ci/run` runs all of them on the release build.
#[test]
fn the_quick_claims_of_the_seeds_hold() {
    if !have("python3") {
        return;
    }
    with_kubectl("4", |kubectl| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/acceptance/seeds.py");
        let output = Command::new("python3")
            .arg(script)
            .args(["--only", "every_node,labels,taints,kubectl"])
            .env("KUBECONFIG", kubectl.pernode.kubeconfig())
            .env("KUBECACHEDIR", kubectl.cache.join("kube-cache"))
            .output()
            .unwrap();
        let report = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{report}");
        println!("{report}");
    });
}

#[test]
fn the_first_minute_of_the_readme() {
    with_kubectl("4", |kubectl| {
        let manifest = include_str!("../../../../examples/fluentd.yaml");
        assert_eq!(
            kubectl.ok(&["apply", "-f", "-"], manifest),
            "daemonset.apps/ds-test created\n"
        );
        let status = kubectl.ok(&["rollout", "status", "ds/ds-test", "--timeout=60s"], "");
        assert!(
            status.ends_with("daemon set \"ds-test\" successfully rolled out\n"),
            "{status}"
        );
        let pods = kubectl.ok(&["get", "pods", "-o", "wide", "--no-headers"], "");
        assert_eq!(
            pods.lines()
                .filter(|l| l.contains("1/1") && l.contains("Running"))
                .count(),
            5,
            "{pods}"
        );
        assert_eq!(
            kubectl.ok(&["apply", "-f", "-"], manifest),
            "daemonset.apps/ds-test unchanged\n"
        );
    });
}

const AGENT: &str = "
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: x}
spec:
  selector: {matchLabels: {app: x}}
  template:
    metadata: {labels: {app: x}}
    spec:
      SPEC
      containers: [{name: c, image: 'a:1'}]
";

#[test]
fn bad_input_is_refused_and_says_what_to_do() {
    with_kubectl("1", |kubectl| {
        let check = |manifest: &str, parts: &[&str]| {
            let message = kubectl.refused(&["create", "-f", "-"], manifest);
            for part in parts {
                assert!(message.contains(part), "{message:?} lacks {part:?}");
            }
        };
        let good = AGENT.replace("SPEC", "");
        check(
            &AGENT.replace("SPEC", "nodeSelector: {k42: yes}"),
            &["nodeSelector"],
        );
        check(
            &good.replace("{labels: {app: x}}", "{labels: {app: other}}"),
            &["`selector` does not match template `labels`"],
        );
        check(
            &good.replace("apps/v1", "apps/v7"),
            &["no matches for kind \"DaemonSet\" in version \"apps/v7\""],
        );
        check("a: [", &["error"]);
        check(
            &good.replace("name: x}", &format!("name: {}}}", "n".repeat(300))),
            &["must be no more than 253"],
        );
        let both = |strategy: &str| {
            good.replace(
                "spec:\n  selector",
                &format!("spec:\n  updateStrategy: {{rollingUpdate: {strategy}}}\n  selector"),
            )
        };
        check(
            &both("{maxSurge: 0, maxUnavailable: 0}"),
            &["cannot be 0 when maxSurge is 0"],
        );
        check(
            &both("{maxSurge: 1, maxUnavailable: 1}"),
            &["may not be set when maxUnavailable is non-zero"],
        );
        let huge = format!(
            "{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{{\"name\":\"big\"}},\"data\":{{\"a\":\"{}\"}}}}",
            "x".repeat(10_000_000)
        );
        check(&huge, &["equest"]);
        kubectl.ok(&["create", "-f", "-"], &good);
        check(&good, &["already exists"]);
        kubectl.ok(&["delete", "ds", "x"], "");
        let again = kubectl.refused(&["delete", "ds", "x"], "");
        assert_eq!(
            again,
            "Error from server (NotFound): daemonsets.apps \"x\" not found\n"
        );
    });
}
