//! Writing to the API.

use crate::resource::push_query;
use crate::{Error, Failure, Object, Partial, Resource};
use bytes::Bytes;
use http::{Method, Request, header};
use kube::client::Body;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;

/// Sends a loop's writes, in its name.
///
/// Cloning is cheap. There is no retry inside: what to do about a failure is the loop's
/// decision, and most failures mean that its plan is out of date.
#[derive(Clone)]
pub struct Writer {
    client: kube::Client,
    manager: Arc<str>,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("manager", &self.manager)
            .finish_non_exhaustive()
    }
}

/// The form of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patch {
    /// RFC 7386.
    Merge,
    /// Merges lists by the kind's merge keys.
    Strategic,
    /// RFC 6902, a list of operations.
    Json,
}

impl Patch {
    const fn content_type(self) -> &'static str {
        match self {
            Self::Merge => "application/merge-patch+json",
            Self::Strategic => "application/strategic-merge-patch+json",
            Self::Json => "application/json-patch+json",
        }
    }
}

/// What happens to the dependents of a deleted object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Propagation {
    /// They are deleted after it.
    Background,
    /// They are deleted before it.
    Foreground,
    /// They stay.
    Orphan,
}

/// What has to hold for a delete to happen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Precondition {
    /// The object still has this uid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// The object did not change since this revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
}

/// How to delete; the default leaves everything to the server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeleteOptions {
    /// Seconds to stop; 0 removes the object at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_period_seconds: Option<i64>,
    /// What happens to dependents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub propagation_policy: Option<Propagation>,
    /// What has to hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preconditions: Option<Precondition>,
}

impl DeleteOptions {
    /// Deletes only the object of this uid, never one that took its name since.
    pub fn of_uid(uid: &str) -> Self {
        Self {
            preconditions: Some(Precondition {
                uid: Some(uid.to_owned()),
                resource_version: None,
            }),
            ..Self::default()
        }
    }

    /// The same with a grace period.
    #[must_use]
    pub const fn grace(mut self, seconds: i64) -> Self {
        self.grace_period_seconds = Some(seconds);
        self
    }

    /// The same with a propagation policy.
    #[must_use]
    pub const fn propagation(mut self, policy: Propagation) -> Self {
        self.propagation_policy = Some(policy);
        self
    }

    /// The same, and only while the object is at this revision.
    #[must_use]
    pub fn at_revision(mut self, resource_version: &str) -> Self {
        self.preconditions.get_or_insert_default().resource_version =
            Some(resource_version.to_owned());
        self
    }
}

