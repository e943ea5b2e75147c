//! Blocking work (files, child processes) outside the threads of the async runtime.

use anyhow::Result;

/// Runs blocking work on a thread of its own, so that it does not delay the other tasks of the runtime.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work).await?
}
