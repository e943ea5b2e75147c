//! The removal of contents to which no artifact refers.

use std::{
    fs::{self, File},
    io,
    path::PathBuf,
    time::{Duration, UNIX_EPOCH},
};

use model::{TenantId, Timestamp, artifact::ContentHash};
use uuid::Uuid;

use crate::error::{Error, folder_error};

/// The beginning of the names of contents that are being stored.
pub(crate) const INCOMING_PREFIX: &str = "incoming-";

/// The exclusive right to remove contents. While it exists, no content is put into its place.
#[derive(Debug)]
pub struct Sweep {
    path: PathBuf,
    _lock: File,
}

impl Sweep {
    pub(crate) fn new(path: PathBuf, lock: File) -> Self {
        Self { path, _lock: lock }
    }

    /// Returns the contents that were stored before an instant, by tenant, and removes the files of stores that were
    /// interrupted before it. Leaves out every file that has another name.
    pub fn contents_before(
        &self,
        before: Timestamp,
    ) -> Result<Vec<(TenantId, Vec<ContentHash>)>, Error> {
        let failed = |source| folder_error("read the folder", &self.path, source);
        let micros = u64::try_from(before.as_microsecond()).unwrap_or(0);
        let before = UNIX_EPOCH + Duration::from_micros(micros);
        let mut contents = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            let Some(tenant) = name.to_str().and_then(|name| Uuid::try_parse(name).ok()) else {
                continue;
            };
            let mut hashes = Vec::new();
            for entry in fs::read_dir(entry.path()).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                // `DirEntry::metadata` follows no link.
                let modified = match entry.metadata().and_then(|found| found.modified()) {
                    Ok(modified) => modified,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => return Err(failed(error)),
                };
                let name = entry.file_name();
                let (Some(name), true) = (name.to_str(), modified < before) else {
                    continue;
                };
                if name.starts_with(INCOMING_PREFIX) {
                    fs::remove_file(entry.path()).map_err(failed)?;
                } else if let Ok(hash) = name.parse() {
                    hashes.push(hash);
                }
            }
            if !hashes.is_empty() {
                contents.push((TenantId::from_uuid(tenant), hashes));
            }
        }
        Ok(contents)
    }

    /// Removes contents of a tenant.
    pub fn remove(&self, tenant: TenantId, hashes: &[ContentHash]) -> Result<(), Error> {
        let folder = self.path.join(tenant.uuid().to_string());
        for hash in hashes {
            let path = folder.join(hash.to_string());
            match fs::remove_file(&path) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(folder_error("remove the file", &path, source));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
