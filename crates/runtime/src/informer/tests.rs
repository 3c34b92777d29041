//! Tests of `informer`.

use super::*;
use crate::mock::{Asked, Reply, client};
use crate::{Event, Partial, Subscription};
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;

const PODS: Resource = Resource::namespaced("", "v1", "pods", "Pod");

fn object(name: &str, revision: u64) -> String {
    format!(r#"{{"metadata":{{"name":"{name}","uid":"{name}","resourceVersion":"{revision}"}}}}"#)
}

fn list(revision: u64, items: &[String], next: &str) -> Reply {
    let items = items.join(",");
    let meta = format!(r#"{{"resourceVersion":"{revision}","continue":"{next}"}}"#);
    Reply::Full(200, format!(r#"{{"metadata":{meta},"items":[{items}]}}"#))
}

fn line(kind: &str, object: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n")
}

fn is_watch(asked: &Asked) -> bool {
    asked.path.contains("watch=true")
}

/// A server whose watches are opened by hand: each watch request takes the next of `watches`.
fn follow(
    mut lists: Vec<Reply>,
    watches: Vec<mpsc::UnboundedReceiver<String>>,
) -> (
    Subscription<Partial>,
    Arc<Mutex<Vec<Asked>>>,
    CancellationToken,
) {
    let mut watches = watches.into_iter();
    lists.reverse();
    let (client, log) = client(move |asked| {
        if is_watch(asked) {
            let pending = || mpsc::unbounded_channel().1;
            Reply::Stream(watches.next().unwrap_or_else(pending))
        } else {
            lists.pop().expect("no more lists are scripted")
        }
    });
    let informer = Informer::<Partial>::new(Source::all(PODS));
    let subscription = informer.shared().subscribe();
    let shutdown = CancellationToken::new();
    informer.start(client, &shutdown);
    (subscription, log, shutdown)
}

async fn next(subscription: &mut Subscription<Partial>) -> String {
    let wait = tokio::time::timeout(Duration::from_secs(60), subscription.next());
    match wait.await.expect("an event in time") {
        None => "end".to_owned(),
        Some(Event::Reset(all)) => {
            let names: Vec<&str> = all.iter().map(|o| &*o.metadata.name).collect();
            format!("reset {}", names.join(" "))
        }
        Some(Event::Apply(o)) => format!("apply {}", o.metadata.name),
        Some(Event::Delete(o)) => format!("delete {}", o.metadata.name),
    }
}

fn watched_from(log: &Mutex<Vec<Asked>>) -> Vec<String> {
    let log = log.lock().unwrap();
    let watches = log.iter().filter(|asked| is_watch(asked));
    watches
        .map(|asked| {
            asked
                .path
                .rsplit_once("resourceVersion=")
                .unwrap()
                .1
                .to_owned()
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn pages_are_one_list_and_events_follow() {
    let (send, watch) = mpsc::unbounded_channel();
    let lists = vec![
        list(5, &[object("a", 1)], "more"),
        list(5, &[object("b", 2)], ""),
    ];
    let (mut events, log, shutdown) = follow(lists, vec![watch]);
    assert_eq!(next(&mut events).await, "reset a b");
    send.send(line("ADDED", &object("c", 6))).unwrap();
    assert_eq!(next(&mut events).await, "apply c");
    // Two lines in three chunks, the object before the type, a blank line between.
    send.send(r#"{"object":{"metadata":{"name":"c","#.into())
        .unwrap();
    send.send(format!(
        "\"uid\":\"c\",\"resourceVersion\":\"7\"}}}},\"type\":\"MODIFIED\"}}\n\n{}",
        &line("DELETED", &object("a", 8))[..30]
    ))
    .unwrap();
    send.send(line("DELETED", &object("a", 8))[30..].into())
        .unwrap();
    assert_eq!(next(&mut events).await, "apply c");
    assert_eq!(next(&mut events).await, "delete a");
    assert_eq!(watched_from(&log), ["5"]);
    shutdown.cancel();
    assert_eq!(next(&mut events).await, "end");
}

#[tokio::test(start_paused = true)]
async fn a_broken_watch_resumes_where_it_was() {
    let (send, first) = mpsc::unbounded_channel();
    let (again, second) = mpsc::unbounded_channel();
    let (mut events, log, _shutdown) = follow(vec![list(5, &[], "")], vec![first, second]);
    assert_eq!(next(&mut events).await, "reset ");
    send.send(line("ADDED", &object("a", 6))).unwrap();
    send.send(line("BOOKMARK", r#"{"metadata":{"resourceVersion":"9"}}"#))
        .unwrap();
    assert_eq!(next(&mut events).await, "apply a");
    drop(send);
    again.send(line("ADDED", &object("b", 10))).unwrap();
    assert_eq!(next(&mut events).await, "apply b");
    assert_eq!(watched_from(&log), ["5", "9"]);
}

#[tokio::test(start_paused = true)]
async fn an_expired_watch_lists_again_and_tells_the_differences() {
    let (send, first) = mpsc::unbounded_channel();
    let lists = vec![
        list(5, &[object("a", 1), object("b", 2)], ""),
        list(50, &[object("b", 40), object("c", 41)], ""),
    ];
    let (mut events, log, _shutdown) = follow(lists, vec![first]);
    assert_eq!(next(&mut events).await, "reset a b");
    let status = r#"{"kind":"Status","code":410,"reason":"Expired","message":"too old"}"#;
    send.send(line("ERROR", status)).unwrap();
    assert_eq!(next(&mut events).await, "apply b");
    assert_eq!(next(&mut events).await, "apply c");
    assert_eq!(next(&mut events).await, "delete a");
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(watched_from(&log), ["5", "50"]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_is_asked_ever_more_rarely() {
    let (client, log) = client(|_| Reply::Full(503, "down".into()));
    let shutdown = CancellationToken::new();
    Informer::<Partial>::new(Source::all(PODS)).start(client, &shutdown);
    tokio::time::sleep(Duration::from_secs(60)).await;
    let asked = log.lock().unwrap().len();
    assert!((8..=16).contains(&asked), "{asked} requests in a minute");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_up_is_not_asked_in_a_hot_loop() {
    let (client, log) = client(|asked| {
        if is_watch(asked) {
            Reply::Full(200, String::new())
        } else {
            list(5, &[], "")
        }
    });
    let shutdown = CancellationToken::new();
    Informer::<Partial>::new(Source::all(PODS)).start(client, &shutdown);
    tokio::time::sleep(Duration::from_secs(60)).await;
    let asked = log.lock().unwrap().len();
    assert!((8..=16).contains(&asked), "{asked} requests in a minute");
}
