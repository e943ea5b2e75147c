//! The edits that agents report outside of the paths of their tasks.

use std::collections::BTreeSet;

use crate::{goal::writes::covers, working_directory::WorkingDirectory};

/// The highest number of paths that are listed for a task.
const MAX_LISTED_PATHS: usize = 20;

/// The paths that the agents of a task report to have changed, and that are not below those which the task writes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EditsOutsideWrites {
    /// The first paths, sorted, at most 20: relative to the directory of the turn, or absolute if they are not in it.
    pub paths: Vec<String>,
    /// The number of further paths.
    pub more: u32,
}

impl EditsOutsideWrites {
    /// Returns those of the edited paths that are not below `writes`, which are normalized. Each edited path comes with the
    /// directory of its turn and is absolute, or relative to that directory.
    ///
    /// Paths are compared as they are written: a path by way of a link is not resolved.
    pub fn of<'edit>(
        edited: impl IntoIterator<Item = (&'edit str, &'edit WorkingDirectory)>,
        writes: &[String],
    ) -> Self {
        let edited = edited.into_iter().filter(|(path, _)| !path.is_empty());
        let outside: BTreeSet<String> = edited
            .filter_map(|(path, directory)| outside_writes(path, directory, writes))
            .collect();
        Self {
            more: u32::try_from(outside.len().saturating_sub(MAX_LISTED_PATHS)).unwrap_or(u32::MAX),
            paths: outside.into_iter().take(MAX_LISTED_PATHS).collect(),
        }
    }

    /// Returns `true` if there is no such path.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }
}

/// Returns the path as people see it. Returns `None` if it is below `writes`.
fn outside_writes(path: &str, directory: &WorkingDirectory, writes: &[String]) -> Option<String> {
    let absolute = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("{}/{path}", directory.path())
    };
    let parts = resolved_parts(&absolute);
    let Some(depth) = depth_of_directory(&parts, directory) else {
        return Some(format!("/{}", parts.join("/")));
    };
    let relative = match parts.get(depth..) {
        None | Some([]) => ".".to_owned(),
        Some(below) => below.join("/"),
    };
    let is_covered = writes.iter().any(|prefix| covers(prefix, &relative));
    (!is_covered).then_some(relative)
}

/// Returns the parts of an absolute path, without `.` and `..`.
fn resolved_parts(path: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts
}

/// Returns the number of parts of a path that lead to the directory. Returns `None` if the path is not in it.
fn depth_of_directory(path: &[&str], directory: &WorkingDirectory) -> Option<usize> {
    let directory_parts = resolved_parts(directory.path());
    let named_parts = match directory {
        WorkingDirectory::Given(_) => {
            return path
                .starts_with(&directory_parts)
                .then_some(directory_parts.len());
        }
        // Each server keeps the folders that Matins creates in its own data folder, so that only their names are the same on the
        // server of the turn.
        WorkingDirectory::Own(_) => 1,
        WorkingDirectory::OwnOfSeat { .. } => 2,
    };
    let first_named = directory_parts.len().checked_sub(named_parts)?;
    let names = directory_parts.get(first_named..)?;
    let at = path.windows(named_parts).position(|parts| parts == names)?;
    Some(at + named_parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outside(path: &str, directory: &WorkingDirectory, writes: &[&str]) -> Option<String> {
        let writes: Vec<String> = writes.iter().map(|it| (*it).to_owned()).collect();
        let mut found = EditsOutsideWrites::of([(path, directory)], &writes);
        assert_eq!(found.more, 0);
        assert_eq!(found.is_empty(), found.paths.is_empty());
        found.paths.pop()
    }

    #[test]
    fn path_outside_of_writes_is_relative_or_absolute() {
        let given = WorkingDirectory::Given("/srv/app/".into());
        for (path, writes, expected) in [
            ("/srv/app/src/a.rs", vec!["src"], None),
            ("/srv/app/src", vec!["src"], None),
            ("/srv/app/srcs/a.rs", vec!["src"], Some("srcs/a.rs")),
            ("/srv/app/docs/a.md", vec!["src", "docs/a.md"], None),
            ("/srv/app/docs/b.md", vec!["src"], Some("docs/b.md")),
            ("/srv/app/a.md", vec![], Some("a.md")),
            ("/srv/app", vec!["src"], Some(".")),
            ("/srv/app/any/a", vec!["."], None),
            // The parts of a path lead out of a prefix, or back into it.
            ("/srv/app/src/../docs/b.md", vec!["src"], Some("docs/b.md")),
            ("/srv/./app//docs/../src/a.rs", vec!["src"], None),
            ("src/a.rs", vec!["src"], None),
            ("docs/b.md", vec!["src"], Some("docs/b.md")),
            // A path that is not in the directory is outside of any prefix.
            ("/etc/hosts", vec!["."], Some("/etc/hosts")),
            ("/srv/apps/a", vec!["."], Some("/srv/apps/a")),
            ("/srv/app/../other/a", vec!["."], Some("/srv/other/a")),
            ("../other/a", vec!["."], Some("/srv/other/a")),
            ("/../../a", vec!["."], Some("/a")),
            ("", vec![], None),
        ] {
            assert_eq!(
                outside(path, &given, &writes).as_deref(),
                expected,
                "{path}"
            );
        }
    }

    #[test]
    fn own_folder_is_found_by_its_names_on_any_server() {
        let session = WorkingDirectory::Own("/data/sessions/ses_1".into());
        for (path, expected) in [
            ("/data/sessions/ses_1/src/a.rs", None),
            ("/var/other/sessions/ses_1/src/a.rs", None),
            ("/var/other/sessions/ses_1/a.md", Some("a.md")),
            (
                "/data/sessions/ses_2/src/a.rs",
                Some("/data/sessions/ses_2/src/a.rs"),
            ),
            ("src/a.rs", None),
        ] {
            assert_eq!(
                outside(path, &session, &["src"]).as_deref(),
                expected,
                "{path}"
            );
        }
        let seat = WorkingDirectory::OwnOfSeat {
            path: "/data/sessions/ses_1/worker-1".into(),
            seat: "worker-1".into(),
        };
        for (path, expected) in [
            ("/var/ses_1/worker-1/a", None),
            ("/var/ses_1/worker-2/a", Some("/var/ses_1/worker-2/a")),
            ("/var/ses_1/a", Some("/var/ses_1/a")),
            ("/worker-1/a", Some("/worker-1/a")),
        ] {
            assert_eq!(outside(path, &seat, &["."]).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn long_list_has_first_paths_and_number_of_others() {
        let given = WorkingDirectory::Given("/srv".into());
        let paths: Vec<String> = (0..25).rev().map(|no| format!("/srv/{no:02}")).collect();
        let twice = paths.iter().chain(&paths);
        let found = EditsOutsideWrites::of(twice.map(|path| (path.as_str(), &given)), &[]);
        let expected: Vec<String> = (0..20).map(|no| format!("{no:02}")).collect();
        assert_eq!((found.paths, found.more), (expected, 5));
        assert!(EditsOutsideWrites::of([("/srv/a", &given)], &[".".to_owned()]).is_empty());
    }
}
