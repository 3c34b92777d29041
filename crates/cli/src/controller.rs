//! `pernode controller`: the DaemonSet controller on a cluster that exists.

use crate::args::Controller;
use crate::output::note;
use crate::stop::stop_on_signal;
use anyhow::{Context, Result};
use kube::config::{KubeConfigOptions, Kubeconfig};
use pernode_controller::{Options, Sources};
use pernode_runtime::{Gate, LeaseOptions, Writer, lead};
use std::process::ExitCode;
use std::time::Duration;

/// How long giving the lease back may take.
const RELEASE_WITHIN: Duration = Duration::from_secs(5);

/// Runs until SIGINT or SIGTERM.
pub(crate) async fn run(options: Controller) -> Result<ExitCode> {
    let stop = stop_on_signal()?;
    let client = connect(&options).await?;
    let version = client
        .apiserver_version()
        .await
        .context("cannot reach the API server")?;
    note(format_args!(
        "looking after DaemonSets of Kubernetes {}",
        version.git_version
    ));
    let gate = if options.no_leader_election {
        Gate::open()
    } else {
        let identity = identity();
        let lease = LeaseOptions::new(&options.lease_namespace, &options.lease_name, &identity);
        note(format_args!(
            "taking part in the election {}/{} as {identity}",
            lease.namespace, lease.name
        ));
        let gate = lead(
            Writer::new(client.clone(), "pernode-controller"),
            lease,
            &stop,
        );
        tell_leadership(gate.clone());
        gate
    };
    let sources = Sources::start(&client, &options.namespace, &stop);
    let settings = Options {
        gate: gate.clone(),
        ..Options::default()
    };
    pernode_controller::run(client, sources, settings, stop.clone()).await;
    if !options.no_leader_election {
        // The election ends after the lease was given back, so that the next one need not wait.
        let mut gate = gate;
        drop(tokio::time::timeout(RELEASE_WITHIN, gate.opened()).await);
    }
    Ok(ExitCode::SUCCESS)
}

fn tell_leadership(mut gate: Gate) {
    tokio::spawn(async move {
        while gate.opened().await {
            note("leading");
            gate.closed().await;
            note("not leading any more");
        }
    });
}

/// Who takes part: the pod or host, and the process, so that two on one host differ.
fn identity() -> String {
    let host = std::env::var("HOSTNAME").ok().filter(|h| !h.is_empty());
    let host = host.or_else(|| std::fs::read_to_string("/proc/sys/kernel/hostname").ok());
    format!(
        "{}_{}",
        host.as_deref().unwrap_or("pernode").trim(),
        std::process::id()
    )
}

async fn connect(options: &Controller) -> Result<kube::Client> {
    let config = match &options.kubeconfig {
        Some(path) => {
            let file = Kubeconfig::read_from(path)
                .with_context(|| format!("cannot read the kubeconfig {}", path.display()))?;
            kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
                .await
                .with_context(|| format!("cannot use the kubeconfig {}", path.display()))?
        }
        None => kube::Config::infer()
            .await
            .context("found no cluster: give --kubeconfig, set KUBECONFIG, or run in a pod")?,
    };
    kube::Client::try_from(config).context("cannot make a client of the configuration")
}
