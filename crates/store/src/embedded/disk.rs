//! The objects on disk.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use redb::{
    Builder, Database, ReadableDatabase, ReadableTable, StorageBackend, StorageError,
    TableDefinition, TableError,
};

use super::guarded::Guarded;
use super::{FIRST_REVISION, Indexer};
use crate::sequence::Draft;
use crate::snapshot::Map;
use crate::{Error, Item};

/// Key to object: its revision and the one it was created at, eight bytes each, then its bytes.
const OBJECTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("objects");
/// Name to number.
const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const FORMAT_KEY: &str = "format";
const REVISION_KEY: &str = "revision";
/// The version of the layout above.
const FORMAT: u64 = 1;
const HEADER: usize = 16;
/// Reads are served from memory: the B-tree's own cache only has to hold the path of a write.
const CACHE_BYTES: usize = 16 << 20;

/// Where the bytes are kept: a file, or in tests something that fails when told to.
pub(super) trait Medium: fmt::Debug + Send {
    /// Its name in errors.
    fn path(&self) -> &Path;
    /// Opens it, again after it has failed.
    fn open(&self) -> io::Result<Box<dyn StorageBackend>>;
}

/// The objects on disk.
#[derive(Debug)]
pub(super) struct Disk {
    medium: Box<dyn Medium>,
    /// None after a failure, until it has been opened again.
    database: Option<Database>,
    /// Keys of batches that failed: the file may or may not have them. The next transaction puts
    /// them back to what readers see.
    doubtful: BTreeSet<Arc<str>>,
}

impl Disk {
    /// Opens, checks and reads everything; the objects and the revision.
    pub(super) fn open(
        medium: Box<dyn Medium>,
        indexer: &Indexer,
    ) -> Result<(Self, Map, u64), Error> {
        let fault = Fault {
            doing: "open",
            path: medium.path(),
        };
        let (database, guard) = open_database(&*medium)?;
        let (map, revision) = load(&database, indexer).map_err(|error| fault.name(error))?;
        guard.release().map_err(|error| fault.io(error))?;
        let disk = Self {
            medium,
            database: Some(database),
            doubtful: BTreeSet::new(),
        };
        Ok((disk, map, revision))
    }

    /// Makes a batch durable; on an error nothing of it counts as written.
    pub(super) fn write(&mut self, batch: &Draft) -> Result<(), Error> {
        let keys = batch.events.iter().map(|event| Arc::clone(&event.key));
        let mut touched: BTreeSet<_> = keys.collect();
        touched.append(&mut self.doubtful);
        let result = self.transact(&touched, batch);
        if result.is_err() {
            // The B-tree refuses everything after a failure; only opening it anew helps.
            self.database = None;
            self.doubtful = touched;
        }
        result
    }

    fn transact(&mut self, touched: &BTreeSet<Arc<str>>, batch: &Draft) -> Result<(), Error> {
        let result = transact(self.reopened()?, touched, batch);
        result.map_err(|error| self.fault().name(error))
    }

    fn reopened(&mut self) -> Result<&Database, Error> {
        if self.database.is_none() {
            let (database, guard) = open_database(&*self.medium)?;
            guard.release().map_err(|error| self.fault().io(error))?;
            self.database = Some(database);
        }
        Ok(self.database.as_ref().expect("it has just been opened"))
    }

    fn fault(&self) -> Fault<'_> {
        Fault {
            doing: "write to",
            path: self.medium.path(),
        }
    }
}

/// Opens the file with its writes held back, and checks every page of it.
fn open_database(medium: &dyn Medium) -> Result<(Database, Guarded), Error> {
    let fault = Fault {
        doing: "open",
        path: medium.path(),
    };
    let file = medium.open().map_err(|error| fault.io(error))?;
    let guard = Guarded::new(file).map_err(|error| fault.io(error))?;
    let database = Builder::new()
        .set_cache_size(CACHE_BYTES)
        .set_check_integrity_on_open(true)
        .create_with_backend(guard.clone())
        .map_err(|error| fault.name(error))?;
    Ok((database, guard))
}

