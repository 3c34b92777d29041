//! Where kubeconfigs are, and merging ours into the user's.

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Name of our context, cluster and user in a kubeconfig.
const NAME: &str = "pernode";

/// The data directory that `pernode up` uses when none is given.
pub(crate) fn default_data_dir() -> Result<PathBuf> {
    if let Some(data) = std::env::var_os("XDG_DATA_HOME").filter(|d| !d.is_empty()) {
        return Ok(PathBuf::from(data).join("pernode"));
    }
    Ok(home()?.join(".local/share/pernode"))
}

/// The kubeconfig people use: the last file of `$KUBECONFIG`, else `~/.kube/config`.
pub(crate) fn user_file() -> Result<PathBuf> {
    let listed = std::env::var_os("KUBECONFIG").filter(|l| !l.is_empty());
    match listed
        .as_deref()
        .map(std::env::split_paths)
        .and_then(Iterator::last)
    {
        Some(path) => Ok(path),
        None => Ok(home()?.join(".kube/config")),
    }
}

fn home() -> Result<PathBuf> {
    match std::env::var_os("HOME").filter(|h| !h.is_empty()) {
        Some(home) => Ok(PathBuf::from(home)),
        None => bail!("HOME is not set: say where with --data-dir"),
    }
}

/// Merges our cluster, user and context into a kubeconfig file and makes it the current context.
///
/// Entries of other names stay as they are; a file that cannot be read as a kubeconfig is refused.
pub(crate) fn merge(ours: &str, target: &Path) -> Result<()> {
    let ours: Value = serde_saphyr::from_str(ours).context("our own kubeconfig is YAML")?;
    let mut config = read(target)?;
    for section in ["clusters", "users", "contexts"] {
        let entry = ours[section][0].clone();
        let list = config.as_object_mut().context("a kubeconfig is a map")?;
        let list = list.entry(section).or_insert_with(|| json!([]));
        if list.is_null() {
            *list = json!([]);
        }
        let list = list
            .as_array_mut()
            .with_context(|| format!("{}: {section} is not a list", target.display()))?;
        list.retain(|e| e["name"] != NAME);
        list.push(entry);
    }
    config["current-context"] = json!(NAME);
    write(target, &config)
}

fn read(target: &Path) -> Result<Value> {
    let text = match std::fs::read_to_string(target) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(e) => return Err(e).with_context(|| format!("cannot read {}", target.display())),
    };
    if text.trim().is_empty() {
        return Ok(json!({"apiVersion": "v1", "kind": "Config", "preferences": {}}));
    }
    let config: Value = serde_saphyr::from_str(&text).with_context(|| {
        format!(
            "{} is not a kubeconfig; nothing was changed",
            target.display()
        )
    })?;
    if !config.is_object() {
        bail!(
            "{} is not a kubeconfig; nothing was changed",
            target.display()
        );
    }
    Ok(config)
}

/// Writes beside the file and renames, so that a crash leaves the old one. JSON is YAML.
fn write(target: &Path, config: &Value) -> Result<()> {
    let shown = target.display();
    if let Some(folder) = target.parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
    }
    let text = serde_saphyr::to_string(config).context("a kubeconfig can be written as YAML")?;
    let beside = target.with_extension("pernode-new");
    pernode_cluster::write_private(&beside, text.as_bytes())
        .with_context(|| format!("cannot write {}", beside.display()))?;
    std::fs::rename(&beside, target).with_context(|| format!("cannot replace {shown}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str = "{clusters: [{name: pernode, cluster: {server: 'https://127.0.0.1:1'}}], \
        users: [{name: pernode, user: {token: t}}], \
        contexts: [{name: pernode, context: {cluster: pernode, user: pernode}}]}";

    fn check(before: Option<&str>) -> Result<Value> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("sub/config");
        if let Some(text) = before {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, text).unwrap();
        }
        merge(OURS, &file)?;
        read(&file)
    }

    #[test]
    fn a_missing_file_is_made() {
        let config = check(None).unwrap();
        assert_eq!(config["current-context"], "pernode");
        assert_eq!(
            config["clusters"][0]["cluster"]["server"],
            "https://127.0.0.1:1"
        );
    }

    #[test]
    fn other_entries_stay_and_ours_is_replaced() {
        let before = "{clusters: [{name: prod, cluster: {server: a}}, {name: pernode}], users: null, current-context: prod}";
        let config = check(Some(before)).unwrap();
        let names: Vec<_> = config["clusters"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| &c["name"])
            .collect();
        assert_eq!(names, ["prod", "pernode"]);
        assert_eq!(config["users"][0]["user"]["token"], "t");
    }

    #[test]
    fn a_file_of_another_kind_is_refused() {
        assert!(
            check(Some("just text"))
                .unwrap_err()
                .to_string()
                .contains("nothing was changed")
        );
    }
}
