//! The names of files that may be triggers.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
};

/// The end of the name of every trigger file.
const SUFFIX: &[u8] = b".json";

/// The name of a file that may be a trigger: it ends in `.json`, is not hidden, and names no other folder. Names sort
/// by their bytes, so that the files of the server sort by their time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileName(OsString);

impl FileName {
    /// Returns the name of these bytes, or `None` if no trigger has such a name.
    pub fn from_bytes(name: &[u8]) -> Option<Self> {
        let is_hidden = name.first() == Some(&b'.');
        let is_plain = name.ends_with(SUFFIX) && !is_hidden && !name.contains(&b'/');
        is_plain.then(|| Self(OsString::from_vec(name.to_vec())))
    }

    /// Returns the name for a call of the system.
    pub fn as_os_str(&self) -> &OsStr {
        &self.0
    }

    /// Returns the bytes of the name, which need not be UTF-8.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Any program may have chosen the name, so control characters must not reach a terminal.
        write!(f, "{}", self.0.to_string_lossy().escape_debug())
    }
}
