//! Directories that persons gave sessions, and that may not be on this server.

use std::path::PathBuf;

use model::{Timestamp, limits};
use tokio::{task::spawn_blocking, time::timeout};

use crate::{Error, Host, boxed};

/// Returns `true` if a directory is on this server.
pub(crate) async fn is_here(directory: &str) -> bool {
    let directory = PathBuf::from(directory);
    // The check may block for long if a file server does not answer.
    let check = spawn_blocking(move || directory.is_dir());
    matches!(
        timeout(limits::DIRECTORY_CHECK_TIMEOUT, check).await,
        Ok(Ok(true))
    )
}

/// Checks again for the directories that this server did not have, and fails the runs that no server can take. Returns the
/// number of runs that this server may claim again.
#[boxed]
pub(crate) async fn review(host: &Host, now: Timestamp) -> Result<u32, Error> {
    let (mut removed, mut found) = (Vec::new(), 0);
    for refusal in host.store.directory_refusals(host.instance).await? {
        if !refusal.is_waiting {
            removed.push(refusal);
            continue;
        }
        let is_here = match &refusal.directory {
            Some(directory) => is_here(directory).await,
            None => true,
        };
        if is_here {
            found += 1;
            removed.push(refusal);
        }
    }
    if !removed.is_empty() {
        host.store.remove_directory_refusals(&removed).await?;
    }
    let failed = host.store.fail_runs_without_directory(now).await?;
    if failed > 0 {
        tracing::warn!(
            failed,
            "{failed} runs failed, because no server that is online has their directory"
        );
    }
    Ok(found)
}
