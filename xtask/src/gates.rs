//! Which crate may know which: arrows point down only, and pure crates reach no IO.

use anyhow::{Context, Result};
use serde_json::Value;
use std::process::Command;

/// Layers and the layers below them that a crate may depend on.
const LAYERS: &[(&str, &[&str])] = &[
    ("pure", &["pure"]),
    ("port", &[]),
    ("adapter", &["pure", "port"]),
    ("loop", &["pure", "loop"]),
    ("compose", &["pure", "port", "adapter", "loop"]),
    ("product", &["pure", "port", "adapter", "loop", "compose"]),
    ("dev", &[]),
];

/// Edges inside one layer that exist on purpose; any other is refused.
const SIDEWAYS: &[(&str, &str)] = &[
    ("pernode-api", "pernode-core"),
    ("pernode-controller", "pernode-runtime"),
    ("pernode-loops", "pernode-runtime"),
    ("pernode-node", "pernode-runtime"),
];

/// What a pure crate must not reach, not even through others.
const BANNED_IN_PURE: &[&str] = &[
    "tokio",
    "hyper",
    "kube-client",
    "redb",
    "rustix",
    "rand",
    "getrandom",
    "mio",
];

/// Checks all crates of the workspace.
pub(crate) fn check() -> Result<Vec<String>> {
    let metadata = metadata()?;
    let packages = metadata["packages"]
        .as_array()
        .context("cargo metadata has no packages")?;
    let mut findings = Vec::new();
    for package in packages {
        check_layer(package, packages, &mut findings);
        if layer(package) == Some("pure") {
            check_pure(package, &mut findings)?;
        }
    }
    Ok(findings)
}

fn metadata() -> Result<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .output()
        .context("cannot run cargo metadata")?;
    serde_json::from_slice(&output.stdout).context("cargo metadata did not print JSON")
}

fn layer(package: &Value) -> Option<&str> {
    package["metadata"]["pernode"]["layer"].as_str()
}

fn name(package: &Value) -> &str {
    package["name"].as_str().unwrap_or_default()
}

fn check_layer(package: &Value, packages: &[Value], findings: &mut Vec<String>) {
    let Some(own) = layer(package) else {
        findings.push(format!(
            "{}: states no layer in package.metadata.pernode",
            name(package)
        ));
        return;
    };
    let Some((_, allowed)) = LAYERS.iter().find(|(layer, _)| *layer == own) else {
        findings.push(format!("{}: unknown layer {own}", name(package)));
        return;
    };
    let empty = Vec::new();
    for dependency in package["dependencies"].as_array().unwrap_or(&empty) {
        if dependency["kind"] == "dev" {
            continue;
        }
        let Some(other) = packages.iter().find(|p| p["name"] == dependency["name"]) else {
            continue;
        };
        let below = layer(other).unwrap_or("unknown");
        let sideways = SIDEWAYS.contains(&(name(package), name(other)));
        if !allowed.contains(&below) || (below == own && !sideways) {
            findings.push(format!(
                "{} ({own}) may not know {} ({below})",
                name(package),
                name(other)
            ));
        }
    }
}

fn check_pure(package: &Value, findings: &mut Vec<String>) -> Result<()> {
    let name = name(package);
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--package",
            name,
            "--edges",
            "normal",
            "--prefix",
            "none",
        ])
        .output()
        .context("cannot run cargo tree")?;
    let tree = String::from_utf8_lossy(&output.stdout);
    let reached = |crate_name: &str| {
        tree.lines()
            .any(|l| l.split(' ').next() == Some(crate_name))
    };
    for banned in BANNED_IN_PURE.iter().filter(|banned| reached(banned)) {
        findings.push(format!(
            "{name} is pure but reaches {banned}: cargo tree -p {name} -i {banned}"
        ));
    }
    let source = package["manifest_path"]
        .as_str()
        .context("a package has a manifest path")?;
    let root = source.replace("Cargo.toml", "src/lib.rs");
    let text = std::fs::read_to_string(&root).with_context(|| format!("cannot read {root}"))?;
    if !text.lines().any(|l| l == "#![no_std]") {
        findings.push(format!("{name} is pure but {root} lacks #![no_std]"));
    }
    Ok(())
}
