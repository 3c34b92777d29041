//! Random histories against the plainest store there could be: a map and a list of events.
#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::collections::BTreeMap;
use std::sync::Arc;

use pernode_store::embedded::{self, Options};
use pernode_store::memory::Memory;
use pernode_store::{
    Attrs, Error, EventKind, Op, Payload, Precondition, Snapshot, Store, Watch, Window,
};
use proptest::prelude::*;

const WINDOW: usize = 12;

#[derive(Debug, Clone)]
enum Step {
    Put {
        key: usize,
        text: u8,
        precondition: Want,
    },
    Delete {
        key: usize,
        precondition: Want,
    },
    Compact {
        back: u64,
    },
    ListAt {
        prefix: usize,
        back: u64,
    },
    Watch {
        prefix: usize,
        back: u64,
    },
    Drain,
    Reopen,
}

/// A precondition in terms of what is there, so that it often holds.
#[derive(Debug, Clone, Copy)]
enum Want {
    Any,
    Absent,
    Exists,
    Current,
    Stale,
}

const KEYS: [&str; 6] = ["/a/1", "/a/2", "/a/20", "/b/1", "/b", "/c/x/1"];
const PREFIXES: [&str; 5] = ["/", "/a/", "/a/2", "/b", "/none"];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let want = prop_oneof![
        3 => Just(Want::Any),
        2 => Just(Want::Absent),
        1 => Just(Want::Exists),
        4 => Just(Want::Current),
        1 => Just(Want::Stale),
    ];
    let key = 0..KEYS.len();
    let prefix = 0..PREFIXES.len();
    let step = prop_oneof![
        8 => (key.clone(), any::<u8>(), want.clone())
            .prop_map(|(key, text, precondition)| Step::Put { key, text, precondition }),
        4 => (key, want).prop_map(|(key, precondition)| Step::Delete { key, precondition }),
        1 => (0..20u64).prop_map(|back| Step::Compact { back }),
        3 => (prefix.clone(), 0..20u64).prop_map(|(prefix, back)| Step::ListAt { prefix, back }),
        2 => (prefix, 0..16u64).prop_map(|(prefix, back)| Step::Watch { prefix, back }),
        2 => Just(Step::Drain),
        1 => Just(Step::Reopen),
    ];
    proptest::collection::vec(step, 1..60)
}

/// `(revision, key, text or nothing if deleted)`: all that ever happened.
type Happened = (u64, &'static str, Option<String>);

#[derive(Debug, Default)]
struct Model {
    events: Vec<Happened>,
    floor: u64,
}

impl Model {
    fn revision(&self) -> u64 {
        self.events.last().map_or(1, |event| event.0)
    }

    /// The objects at a revision, by playing all events up to it.
    fn at(&self, prefix: &str, revision: u64) -> BTreeMap<&'static str, (u64, String)> {
        let mut map = BTreeMap::new();
        for (at, key, text) in self.events.iter().filter(|event| event.0 <= revision) {
            match text {
                Some(text) => map.insert(*key, (*at, text.clone())),
                None => map.remove(key),
            };
        }
        map.retain(|key, _| key.starts_with(prefix));
        map
    }

    fn push(&mut self, key: &'static str, text: Option<String>) {
        self.events.push((self.revision() + 1, key, text));
        let kept_after = self.revision().saturating_sub(WINDOW as u64);
        self.floor = self.floor.max(kept_after);
    }
}

struct Run {
    store: Arc<dyn Store>,
    dir: Option<tempfile::TempDir>,
    model: Model,
    watches: Vec<(Watch, &'static str, u64)>,
}

fn window() -> Window {
    Window {
        events: WINDOW,
        ..Window::default()
    }
}

fn open(dir: &tempfile::TempDir) -> Arc<dyn Store> {
    let options = Options {
        window: window(),
        ..Options::default()
    };
    Arc::new(embedded::open(dir.path(), &options).unwrap())
}

impl Run {
    async fn step(&mut self, step: Step) {
        match step {
            Step::Put {
                key,
                text,
                precondition,
            } => {
                self.write(KEYS[key], Some(format!("t{text}")), precondition)
                    .await;
            }
            Step::Delete { key, precondition } => {
                self.write(KEYS[key], None, precondition).await;
            }
            Step::Compact { back } => {
                let revision = self.model.revision().saturating_sub(back);
                self.store.compact(revision);
                self.model.floor = self.model.floor.max(revision);
            }
            Step::ListAt { prefix, back } => self.list_at(PREFIXES[prefix], back),
            Step::Watch { prefix, back } => self.watch(PREFIXES[prefix], back),
            Step::Drain => self.drain(),
            Step::Reopen => self.reopen().await,
        }
        self.check_present();
    }

