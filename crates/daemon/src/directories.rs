//! Directories that persons gave sessions, and that may not be on this server.

use model::Timestamp;
use turn::is_directory_here;

use crate::{Error, Host, boxed};

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
            Some(directory) => is_directory_here(directory).await,
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
