//! The listing of a trigger folder in order, with bounded memory.

use std::collections::BinaryHeap;

use rustix::fs::{AtFlags, Dir, FileType, statat};

use crate::{error::FolderError, file_name::FileName, folder_handle::FolderHandle};

/// The first files of a folder, in the order of their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scan {
    /// The names of the files.
    pub names: Vec<FileName>,
    /// The names of files that are too large to be triggers. The reader rejects them.
    pub oversized: Vec<FileName>,
    /// `true` if more files follow after the last name.
    pub has_more: bool,
}

/// The lowest names of a listing, at most `limit` of them.
#[derive(Debug)]
struct LowestNames {
    limit: usize,
    /// The highest name is at the top, so that a lower one replaces it.
    heap: BinaryHeap<FileName>,
    has_more: bool,
}

impl LowestNames {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            heap: BinaryHeap::new(),
            has_more: false,
        }
    }

    /// `true` if a name may be among the lowest ones. Otherwise notes that there are more.
    fn admits(&mut self, name: &FileName) -> bool {
        let is_full = self.heap.len() >= self.limit;
        let is_low = !is_full || self.heap.peek().is_some_and(|highest| name < highest);
        self.has_more |= !is_low;
        is_low
    }

    fn insert(&mut self, name: FileName) {
        if self.heap.len() >= self.limit {
            self.heap.pop();
            self.has_more = true;
        }
        self.heap.push(name);
    }
}

/// Lists the first `limit` files of a folder whose names are higher than `after`. Leaves out everything but regular
/// files.
pub(crate) fn scan(
    folder: &FolderHandle,
    after: Option<&FileName>,
    limit: usize,
    max_bytes: u64,
) -> Result<Scan, FolderError> {
    let error = |errno| folder.error("list", errno);
    let mut lowest = LowestNames::new(limit);
    for entry in Dir::read_from(&folder.fd).map_err(error)? {
        let entry = entry.map_err(error)?;
        let Some(name) = FileName::from_bytes(entry.file_name().to_bytes()) else {
            continue;
        };
        if after.is_some_and(|after| name <= *after) || !lowest.admits(&name) {
            continue;
        }
        let kind = match entry.file_type() {
            // Some file systems do not tell the type in the listing.
            FileType::Unknown => file_state(folder, &name).map(|(kind, _)| kind),
            kind => Some(kind),
        };
        if kind == Some(FileType::RegularFile) {
            lowest.insert(name);
        }
    }
    let mut scan = Scan {
        has_more: lowest.has_more,
        ..Scan::default()
    };
    for name in lowest.heap.into_sorted_vec() {
        match file_state(folder, &name) {
            Some((FileType::RegularFile, bytes)) if bytes > max_bytes => scan.oversized.push(name),
            Some((FileType::RegularFile, _)) => scan.names.push(name),
            // The file was removed or replaced since the listing.
            _ => {}
        }
    }
    Ok(scan)
}

/// Returns the type and the size of a file. Returns `None` if the file cannot be examined, usually because it was
/// removed.
fn file_state(folder: &FolderHandle, name: &FileName) -> Option<(FileType, u64)> {
    let stat = statat(&folder.fd, name.as_os_str(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let bytes = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
    Some((FileType::from_raw_mode(stat.st_mode), bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lowest_names_hold_no_more_than_the_limit() {
        let name = |number: u32| FileName::from_bytes(format!("{number:06}.json").as_bytes());
        let mut lowest = LowestNames::new(10);
        // The order of a hash table, as that of a folder: each number below 100,003 comes once.
        let numbers = (0..100_003_u64).map(|step| step * 7_919 % 100_003);
        let mut most = 0;
        for number in numbers {
            let name = name(u32::try_from(number).unwrap()).unwrap();
            if lowest.admits(&name) {
                lowest.insert(name);
            }
            most = most.max(lowest.heap.len());
        }
        assert_eq!(most, 10);
        assert!(lowest.heap.capacity() <= 32, "{}", lowest.heap.capacity());
        assert!(lowest.has_more);
        let expected: Vec<_> = (0..10).filter_map(name).collect();
        assert_eq!(lowest.heap.into_sorted_vec(), expected);
    }

    #[test]
    fn limit_of_zero_only_finds_that_there_are_files() {
        let mut lowest = LowestNames::new(0);
        assert!(!lowest.admits(&FileName::from_bytes(b"a.json").unwrap()));
        assert!(lowest.has_more && lowest.heap.is_empty());
    }
}
