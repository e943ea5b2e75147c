//! Temporary folders of benchmarks.

use std::path::Path;

use anyhow::Result;
use tempfile::TempDir;

/// Creates a folder that is removed when the returned value is dropped.
pub(crate) fn new_folder(below: &Path) -> Result<TempDir> {
    Ok(tempfile::Builder::new()
        .prefix("bench-")
        .tempdir_in(below)?)
}
