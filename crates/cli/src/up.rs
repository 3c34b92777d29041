//! `pernode up`: a cluster in this process until a signal comes.

use crate::args::Up;
use crate::output::{ASIDE, GOOD, NAME, data, note, paint};
use crate::stop::{INTERRUPTED, stop_on_signal};
use crate::{apply, kubeconfig, narrate, progress};
use anyhow::{Context, Result};
use pernode_cluster::{Capacity, Cluster, NodeManifest, Nodes, Storage};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

/// Runs until SIGINT or SIGTERM.
pub(crate) async fn run(options: Up) -> Result<ExitCode> {
    let stop = stop_on_signal()?;
    let started = Instant::now();
    let manifests = apply::read(&options.apply)?;
    let cluster = tokio::select! {
        cluster = start(&options) => cluster?,
        () = stop.cancelled() => return Ok(ExitCode::from(INTERRUPTED)),
    };
    greet(&cluster, started.elapsed().as_secs_f64()).await?;
    if options.write_kubeconfig {
        let file = kubeconfig::user_file()?;
        kubeconfig::merge(cluster.kubeconfig(), &file)?;
        note(format_args!(
            "context 'pernode' is now current in {}",
            file.display()
        ));
    }
    let daemonsets = apply::daemonsets(&manifests);
    let names = daemonsets.iter().map(apply::Applied::qualified);
    let followed = Arc::new(narrate::Followed::new(names));
    let tell = narrate::run(cluster.client(), followed.clone(), stop.clone());
    let narrator = tokio::spawn(tell);
    let work = async {
        apply::apply(&cluster.client(), manifests).await?;
        progress::follow(&cluster.client(), &daemonsets, &followed).await?;
        stop.cancelled().await;
        Ok(())
    };
    let outcome = tokio::select! {
        outcome = work => outcome,
        () = stop.cancelled() => Ok(()),
    };
    stop.cancel();
    note(paint(ASIDE, "stopping"));
    drop(narrator.await);
    cluster.stop().await.context("cannot stop cleanly")?;
    outcome.map(|()| ExitCode::SUCCESS)
}

async fn start(options: &Up) -> Result<Cluster> {
    let capacity = Capacity {
        cpu: options.node_cpu.clone(),
        memory: options.node_memory.clone(),
        pods: options.node_pods,
    };
    let storage = match (&options.data_dir, options.ephemeral) {
        (_, true) => Storage::Memory,
        (Some(folder), false) => Storage::Directory(folder.clone()),
        (None, false) => Storage::Directory(kubeconfig::default_data_dir()?),
    };
    let nodes = match (&options.nodes_from, options.nodes) {
        (Some(file), _) => Nodes::Manifests(read_nodes(file, &capacity)?),
        (None, Some(workers)) => Nodes::Workers(workers),
        (None, None) => Nodes::Default,
    };
    let cluster = Cluster::builder()
        .storage(storage)
        .listen(options.listen)
        .capacity(capacity)
        .nodes(nodes)
        .without(options.without.iter().map(String::as_str))
        .start()
        .await?;
    Ok(cluster)
}

fn read_nodes(file: &Path, capacity: &Capacity) -> Result<Vec<NodeManifest>> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
    let documents = apply::parse(&text).with_context(|| format!("{shown}"))?;
    let nodes: Vec<_> = documents
        .into_iter()
        .enumerate()
        .map(|(index, document)| {
            NodeManifest::from_value(document, capacity)
                .with_context(|| format!("{shown}, document {}", index + 1))
        })
        .collect::<Result<_>>()?;
    anyhow::ensure!(!nodes.is_empty(), "{shown}: has no Node manifest");
    Ok(nodes)
}

/// Prints what a person needs. Data, so on standard output.
async fn greet(cluster: &Cluster, seconds: f64) -> Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let nodes = cluster
        .node_names()
        .await
        .context("cannot list the nodes")?;
    let shown = match nodes.as_slice() {
        [] => "none".to_owned(),
        few if few.len() <= 6 => few.join(", "),
        many => format!("{}, {} … {}", many[0], many[1], many[many.len() - 1]),
    };
    data(format_args!(
        "{} {} in {seconds:.2} s",
        paint(NAME, format_args!("pernode {version}")),
        paint(GOOD, "ready")
    ));
    data(format_args!("  API         https://{}", cluster.address()));
    data(format_args!("  nodes       {} ({shown})", nodes.len()));
    match cluster.data_dir() {
        Some(folder) => data(format_args!("  data        {}", folder.display())),
        None => data("  data        in memory, nothing is kept"),
    }
    data(format_args!(
        "  kubeconfig  export KUBECONFIG={}",
        cluster.kubeconfig_path().display()
    ));
    data("  stop        Ctrl-C");
    Ok(())
}
