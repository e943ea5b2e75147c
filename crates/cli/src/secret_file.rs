//! Files that hold one secret, readable by their owner alone.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

use tempfile::NamedTempFile;

/// Writes the file with mode 0600. A crash leaves either the previous file or the complete new one.
pub(crate) fn replace(path: &Path, secret: &str) -> io::Result<()> {
    let folder = folder_of(path);
    let file = written(folder, secret)?;
    file.persist(path).map_err(|error| error.error)?;
    fs::File::open(folder)?.sync_all()
}

/// Writes a new file with mode 0600.
///
/// # Errors
///
/// Returns an error if a file of that name exists, which stays as it is.
pub(crate) fn create(path: &Path, secret: &str) -> io::Result<()> {
    let folder = folder_of(path);
    let file = written(folder, secret)?;
    file.persist_noclobber(path).map_err(|error| error.error)?;
    fs::File::open(folder)?.sync_all()
}

/// Returns the folder of a file, which is `.` for a name without a folder.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        Some(_) => Path::new("."),
        None => Path::new("/"),
    }
}

fn written(folder: &Path, secret: &str) -> io::Result<NamedTempFile> {
    let mut file = NamedTempFile::new_in(folder)?;
    writeln!(file, "{secret}")?;
    file.as_file().sync_all()?;
    Ok(file)
}
