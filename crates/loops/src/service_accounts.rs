//! Gives each namespace what its pods expect: the service account `default`, and the ConfigMap with
//! the cluster's CA.

use crate::namespaces::Namespace;
use crate::{Context, names, note};
use pernode_core::meta::Meta;
use pernode_runtime::{
    Error, Event, Informer, Object, Partial, Queue, Resource, Source, Subscription, View,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// First and longest pause after a failed write.
const RETRY: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(10));
const ACCOUNT: &str = "default";
const CA: &str = "kube-root-ca.crt";
const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "configmaps", "ConfigMap");

/// A ServiceAccount, as far as this loop looks at it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct ServiceAccount {
    metadata: Meta,
}

impl Object for ServiceAccount {
    fn meta(&self) -> &Meta {
        &self.metadata
    }
}

impl View for ServiceAccount {
    const RESOURCE: Resource = Resource::namespaced("", "v1", "serviceaccounts", "ServiceAccount");
}

pub(crate) async fn run(context: Context, ca: &str) {
    let queue = Queue::<String>::new(RETRY.0, RETRY.1);
    let maps = Informer::<Partial>::new(Source::all(CONFIG_MAPS).metadata_only());
    let maps_seen = maps.shared().subscribe();
    maps.start(context.writer.client().clone(), &context.shutdown);
    let accounts = context.follow::<ServiceAccount>().subscribe();
    let namespaces = context.follow::<Namespace>().subscribe();
    let work = async {
        tokio::join!(
            joined(namespaces, &queue),
            lost(accounts, ACCOUNT, &queue),
            lost(maps_seen, CA, &queue),
            provide(&context, ca, &queue),
        )
    };
    context.shutdown.run_until_cancelled(work).await;
}

/// Namespaces that there are.
async fn joined(mut namespaces: Subscription<Namespace>, queue: &Queue<String>) {
    while let Some(event) = namespaces.next().await {
        let seen = match event {
            Event::Reset(all) => all,
            Event::Apply(one) => vec![one],
            Event::Delete(_) => Vec::new(),
        };
        for namespace in seen.iter().filter(|n| !n.meta().is_deleting()) {
            queue.add(namespace.meta().name.clone());
        }
    }
}

/// Namespaces that lost one of the two.
async fn lost<V: Object>(mut objects: Subscription<V>, name: &str, queue: &Queue<String>) {
    while let Some(event) = objects.next().await {
        if let Event::Delete(object) = event
            && object.meta().name == name
        {
            queue.add(object.meta().namespace.clone());
        }
    }
}

async fn provide(context: &Context, ca: &str, queue: &Queue<String>) {
    while let Some(namespace) = queue.next().await {
        let account =
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT}});
        let map = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": CA, "annotations": {
                "kubernetes.io/description": "The certificate authority of this cluster's API server.",
            }},
            "data": {"ca.crt": ca},
        });
        let made = async {
            context
                .make(&ServiceAccount::RESOURCE, &namespace, &account)
                .await?;
            context.make(&CONFIG_MAPS, &namespace, &map).await
        };
        match made.await {
            Ok(()) => queue.forget(&namespace),
            Err(error) => {
                note(names::SERVICE_ACCOUNT, "provide for", &namespace, &error);
                queue.retry(namespace.clone());
            }
        }
        queue.done(&namespace);
    }
}

impl Context {
    /// Creates an object unless it exists, or its namespace is on its way out.
    async fn make(&self, resource: &Resource, namespace: &str, body: &Value) -> Result<(), Error> {
        match self.writer.create(resource, namespace, body).await {
            Err(e) if e.is_already_exists() || e.is_not_found() || e.is_namespace_terminating() => {
                Ok(())
            }
            other => other.map(drop),
        }
    }
}
