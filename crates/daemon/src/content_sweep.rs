//! Removes the contents to which no artifact refers any more, or does not yet after an interrupted save.
//!
//! **Invariant:** a content is removed only while the folder is locked against saves, and if the database knows its tenant
//! and has no artifact of it on this instance. So another database that used the data folder before keeps its contents.

use std::sync::Arc;

use artifacts::Sweep;
use model::{TenantId, Timestamp, artifact::ContentHash, limits};
use store::Scope;

use crate::{Error, Host};

/// Removes the contents without an artifact that are older than [`limits::RETAIN_UNREFERENCED_CONTENT`]. Does nothing
/// while a content is being saved; the next round of housekeeping tries again.
pub(crate) async fn sweep_contents(host: &Host, now: Timestamp) -> Result<(), Error> {
    let Some(folder) = host.artifacts.clone() else {
        return Ok(());
    };
    let Some(sweep) = block(move || folder.begin_sweep()).await? else {
        return Ok(());
    };
    let sweep = Arc::new(sweep);
    let before = now.saturating_sub(limits::RETAIN_UNREFERENCED_CONTENT);
    let listing = Arc::clone(&sweep);
    let mut removed = 0;
    for (tenant, hashes) in block(move || listing.contents_before(before)).await? {
        let unreferenced = unreferenced(host, tenant, hashes).await?;
        removed += unreferenced.len();
        remove(&sweep, tenant, unreferenced).await?;
    }
    if removed > 0 {
        tracing::info!(removed, "removed {removed} contents without an artifact");
    }
    Ok(())
}

/// Returns those contents of a tenant to which no artifact refers.
async fn unreferenced(
    host: &Host,
    tenant: TenantId,
    mut hashes: Vec<ContentHash>,
) -> Result<Vec<ContentHash>, Error> {
    match host.store.tenant(Scope::System, tenant).await {
        Err(store::Error::NotFound { .. }) => return Ok(Vec::new()),
        found => found?,
    };
    let referenced = host
        .store
        .referenced_contents(tenant, host.instance, &hashes)
        .await?;
    hashes.retain(|hash| !referenced.contains(hash));
    Ok(hashes)
}

async fn remove(
    sweep: &Arc<Sweep>,
    tenant: TenantId,
    hashes: Vec<ContentHash>,
) -> Result<(), Error> {
    let sweep = Arc::clone(sweep);
    block(move || sweep.remove(tenant, &hashes)).await
}

/// Runs a function that reads or writes files, off the threads of asynchronous code.
async fn block<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, artifacts::Error> + Send + 'static,
) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(work).await;
    Ok(done.map_err(Error::SweepDied)??)
}
