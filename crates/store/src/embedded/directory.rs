//! The data directory and the lock that keeps a second process out of it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::StorageBackend;
use redb::backends::FileBackend;

use super::disk::Medium;
use crate::Error;

/// A directory that no other process has open.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    /// Locked for as long as it is open; the operating system unlocks it however we end.
    _lock: File,
}

impl Directory {
    /// Makes the directory if need be, and takes its lock.
    pub(super) fn lock(path: &Path) -> Result<Self, Error> {
        std::fs::create_dir_all(path).map_err(io_error("create the data directory", path))?;
        let file = path.join("LOCK");
        let mut lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&file)
            .map_err(io_error("open for writing", &file))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::InUse {
                    path: path.into(),
                    holder: read_holder(&mut lock),
                });
            }
            Err(TryLockError::Error(source)) => return Err(io_error("lock", &file)(source)),
        }
        note_holder(&mut lock).map_err(io_error("write to", &file))?;
        Ok(Self {
            path: path.into(),
            _lock: lock,
        })
    }

    /// Where the objects are.
    pub(super) fn data_file(&self) -> DataFile {
        DataFile {
            path: self.path.join("store.redb"),
        }
    }
}

/// Who holds the lock, as it noted itself; nothing is sure about a file that somebody else writes.
fn read_holder(lock: &mut File) -> Option<u32> {
    let mut text = String::new();
    lock.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn note_holder(lock: &mut File) -> io::Result<()> {
    lock.set_len(0)?;
    lock.rewind()?;
    writeln!(lock, "{}", std::process::id())
}

fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_path_buf();
    move |source| Error::Io {
        doing,
        path,
        source: Arc::new(source),
    }
}

/// The file with the objects.
#[derive(Debug)]
pub(super) struct DataFile {
    path: PathBuf,
}

impl Medium for DataFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn open(&self) -> io::Result<Box<dyn StorageBackend>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&self.path)?;
        if file.metadata()?.len() == 0 {
            sync_names(&self.path)?;
        }
        let backend = FileBackend::new(file).map_err(io::Error::other)?;
        Ok(Box::new(backend))
    }
}

/// Makes the names of a new file and of its directory survive a power cut.
fn sync_names(file: &Path) -> io::Result<()> {
    // Elsewhere directories cannot be opened as files, and need not be.
    if cfg!(unix) {
        sync_directory(file.parent())?;
        // Whoever made the directory may not be allowed to read the one above.
        let _ = sync_directory(file.ancestors().nth(2));
    }
    Ok(())
}

fn sync_directory(path: Option<&Path>) -> io::Result<()> {
    match path {
        // A plain relative name lies in the working directory.
        Some(path) if path.as_os_str().is_empty() => File::open(".")?.sync_all(),
        Some(path) => File::open(path)?.sync_all(),
        None => Ok(()),
    }
}
