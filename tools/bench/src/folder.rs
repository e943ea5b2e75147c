//! Folders of measurements.

use std::path::Path;

use anyhow::Result;
use tempfile::TempDir;

/// Makes a folder that is removed when it is dropped.
pub(crate) fn new_folder(below: &Path) -> Result<TempDir> {
    Ok(tempfile::Builder::new()
        .prefix("bench-")
        .tempdir_in(below)?)
}
