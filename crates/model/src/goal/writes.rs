//! The path prefixes that tasks write, and the tasks that occupy them.

use std::collections::BTreeMap;

use crate::goal::{seat::SeatNo, task::TaskNo};

/// The directory to which prefixes belong: the shared one, or the own one of a seat.
pub(super) type DirectoryKey = Option<SeatNo>;

/// Returns a path prefix in its normal form: without `.` parts and without a slash at the end. Returns `None` if the path is
/// empty, absolute, or leads out of the directory.
///
/// Prefixes are compared by their parts, so `src/a` covers `src/a/b` but not `src/ab`.
pub(crate) fn normalize(path: &str) -> Option<String> {
    if path.is_empty() || path.starts_with('/') || path.contains('\\') {
        return None;
    }
    let parts: Vec<_> = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    if parts.contains(&"..") {
        return None;
    }
    Some(if parts.is_empty() {
        ".".to_owned()
    } else {
        parts.join("/")
    })
}

/// Returns the prefixes without repetitions and without those that another one covers, sorted.
pub(super) fn without_covered(mut prefixes: Vec<String>) -> Vec<String> {
    prefixes.sort();
    prefixes.dedup();
    let all = prefixes.clone();
    prefixes.retain(|prefix| !all.iter().any(|it| it != prefix && covers(it, prefix)));
    prefixes
}

/// Returns `true` if the path `inner` is `outer` or below it. Both are normalized.
pub(super) fn covers(outer: &str, inner: &str) -> bool {
    outer == "."
        || inner
            .strip_prefix(outer)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The prefixes that are occupied, each by one task. Prefixes of different tasks in one directory never overlap.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct OccupiedWrites {
    by_path: BTreeMap<(DirectoryKey, String), TaskNo>,
    by_task: BTreeMap<TaskNo, DirectoryKey>,
}

impl OccupiedWrites {
    /// Returns a task that occupies a path which overlaps one of `prefixes`. Returns `None` if `task` can start.
    ///
    /// Costs a few look-ups in a sorted map for each prefix, regardless of the number of occupied paths.
    pub(super) fn occupant(
        &self,
        task: TaskNo,
        directory: DirectoryKey,
        prefixes: &[String],
    ) -> Option<TaskNo> {
        let other = |occupant: &TaskNo| (*occupant != task).then_some(*occupant);
        for prefix in prefixes {
            if prefix == "." {
                // Everything in the directory overlaps. At most one entry per open task is skipped as its own.
                let all = self.by_path.range((directory, String::new())..);
                let mut all = all.take_while(|((it, _), _)| *it == directory);
                if let Some(found) = all.find_map(|(_, occupant)| other(occupant)) {
                    return Some(found);
                }
                continue;
            }
            // 1. The path itself, and all that lead to it.
            let ends = prefix.match_indices('/').map(|(end, _)| end);
            let above = ends.chain([prefix.len()]).map(|end| &prefix[..end]);
            for path in above.chain(["."]) {
                let occupant = self.by_path.get(&(directory, path.to_owned()));
                if let Some(found) = occupant.and_then(other) {
                    return Some(found);
                }
            }
            // 2. All paths below it. `0` is the letter after the slash.
            let below = (directory, format!("{prefix}/"))..(directory, format!("{prefix}0"));
            let mut below = self.by_path.range(below);
            if let Some(found) = below.find_map(|(_, occupant)| other(occupant)) {
                return Some(found);
            }
        }
        None
    }

    /// Marks the prefixes as occupied by `task`, which must be able to start.
    pub(super) fn occupy(&mut self, task: TaskNo, directory: DirectoryKey, prefixes: &[String]) {
        for prefix in prefixes {
            self.by_path.insert((directory, prefix.clone()), task);
        }
        self.by_task.insert(task, directory);
    }

    /// Releases the prefixes of `task`.
    pub(super) fn release(&mut self, task: TaskNo, prefixes: &[String]) {
        if let Some(directory) = self.by_task.remove(&task) {
            for prefix in prefixes {
                self.by_path.remove(&(directory, prefix.clone()));
            }
        }
    }

    /// Returns the tasks that occupy their prefixes, each with the directory.
    pub(super) const fn occupants(&self) -> &BTreeMap<TaskNo, DirectoryKey> {
        &self.by_task
    }

    /// Returns the directory in which `task` occupies its prefixes.
    pub(super) fn directory(&self, task: TaskNo) -> Option<DirectoryKey> {
        self.by_task.get(&task).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_normalized_or_refused() {
        for (given, expected) in [
            (".", Some(".")),
            ("./", Some(".")),
            ("a/./b//c/", Some("a/b/c")),
            ("./a", Some("a")),
            ("", None),
            ("/a", None),
            ("a/../b", None),
            ("..", None),
            ("a\\b", None),
        ] {
            assert_eq!(normalize(given).as_deref(), expected, "{given}");
        }
    }

    #[test]
    fn prefix_below_another_is_left_out() {
        let given = ["b", "a/c", "a", "a", "ab", "a/b/c"].map(str::to_owned);
        assert_eq!(without_covered(given.to_vec()), ["a", "ab", "b"]);
        let given = [".", "a"].map(str::to_owned);
        assert_eq!(without_covered(given.to_vec()), ["."]);
    }

    #[test]
    fn overlap_is_found_by_parts_and_per_directory() {
        let mut occupied = OccupiedWrites::default();
        occupied.occupy(TaskNo(1), None, &["a/b".to_owned(), "c".to_owned()]);
        for (path, expected) in [
            (".", true),
            ("a", true),
            ("a/b", true),
            ("a/b/c", true),
            ("a/bc", false),
            ("a/c", false),
            ("c/d/e", true),
            ("cc", false),
            ("b", false),
        ] {
            let prefixes = [path.to_owned()];
            let found = occupied.occupant(TaskNo(2), None, &prefixes);
            assert_eq!(found.is_some(), expected, "{path}");
            assert_eq!(
                occupied.occupant(TaskNo(1), None, &prefixes),
                None,
                "{path}"
            );
            assert_eq!(
                occupied.occupant(TaskNo(2), Some(SeatNo(0)), &prefixes),
                None
            );
        }
        assert_eq!(occupied.directory(TaskNo(1)), Some(None));
        occupied.release(TaskNo(1), &["a/b".to_owned(), "c".to_owned()]);
        assert_eq!(occupied.occupant(TaskNo(2), None, &[".".to_owned()]), None);
        assert_eq!(occupied.directory(TaskNo(1)), None);
        occupied.occupy(TaskNo(3), None, &[".".to_owned()]);
        assert_eq!(
            occupied.occupant(TaskNo(2), None, &["x/y".to_owned()]),
            Some(TaskNo(3))
        );
        assert_eq!(occupied.occupant(TaskNo(2), None, &[]), None);
    }
}