/// A list as the API answers it.
#[derive(Debug, Deserialize)]
#[serde(default, bound = "T: DeserializeOwned")]
pub(crate) struct List<T> {
    pub(crate) metadata: ListMeta,
    #[serde(deserialize_with = "pernode_core::meta::null_as_default")]
    pub(crate) items: Vec<T>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self {
            metadata: ListMeta::default(),
            items: Vec::new(),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ListMeta {
    pub(crate) resource_version: String,
    #[serde(rename = "continue")]
    pub(crate) next: String,
}

/// Items asked for at once when a list is read in pages.
pub(crate) const PAGE: &str = "1000";

impl Writer {
    /// A writer whose writes are recorded under the field manager `manager`.
    pub fn new(client: kube::Client, manager: &str) -> Self {
        Self {
            client,
            manager: manager.into(),
        }
    }

    /// The client it writes with.
    pub const fn client(&self) -> &kube::Client {
        &self.client
    }

    /// The field manager it writes as.
    pub fn manager(&self) -> &str {
        &self.manager
    }

    /// Reads one object.
    pub async fn get<T: DeserializeOwned>(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
    ) -> Result<T, Error> {
        let path = resource.object(namespace, name);
        answer(&self.send(Method::GET, &path, None).await?)
    }

    /// Reads all objects of a kind, of one namespace when it is not empty, in pages.
    pub async fn list<T: DeserializeOwned>(
        &self,
        resource: &Resource,
        namespace: &str,
    ) -> Result<Vec<T>, Error> {
        let mut all = Vec::new();
        let mut next = String::new();
        loop {
            let mut path = resource.collection(namespace);
            push_query(&mut path, "limit", PAGE);
            if !next.is_empty() {
                push_query(&mut path, "continue", &next);
            }
            let page: List<T> = answer(&self.send(Method::GET, &path, None).await?)?;
            all.extend(page.items);
            next = page.metadata.next;
            if next.is_empty() {
                return Ok(all);
            }
        }
    }

    /// Creates an object and gives back the metadata the server gave it.
    pub async fn create(
        &self,
        resource: &Resource,
        namespace: &str,
        body: &(impl Serialize + Sync),
    ) -> Result<Partial, Error> {
        self.create_as(resource, namespace, body).await
    }

    /// Creates an object and gives back what the server made of it.
    pub async fn create_as<T: DeserializeOwned>(
        &self,
        resource: &Resource,
        namespace: &str,
        body: &(impl Serialize + Sync),
    ) -> Result<T, Error> {
        let path = self.written(resource.collection(namespace));
        let body = Some((JSON, encode(body)?));
        answer(&self.send(Method::POST, &path, body).await?)
    }

    /// Replaces an object: `body` carries its name and, as precondition, its resourceVersion.
    pub async fn replace(&self, resource: &Resource, body: &Value) -> Result<Partial, Error> {
        let path = resource.object(text(body, "namespace"), text(body, "name"));
        self.put(&path, body).await
    }

    /// Replaces what a subresource covers, such as `status`; else as [`Self::replace`].
    pub async fn replace_sub(
        &self,
        resource: &Resource,
        subresource: &str,
        body: &Value,
    ) -> Result<Partial, Error> {
        let path = resource.object(text(body, "namespace"), text(body, "name"));
        self.put(&format!("{path}/{subresource}"), body).await
    }

    async fn put(&self, path: &str, body: &Value) -> Result<Partial, Error> {
        let path = self.written(path.to_owned());
        let body = Some((JSON, encode(body)?));
        answer(&self.send(Method::PUT, &path, body).await?)
    }

    /// Patches an object.
    pub async fn patch(
        &self,
        resource: &Resource,
        (namespace, name): (&str, &str),
        form: Patch,
        patch: &(impl Serialize + Sync),
    ) -> Result<Partial, Error> {
        self.patch_path(&resource.object(namespace, name), form, patch)
            .await
    }

    /// Patches the status of an object.
    pub async fn patch_status(
        &self,
        resource: &Resource,
        (namespace, name): (&str, &str),
        form: Patch,
        patch: &(impl Serialize + Sync),
    ) -> Result<Partial, Error> {
        let path = format!("{}/status", resource.object(namespace, name));
        self.patch_path(&path, form, patch).await
    }

    async fn patch_path(
        &self,
        path: &str,
        form: Patch,
        patch: &(impl Serialize + Sync),
    ) -> Result<Partial, Error> {
        let path = self.written(path.to_owned());
        let body = Some((form.content_type(), encode(patch)?));
        answer(&self.send(Method::PATCH, &path, body).await?)
    }

    /// Deletes an object. Whether it is gone or only going is for the watch to tell.
    pub async fn delete(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<(), Error> {
        let path = resource.object(namespace, name);
        self.send_delete(&path, options).await
    }

    /// Deletes all objects of a kind in a namespace.
    pub async fn delete_collection(
        &self,
        resource: &Resource,
        namespace: &str,
        options: &DeleteOptions,
    ) -> Result<(), Error> {
        let path = resource.collection(namespace);
        self.send_delete(&path, options).await
    }

    async fn send_delete(&self, path: &str, options: &DeleteOptions) -> Result<(), Error> {
        let mut body = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
        let options = serde_json::to_value(options).map_err(Error::Body)?;
        if let (Value::Object(body), Value::Object(options)) = (&mut body, options) {
            body.extend(options);
        }
        let body = Some((JSON, encode(&body)?));
        self.send(Method::DELETE, path, body).await.map(drop)
    }

    /// Binds a pod to a node.
    pub async fn bind(&self, pod: &impl Object, node: &str) -> Result<(), Error> {
        let meta = pod.meta();
        let body = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        });
        self.post_sub(meta, "binding", &body).await
    }

    /// Asks for a pod to be deleted, which its disruption budgets may refuse (429).
    pub async fn evict(&self, pod: &impl Object, options: &DeleteOptions) -> Result<(), Error> {
        let meta = pod.meta();
        let body = json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": meta.name, "namespace": meta.namespace},
            "deleteOptions": options,
        });
        self.post_sub(meta, "eviction", &body).await
    }

    async fn post_sub(
        &self,
        pod: &pernode_core::meta::Meta,
        subresource: &str,
        body: &Value,
    ) -> Result<(), Error> {
        let path = format!(
            "/api/v1/namespaces/{}/pods/{}/{subresource}",
            pod.namespace, pod.name
        );
        let body = Some((JSON, encode(body)?));
        let path = self.written(path);
        self.send(Method::POST, &path, body).await.map(drop)
    }

    fn written(&self, mut path: String) -> String {
        push_query(&mut path, "fieldManager", &self.manager);
        path
    }

    /// Sends any request; the answer's body, or the failure it states.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<(&'static str, Vec<u8>)>,
    ) -> Result<Bytes, Error> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::ACCEPT, JSON)
            .header(header::USER_AGENT, &*self.manager);
        let mut bytes = Vec::new();
        if let Some((content_type, content)) = body {
            request = request.header(header::CONTENT_TYPE, content_type);
            bytes = content;
        }
        let request = request.body(Body::from(bytes)).map_err(Error::Request)?;
        exchange(&self.client, request).await
    }
}

/// Sends a request and reads the whole answer.
pub(crate) async fn exchange(
    client: &kube::Client,
    request: Request<Body>,
) -> Result<Bytes, Error> {
    let response = client.send(request).await.map_err(transport)?;
    let status = response.status();
    let body = response
        .into_body()
        .collect_bytes()
        .await
        .map_err(transport)?;
    if status.is_success() {
        return Ok(body);
    }
    let failure = Failure::read(status.as_u16(), &body);
    Err(Error::Status(Box::new(failure)))
}

pub(crate) fn transport(error: kube::Error) -> Error {
    Error::Transport(Box::new(error))
}

pub(crate) const JSON: &str = "application/json";

pub(crate) fn answer<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(bytes).map_err(Error::Answer)
}

fn encode(body: &impl Serialize) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(body).map_err(Error::Body)
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests;
