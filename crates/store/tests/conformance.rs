//! What every engine has to do: one suite, run for each.
#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use pernode_store::embedded::{self, Options};
use pernode_store::memory::Memory;
use pernode_store::{
    Attrs, Committed, Error, Event, EventKind, Op, Payload, Precondition, Scope, Store, Watch,
    WatchError, Window,
};

/// An engine under test, and what has to live as long as it.
struct Bed {
    store: Arc<dyn Store>,
    _dir: Option<tempfile::TempDir>,
}

fn memory(window: Window) -> Bed {
    Bed {
        store: Arc::new(Memory::new(window)),
        _dir: None,
    }
}

fn embedded(window: Window) -> Bed {
    let dir = tempfile::tempdir().unwrap();
    let store = embedded::open(
        dir.path(),
        &Options {
            window,
            ..Options::default()
        },
    )
    .unwrap();
    Bed {
        store: Arc::new(store),
        _dir: Some(dir),
    }
}

macro_rules! for_each_engine {
    ($($name:ident),* $(,)?) => {
        mod on_memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() { super::$name(super::memory).await })*
        }
        mod on_embedded {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() { super::$name(super::embedded).await })*
        }
    };
}

for_each_engine!(
    numbers_writes_and_splices_the_revision,
    checks_preconditions,
    conflicts_take_no_revision,
    refuses_a_payload_without_a_place_for_the_revision,
    one_of_many_rivals_wins,
    lists_by_prefix_in_key_order,
    a_snapshot_stays_as_it_is,
    pages_through_a_snapshot,
    lists_the_past,
    watches_backlog_then_live_without_gap_or_duplicate,
    watches_only_its_prefix,
    watches_only_one_field_value,
    many_watches_race_with_writes,
    cuts_off_a_slow_watcher_and_nobody_else,
    the_window_is_bounded_by_count,
    the_window_is_bounded_by_bytes,
    compacts,
    tells_progress,
    tells_revisions,
    close_ends_watches_and_writes_but_not_reads,
    a_dropped_commit_is_still_written,
);

fn payload(text: &str) -> Payload {
    let bytes = format!("[,{text}]").into_bytes();
    Payload::new(bytes, 1)
}

fn put(key: &str, text: &str, precondition: Precondition) -> Op {
    let attrs = Attrs {
        labels: vec![("text".into(), text.into())],
        fields: Vec::new(),
    };
    Op::Put {
        key: key.into(),
        payload: payload(text),
        attrs,
        precondition,
    }
}

fn delete(key: &str, precondition: Precondition) -> Op {
    Op::Delete {
        key: key.into(),
        precondition,
        last: payload("gone"),
        attrs: Attrs::default(),
    }
}

async fn write(store: &Arc<dyn Store>, op: Op) -> Committed {
    store.commit(op).await.expect("the write holds")
}

