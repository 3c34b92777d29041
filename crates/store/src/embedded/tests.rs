//! What happens when the disk, the process or somebody's editor misbehaves.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures::executor::block_on;
use redb::StorageBackend;

use super::*;
use crate::{Payload, Precondition};

/// Key to bytes: what a store holds.
type Contents = BTreeMap<String, Vec<u8>>;

/// A small generator, so that each test prints the seed it fails with.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        // Xorshift: good enough to choose what breaks.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

fn dice(seed: u64) -> Dice {
    Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
}

fn put(key: &str, size: usize) -> Op {
    Op::Put {
        key: key.into(),
        payload: Payload::new(vec![b'x'; size], 0),
        attrs: Attrs::default(),
        precondition: Precondition::Any,
    }
}

fn delete(key: &str) -> Op {
    Op::Delete {
        key: key.into(),
        precondition: Precondition::Any,
        last: Payload::new(Vec::new(), 0),
        attrs: Attrs::default(),
    }
}

fn random_op(dice: &mut Dice) -> Op {
    let key = format!("/k/{}", dice.roll(12));
    if dice.roll(4) == 0 {
        delete(&key)
    } else {
        put(&key, dice.roll(9000) as usize)
    }
}

fn contents(store: &Embedded) -> Contents {
    let snapshot = store.list("");
    snapshot
        .iter()
        .map(|item| (item.key.to_string(), item.bytes.to_vec()))
        .collect()
}

/// A file in memory that fails when told to, and remembers what was done to it.
#[derive(Debug, Clone, Default)]
struct FakeFile(Arc<Mutex<Fake>>);

#[derive(Debug, Default)]
struct Fake {
    bytes: Vec<u8>,
    /// Most bytes the disk has room for.
    capacity: Option<usize>,
    /// Writes and syncs that still work.
    works_for: Option<u64>,
    log: Vec<Done>,
}

#[derive(Debug, Clone)]
enum Done {
    Write(u64, Vec<u8>),
    SetLen(u64),
    Sync,
    /// The test saw the store at this revision before anything that follows was done.
    Acknowledged(u64),
}

