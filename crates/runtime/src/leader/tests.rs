//! Tests of `leader`.

use super::*;
use crate::mock::{Asked, Reply, client};
use std::sync::{Arc, Mutex};

/// A server that keeps one lease, with revisions as preconditions; it can be switched off.
#[derive(Clone, Default)]
struct Server(Arc<Mutex<(Option<Value>, u64, bool)>>);

impl Server {
    fn writer(&self) -> Writer {
        let server = self.clone();
        let (client, _) = client(move |asked| server.answer(asked));
        Writer::new(client, "test")
    }

    fn answer(&self, asked: &Asked) -> Reply {
        let mut state = self.0.lock().unwrap();
        let (lease, revision, down) = &mut *state;
        if *down {
            return Reply::Full(503, "down".into());
        }
        let stored = lease
            .as_ref()
            .map(|l| l["metadata"]["resourceVersion"].clone());
        match (&*asked.method, stored) {
            ("GET", None) => return Reply::Full(404, r#"{"reason":"NotFound"}"#.into()),
            ("GET", Some(_)) => {}
            ("POST", Some(_)) => {
                return Reply::Full(409, r#"{"reason":"AlreadyExists"}"#.into());
            }
            _ => {
                let mut body: Value = serde_json::from_str(&asked.body).unwrap();
                let read = body["metadata"].get("resourceVersion").cloned();
                if read
                    != lease
                        .as_ref()
                        .map(|l| l["metadata"]["resourceVersion"].clone())
                {
                    return Reply::Full(409, r#"{"reason":"Conflict"}"#.into());
                }
                *revision += 1;
                body["metadata"]["resourceVersion"] = revision.to_string().into();
                *lease = Some(body);
            }
        }
        Reply::Full(200, lease.as_ref().unwrap().to_string())
    }

    fn switch(&self, down: bool) {
        self.0.lock().unwrap().2 = down;
    }

    fn spec(&self) -> Value {
        self.0.lock().unwrap().0.as_ref().unwrap()["spec"].clone()
    }

    fn candidate(&self, identity: &str) -> (Gate, CancellationToken) {
        let shutdown = CancellationToken::new();
        let options = LeaseOptions::new("kube-system", "pernode", identity);
        (lead(self.writer(), options, &shutdown), shutdown)
    }
}

async fn seconds(n: u64) {
    tokio::time::sleep(Duration::from_secs(n)).await;
}

#[tokio::test(start_paused = true)]
async fn one_leads_and_hands_over_when_it_stops() {
    let server = Server::default();
    let (mut a, stop_a) = server.candidate("a");
    assert!(a.opened().await);
    let (b, _stop_b) = server.candidate("b");
    seconds(60).await;
    assert!(a.is_open() && !b.is_open());
    stop_a.cancel();
    seconds(3).await;
    assert!(!a.is_open() && b.is_open());
    assert_eq!(server.spec()["holderIdentity"], "b");
    assert_eq!(server.spec()["leaseTransitions"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_cannot_renew_stops_before_another_starts() {
    let server = Server::default();
    let (mut a, stop_a) = server.candidate("a");
    assert!(a.opened().await);
    let lost = tokio::time::Instant::now();
    server.switch(true);
    a.closed().await;
    assert!(lost.elapsed() <= Duration::from_secs(10));
    // The process dies for good: another one waits out the lease it sees.
    stop_a.cancel();
    seconds(1).await;
    server.switch(false);
    let (mut gate, stop) = server.candidate("a");
    assert!(gate.opened().await);
    server.switch(true);
    stop.cancel();
    seconds(1).await;
    server.switch(false);
    let (mut b, _stop_b) = server.candidate("b");
    let waited = tokio::time::Instant::now();
    assert!(b.opened().await);
    assert!(
        waited.elapsed() >= Duration::from_secs(14),
        "{:?}",
        waited.elapsed()
    );
}

#[tokio::test]
async fn the_open_gate_never_closes() {
    let mut gate = Gate::open();
    assert!(gate.is_open() && gate.opened().await);
    let closed = tokio::time::timeout(Duration::from_millis(1), gate.closed());
    assert!(closed.await.is_err());
}
