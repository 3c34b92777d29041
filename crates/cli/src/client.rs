//! A kube client for the commands that talk to a running cluster.

use crate::args::Connection;
use crate::kubeconfig;
use anyhow::{Context, Result};
use kube::config::{KubeConfigOptions, Kubeconfig};
use std::path::PathBuf;

/// Connects with `--kubeconfig`, else `$KUBECONFIG`, else the kubeconfig of the data directory.
pub(crate) async fn connect(connection: &Connection) -> Result<kube::Client> {
    let path = choose(connection)?;
    let file = Kubeconfig::read_from(&path).with_context(|| {
        format!(
            "cannot read the kubeconfig {}: is `pernode up` running?",
            path.display()
        )
    })?;
    let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .with_context(|| format!("cannot use the kubeconfig {}", path.display()))?;
    kube::Client::try_from(config).context("cannot make a client of the kubeconfig")
}

fn choose(connection: &Connection) -> Result<PathBuf> {
    if let Some(path) = &connection.kubeconfig {
        return Ok(path.clone());
    }
    if let Some(folder) = &connection.data_dir {
        return Ok(folder.join("kubeconfig"));
    }
    match std::env::var_os("KUBECONFIG").filter(|k| !k.is_empty()) {
        Some(_) => kubeconfig::user_file(),
        None => Ok(kubeconfig::default_data_dir()?.join("kubeconfig")),
    }
}