impl Fake {
    fn charge(&mut self, end: usize) -> io::Result<()> {
        if self.capacity.is_some_and(|capacity| end > capacity) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        match &mut self.works_for {
            Some(0) => Err(io::Error::other("unplugged")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl FakeFile {
    fn with<T>(&self, f: impl FnOnce(&mut Fake) -> T) -> T {
        f(&mut self.0.lock().unwrap())
    }

    fn holding(bytes: Vec<u8>) -> Self {
        let file = Self::default();
        file.with(|fake| fake.bytes = bytes);
        file
    }

    fn start(&self) -> Result<Embedded, Error> {
        Embedded::start(Box::new(self.clone()), None, &Options::default())
    }
}

impl Medium for FakeFile {
    fn path(&self) -> &Path {
        Path::new("/fake/store.redb")
    }

    fn open(&self) -> io::Result<Box<dyn StorageBackend>> {
        Ok(Box::new(self.clone()))
    }
}

impl StorageBackend for FakeFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.with(|fake| fake.bytes.len() as u64))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.with(|fake| {
            let from = fake.bytes.get(offset as usize..offset as usize + out.len());
            out.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.with(|fake| {
            fake.charge(len as usize)?;
            fake.bytes.resize(len as usize, 0);
            fake.log.push(Done::SetLen(len));
            Ok(())
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.with(|fake| {
            fake.charge(0)?;
            fake.log.push(Done::Sync);
            Ok(())
        })
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.with(|fake| {
            fake.charge(0)?;
            write_at(&mut fake.bytes, offset, data);
            fake.log.push(Done::Write(offset, data.into()));
            Ok(())
        })
    }
}

fn write_at(bytes: &mut Vec<u8>, offset: u64, data: &[u8]) {
    let end = offset as usize + data.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[offset as usize..end].copy_from_slice(data);
}

// Failures of the disk.

#[test]
fn a_full_disk_refuses_writes_and_works_again_with_space() {
    let file = FakeFile::default();
    let store = file.start().unwrap();
    block_on(store.commit(put("/kept", 100))).unwrap();
    let full = file.with(|fake| fake.bytes.len());
    file.with(|fake| fake.capacity = Some(full));
    let mut refused = None;
    for n in 0..2000 {
        if let Err(error) = block_on(store.commit(put(&format!("/n/{n}"), 20_000))) {
            refused = Some(error);
            break;
        }
    }
    let refused = refused.expect("the disk is full");
    assert_eq!(refused.to_string(), "cannot write to /fake/store.redb");
    assert!(
        matches!(&refused, Error::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull)
    );
    let before = contents(&store);
    block_on(store.commit(put("/large", 5_000_000))).unwrap_err();
    assert_eq!(contents(&store), before, "a refused write is not seen");
    let small = block_on(store.commit(put("/kept", 50)));
    file.with(|fake| fake.capacity = None);
    block_on(store.commit(put("/large", 5_000_000))).unwrap();
    let mut expected = before;
    expected.insert("/large".into(), store.get("/large").unwrap().bytes.to_vec());
    if let Ok(small) = small {
        expected.insert("/kept".into(), small.item.bytes.to_vec());
    }
    assert_eq!(contents(&store), expected);
    drop(store);
    assert_eq!(
        contents(&file.start().unwrap()),
        expected,
        "after a restart"
    );
}

/// The disk fails at every point of the work in turn; what was acknowledged stays, what was refused
/// does not come back, and watchers see exactly the former.
#[test]
fn a_failing_disk_loses_nothing_and_invents_nothing() {
    for seed in 0..120 {
        let mut dice = dice(seed);
        let file = FakeFile::default();
        let store = file.start().unwrap();
        let mut watch = store.watch("", FIRST_REVISION).unwrap();
        let mut expected = Contents::new();
        for _ in 0..12 {
            file.with(|fake| fake.works_for = (dice.roll(2) == 0).then(|| dice.roll(14)));
            let op = random_op(&mut dice);
            let (key, is_delete) = (op.key().to_string(), matches!(op, Op::Delete { .. }));
            let before = store.revision();
            match block_on(store.commit(op)) {
                Ok(done) if is_delete => {
                    assert!(expected.remove(&key).is_some(), "seed {seed}");
                    assert_eq!(done.item.revision, before + 1, "seed {seed}");
                }
                Ok(done) => {
                    expected.insert(key, done.item.bytes.to_vec());
                    assert_eq!(done.item.revision, before + 1, "seed {seed}");
                }
                Err(_) => assert_eq!(store.revision(), before, "seed {seed}"),
            }
            assert_eq!(contents(&store), expected, "seed {seed}");
        }
        file.with(|fake| fake.works_for = None);
        // The next write that works puts right whatever the failed ones left behind.
        let last = block_on(store.commit(put("/last", 10))).unwrap();
        expected.insert("/last".into(), last.item.bytes.to_vec());
        let mut revision = FIRST_REVISION;
        while let Some(event) = watch.try_next() {
            revision += 1;
            assert_eq!(event.revision, revision, "seed {seed}");
        }
        assert_eq!(revision, store.revision(), "seed {seed}");
        drop(store);
        let again = file.start().unwrap();
        assert_eq!(
            (contents(&again), again.revision()),
            (expected, revision),
            "seed {seed}"
        );
    }
}

// Power cuts.

/// The file as a power cut may leave it: everything synced, and of what came after the last sync
/// any part, torn at sectors.
fn after_power_cut(log: &[Done], dice: &mut Dice) -> Vec<u8> {
    let synced = log
        .iter()
        .rposition(|done| matches!(done, Done::Sync))
        .map_or(0, |at| at + 1);
    let mut bytes = Vec::new();
    for (index, done) in log.iter().enumerate() {
        match done {
            Done::Write(offset, data) if index < synced => write_at(&mut bytes, *offset, data),
            Done::Write(offset, data) => {
                for (sector, data) in data.chunks(512).enumerate() {
                    if dice.roll(2) == 0 {
                        write_at(&mut bytes, offset + sector as u64 * 512, data);
                    }
                }
            }
            // The length is settled with the metadata before the sync that needs it.
            Done::SetLen(len) => bytes.resize(*len as usize, 0),
            Done::Sync | Done::Acknowledged(_) => {}
        }
    }
    bytes
}

/// Runs random batches; what the store held at each revision, and what was done to the file.
fn recorded_run(dice: &mut Dice) -> (BTreeMap<u64, Contents>, Vec<Done>) {
    let file = FakeFile::default();
    let store = file.start().unwrap();
    let mut history = BTreeMap::from([(FIRST_REVISION, Contents::new())]);
    for _ in 0..12 {
        let batch = (0..=dice.roll(5)).map(|_| store.commit(random_op(dice)));
        block_on(futures::future::join_all(batch.collect::<Vec<_>>()));
        let revision = store.revision();
        for past in *history.last_key_value().unwrap().0..=revision {
            let snapshot = store.list_at("", past).unwrap();
            let items = snapshot
                .iter()
                .map(|item| (item.key.to_string(), item.bytes.to_vec()));
            history.insert(past, items.collect());
        }
        file.with(|fake| fake.log.push(Done::Acknowledged(revision)));
    }
    drop(store);
    let log = file.with(|fake| fake.log.clone());
    (history, log)
}

#[test]
fn a_power_cut_at_any_moment_loses_nothing_acknowledged() {
    for seed in 0..25 {
        let mut dice = dice(seed);
        let (history, log) = recorded_run(&mut dice);
        for _ in 0..16 {
            let cut = dice.roll(log.len() as u64 + 1) as usize;
            let done = &log[..cut];
            let acknowledged = done.iter().rev().find_map(|done| match done {
                Done::Acknowledged(revision) => Some(*revision),
                _ => None,
            });
            let file = FakeFile::holding(after_power_cut(done, &mut dice));
            let store = match file.start() {
                Ok(store) => store,
                // Before the first write was acknowledged there is nothing to lose.
                Err(error) => {
                    assert_eq!(acknowledged, None, "seed {seed}, cut {cut}: {error}");
                    continue;
                }
            };
            let revision = store.revision();
            assert!(
                revision >= acknowledged.unwrap_or(FIRST_REVISION),
                "seed {seed}, cut {cut}"
            );
            assert_eq!(
                contents(&store),
                history[&revision],
                "seed {seed}, cut {cut}"
            );
            block_on(store.commit(put("/after", 10))).unwrap();
        }
    }
}

// Damaged files and directories.

/// A directory whose store has some objects.
fn filled() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), &Options::default()).unwrap();
    let writes = (0..50).map(|n| store.commit(put(&format!("/k/{n:02}"), 700)));
    block_on(futures::future::try_join_all(writes)).unwrap();
    let file = dir.path().join("store.redb");
    (dir, file)
}

/// Damages a filled store; the error, after making sure that nothing was changed by looking.
fn refusal(damage: impl FnOnce(&mut Vec<u8>)) -> Option<Error> {
    let (dir, file) = filled();
    let mut bytes = std::fs::read(&file).unwrap();
    damage(&mut bytes);
    std::fs::write(&file, &bytes).unwrap();
    match open(dir.path(), &Options::default()) {
        Ok(store) => {
            // Damage where nothing is kept: everything must be there then.
            assert_eq!(contents(&store).len(), 50);
            None
        }
        Err(error) => {
            assert_eq!(std::fs::read(&file).unwrap(), bytes, "the file was changed");
            assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
            Some(error)
        }
    }
}

#[test]
fn a_file_of_something_else_is_refused_with_advice() {
    let error = refusal(|bytes| *bytes = b"kind: Pod\n".repeat(2000))
        .unwrap()
        .to_string();
    assert!(error.contains("store.redb is corrupt ("), "{error}");
    assert!(
        error.contains("it was not changed. Restore it from a backup"),
        "{error}"
    );
}

#[test]
fn a_truncated_file_is_refused() {
    for keep in [1, 100, 4096, 20_000] {
        assert!(
            refusal(|bytes| bytes.truncate(keep)).is_some(),
            "kept {keep}"
        );
    }
}

#[test]
fn flipped_bits_are_found_or_harmless() {
    let mut found = 0;
    for seed in 0..60 {
        let mut dice = dice(seed);
        let refused = refusal(|bytes| {
            let at = dice.roll(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << dice.roll(8);
        });
        found += usize::from(refused.is_some());
    }
    assert!(found > 0, "no flipped bit was found");
}

#[test]
fn a_flipped_bit_in_an_object_is_found() {
    let error = refusal(|bytes| {
        // The copy-on-write file may have stale copies: damage them all.
        let at = |bytes: &[u8]| bytes.windows(64).position(|it| it == [b'x'; 64]);
        while let Some(found) = at(bytes) {
            bytes[found] = b'y';
        }
    });
    assert!(error.is_some());
}

#[test]
fn a_newer_format_is_refused() {
    let (dir, file) = filled();
    let database = redb::Database::open(&file).unwrap();
    let transaction = database.begin_write().unwrap();
    let meta: redb::TableDefinition<'_, &str, u64> = redb::TableDefinition::new("meta");
    transaction
        .open_table(meta)
        .unwrap()
        .insert("format", 2)
        .unwrap();
    transaction.commit().unwrap();
    drop(database);
    let error = open(dir.path(), &Options::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("format 2, this version reads 1"), "{error}");
}

#[test]
fn a_second_instance_is_told_who_has_the_directory() {
    let (dir, _) = filled();
    let first = open(dir.path(), &Options::default()).unwrap();
    let error = open(dir.path(), &Options::default()).unwrap_err();
    let expected = format!(
        "the data directory {} is in use by another process (pid {}); stop that one first, or \
         choose another directory",
        dir.path().display(),
        std::process::id()
    );
    assert_eq!(error.to_string(), expected);
    block_on(first.close()).unwrap();
    open(dir.path(), &Options::default()).expect("the first has closed");
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = open(&file.join("data"), &Options::default()).unwrap_err();
    let expected = format!(
        "cannot create the data directory {}",
        file.join("data").display()
    );
    assert_eq!(error.to_string(), expected);
    assert!(std::error::Error::source(&error).is_some());
}

#[test]
fn attributes_are_made_again() {
    let (dir, _) = filled();
    let indexer: Indexer = Arc::new(|key, bytes| Attrs {
        labels: vec![("key".into(), key.into())],
        fields: vec![("len".into(), bytes.len().to_string().into())],
    });
    let options = Options {
        indexer,
        ..Options::default()
    };
    let store = open(dir.path(), &options).unwrap();
    let item = store.get("/k/07").unwrap();
    assert_eq!(item.attrs.label("key"), Some("/k/07"));
    assert_eq!(item.attrs.field("len"), Some("701"));
}

// Holding writes back.

/// Random reads and writes through the guard read as they would from a plain file, and releasing
/// it makes that file.
#[test]
fn held_writes_read_as_if_done() {
    for seed in 0..200 {
        let mut dice = dice(seed);
        let start: Vec<u8> = (0..dice.roll(300)).map(|n| n as u8).collect();
        let (plain, file) = (
            FakeFile::holding(start.clone()),
            FakeFile::holding(start.clone()),
        );
        let guard = guarded::Guarded::new(Box::new(file.clone())).unwrap();
        for _ in 0..20 {
            let len = StorageBackend::len(&plain).unwrap();
            assert_eq!(StorageBackend::len(&guard).unwrap(), len);
            let offset = dice.roll(len + 1);
            let size = dice.roll(len - offset + 1) as usize;
            match dice.roll(4) {
                0 => {
                    let len = dice.roll(400);
                    plain.set_len(len).unwrap();
                    guard.set_len(len).unwrap();
                }
                1 => {
                    let data = vec![dice.roll(256) as u8; size];
                    plain.write(offset, &data).unwrap();
                    guard.write(offset, &data).unwrap();
                }
                _ => {
                    let (mut a, mut b) = (vec![1; size], vec![2; size]);
                    plain.read(offset, &mut a).unwrap();
                    guard.read(offset, &mut b).unwrap();
                    assert_eq!(a, b, "seed {seed}");
                }
            }
            assert_eq!(file.with(|fake| fake.bytes.clone()), start, "seed {seed}");
        }
        guard.release().unwrap();
        assert_eq!(
            file.with(|fake| fake.bytes.clone()),
            plain.with(|fake| fake.bytes.clone())
        );
    }
}
