//! The probe of a folder: whether a file can be written there, and which time its file system has.

use std::{io::Write as _, os::unix::fs::MetadataExt as _};

use delivery::TriggerName;
use model::{RunId, Timestamp};
use rustix::fs::{AtFlags, unlinkat};
use uuid::Uuid;

use crate::{
    delivery_port::DeliveryError,
    directory_delivery::{DirectoryDelivery, create_temporary},
    error::FolderError,
    folder_handle::{FolderHandle, blocking},
};

/// The result of a probe: a file was written, synced and removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FolderProbe {
    /// The instant of the write by the clock of the file system, which may be the clock of another machine.
    pub written_at: Timestamp,
}

impl DirectoryDelivery {
    /// Writes a temporary file into the folder, reads its time, and removes it.
    ///
    /// # Errors
    ///
    /// Returns the error that a delivery would return.
    pub async fn probe(&self) -> Result<FolderProbe, DeliveryError> {
        let path = self.path().to_owned();
        let probe = move || probe(&FolderHandle::open(&path)?);
        let probed = blocking(self.path(), "write a file into", probe).await?;
        Ok(probed)
    }
}

fn probe(folder: &FolderHandle) -> Result<FolderProbe, FolderError> {
    let error = |error: std::io::Error| folder.error("write a file into", error);
    // A temporary name holds the name of a trigger file, so that the cleanup finds what a crash leaves.
    let name = TriggerName::new(Timestamp::UNIX_EPOCH, RunId::from_uuid(Uuid::nil()));
    let name = name.ok_or_else(|| error(std::io::Error::other("no name for a probe")))?;
    let (temporary, mut file) = create_temporary(folder, &name)?;
    let probed = file
        .write_all(b"probe\n")
        .and_then(|()| file.sync_all())
        .and_then(|()| file.metadata());
    unlinkat(&folder.fd, &temporary, AtFlags::empty()).ok();
    let written = probed.map_err(error)?;
    let micros = written.mtime() * 1_000_000 + written.mtime_nsec() / 1_000;
    let written_at = Timestamp::from_microsecond(micros);
    let written_at = written_at.map_err(|source| error(std::io::Error::other(source)))?;
    Ok(FolderProbe { written_at })
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    #[tokio::test]
    async fn probe_leaves_nothing_and_reads_the_clock() {
        let home = tempfile::tempdir().unwrap();
        let witness = home.path().join("witness");
        fs::write(&witness, "").unwrap();
        let at = fs::metadata(&witness).unwrap().mtime();
        fs::remove_file(&witness).unwrap();
        let probed = DirectoryDelivery::new(home.path()).probe().await.unwrap();
        let seconds = probed.written_at.as_microsecond() / 1_000_000;
        assert!((at..at + 600).contains(&seconds), "{probed:?}");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn probe_reports_what_a_delivery_would() {
        let home = tempfile::tempdir().unwrap();
        let missing = DirectoryDelivery::new(home.path().join("none"));
        let error = missing.probe().await.unwrap_err();
        assert!(
            error.message().ends_with("it does not exist"),
            "{}",
            error.message()
        );
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let error = DirectoryDelivery::new(home.path())
            .probe()
            .await
            .unwrap_err();
        let message = error.message();
        assert!(
            message.contains("other users may write to it (mode 0777)"),
            "{message}"
        );
    }
}