    async fn write(&mut self, key: &'static str, text: Option<String>, want: Want) {
        let current = self.model.at("", u64::MAX).get(key).map(|it| it.0);
        let precondition = match want {
            Want::Any => Precondition::Any,
            Want::Absent => Precondition::Absent,
            Want::Exists => Precondition::Exists,
            Want::Current => Precondition::Revision(current.unwrap_or(7)),
            Want::Stale => Precondition::Revision(current.unwrap_or(7) - 1),
        };
        let holds = match precondition {
            Precondition::Any => text.is_some() || current.is_some(),
            Precondition::Absent => text.is_some() && current.is_none(),
            Precondition::Exists => current.is_some(),
            Precondition::Revision(revision) => current == Some(revision),
        };
        let payload = Payload::new(text.clone().unwrap_or_default().into_bytes(), 0);
        let attrs = Attrs::default();
        let op = match text {
            Some(_) => Op::Put {
                key: key.into(),
                payload,
                attrs,
                precondition,
            },
            None => Op::Delete {
                key: key.into(),
                precondition,
                last: payload,
                attrs,
            },
        };
        match self.store.commit(op).await {
            Ok(committed) => {
                assert!(holds, "{precondition:?} on {current:?}");
                assert_eq!(committed.previous.map(|item| item.revision), current);
                self.model.push(key, text);
                assert_eq!(committed.item.revision, self.model.revision());
            }
            Err(Error::Conflict { current: found }) => {
                assert!(!holds, "{precondition:?} on {current:?}");
                assert_eq!(found.map(|item| item.revision), current);
            }
            Err(other) => unreachable!("{other}"),
        }
    }

    fn list_at(&self, prefix: &str, back: u64) {
        let revision = self.model.revision().saturating_sub(back);
        match self.store.list_at(prefix, revision) {
            Ok(snapshot) => {
                assert!(revision >= self.model.floor);
                assert_same(&snapshot, &self.model.at(prefix, revision));
            }
            Err(Error::Compacted { oldest, .. }) => {
                assert!(revision < self.model.floor);
                assert_eq!(oldest, self.model.floor);
            }
            Err(other) => unreachable!("{other}"),
        }
    }

    fn watch(&mut self, prefix: &'static str, back: u64) {
        let after = self.model.revision().saturating_sub(back);
        match self.store.watch(prefix, after) {
            Ok(watch) => {
                assert!(after >= self.model.floor);
                self.watches.push((watch, prefix, after));
            }
            Err(Error::Compacted { oldest, .. }) => assert_eq!(oldest, self.model.floor),
            Err(other) => unreachable!("{other}"),
        }
    }

    /// Every watch has exactly the events of its prefix since it was looked at.
    fn drain(&mut self) {
        for (watch, prefix, after) in &mut self.watches {
            for (revision, key, text) in self.model.events.iter().filter(|it| it.0 > *after) {
                if !key.starts_with(*prefix) {
                    continue;
                }
                let event = watch.try_next().expect("an event that happened");
                assert_eq!((event.revision, &*event.key), (*revision, *key));
                assert_eq!(event.kind == EventKind::Deleted, text.is_none());
                let expected = format!("{revision}{}", text.as_deref().unwrap_or_default());
                assert_eq!(event.item.bytes, expected.into_bytes());
                let before = self.model.at("", revision - 1);
                let previous = event.previous.as_ref().map(|item| item.revision);
                assert_eq!(previous, before.get(key).map(|it| it.0));
            }
            assert!(watch.try_next().is_none());
            assert!(watch.progress() >= *after);
            *after = self.model.revision();
        }
    }

    async fn reopen(&mut self) {
        let Some(dir) = &self.dir else { return };
        self.store.close().await.expect("it closes");
        self.store = open(dir);
        self.model.floor = self.model.revision();
        self.watches.clear();
    }

    fn check_present(&self) {
        assert_eq!(self.store.revision(), self.model.revision());
        let expected = self.model.at("", u64::MAX);
        assert_same(&self.store.list(""), &expected);
        for key in KEYS {
            let found = self.store.get(key).map(|item| item.revision);
            assert_eq!(found, expected.get(key).map(|it| it.0));
        }
    }
}

fn assert_same(snapshot: &Snapshot, expected: &BTreeMap<&'static str, (u64, String)>) {
    let show = |item: &pernode_store::Item| {
        (
            item.key.to_string(),
            item.revision,
            String::from_utf8(item.bytes.to_vec()).expect("it is text"),
        )
    };
    let found: Vec<_> = snapshot.iter().map(|item| show(item)).collect();
    let expected: Vec<_> = expected
        .iter()
        .map(|(key, (revision, text))| ((*key).to_owned(), *revision, format!("{revision}{text}")))
        .collect();
    assert_eq!(found, expected);
}

fn check(steps: Vec<Step>, dir: Option<tempfile::TempDir>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let store = dir
        .as_ref()
        .map_or_else(|| Arc::new(Memory::new(window())) as _, open);
    let model = Model {
        floor: 1,
        ..Model::default()
    };
    let mut run = Run {
        store,
        dir,
        model,
        watches: Vec::new(),
    };
    runtime.block_on(async {
        for step in steps {
            run.step(step).await;
        }
        run.drain();
    });
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn memory_does_what_the_model_does(steps in steps()) {
        check(steps, None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn embedded_does_what_the_model_does(steps in steps()) {
        check(steps, Some(tempfile::tempdir().unwrap()));
    }
}
