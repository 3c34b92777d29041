//! What every source file owes its reader: an opening line, a bounded length, a `mod` line.

use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Longest file in lines, tests included. Tables of data are listed in `TABLES`.
const LINES_MAX: usize = 1000;
/// Files that are tables rather than logic: their length says nothing about reading them.
const TABLES: &[&str] = &["crates/api/src/resource.rs"];
/// Words that must not stay on the main branch.
const BANNED: &[&str] = &[
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("todo", "!("),
];

/// Checks all Rust files of the workspace.
pub(crate) fn check() -> Result<Vec<String>> {
    let mut findings = Vec::new();
    let mut files = Vec::new();
    for root in ["crates", "xtask"] {
        collect(Path::new(root), &mut files)?;
    }
    for file in &files {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        check_text(file, &text, &mut findings);
    }
    check_orphans(&files, &mut findings)?;
    Ok(findings)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

fn check_text(file: &Path, text: &str, findings: &mut Vec<String>) {
    let shown = file.display();
    if !text.starts_with("//!") {
        findings.push(format!(
            "{shown}: does not open with a //! line that says what it is"
        ));
    }
    let lines = text.lines().count();
    if lines > LINES_MAX && !TABLES.iter().any(|t| file.ends_with(t)) {
        findings.push(format!(
            "{shown}: {lines} lines, more than {LINES_MAX}: split it by subject"
        ));
    }
    for (number, line) in text.lines().enumerate() {
        if line.ends_with(' ') {
            findings.push(format!("{shown}:{}: trailing space", number + 1));
        }
        if BANNED.iter().any(|word| line.contains(word)) {
            findings.push(format!("{shown}:{}: unfinished work", number + 1));
        }
    }
}

/// A file that no `mod` line reaches silently stops compiling.
fn check_orphans(files: &[PathBuf], findings: &mut Vec<String>) -> Result<()> {
    let mut reached = BTreeSet::new();
    for file in files {
        let text = std::fs::read_to_string(file)?;
        let folder = file.parent().unwrap_or_else(|| Path::new(""));
        for line in text.lines().map(str::trim) {
            if let Some(path) = line
                .strip_prefix("#[path = \"")
                .and_then(|l| l.strip_suffix("\"]"))
            {
                reached.insert(normal(&folder.join(path)));
            }
            let line = line
                .trim_start_matches("pub(crate) ")
                .trim_start_matches("pub ");
            if let Some(module) = line.strip_prefix("mod ").and_then(|l| l.strip_suffix(';')) {
                reached.extend(module_files(file, module));
                // A file that a path attribute names has its modules beside it.
                reached.insert(folder.join(format!("{module}.rs")));
            }
        }
    }
    for file in files {
        if !is_root(file) && !reached.contains(file) {
            findings.push(format!("{}: no mod line reaches it", file.display()));
        }
    }
    Ok(())
}

/// A path without `..`, as the collected files have it.
fn normal(path: &Path) -> PathBuf {
    let mut parts: Vec<std::path::Component<'_>> = Vec::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => drop(parts.pop()),
            other => parts.push(other),
        }
    }
    parts.into_iter().collect()
}

fn module_files(parent: &Path, module: &str) -> [PathBuf; 2] {
    let stem = parent.file_stem().unwrap_or_default();
    let folder = parent.parent().unwrap_or_else(|| Path::new(""));
    let home = if is_root(parent) {
        folder.to_owned()
    } else {
        folder.join(stem)
    };
    [
        home.join(format!("{module}.rs")),
        home.join(module).join("mod.rs"),
    ]
}

/// Crate roots: libraries, binaries, integration tests, examples and benchmarks.
fn is_root(file: &Path) -> bool {
    let stem = file
        .file_stem()
        .and_then(|s| s.to_str())
        .unwrap_or_default();
    let folder = file
        .parent()
        .and_then(Path::file_name)
        .and_then(|s| s.to_str());
    matches!(stem, "lib" | "main" | "build")
        || matches!(folder, Some("tests" | "examples" | "benches" | "bin"))
            && file
                .parent()
                .and_then(Path::parent)
                .is_some_and(|p| p.join("Cargo.toml").exists())
}
