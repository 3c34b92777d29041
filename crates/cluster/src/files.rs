//! The data directory: what lies where, and writing so that a crash leaves whole files.

use crate::error::Error;
use pernode_server::pki::{Authority, Identity};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Mode of files that hold a key: their owner only.
const PRIVATE: u32 = 0o600;

/// The directory of one cluster; a temporary one goes away with this value.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    temporary: bool,
}

impl Folder {
    /// Makes or takes a directory and finds out early whether it can be written.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        fs::create_dir_all(&path).map_err(failed("create the directory", &path))?;
        let probe = path.join(".writable");
        write_private(&probe, b"").map_err(failed("write into the directory", &path))?;
        fs::remove_file(&probe).map_err(failed("write into the directory", &path))?;
        Ok(Self {
            path,
            temporary: false,
        })
    }

    /// A directory for a cluster that keeps nothing: it holds the kubeconfig while it runs.
    pub(crate) fn temporary() -> Result<Self, Error> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("pernode-{}-{number}", std::process::id()));
        let mut folder = Self::open(&path)?;
        folder.temporary = true;
        Ok(folder)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it outlives the cluster.
    pub(crate) fn is_kept(&self) -> bool {
        !self.temporary
    }

    /// Where the store keeps its files.
    pub(crate) fn store(&self) -> PathBuf {
        self.path.join("store")
    }

    /// Where the kubeconfig is.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.path.join("kubeconfig")
    }

    /// The certificate authority of this directory, made at the first start.
    pub(crate) fn authority(&self, now: jiff::Timestamp) -> Result<Authority, Error> {
        let (certificate, key) = (self.path.join("pki/ca.crt"), self.path.join("pki/ca.key"));
        if !key.exists() {
            let authority = Authority::generate(now).map_err(Error::Certificates)?;
            let identity = authority.identity();
            // The key last: it is what the next start looks for.
            self.write(&certificate, identity.certificate.as_bytes())?;
            self.write(&key, identity.key.as_bytes())?;
            return Ok(authority);
        }
        let identity = Identity {
            certificate: read(&certificate)?,
            key: read(&key)?,
        };
        Authority::load(identity).map_err(Error::Certificates)
    }

    /// The key that signs service account tokens, made at the first start.
    pub(crate) fn service_account_key(&self) -> Result<String, Error> {
        let path = self.path.join("pki/service-account.key");
        if path.exists() {
            return read(&path);
        }
        let key = pernode_server::pki::generate_key().map_err(Error::Certificates)?;
        self.write(&path, key.as_bytes())?;
        Ok(key)
    }

    /// Replaces a file of the directory as a whole.
    pub(crate) fn write(&self, path: &Path, content: &[u8]) -> Result<(), Error> {
        let parent = path.parent().unwrap_or(&self.path);
        fs::create_dir_all(parent).map_err(failed("create the directory", parent))?;
        let beside = path.with_extension("new");
        write_private(&beside, content).map_err(failed("write", path))?;
        fs::rename(&beside, path).map_err(failed("write", path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.temporary {
            // Nothing depends on it any more; what cannot be removed is in the temporary folder.
            drop(fs::remove_dir_all(&self.path));
        }
    }
}

/// Writes a file that only its owner may read, and has it on disk when it returns.
///
/// # Errors
/// What the system says.
pub fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(PRIVATE)
        .open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(failed("read", path))
}

fn failed(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::File {
        doing,
        path,
        source,
    }
}
