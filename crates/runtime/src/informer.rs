//! List, then watch, for as long as the process lives.

mod lines;

use crate::resource::push_query;
use crate::writer::{JSON, List, PAGE, answer, exchange, transport};
use crate::{Backoff, CancellationToken, Error, Failure, Object, Resource, Shared, View};
use http::{Request, header};
use http_body_util::BodyExt;
use kube::client::Body;
use lines::Lines;
use pernode_core::meta::Meta;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// Which objects an informer follows.
#[derive(Debug, Clone)]
pub struct Source {
    /// Their kind.
    pub resource: Resource,
    /// Their namespace; empty means all.
    pub namespace: String,
    /// Labels they must have; empty means any.
    pub label_selector: String,
    /// Fields they must have; empty means any.
    pub field_selector: String,
    /// Asks the server for the metadata alone.
    pub metadata_only: bool,
}

impl Source {
    /// All objects of a kind.
    pub const fn all(resource: Resource) -> Self {
        Self {
            resource,
            namespace: String::new(),
            label_selector: String::new(),
            field_selector: String::new(),
            metadata_only: false,
        }
    }

    /// All objects of a view's kind.
    pub const fn of<V: View>() -> Self {
        Self::all(V::RESOURCE)
    }

    /// The same in one namespace.
    #[must_use]
    pub fn in_namespace(mut self, namespace: &str) -> Self {
        namespace.clone_into(&mut self.namespace);
        self
    }

    /// The same, metadata alone.
    #[must_use]
    pub const fn metadata_only(mut self) -> Self {
        self.metadata_only = true;
        self
    }

    fn accept(&self, kind: &str) -> String {
        if self.metadata_only {
            format!("{JSON};as={kind};g=meta.k8s.io;v=v1")
        } else {
            JSON.to_owned()
        }
    }

    fn path(&self) -> String {
        let mut path = self.resource.collection(&self.namespace);
        if !self.label_selector.is_empty() {
            push_query(&mut path, "labelSelector", &self.label_selector);
        }
        if !self.field_selector.is_empty() {
            push_query(&mut path, "fieldSelector", &self.field_selector);
        }
        path
    }
}

/// Follows the objects of one [`Source`] into a [`Shared`].
///
/// One task and one watch, however many loops subscribe. After a broken watch it resumes from
/// the last revision it saw; when that revision is too old (410) it lists again and tells the
/// differences. Failures back off from 50 ms to 30 s.
#[derive(Debug)]
pub struct Informer<V> {
    source: Source,
    shared: Shared<V>,
}

/// Shortest time after which a watch is renewed; the longest is twice that.
const WATCH_SECONDS: u64 = 240;
/// How long after its promised end a silent watch is given up.
const WATCH_SLACK: Duration = Duration::from_secs(30);

/// A watch that ends before this was refused rather than served.
const WATCH_SHORT: Duration = Duration::from_secs(1);

impl<V: Object> Informer<V> {
    /// An informer for a source.
    pub fn new(source: Source) -> Self {
        Self {
            source,
            shared: Shared::new(),
        }
    }

    /// The objects it follows.
    pub fn shared(&self) -> Shared<V> {
        self.shared.clone()
    }

    /// Follows in a task of its own until `shutdown`.
    pub fn start(self, client: kube::Client, shutdown: &CancellationToken) -> JoinHandle<()> {
        let shutdown = shutdown.clone();
        tokio::spawn(async move { self.run(client, shutdown).await })
    }

    /// Follows until `shutdown`, then ends all subscriptions.
    pub async fn run(self, client: kube::Client, shutdown: CancellationToken) {
        let follow = Follow {
            client,
            source: &self.source,
            shared: &self.shared,
            revision: None,
        };
        shutdown.run_until_cancelled(follow.forever()).await;
        self.shared.close();
    }
}

struct Follow<'a, V> {
    client: kube::Client,
    source: &'a Source,
    shared: &'a Shared<V>,
    /// The last revision seen; `None` before the first list and after a 410.
    revision: Option<String>,
}

