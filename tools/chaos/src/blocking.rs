//! Work that would hold up a thread of the runtime.

use anyhow::Result;

/// Does what takes its time without holding up everybody else.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work).await?
}
