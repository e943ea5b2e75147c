//! A wrong clock for one process, by means of `libfaketime`.

use std::path::{Path, PathBuf};

/// The folders in which distributions install the library.
const LIBRARY_FOLDERS: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/faketime",
    "/usr/lib/aarch64-linux-gnu/faketime",
    "/usr/lib/faketime",
    "/usr/lib64/faketime",
];
/// The variant of the library for programs with threads.
const LIBRARY_FILE: &str = "libfaketimeMT.so.1";

/// Returns the path of `libfaketime` and its setting for an offset of `minutes`. Returns `None` if the library is not
/// installed.
pub(crate) fn find_with_offset(minutes: i32) -> Option<(PathBuf, String)> {
    let library = LIBRARY_FOLDERS
        .iter()
        .map(|folder| Path::new(folder).join(LIBRARY_FILE))
        .find(|library| library.is_file())?;
    Some((library, format!("{minutes:+}m")))
}
