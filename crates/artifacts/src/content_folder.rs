//! The folder in which an instance keeps the contents of artifacts: `<tenant>/<sha256>`.
//!
//! **Invariants:** a content is complete, synced and in its place before [`ContentFolder`] returns its hash, so that the
//! row which refers to it is committed after it. Until then the caller holds the lock of the folder, so that no sweep
//! removes the content in between.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::{self, Read, Seek as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::PathBuf,
};

use model::{
    TenantId,
    artifact::{ContentHash, MAX_ARTIFACT_BYTES},
};

use crate::{
    contents::{StoredContent, VerifiedContent},
    error::{Error, folder_error},
    hashing::{CopyError, copy_and_hash},
    sweep::{INCOMING_PREFIX, Sweep},
    working_directory::SourceFile,
};

/// The name of the file that is locked while a content has no row yet, and while contents are removed.
const LOCK_FILE_NAME: &str = "lock";

/// The folder of the contents of one instance. It is created with the first content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentFolder {
    path: PathBuf,
}

impl ContentFolder {
    /// Returns the folder at a path, which need not exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Stores the content of a file of an agent.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Changed`] if the file changed meanwhile, and [`Error::TooLarge`] if it is larger than
    /// [`MAX_ARTIFACT_BYTES`].
    pub fn store_file(
        &self,
        tenant: TenantId,
        source: &SourceFile,
    ) -> Result<StoredContent, Error> {
        let path = source.path().to_owned();
        self.store(tenant, &mut source.reader(), &path, |size| {
            source.check_unchanged(size)
        })
    }

    /// Stores a text.
    pub fn store_text(&self, tenant: TenantId, text: &str) -> Result<StoredContent, Error> {
        self.store(tenant, &mut text.as_bytes(), "text", |_| Ok(()))
    }

    /// Stores a content that arrives from another machine, where `path` named it.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Changed`] if it does not have `size` bytes, and [`Error::Path`] if it breaks off.
    pub fn store_received(
        &self,
        tenant: TenantId,
        path: &str,
        size: u64,
        mut content: impl Read,
    ) -> Result<StoredContent, Error> {
        self.store(tenant, &mut content, path, |received| {
            if received == size {
                return Ok(());
            }
            Err(Error::Changed {
                path: path.to_owned(),
            })
        })
    }

    /// Copies a content into the folder, and puts it into its place if `check` accepts its size. `name` names the source in
    /// errors.
    fn store(
        &self,
        tenant: TenantId,
        from: &mut impl Read,
        name: &str,
        check: impl FnOnce(u64) -> Result<(), Error>,
    ) -> Result<StoredContent, Error> {
        let folder = self.tenant_path(tenant);
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder
            .create(&folder)
            .map_err(|source| folder_error("create the folder", &folder, source))?;
        // 1. Copy. The file is removed if it is dropped before it is renamed.
        let mut incoming = tempfile::Builder::new()
            .prefix(INCOMING_PREFIX)
            .tempfile_in(&folder)
            .map_err(|source| folder_error("create a file in", &folder, source))?;
        // One more byte tells whether a file that grows is too large.
        let mut limited = from.take(MAX_ARTIFACT_BYTES + 1);
        let (sha256, size) =
            copy_and_hash(&mut limited, incoming.as_file_mut()).map_err(|error| match error {
                CopyError::Read(error) => Error::Path {
                    path: name.to_owned(),
                    problem: error.to_string(),
                },
                CopyError::Write(source) => folder_error("write a file in", &folder, source),
            })?;
        if size > MAX_ARTIFACT_BYTES {
            return Err(Error::TooLarge { size });
        }
        check(size)?;
        let synced = incoming.as_file().sync_all();
        synced.map_err(|source| folder_error("sync a file in", &folder, source))?;
        // 2. Rename, even over a file of that name: the new one is young and certainly whole.
        let lock = self.open_lock()?;
        let locked = lock.lock_shared();
        locked.map_err(|source| folder_error("lock the folder", &self.path, source))?;
        incoming
            .persist(folder.join(sha256.to_string()))
            .map_err(|error| folder_error("rename a file in", &folder, error.error))?;
        // A rename is durable only after its folder has been synced, and a new folder after the one above it.
        let above = self.path.parent();
        for path in [Some(folder.as_path()), Some(&self.path), above]
            .iter()
            .flatten()
        {
            let synced = File::open(path).and_then(|folder| folder.sync_all());
            synced.map_err(|source| folder_error("sync the folder", path, source))?;
        }
        Ok(StoredContent {
            sha256,
            size,
            _lock: lock,
        })
    }

    /// Opens a content, and checks its size and its hash.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Damaged`] if the content is missing or has other bytes.
    pub fn open(
        &self,
        tenant: TenantId,
        sha256: ContentHash,
        size: u64,
    ) -> Result<VerifiedContent, Error> {
        let path = self.tenant_path(tenant).join(sha256.to_string());
        let failed = |source| folder_error("read the file", &path, source);
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(nofollow_flags())
            .open(&path);
        let mut file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let problem = "missing";
                return Err(Error::Damaged { sha256, problem });
            }
            Err(source) => return Err(failed(source)),
        };
        let copied = copy_and_hash(&mut file, &mut io::sink());
        let found = copied.map_err(|error| match error {
            CopyError::Read(source) | CopyError::Write(source) => failed(source),
        })?;
        if found != (sha256, size) {
            let problem = "damaged";
            return Err(Error::Damaged { sha256, problem });
        }
        file.rewind().map_err(failed)?;
        Ok(VerifiedContent { file, sha256, size })
    }

    /// Begins to remove contents. Returns `None` if there is no content, or while a content is being stored.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Folder`] if the folder cannot be used.
    pub fn begin_sweep(&self) -> Result<Option<Sweep>, Error> {
        if !self.path.exists() {
            return Ok(None);
        }
        let lock = self.open_lock()?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Sweep::new(self.path.clone(), lock))),
            Err(std::fs::TryLockError::WouldBlock) => Ok(None),
            Err(std::fs::TryLockError::Error(source)) => {
                Err(folder_error("lock the folder", &self.path, source))
            }
        }
    }

    fn tenant_path(&self, tenant: TenantId) -> PathBuf {
        self.path.join(tenant.uuid().to_string())
    }

    fn open_lock(&self) -> Result<File, Error> {
        let path = self.path.join(LOCK_FILE_NAME);
        let opened = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path);
        opened.map_err(|source| folder_error("open the file", &path, source))
    }
}

fn nofollow_flags() -> i32 {
    (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK)
        .bits()
        .cast_signed()
}

#[cfg(test)]
#[path = "tests_content_folder.rs"]
mod tests;
