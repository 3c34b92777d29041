//! `--apply FILE`: sends the documents of manifests to the API as server-side applies.

use crate::narrate::qualified;
use anyhow::{Context, Result, bail};
use http::Request;
use pernode_api::resource::{self, Resource};
use serde_json::Value;
use std::path::Path;

/// Field manager of what `--apply` writes.
const MANAGER: &str = "pernode";
/// Namespace of documents that name none.
const DEFAULT_NAMESPACE: &str = "default";

/// A DaemonSet that was applied, to follow its rollout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Applied {
    /// Namespace.
    pub(crate) namespace: String,
    /// Name.
    pub(crate) name: String,
}

impl Applied {
    /// Its name as lines about it have it.
    pub(crate) fn qualified(&self) -> String {
        qualified(Some(&self.namespace), &self.name)
    }
}

/// The DaemonSets among documents that are not applied yet.
pub(crate) fn daemonsets(manifests: &[Manifest]) -> Vec<Applied> {
    manifests.iter().filter_map(|m| m.0.daemonset()).collect()
}

/// One document of a manifest with the place it goes to.
#[derive(Debug)]
struct Document {
    object: Value,
    resource: &'static Resource,
    namespace: String,
    name: String,
}

impl Document {
    fn daemonset(&self) -> Option<Applied> {
        (self.resource.kind == "DaemonSet").then(|| Applied {
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        })
    }
}

/// Reads all files first, so that a mistake in the last one is found before anything is sent.
pub(crate) fn read(files: &[impl AsRef<Path>]) -> Result<Vec<Manifest>> {
    let mut documents = Vec::new();
    for file in files {
        let shown = file.as_ref().display();
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
        for (index, object) in parse(&text)
            .with_context(|| format!("{shown}"))?
            .into_iter()
            .enumerate()
        {
            let document =
                place(object).with_context(|| format!("{shown}, document {}", index + 1))?;
            documents.push(Manifest(document));
        }
    }
    Ok(documents)
}

/// A document that has been read and checked, ready to be sent.
#[derive(Debug)]
pub(crate) struct Manifest(Document);

/// All documents of a YAML or JSON text; empty ones are left out.
pub(crate) fn parse(text: &str) -> Result<Vec<Value>> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).context("not valid YAML")?;
    Ok(documents.into_iter().filter(|d| !d.is_null()).collect())
}

fn place(object: Value) -> Result<Document> {
    let text = |key: &str| {
        object[key]
            .as_str()
            .with_context(|| format!("{key} is missing"))
    };
    let (api_version, kind) = (text("apiVersion")?, text("kind")?);
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let Some(resource) = resource::find_kind(group, version, kind) else {
        bail!("no kind {kind:?} in version {api_version:?}: see kubectl api-resources");
    };
    let metadata = &object["metadata"];
    let name = metadata["name"]
        .as_str()
        .context("metadata.name is missing")?
        .to_owned();
    let namespace = metadata["namespace"]
        .as_str()
        .unwrap_or(DEFAULT_NAMESPACE)
        .to_owned();
    Ok(Document {
        object,
        resource,
        namespace,
        name,
    })
}

/// Applies the documents in order.
pub(crate) async fn apply(client: &kube::Client, manifests: Vec<Manifest>) -> Result<()> {
    for Manifest(document) in manifests {
        send(client, &document).await.with_context(|| {
            format!(
                "cannot apply {} {:?}",
                document.resource.qualified_kind(),
                document.name
            )
        })?;
    }
    Ok(())
}

async fn send(client: &kube::Client, document: &Document) -> Result<()> {
    let uri = format!("{}?fieldManager={MANAGER}&force=true", path(document));
    let body = serde_json::to_vec(&document.object).context("a JSON value can be written")?;
    let request = Request::patch(uri)
        .header(http::header::CONTENT_TYPE, "application/apply-patch+yaml")
        .body(body)
        .context("the name cannot be part of a path")?;
    client.request::<Value>(request).await?;
    Ok(())
}

fn path(document: &Document) -> String {
    let Resource {
        group,
        version,
        plural,
        namespaced,
        ..
    } = document.resource;
    let root = if group.is_empty() {
        format!("/api/{version}")
    } else {
        format!("/apis/{group}/{version}")
    };
    let namespace = if *namespaced {
        format!("/namespaces/{}", document.namespace)
    } else {
        String::new()
    };
    format!("{root}{namespace}/{plural}/{}", document.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let found = parse(text).and_then(|documents| {
            documents
                .into_iter()
                .map(|d| place(d).map(|d| path(&d)))
                .collect::<Result<Vec<_>>>()
        });
        let found = match found {
            Ok(paths) => paths.join("\n"),
            Err(error) => format!("{error:#}"),
        };
        assert!(found.contains(expected), "{found}");
    }

    #[test]
    fn documents_go_where_their_kind_lives() {
        check(
            "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: a}\n---\n---\napiVersion: v1\nkind: Node\nmetadata: {name: node-1}\n",
            "/apis/apps/v1/namespaces/default/daemonsets/a\n/api/v1/nodes/node-1",
        );
    }

    #[test]
    fn mistakes_are_named() {
        check(
            "apiVersion: apps/v2\nkind: DaemonSet\nmetadata: {name: a}",
            "no kind \"DaemonSet\" in version \"apps/v2\"",
        );
        check("kind: DaemonSet", "apiVersion is missing");
        check(
            "apiVersion: v1\nkind: Node\nmetadata: {}",
            "metadata.name is missing",
        );
        check("a: [", "not valid YAML");
    }
}
