//! A clock that is wrong for one process: libfaketime.

use std::path::{Path, PathBuf};

/// Where Debian has the library, below the folder of its machine.
const FOLDERS: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/faketime",
    "/usr/lib/aarch64-linux-gnu/faketime",
    "/usr/lib/faketime",
    "/usr/lib64/faketime",
];
/// For programs with threads.
const LIBRARY: &str = "libfaketimeMT.so.1";

/// The library that makes a clock wrong by so many minutes, and how it is told; `None` if it is not here.
pub(crate) fn off_by(minutes: i32) -> Option<(PathBuf, String)> {
    let library = FOLDERS
        .iter()
        .map(|folder| Path::new(folder).join(LIBRARY))
        .find(|library| library.is_file())?;
    Some((library, format!("{minutes:+}m")))
}