impl<V: Object> Follow<'_, V> {
    async fn forever(mut self) {
        let mut backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(30));
        loop {
            match self.round(&mut backoff).await {
                Ok(()) => {}
                Err(error) => self.recover(error, backoff.next_delay()).await,
            }
        }
    }

    async fn recover(&mut self, error: Error, delay: Duration) {
        let plural = &*self.source.resource.plural;
        if error.is_expired() {
            tracing::debug!(plural, "revision too old, listing again");
            self.revision = None;
        } else {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            tracing::debug!(plural, %error, cause, ?delay, "cannot follow, trying again");
        }
        tokio::time::sleep(delay).await;
    }

    /// Lists if need be, then watches until the server ends the watch.
    async fn round(&mut self, backoff: &mut Backoff) -> Result<(), Error> {
        if self.revision.is_none() {
            self.list().await?;
        }
        self.watch(backoff).await
    }

    async fn list(&mut self) -> Result<(), Error> {
        let accept = self.source.accept("PartialObjectMetadataList");
        let mut all = Vec::new();
        let mut next = String::new();
        loop {
            let mut path = self.source.path();
            push_query(&mut path, "limit", PAGE);
            if !next.is_empty() {
                push_query(&mut path, "continue", &next);
            }
            let request = get(&path, &accept)?;
            let page: List<V> = answer(&exchange(&self.client, request).await?)?;
            all.extend(page.items);
            next = page.metadata.next;
            if next.is_empty() {
                self.shared.replace(all);
                self.revision = Some(page.metadata.resource_version);
                return Ok(());
            }
        }
    }

    async fn watch(&mut self, backoff: &mut Backoff) -> Result<(), Error> {
        let seconds = rand::random_range(WATCH_SECONDS..2 * WATCH_SECONDS);
        let request = get(
            &self.watch_path(seconds),
            &self.source.accept("PartialObjectMetadata"),
        )?;
        let response = self.client.send(request).await.map_err(transport)?;
        let status = response.status();
        let mut body = response.into_body();
        if !status.is_success() {
            let bytes = body.collect_bytes().await.map_err(transport)?;
            let failure = Failure::read(status.as_u16(), &bytes);
            return Err(Error::Status(Box::new(failure)));
        }
        let mut lines = Lines::default();
        let quiet_max = Duration::from_secs(seconds) + WATCH_SLACK;
        let started = Instant::now();
        while let Ok(Some(frame)) = tokio::time::timeout(quiet_max, body.frame()).await {
            let Ok(data) = frame.map_err(transport)?.into_data() else {
                continue;
            };
            lines.push(data);
            while let Some(line) = lines.next_line() {
                self.take(&line)?;
                backoff.reset();
            }
        }
        if started.elapsed() < WATCH_SHORT {
            // A server that hangs up at once must not be asked in a hot loop.
            tokio::time::sleep(backoff.next_delay()).await;
        }
        Ok(())
    }

    fn watch_path(&self, seconds: u64) -> String {
        let mut path = self.source.path();
        push_query(&mut path, "watch", "true");
        push_query(&mut path, "allowWatchBookmarks", "true");
        push_query(&mut path, "timeoutSeconds", &seconds.to_string());
        let revision = self.revision.as_deref().unwrap_or_default();
        push_query(&mut path, "resourceVersion", revision);
        path
    }

    /// Takes one line of the watch.
    fn take(&mut self, line: &[u8]) -> Result<(), Error> {
        match kind_of(line)? {
            Kind::Added | Kind::Modified => {
                let object = self.object(line)?;
                self.shared.apply(object);
            }
            Kind::Deleted => {
                let object = self.object(line)?;
                self.shared.delete(object);
            }
            Kind::Bookmark => {
                let bookmark: Line<crate::Partial> = answer(line)?;
                self.advance(&bookmark.object.metadata);
            }
            Kind::Error => {
                let failed: Line<Failure> = answer(line)?;
                return Err(Error::Status(Box::new(failed.object)));
            }
        }
        Ok(())
    }

    fn object(&mut self, line: &[u8]) -> Result<V, Error> {
        let line: Line<V> = answer(line).inspect_err(|_| {
            // Resuming would meet the same line for ever: start over from a list.
            self.revision = None;
        })?;
        self.advance(line.object.meta());
        Ok(line.object)
    }

    fn advance(&mut self, meta: &Meta) {
        self.revision = Some(meta.resource_version.clone());
    }
}

#[derive(Debug, Deserialize)]
struct Line<T> {
    object: T,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum Kind {
    Added,
    Modified,
    Deleted,
    Bookmark,
    Error,
}

/// The type of a watch event, without reading the object behind it when it comes first.
fn kind_of(line: &[u8]) -> Result<Kind, Error> {
    #[derive(Deserialize)]
    struct Head {
        r#type: Kind,
        #[serde(default, rename = "object")]
        _object: IgnoredAny,
    }
    const FIRST: &[(&[u8], Kind)] = &[
        (b"{\"type\":\"ADDED\"", Kind::Added),
        (b"{\"type\":\"MODIFIED\"", Kind::Modified),
        (b"{\"type\":\"DELETED\"", Kind::Deleted),
    ];
    let known = FIRST.iter().find(|(start, _)| line.starts_with(start));
    match known {
        Some((_, kind)) => Ok(*kind),
        None => answer::<Head>(line).map(|head| head.r#type),
    }
}

fn get(path: &str, accept: &str) -> Result<Request<Body>, Error> {
    Request::get(path)
        .header(header::ACCEPT, accept)
        // A compressed watch is flushed late, and some servers compress each line on its own.
        .header(header::ACCEPT_ENCODING, "identity")
        .body(Body::empty())
        .map_err(Error::Request)
}

#[cfg(test)]
mod tests;
