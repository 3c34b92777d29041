//! `pernode node add | remove | list`: simulated nodes of a running cluster, through its API.

use crate::args::{ListOutput, Node, NodeAdd};
use crate::client::connect;
use crate::output::{data, note};
use anyhow::{Context, Result, bail};
use http::Request;
use pernode_cluster::{Capacity, NodeManifest};
use serde_json::Value;
use std::process::ExitCode;

/// Runs one of the node commands.
pub(crate) async fn run(command: Node) -> Result<ExitCode> {
    match command {
        Node::Add(options) => add(options).await?,
        Node::Remove { names, connection } => {
            let client = connect(&connection).await?;
            for name in &names {
                remove(&client, name)
                    .await
                    .with_context(|| format!("cannot remove node {name:?}"))?;
                note(format_args!("node/{name} removed"));
            }
        }
        Node::List { connection, output } => {
            let client = connect(&connection).await?;
            let request = Request::get("/api/v1/nodes")
                .body(Vec::new())
                .context("a fixed path")?;
            let list: Value = client.request(request).await.context("cannot list nodes")?;
            let rows: Vec<Row> = list["items"]
                .as_array()
                .into_iter()
                .flatten()
                .map(row)
                .collect();
            print(&rows, output)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn add(options: NodeAdd) -> Result<()> {
    let labels = options
        .labels
        .iter()
        .map(|l| label(l))
        .collect::<Result<Vec<_>>>()?;
    let taints = options
        .taints
        .iter()
        .map(|t| taint(t))
        .collect::<Result<Vec<_>>>()?;
    let capacity = Capacity {
        cpu: options.cpu,
        memory: options.memory,
        pods: options.pods,
    };
    let client = connect(&options.connection).await?;
    for name in &options.names {
        let mut manifest = NodeManifest::worker(name, &capacity);
        labels
            .iter()
            .for_each(|(key, value)| manifest.set_label(key, value));
        taints
            .iter()
            .for_each(|taint| manifest.add_taint(taint.clone()));
        let body = serde_json::to_vec(&manifest.into_value()).context("JSON can be written")?;
        let request = Request::post("/api/v1/nodes?fieldManager=pernode")
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(body)
            .context("a fixed path")?;
        client
            .request::<Value>(request)
            .await
            .with_context(|| format!("cannot add node {name:?}"))?;
        note(format_args!("node/{name} added"));
    }
    Ok(())
}

async fn remove(client: &kube::Client, name: &str) -> Result<()> {
    let request = Request::delete(format!("/api/v1/nodes/{name}"))
        .body(Vec::new())
        .context("the name cannot be part of a path")?;
    client.request::<Value>(request).await?;
    Ok(())
}

fn label(text: &str) -> Result<(String, String)> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => bail!("--label {text:?}: use KEY=VALUE"),
    }
}

fn taint(text: &str) -> Result<Value> {
    const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
    match text.rsplit_once(':') {
        Some((mark, effect)) if EFFECTS.contains(&effect) && !mark.is_empty() => {
            let (key, value) = mark.split_once('=').unwrap_or((mark, ""));
            Ok(serde_json::json!({"key": key, "value": value, "effect": effect}))
        }
        _ => bail!(
            "--taint {text:?}: use KEY[=VALUE]:EFFECT with an effect of {}",
            EFFECTS.join(", ")
        ),
    }
}

/// What the list shows of a node.
#[derive(Debug, serde::Serialize)]
struct Row {
    name: String,
    ready: String,
    simulated: bool,
    cpu: String,
    memory: String,
    pods: String,
}

fn row(node: &Value) -> Row {
    let text = |pointer: &str| {
        node.pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or("-")
            .to_owned()
    };
    let conditions = node["status"]["conditions"].as_array();
    let ready = conditions
        .into_iter()
        .flatten()
        .find(|c| c["type"] == "Ready");
    Row {
        name: text("/metadata/name"),
        ready: ready
            .and_then(|c| c["status"].as_str())
            .unwrap_or("Unknown")
            .to_owned(),
        simulated: pernode_cluster::is_simulated(node),
        cpu: text("/status/capacity/cpu"),
        memory: text("/status/capacity/memory"),
        pods: text("/status/capacity/pods"),
    }
}

fn print(rows: &[Row], output: ListOutput) -> Result<()> {
    if output == ListOutput::Json {
        data(serde_json::to_string_pretty(rows).context("rows can be written as JSON")?);
        return Ok(());
    }
    let width = rows.iter().map(|r| r.name.len()).max().unwrap_or(0).max(4);
    data(format_args!(
        "{:width$}   READY     SIMULATED   CPU   MEMORY   PODS",
        "NAME"
    ));
    for r in rows {
        let simulated = if r.simulated { "yes" } else { "no" };
        data(format_args!(
            "{:width$}   {:7}   {simulated:9}   {:3}   {:6}   {}",
            r.name, r.ready, r.cpu, r.memory, r.pods
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taint_is_read_as_kubectl_reads_it() {
        let value = taint("dedicated=gpu:NoSchedule").unwrap();
        assert_eq!(
            value,
            serde_json::json!({"key": "dedicated", "value": "gpu", "effect": "NoSchedule"})
        );
        assert_eq!(taint("k:NoExecute").unwrap()["value"], "");
    }

    #[test]
    fn bad_labels_and_taints_say_the_form() {
        assert!(label("zone").unwrap_err().to_string().contains("KEY=VALUE"));
        assert!(taint("k=v").unwrap_err().to_string().contains("EFFECT"));
        assert!(
            taint("k:Never")
                .unwrap_err()
                .to_string()
                .contains("NoSchedule")
        );
    }
}
