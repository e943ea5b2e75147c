//! The files of tasks, and the acceptance lines about them that the agent can check.

use std::path::{Path, PathBuf};

/// The beginning of an acceptance line that the agent can check: each name in backticks has to occur in the file.
pub(super) const NAMES: &str = "It names ";
/// An acceptance line that the agent can check.
pub(super) const WORD_COUNT: &str = "Its last line is the number of its words.";
/// The beginning of the last line of a file that satisfies [`WORD_COUNT`].
pub(super) const WORD_COUNT_LINE: &str = "Words: ";

/// Returns the number of words of a text.
pub(super) fn count_words(text: &str) -> usize {
    text.split_whitespace().count()
}

/// Returns the file of a directory, or `None` if the path leads out of it.
pub(super) fn path_below(cwd: &Path, path: &str) -> Option<PathBuf> {
    let inside = |part| matches!(part, std::path::Component::Normal(_));
    let path = Path::new(path);
    (!path.as_os_str().is_empty() && path.components().all(inside)).then(|| cwd.join(path))
}
