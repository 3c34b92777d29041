//! Keeps a file as it is until it has been found sound.
//!
//! Opening a B-tree file may repair it, which writes. If it then turns out to be damaged beyond
//! repair, those writes would have changed the only copy of the user's data. So writes are held
//! back until the caller has checked everything, and then done in the order they were asked for,
//! syncs included: at every instant the file is one that the B-tree's own rules can recover.

use std::io;
use std::sync::{Arc, Mutex};

use redb::StorageBackend;

use crate::published::lock;

/// A file whose writes are held back until [`Guarded::release`].
#[derive(Debug, Clone)]
pub(super) struct Guarded {
    file: Arc<dyn StorageBackend>,
    held: Arc<Mutex<Option<Held>>>,
}

#[derive(Debug)]
enum Step {
    Write(u64, Vec<u8>),
    SetLen(u64),
    Sync,
}

/// What has been held back.
#[derive(Debug)]
struct Held {
    steps: Vec<Step>,
    /// The length as the reader sees it.
    len: u64,
    /// How far the file's own bytes are still valid: shrinking and growing again makes zeros.
    kept: u64,
}

impl Guarded {
    pub(super) fn new(file: Box<dyn StorageBackend>) -> io::Result<Self> {
        let file: Arc<dyn StorageBackend> = file.into();
        let len = file.len()?;
        let held = Held {
            steps: Vec::new(),
            len,
            kept: len,
        };
        Ok(Self {
            file,
            held: Arc::new(Mutex::new(Some(held))),
        })
    }

    /// Does what was held back; from now on writes go straight to the file.
    pub(super) fn release(&self) -> io::Result<()> {
        let mut held = lock(&self.held);
        let Some(Held { steps, .. }) = held.take() else {
            return Ok(());
        };
        for step in steps {
            match step {
                Step::Write(offset, data) => self.file.write(offset, &data)?,
                Step::SetLen(len) => self.file.set_len(len)?,
                Step::Sync => self.file.sync_data()?,
            }
        }
        Ok(())
    }
}

impl Held {
    fn read(&self, file: &dyn StorageBackend, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let end = offset + out.len() as u64;
        if end > self.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let own = self.kept.saturating_sub(offset).min(out.len() as u64) as usize;
        let (from_file, zeros) = out.split_at_mut(own);
        if !from_file.is_empty() {
            file.read(offset, from_file)?;
        }
        zeros.fill(0);
        for step in &self.steps {
            match step {
                Step::Write(at, data) => overlay(offset, out, *at, data),
                Step::SetLen(len) if *len < end => {
                    out[len.saturating_sub(offset) as usize..].fill(0);
                }
                Step::SetLen(_) | Step::Sync => {}
            }
        }
        Ok(())
    }
}

/// Copies the part of `data`, which lies at `at`, that `out`, which lies at `offset`, shows.
fn overlay(offset: u64, out: &mut [u8], at: u64, data: &[u8]) {
    let start = offset.max(at);
    let end = (offset + out.len() as u64).min(at + data.len() as u64);
    if start < end {
        let len = (end - start) as usize;
        let (to, from) = ((start - offset) as usize, (start - at) as usize);
        out[to..to + len].copy_from_slice(&data[from..from + len]);
    }
}

impl StorageBackend for Guarded {
    fn len(&self) -> io::Result<u64> {
        match &*lock(&self.held) {
            Some(held) => Ok(held.len),
            None => self.file.len(),
        }
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        match &*lock(&self.held) {
            Some(held) => held.read(&*self.file, offset, out),
            None => self.file.read(offset, out),
        }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        match &mut *lock(&self.held) {
            Some(held) => {
                held.kept = held.kept.min(len);
                held.len = len;
                held.steps.push(Step::SetLen(len));
                Ok(())
            }
            None => self.file.set_len(len),
        }
    }

    fn sync_data(&self) -> io::Result<()> {
        match &mut *lock(&self.held) {
            Some(held) => {
                held.steps.push(Step::Sync);
                Ok(())
            }
            None => self.file.sync_data(),
        }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        match &mut *lock(&self.held) {
            Some(held) => {
                held.steps.push(Step::Write(offset, data.into()));
                Ok(())
            }
            None => self.file.write(offset, data),
        }
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }
}
