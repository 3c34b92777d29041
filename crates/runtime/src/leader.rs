//! Who leads: at most one of several processes acts.

use crate::{CancellationToken, Error, Lease, Object, View, Writer};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// A gate that is open while this process leads. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Gate {
    open: Option<watch::Receiver<bool>>,
}

impl Gate {
    /// A gate that is always open: the embedded cluster has one process.
    pub const fn open() -> Self {
        Self { open: None }
    }

    /// Whether this process leads. Ask before every write.
    pub fn is_open(&self) -> bool {
        self.open.as_ref().is_none_or(|open| *open.borrow())
    }

    /// Waits until this process leads; `false` when the election ended.
    pub async fn opened(&mut self) -> bool {
        self.wait(true).await
    }

    /// Waits until this process no longer leads.
    pub async fn closed(&mut self) {
        match &self.open {
            None => std::future::pending().await,
            Some(_) => drop(self.wait(false).await),
        }
    }

    async fn wait(&mut self, wanted: bool) -> bool {
        match &mut self.open {
            None => wanted,
            Some(open) => open.wait_for(|open| *open == wanted).await.is_ok(),
        }
    }
}

/// How a leader is elected. The times are those of client-go's defaults.
#[derive(Debug, Clone)]
pub struct LeaseOptions {
    /// Namespace of the Lease.
    pub namespace: String,
    /// Name of the Lease: one per thing to lead.
    pub name: String,
    /// This process, different from every other.
    pub identity: String,
    /// How long the others wait after the last sign of life.
    pub lease: Duration,
    /// How long a leader acts without being able to renew; shorter than `lease`.
    pub renew_deadline: Duration,
    /// How often it is tried.
    pub retry: Duration,
}

impl LeaseOptions {
    /// Usual times: 15 s lease, 10 s to renew, tried every 2 s.
    pub fn new(namespace: &str, name: &str, identity: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            identity: identity.to_owned(),
            lease: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry: Duration::from_secs(2),
        }
    }
}

/// Takes part in an election until `shutdown`, in a task of its own.
///
/// The gate closes `renew_deadline` after the last successful renewal whatever happens, which
/// is before anybody else may lead. At shutdown the lease is given back, so that the next one
/// need not wait.
pub fn lead(writer: Writer, options: LeaseOptions, shutdown: &CancellationToken) -> Gate {
    let (open, receiver) = watch::channel(false);
    let election = Election {
        writer,
        options,
        seen: None,
    };
    tokio::spawn(election.run(open, shutdown.clone()));
    Gate {
        open: Some(receiver),
    }
}

struct Election {
    writer: Writer,
    options: LeaseOptions,
    /// The lease's revision, and since when it has not changed by this process' own clock:
    /// other clocks are never compared with.
    seen: Option<(String, Instant)>,
}

/// What to write to hold the lease; `None` while somebody else holds it.
type Claim = Option<(Lease, Value)>;

impl Election {
    async fn run(mut self, open: watch::Sender<bool>, shutdown: CancellationToken) {
        let mut renewed: Option<Instant> = None;
        let retry = self.options.retry;
        let renew_deadline = self.options.renew_deadline;
        loop {
            let tried = Instant::now();
            // A try may hang: it is given no longer than the deadline it is to meet.
            let left = renewed.map_or(renew_deadline, |at| {
                (at + renew_deadline).saturating_duration_since(tried)
            });
            let attempt = tokio::time::timeout(left, self.attempt());
            let Some(outcome) = shutdown.run_until_cancelled(attempt).await else {
                break;
            };
            match outcome {
                Ok(Ok(true)) => renewed = Some(tried),
                Ok(Ok(false)) => renewed = None,
                Ok(Err(error)) => tracing::debug!(%error, "lease not renewed"),
                Err(_) => tracing::debug!("lease not renewed in time"),
            }
            let leads = renewed.is_some_and(|at| at.elapsed() < renew_deadline);
            if !leads {
                renewed = None;
            }
            open.send_if_modified(|open| std::mem::replace(open, leads) != leads);
            let until = renewed.map_or(retry, |at| {
                retry.min((at + renew_deadline).saturating_duration_since(Instant::now()))
            });
            if shutdown
                .run_until_cancelled(tokio::time::sleep(until))
                .await
                .is_none()
            {
                break;
            }
        }
        let led = open.send_replace(false);
        if led && let Err(error) = self.release().await {
            tracing::debug!(%error, "lease not given back");
        }
    }

    /// Tries to take or renew the lease; whether this process holds it now.
    async fn attempt(&mut self) -> Result<bool, Error> {
        let (namespace, name) = (&self.options.namespace, &self.options.name);
        let current = self
            .writer
            .get::<Lease>(&Lease::RESOURCE, namespace, name)
            .await;
        let result = match current {
            Ok(lease) => match self.claim(lease, Timestamp::now(), Instant::now()) {
                None => return Ok(false),
                Some((_, body)) => self.writer.replace(&Lease::RESOURCE, &body).await,
            },
            Err(error) if error.is_not_found() => {
                let body = self.body(&Lease::default(), Timestamp::now());
                self.writer.create(&Lease::RESOURCE, namespace, &body).await
            }
            Err(error) => return Err(error),
        };
        match result {
            Ok(_) => Ok(true),
            Err(error) if error.is_conflict() || error.is_already_exists() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Decides whether the lease may be taken, and how it then reads.
    fn claim(&mut self, lease: Lease, now: Timestamp, clock: Instant) -> Claim {
        let revision = &lease.meta().resource_version;
        let since = match &self.seen {
            Some((seen, since)) if seen == revision => *since,
            _ => {
                self.seen = Some((revision.clone(), clock));
                clock
            }
        };
        let holder = &lease.spec.holder_identity;
        let free = holder.is_empty() || *holder == self.options.identity;
        if !free && clock.duration_since(since) < self.options.lease {
            return None;
        }
        let body = self.body(&lease, now);
        Some((lease, body))
    }

    fn body(&self, old: &Lease, now: Timestamp) -> Value {
        let kept = old.spec.holder_identity == self.options.identity;
        let acquired = old.spec.acquire_time.filter(|_| kept).unwrap_or(now);
        let transitions = match old.spec.lease_transitions {
            None => 0,
            Some(n) if kept => n,
            Some(n) => n + 1,
        };
        let mut metadata = json!({
            "name": self.options.name,
            "namespace": self.options.namespace,
        });
        if !old.metadata.resource_version.is_empty() {
            metadata["resourceVersion"] = old.metadata.resource_version.clone().into();
            metadata["uid"] = old.metadata.uid.clone().into();
        }
        json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": metadata,
            "spec": {
                "holderIdentity": self.options.identity,
                "leaseDurationSeconds": self.options.lease.as_secs().max(1),
                "acquireTime": micros(acquired),
                "renewTime": micros(now),
                "leaseTransitions": transitions,
            },
        })
    }

    async fn release(&self) -> Result<(), Error> {
        let (namespace, name) = (&self.options.namespace, &self.options.name);
        let lease: Lease = self.writer.get(&Lease::RESOURCE, namespace, name).await?;
        if lease.spec.holder_identity != self.options.identity {
            return Ok(());
        }
        let mut body = self.body(&lease, Timestamp::now());
        body["spec"]["holderIdentity"] = "".into();
        body["spec"]["leaseDurationSeconds"] = 1.into();
        self.writer.replace(&Lease::RESOURCE, &body).await.map(drop)
    }
}

/// Kubernetes' MicroTime.
fn micros(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

#[cfg(test)]
mod tests;