async fn write_any(store: &Arc<dyn Store>, key: &str, text: &str) -> u64 {
    write(store, put(key, text, Precondition::Any))
        .await
        .item
        .revision
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// `key=bytes` of each object, in order.
fn show(snapshot: &pernode_store::Snapshot) -> String {
    let items = snapshot
        .iter()
        .map(|item| format!("{}={}", item.key, text(&item.bytes)));
    items.collect::<Vec<_>>().join(" ")
}

async fn next(watch: &mut Watch) -> Result<Arc<Event>, WatchError> {
    let event = tokio::time::timeout(Duration::from_secs(20), watch.next());
    event.await.expect("an event within 20 seconds")
}

async fn numbers_writes_and_splices_the_revision(engine: fn(Window) -> Bed) {
    let store = engine(Window::default()).store;
    assert_eq!(store.revision(), 1);
    let made = write(&store, put("/a", "x", Precondition::Absent)).await;
    assert_eq!(
        (made.item.revision, made.item.created, made.previous),
        (2, 2, None)
    );
    assert_eq!(text(&made.item.bytes), "[2,x]");
    let changed = write(&store, put("/a", "y", Precondition::Revision(2))).await;
    assert_eq!((changed.item.revision, changed.item.created), (3, 2));
    assert_eq!(changed.previous.unwrap(), made.item);
    assert_eq!(store.get("/a").unwrap(), changed.item);
    assert_eq!(store.get("/a").unwrap().attrs.label("text"), Some("y"));
    let gone = write(&store, delete("/a", Precondition::Revision(3))).await;
    assert_eq!(text(&gone.item.bytes), "[4,gone]");
    assert_eq!(gone.item.created, 2);
    assert_eq!(store.get("/a"), None);
    assert_eq!(store.revision(), 4);
    let again = write(&store, put("/a", "z", Precondition::Absent)).await;
    assert_eq!((again.item.revision, again.item.created), (5, 5));
}

async fn checks_preconditions(engine: fn(Window) -> Bed) {
    let store = engine(Window::default()).store;
    let absent = [Precondition::Revision(2), Precondition::Exists];
    for precondition in absent {
        let refused = store
            .commit(put("/a", "x", precondition))
            .await
            .unwrap_err();
        assert!(
            matches!(refused, Error::Conflict { current: None }),
            "{precondition:?}"
        );
    }
    for precondition in [
        Precondition::Any,
        Precondition::Absent,
        Precondition::Exists,
    ] {
        let refused = store.commit(delete("/a", precondition)).await.unwrap_err();
        assert!(
            matches!(refused, Error::Conflict { current: None }),
            "{precondition:?}"
        );
    }
    let revision = write_any(&store, "/a", "x").await;
    for precondition in [Precondition::Absent, Precondition::Revision(revision - 1)] {
        for op in [put("/a", "y", precondition), delete("/a", precondition)] {
            let refused = store.commit(op).await.unwrap_err();
            assert_eq!(
                refused.conflicting(),
                store.get("/a").as_ref(),
                "{precondition:?}"
            );
        }
    }
    write(&store, put("/a", "y", Precondition::Exists)).await;
    write(&store, delete("/a", Precondition::Exists)).await;
}

async fn conflicts_take_no_revision(engine: fn(Window) -> Bed) {
    let store = engine(Window::default()).store;
    let before = write_any(&store, "/a", "x").await;
    store
        .commit(put("/a", "y", Precondition::Absent))
        .await
        .unwrap_err();
    store
        .commit(delete("/b", Precondition::Any))
        .await
        .unwrap_err();
    assert_eq!(store.revision(), before);
    assert_eq!(write_any(&store, "/a", "y").await, before + 1);
}

async fn refuses_a_payload_without_a_place_for_the_revision(engine: fn(Window) -> Bed) {
    let store = engine(Window::default()).store;
    let op = Op::Put {
        key: "/a".into(),
        payload: Payload::new(b"abc".to_vec(), 4),
        attrs: Attrs::default(),
        precondition: Precondition::Any,
    };
    let refused = store.commit(op).await.unwrap_err();
    assert!(
        matches!(
            refused,
            Error::Payload {
                len: 3,
                revision_at: 4,
                ..
            }
        ),
        "{refused}"
    );
    assert_eq!(store.revision(), 1);
}

async fn one_of_many_rivals_wins(engine: fn(Window) -> Bed) {
    let store = engine(Window::default()).store;
    let mut revision = write_any(&store, "/a", "0").await;
    for round in 0..20 {
        let rivals = (0..16).map(|rival| {
            let op = put(
                "/a",
                &format!("{round}-{rival}"),
                Precondition::Revision(revision),
            );
            tokio::spawn(store.commit(op))
        });
        let outcomes = futures::future::join_all(rivals.collect::<Vec<_>>()).await;
        let won: Vec<_> = outcomes
            .into_iter()
            .filter_map(|it| it.unwrap().ok())
            .collect();
        assert_eq!(won.len(), 1);
        assert_eq!(won[0].item.revision, revision + 1);
        revision += 1;
    }
}

async fn lists_by_prefix_in_key_order(engine: fn(Window) -> Bed) {
    let store = engine(Window::default()).store;
    for key in [
        "/pods/b/1",
        "/pods/a/2",
        "/pods/a/1",
        "/podsx/a/1",
        "/nodes/a",
        "/pods/ä",
    ] {
        write_any(&store, key, "x").await;
    }
    let pods = store.list("/pods/");
    assert_eq!(
        show(&pods),
        "/pods/a/1=[4,x] /pods/a/2=[3,x] /pods/b/1=[2,x] /pods/ä=[7,x]"
    );
    assert_eq!((pods.len(), pods.revision()), (4, 7));
    assert_eq!(
        show(&store.list("/pods/a/")),
        "/pods/a/1=[4,x] /pods/a/2=[3,x]"
    );
    assert!(store.list("/secrets/").is_empty());
    assert_eq!(store.list("").len(), 6);
}

async fn a_snapshot_stays_as_it_is(engine: fn(Window) -> Bed) {
    let store = engine(Window::default()).store;
    write_any(&store, "/a", "x").await;
    let snapshot = store.list("/");
    write_any(&store, "/a", "y").await;
    write_any(&store, "/b", "y").await;
    assert_eq!(show(&snapshot), "/a=[2,x]");
    assert_eq!(show(&store.list("/")), "/a=[3,y] /b=[4,y]");
}

async fn pages_through_a_snapshot(engine: fn(Window) -> Bed) {
    let store = engine(Window::default()).store;
    for key in ["/a", "/p/1", "/p/2", "/p/3", "/q"] {
        write_any(&store, key, "x").await;
    }
    let snapshot = store.list("/p/");
    let keys = |from: &str| {
        snapshot
            .from(from)
            .map(|it| it.key.to_string())
            .collect::<Vec<_>>()
    };
    let after = |key: &str| {
        snapshot
            .after(key)
            .map(|it| it.key.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(keys("/p/2"), ["/p/2", "/p/3"]);
    assert_eq!(keys("/a"), ["/p/1", "/p/2", "/p/3"]);
    assert_eq!(after("/p/2"), ["/p/3"]);
    assert_eq!(after("/p/2\0"), ["/p/3"]);
    assert_eq!(after("/a"), ["/p/1", "/p/2", "/p/3"]);
    assert_eq!(after("/p/3"), [""; 0]);
    assert_eq!(after("/z"), [""; 0]);
}

async fn lists_the_past(engine: fn(Window) -> Bed) {
    let store = engine(Window::default()).store;
    let mut past = vec![(store.revision(), String::new())];
    for (index, key) in ["/a", "/b", "/a", "/c", "/b", "/a"].iter().enumerate() {
        let op = match index {
            2 | 4 => delete(key, Precondition::Any),
            _ => put(key, &index.to_string(), Precondition::Any),
        };
        write(&store, op).await;
        past.push((store.revision(), show(&store.list("/"))));
    }
    for (revision, expected) in past {
        let snapshot = store.list_at("/", revision).unwrap();
        assert_eq!((show(&snapshot), snapshot.revision()), (expected, revision));
    }
    assert_eq!(show(&store.list_at("/b", 4).unwrap()), "/b=[3,1]");
    let refused = store.list_at("/", store.revision() + 1).unwrap_err();
    assert!(matches!(
        refused,
        Error::TooFar {
            requested: 8,
            current: 7
        }
    ));
    let refused = store.list_at("/", 0).unwrap_err();
    assert!(matches!(
        refused,
        Error::Compacted {
            requested: 0,
            oldest: 1
        }
    ));
}

async fn watches_backlog_then_live_without_gap_or_duplicate(engine: fn(Window) -> Bed) {
    let store = engine(Window::default()).store;
    write_any(&store, "/a", "1").await;
    let after = write_any(&store, "/a", "2").await;
    write_any(&store, "/b", "3").await;
    let mut watch = store.watch("/", after).unwrap();
    write(&store, delete("/a", Precondition::Any)).await;
    write_any(&store, "/c", "5").await;
    let mut seen = Vec::new();
    for _ in 0..3 {
        let event = next(&mut watch).await.unwrap();
        seen.push((
            event.revision,
            event.kind,
            text(&event.item.bytes).to_owned(),
        ));
        assert_eq!(event.previous.is_some(), event.kind != EventKind::Created);
        assert_eq!(event.item.revision, event.revision);
    }
    let expected = [
        (4, EventKind::Created, "[4,3]".to_owned()),
        (5, EventKind::Deleted, "[5,gone]".to_owned()),
        (6, EventKind::Created, "[6,5]".to_owned()),
    ];
    assert_eq!(seen, expected);
    assert!(watch.try_next().is_none());
    let refused = store.watch("/", 7).unwrap_err();
    assert!(matches!(
        refused,
        Error::TooFar {
            requested: 7,
            current: 6
        }
    ));
}

async fn watches_only_its_prefix(engine: fn(Window) -> Bed) {
    let store = engine(Window::default()).store;
    let start = store.revision();
    let prefixes = ["/pods/", "/pods/a/", "/pods/a/1", "/nodes/", "", "/pods/ä"];
    for key in [
        "/pods/a/1",
        "/nodes/n",
        "/pods/a/10",
        "/podsx",
        "/pods/b/1",
        "/pods/ä/1",
    ] {
        write_any(&store, key, "before").await;
    }
    let mut watches: Vec<_> = prefixes
        .map(|prefix| store.watch(prefix, start).unwrap())
        .into();
    for key in [
        "/pods/a/1",
        "/nodes/n",
        "/pods/a/10",
        "/podsx",
        "/pods/b/1",
        "/pods/ä/1",
    ] {
        write_any(&store, key, "after").await;
    }
    for (prefix, watch) in prefixes.iter().zip(&mut watches) {
        let seen: Vec<_> = std::iter::from_fn(|| watch.try_next()).collect();
        let expected = store.list(prefix).len() * 2;
        assert_eq!(seen.len(), expected, "{prefix}");
        assert!(
            seen.iter().all(|event| event.key.starts_with(prefix)),
            "{prefix}"
        );
        assert!(seen.is_sorted_by_key(|event| event.revision), "{prefix}");
    }
}

fn put_on(key: &str, node: &str) -> Op {
    let attrs = Attrs {
        labels: Vec::new(),
        fields: vec![("node".into(), node.into())],
    };
    Op::Put {
        key: key.into(),
        payload: payload(node),
        attrs,
        precondition: Precondition::Any,
    }
}

async fn watches_only_one_field_value(engine: fn(Window) -> Bed) {
    let store = engine(Window::default()).store;
    let start = store.revision();
    let scope = |value: &str| Scope::prefix("/pods/").with_field("node", value);
    let mut early = store.watch_scope(&scope("a"), start).unwrap();
    let other = store.watch_scope(&scope("b"), start).unwrap();
    drop(other);
    write(&store, put_on("/pods/1", "a")).await;
    write(&store, put_on("/pods/2", "b")).await;
    write(&store, put_on("/nodes/1", "a")).await;
    write(&store, put_on("/pods/1", "b")).await;
    write(&store, put_on("/pods/1", "b")).await;
    write(&store, put_on("/pods/2", "a")).await;
    write(&store, delete("/pods/2", Precondition::Any)).await;
    write_any(&store, "/pods/3", "without").await;
    let mut late = store.watch_scope(&scope("a"), start).unwrap();
    let revisions = |watch: &mut Watch| -> Vec<u64> {
        std::iter::from_fn(|| watch.try_next())
            .map(|event| event.revision)
            .collect()
    };
    // It comes, it leaves, another comes and is deleted.
    assert_eq!(revisions(&mut early), [2, 5, 7, 8]);
    assert_eq!(revisions(&mut late), [2, 5, 7, 8]);
    assert_eq!(
        revisions(&mut store.watch_scope(&scope("b"), start).unwrap()),
        [3, 5, 6, 7]
    );
    write(&store, put_on("/pods/4", "a")).await;
    assert_eq!(revisions(&mut late), [10]);
}

async fn many_watches_race_with_writes(engine: fn(Window) -> Bed) {
    const WRITES: u64 = 300;
    let store = engine(Window::default()).store;
    let start = store.revision();
    let writers = (0..3).map(|writer| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            for n in 0..WRITES / 3 {
                write_any(&store, &format!("/{writer}/{n}"), "x").await;
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    let watchers = (0..20).map(|_| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            tokio::task::yield_now().await;
            let after = store.revision();
            let mut watch = store.watch("/", after).unwrap();
            for expected in after + 1..=start + WRITES {
                assert_eq!(next(&mut watch).await.unwrap().revision, expected);
            }
            assert!(watch.try_next().is_none());
        })
    });
    for watcher in watchers.collect::<Vec<_>>() {
        watcher.await.unwrap();
    }
    for writer in writers {
        writer.await.unwrap();
    }
}

async fn cuts_off_a_slow_watcher_and_nobody_else(engine: fn(Window) -> Bed) {
    let bed = engine(Window {
        watch_buffer: 4,
        ..Window::default()
    });
    let store = bed.store;
    let mut slow = store.watch("/", 1).unwrap();
    let mut quick = store.watch("/", 1).unwrap();
    for n in 0..10 {
        let revision = write_any(&store, "/a", &n.to_string()).await;
        assert_eq!(next(&mut quick).await.unwrap().revision, revision);
    }
    for expected in 2..6 {
        assert_eq!(next(&mut slow).await.unwrap().revision, expected);
    }
    assert_eq!(slow.progress(), 5);
    assert_eq!(next(&mut slow).await.unwrap_err(), WatchError::Lagged);
    let mut resumed = store.watch("/", 5).unwrap();
    assert_eq!(next(&mut resumed).await.unwrap().revision, 6);
}

async fn the_window_is_bounded_by_count(engine: fn(Window) -> Bed) {
    let store = engine(Window {
        events: 3,
        ..Window::default()
    })
    .store;
    for n in 0..5 {
        write_any(&store, "/a", &n.to_string()).await;
    }
    // Revisions 2 to 6 were written; the events 4, 5 and 6 are left.
    let refused = store.watch("/", 2).unwrap_err();
    assert!(
        matches!(
            refused,
            Error::Compacted {
                requested: 2,
                oldest: 3
            }
        ),
        "{refused}"
    );
    let refused = store.list_at("/", 2).unwrap_err();
    assert!(matches!(refused, Error::Compacted { .. }));
    assert_eq!(show(&store.list_at("/", 3).unwrap()), "/a=[3,1]");
    assert_eq!(
        next(&mut store.watch("/", 3).unwrap())
            .await
            .unwrap()
            .revision,
        4
    );
}

async fn the_window_is_bounded_by_bytes(engine: fn(Window) -> Bed) {
    let store = engine(Window {
        bytes: 2500,
        ..Window::default()
    })
    .store;
    let large = "x".repeat(1000);
    for _ in 0..5 {
        write_any(&store, "/a", &large).await;
    }
    let refused = store.watch("/", 3).unwrap_err();
    assert!(
        matches!(refused, Error::Compacted { oldest: 4, .. }),
        "{refused}"
    );
    let huge = "x".repeat(5000);
    let revision = write_any(&store, "/a", &huge).await;
    assert!(store.watch("/", revision - 1).is_err());
    assert!(store.watch("/", revision).is_ok());
}

async fn compacts(engine: fn(Window) -> Bed) {
    let store = engine(Window::default()).store;
    for n in 0..5 {
        write_any(&store, "/a", &n.to_string()).await;
    }
    let mut open = store.watch("/", 2).unwrap();
    store.compact(4);
    assert!(matches!(
        store.watch("/", 3),
        Err(Error::Compacted {
            requested: 3,
            oldest: 4
        })
    ));
    assert!(matches!(
        store.list_at("/", 3),
        Err(Error::Compacted { .. })
    ));
    assert_eq!(show(&store.list_at("/", 4).unwrap()), "/a=[4,2]");
    assert_eq!(
        next(&mut store.watch("/", 4).unwrap())
            .await
            .unwrap()
            .revision,
        5
    );
    // A watch that is open already has its backlog.
    assert_eq!(next(&mut open).await.unwrap().revision, 3);
    store.compact(1);
    assert!(
        store.watch("/", 3).is_err(),
        "a compaction is not taken back"
    );
    store.compact(u64::MAX);
    assert!(store.watch("/", store.revision()).is_ok());
    write_any(&store, "/a", "later").await;
    assert_eq!(show(&store.list_at("/", 6).unwrap()), "/a=[6,4]");
}

async fn tells_progress(engine: fn(Window) -> Bed) {
    let store = engine(Window::default()).store;
    let mut watch = store.watch("/a", 1).unwrap();
    assert_eq!(watch.progress(), 1);
    write_any(&store, "/b", "x").await;
    let revision = write_any(&store, "/b", "y").await;
    // The write is acknowledged just before or after the watchers are told of its revision.
    let told = async {
        while watch.progress() < revision {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), told)
        .await
        .unwrap();
    let revision = write_any(&store, "/a", "z").await;
    write_any(&store, "/b", "z").await;
    assert!(watch.progress() < revision, "an event still waits");
    assert_eq!(next(&mut watch).await.unwrap().revision, revision);
    assert!(watch.progress() >= revision);
}

async fn tells_revisions(engine: fn(Window) -> Bed) {
    let store = engine(Window::default()).store;
    let mut revisions = store.revisions();
    let waiting = tokio::spawn(async move { *revisions.wait_for(|it| *it >= 4).await.unwrap() });
    for n in 0..3 {
        write_any(&store, "/a", &n.to_string()).await;
    }
    assert_eq!(
        tokio::time::timeout(Duration::from_secs(20), waiting)
            .await
            .unwrap()
            .unwrap(),
        4
    );
}

async fn close_ends_watches_and_writes_but_not_reads(engine: fn(Window) -> Bed) {
    let bed = engine(Window::default());
    let store = &bed.store;
    write_any(store, "/a", "x").await;
    let mut watch = store.watch("/", 1).unwrap();
    let pending: Vec<_> = (0..50)
        .map(|n| tokio::spawn(write_later(store, n)))
        .collect();
    store.close().await.unwrap();
    store.close().await.unwrap();
    let mut written = 1;
    for outcome in futures::future::join_all(pending).await {
        match outcome.unwrap() {
            Ok(_) => written += 1,
            Err(error) => assert!(matches!(error, Error::Closed), "{error}"),
        }
    }
    let refused = store
        .commit(put("/b", "x", Precondition::Any))
        .await
        .unwrap_err();
    assert!(matches!(refused, Error::Closed));
    let mut seen = 0;
    let ended = loop {
        match next(&mut watch).await {
            Ok(_) => seen += 1,
            Err(error) => break error,
        }
    };
    assert_eq!((seen, ended), (written, WatchError::Closed));
    assert_eq!(store.list("/").len(), written);
    let mut late = store.watch("/", store.revision()).unwrap();
    assert_eq!(late.next().await.unwrap_err(), WatchError::Closed);
    assert!(late.next().await.is_err() && late.next_is_closed().await);
}

fn write_later(
    store: &Arc<dyn Store>,
    n: usize,
) -> futures::future::BoxFuture<'static, Result<Committed, Error>> {
    store.commit(put(&format!("/n/{n}"), "x", Precondition::Any))
}

/// As a stream a watch says the same.
trait AsStream {
    async fn next_is_closed(&mut self) -> bool;
}

impl AsStream for Watch {
    async fn next_is_closed(&mut self) -> bool {
        matches!(StreamExt::next(self).await, Some(Err(WatchError::Closed)))
    }
}

async fn a_dropped_commit_is_still_written(engine: fn(Window) -> Bed) {
    let store = engine(Window::default()).store;
    let mut watch = store.watch("/", 1).unwrap();
    {
        let mut commit = store.commit(put("/a", "x", Precondition::Any));
        let _ = futures::poll!(&mut commit);
    }
    assert_eq!(&*next(&mut watch).await.unwrap().key, "/a");
}