/// One transaction: every touched key becomes what the batch says it is.
fn transact(
    database: &Database,
    touched: &BTreeSet<Arc<str>>,
    batch: &Draft,
) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    {
        let mut objects = transaction.open_table(OBJECTS)?;
        for key in touched {
            match batch.map.get(&**key) {
                Some(item) => {
                    let mut slot = objects.insert_reserve(&**key, HEADER + item.bytes.len())?;
                    encode(item, slot.as_mut());
                }
                None => {
                    objects.remove(&**key)?;
                }
            }
        }
        let mut meta = transaction.open_table(META)?;
        meta.insert(FORMAT_KEY, FORMAT)?;
        meta.insert(REVISION_KEY, batch.revision)?;
    }
    transaction.commit()?;
    Ok(())
}

fn encode(item: &Item, slot: &mut [u8]) {
    slot[..8].copy_from_slice(&item.revision.to_le_bytes());
    slot[8..HEADER].copy_from_slice(&item.created.to_le_bytes());
    slot[HEADER..].copy_from_slice(&item.bytes);
}

/// Reads all objects and the revision; a file without tables is a new one.
fn load(database: &Database, indexer: &Indexer) -> Result<(Map, u64), redb::Error> {
    let transaction = database.begin_read()?;
    let meta = match transaction.open_table(META) {
        Ok(meta) => meta,
        Err(TableError::TableDoesNotExist(_)) => return Ok((Map::new(), FIRST_REVISION)),
        Err(error) => return Err(error.into()),
    };
    let format = meta.get(FORMAT_KEY)?.map(|it| it.value());
    if format != Some(FORMAT) {
        let found = format.map_or_else(|| "none".into(), |it| it.to_string());
        return Err(corrupt(format!(
            "format {found}, this version reads {FORMAT}"
        )));
    }
    let revision = meta.get(REVISION_KEY)?.map(|it| it.value());
    let revision = revision.ok_or_else(|| corrupt("it has no revision"))?;
    let mut map = Map::new();
    for entry in transaction.open_table(OBJECTS)?.iter()? {
        let (key, value) = entry?;
        let item = decode(key.value(), value.value(), indexer)?;
        if item.revision > revision {
            return Err(corrupt(format!("{} is newer than the store", item.key)));
        }
        map.insert(Arc::clone(&item.key), Arc::new(item));
    }
    Ok((map, revision))
}

fn decode(key: &str, value: &[u8], indexer: &Indexer) -> Result<Item, redb::Error> {
    let short = || corrupt(format!("{key} has no header"));
    let (revision, rest) = value.split_first_chunk::<8>().ok_or_else(short)?;
    let (created, bytes) = rest.split_first_chunk::<8>().ok_or_else(short)?;
    Ok(Item {
        key: key.into(),
        revision: u64::from_le_bytes(*revision),
        created: u64::from_le_bytes(*created),
        bytes: Bytes::copy_from_slice(bytes),
        attrs: Arc::new(indexer(key, bytes)),
    })
}

fn corrupt(detail: impl Into<String>) -> redb::Error {
    StorageError::Corrupted(detail.into()).into()
}

/// Names what failed in the B-tree's errors.
struct Fault<'a> {
    doing: &'static str,
    path: &'a Path,
}

impl Fault<'_> {
    fn name(&self, error: impl Into<redb::Error>) -> Error {
        match error.into() {
            redb::Error::Io(error) => self.io(error),
            redb::Error::Corrupted(detail) => self.corrupt(detail),
            other @ (redb::Error::UpgradeRequired(_)
            | redb::Error::RepairAborted
            | redb::Error::TableTypeMismatch { .. }) => self.corrupt(other.to_string()),
            other => self.io(io::Error::other(other)),
        }
    }

    fn io(&self, error: io::Error) -> Error {
        // A file that ends too early or starts with something else is not a failure of the disk.
        if matches!(
            error.kind(),
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
        ) {
            return self.corrupt(error.to_string());
        }
        Error::Io {
            doing: self.doing,
            path: self.owned(),
            source: Arc::new(error),
        }
    }

    fn corrupt(&self, detail: String) -> Error {
        Error::Corrupt {
            path: self.owned(),
            detail,
        }
    }

    fn owned(&self) -> PathBuf {
        self.path.to_path_buf()
    }
}
