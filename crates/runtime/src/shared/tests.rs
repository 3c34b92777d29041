//! Tests of `shared`.

use super::*;
use crate::Partial;
use pernode_core::meta::Meta;

fn object(name: &str, uid: &str, revision: &str) -> Partial {
    Partial {
        metadata: Meta {
            namespace: "n".into(),
            name: name.into(),
            uid: uid.into(),
            resource_version: revision.into(),
            ..Meta::default()
        },
    }
}

fn text(event: &Event<Partial>) -> String {
    let one = |o: &Partial| {
        let m = &o.metadata;
        format!("{}/{}@{}", m.name, m.uid, m.resource_version)
    };
    match event {
        Event::Reset(all) => {
            let all: Vec<String> = all.iter().map(|o| one(o)).collect();
            format!("reset [{}]", all.join(" "))
        }
        Event::Apply(o) => format!("apply {}", one(o)),
        Event::Delete(o) => format!("delete {}", one(o)),
    }
}

fn drain(subscription: &mut Subscription<Partial>) -> Vec<String> {
    std::iter::from_fn(|| subscription.try_next())
        .map(|e| text(&e))
        .collect()
}

#[test]
fn a_subscriber_waits_for_the_first_list() {
    let shared = Shared::new();
    let mut early = shared.subscribe();
    shared.apply(object("a", "1", "1"));
    assert!(drain(&mut early).is_empty());
    shared.replace(vec![object("a", "1", "2"), object("b", "2", "2")]);
    assert_eq!(drain(&mut early), ["reset [a/1@2 b/2@2]"]);
    let mut late = shared.subscribe();
    shared.apply(object("c", "3", "3"));
    assert_eq!(drain(&mut early), ["apply c/3@3"]);
    assert_eq!(drain(&mut late), ["reset [a/1@2 b/2@2 c/3@3]"]);
}

#[test]
fn a_fresh_list_tells_the_differences() {
    let shared = Shared::new();
    let mut reader = shared.subscribe();
    let old = ["a", "b", "c", "d"].map(|n| object(n, n, "1"));
    shared.replace(old.into());
    drain(&mut reader);
    shared.replace(vec![
        object("a", "a", "1"),
        object("b", "b", "5"),
        object("c", "other", "6"),
        object("e", "e", "7"),
    ]);
    assert_eq!(
        drain(&mut reader),
        [
            "apply b/b@5",
            "delete c/c@1",
            "apply c/other@6",
            "apply e/e@7",
            "delete d/d@1",
        ]
    );
}

#[test]
fn another_uid_under_the_same_name_is_another_object() {
    let shared = Shared::new();
    let mut reader = shared.subscribe();
    shared.replace(vec![object("a", "1", "1")]);
    drain(&mut reader);
    shared.apply(object("a", "2", "2"));
    assert_eq!(drain(&mut reader), ["delete a/1@1", "apply a/2@2"]);
    shared.delete(object("a", "2", "3"));
    shared.delete(object("a", "2", "4"));
    assert_eq!(drain(&mut reader), ["delete a/2@3"]);
}

#[test]
fn a_reader_that_lags_gets_the_present_state() {
    let shared = Shared::new();
    let mut reader = shared.subscribe();
    shared.replace(vec![]);
    drain(&mut reader);
    for revision in 0..=BACKLOG_MAX {
        shared.apply(object("a", "1", &revision.to_string()));
    }
    assert_eq!(shared.lagged(), 1);
    shared.apply(object("b", "2", "99999"));
    assert_eq!(
        drain(&mut reader),
        [format!("reset [a/1@{BACKLOG_MAX} b/2@99999]")]
    );
}

#[tokio::test]
async fn readers_end_with_the_informer() {
    let shared = Shared::new();
    let mut reader = shared.subscribe();
    shared.replace(vec![object("a", "1", "1")]);
    let waiter = tokio::spawn({
        let shared = shared.clone();
        async move { shared.synced().await }
    });
    assert!(waiter.await.unwrap());
    shared.close();
    assert_eq!(text(&reader.next().await.unwrap()), "reset [a/1@1]");
    assert!(reader.next().await.is_none());
    let never = Shared::<Partial>::new();
    never.close();
    assert!(!never.synced().await);
}
