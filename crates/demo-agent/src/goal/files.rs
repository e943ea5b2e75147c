//! The files of tasks, and the acceptance lines about them that the agent can check.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The beginning of an acceptance line that the agent can check: each name in backticks has to occur in the file.
pub(super) const NAMES: &str = "It names ";
/// An acceptance line that the agent can check.
pub(super) const WORD_COUNT: &str = "Its last line is the number of its words.";
/// An acceptance line that the judge never finds satisfied, so that a person decides.
pub(super) const ACCEPTED_BY_PERSON: &str = "A person has accepted it.";
/// The line by which the agent knows its own files.
pub(super) const SIGNATURE: &str = "The demonstration agent wrote this file, without a model.";
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

/// Returns `true` if the agent may write a file: it is missing, or the agent has written it before.
///
/// # Errors
///
/// Returns the error of reading an existing file.
pub(super) fn is_writable(file: &Path) -> io::Result<bool> {
    match fs::read(file) {
        Ok(present) => Ok(String::from_utf8_lossy(&present).contains(SIGNATURE)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

/// Returns the name of the file of a task, such as `green.md`, or `green-demo.md` if a file of another origin has that name.
pub(super) fn file_for(cwd: &Path, key: &str) -> String {
    let name = format!("{key}.md");
    if is_writable(&cwd.join(&name)).unwrap_or(false) {
        name
    } else {
        format!("{key}-demo.md")
    }
}
