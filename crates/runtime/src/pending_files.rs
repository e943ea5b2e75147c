//! The files of the folder that the loop knows, and the order in which it works on them.
//!
//! **Invariants:** a file is at work once at a time. The number of files is bounded; the rest waits on disk.

use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

use tokio::time::Instant;
use trigger_folder::{FileName, Scan};

/// The most files that the loop knows at once.
pub(crate) const MAX_FILES: usize = 4096;
/// The number of files below which the loop lists the folder further.
const REFILL_BELOW: usize = MAX_FILES / 2;
/// The pauses before a file is tried again. Each is twice the one before.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_mins(1)];

/// The known files.
#[derive(Debug, Default)]
pub(crate) struct PendingFiles {
    files: HashMap<FileName, State>,
    /// The names of the files in [`Stage::Ready`], in order.
    ready: BTreeSet<FileName>,
    /// The names of the files in [`Stage::Delayed`], by their instants.
    delayed: BTreeSet<(Instant, FileName)>,
    /// The last name of the listing under way. `None` before its first page.
    cursor: Option<FileName>,
    listing: Listing,
}

#[derive(Debug)]
struct State {
    stage: Stage,
    /// The pause before the next try but one.
    next_pause: Duration,
}

/// The stage of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Ready,
    /// A task works on the file. `listed_again` if a listing has found the name since: another file may have it.
    AtWork {
        listed_again: bool,
    },
    /// The file is tried again at an instant, or after the next change of the folder if it is incomplete.
    Delayed {
        until: Instant,
        is_incomplete: bool,
    },
}

/// The progress of a listing of the folder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Listing {
    /// The folder has been listed since its last change.
    #[default]
    Complete,
    /// Pages are missing.
    UnderWay,
    /// The folder has changed since the listing began, so that another one follows.
    Outdated,
}

/// The page of a listing that the loop needs next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageRequest {
    /// The name after which the page begins.
    pub(crate) after: Option<FileName>,
    /// The most names of the page.
    pub(crate) limit: usize,
}

impl PendingFiles {
    /// Notes that the folder may have changed.
    pub(crate) fn note_change(&mut self) {
        self.listing = match self.listing {
            Listing::Complete => Listing::UnderWay,
            Listing::UnderWay if self.cursor.is_none() => Listing::UnderWay,
            _ => Listing::Outdated,
        };
        // A program may have completed a file that was incomplete.
        let incomplete = self.delayed.iter().filter(|(_, name)| {
            let state = self.files.get(name);
            state.is_some_and(|state| {
                matches!(
                    state.stage,
                    Stage::Delayed {
                        is_incomplete: true,
                        ..
                    }
                )
            })
        });
        for (until, name) in incomplete.cloned().collect::<Vec<_>>() {
            self.delayed.remove(&(until, name.clone()));
            self.make_ready(name);
        }
    }

    /// Returns the page of the folder's listing that is needed next. Returns `None` if the listing is complete, or if
    /// enough files are known.
    pub(crate) fn next_page(&self) -> Option<PageRequest> {
        let is_needed = self.listing != Listing::Complete && self.files.len() < REFILL_BELOW;
        is_needed.then(|| PageRequest {
            after: self.cursor.clone(),
            limit: MAX_FILES,
        })
    }

    /// Adds a page of the listing.
    pub(crate) fn add_page(&mut self, page: Scan) {
        let Scan {
            mut names,
            oversized,
            mut has_more,
        } = page;
        names.extend(oversized);
        names.sort_unstable();
        for name in names {
            let has_room = self.files.len() < MAX_FILES;
            match self.files.get_mut(&name) {
                Some(State {
                    stage: Stage::AtWork { listed_again },
                    ..
                }) => *listed_again = true,
                Some(_) => {}
                None if has_room => {
                    let state = State {
                        stage: Stage::Ready,
                        next_pause: PAUSES[0],
                    };
                    self.files.insert(name.clone(), state);
                    self.ready.insert(name.clone());
                }
                // The next page begins at this name.
                None => {
                    has_more = true;
                    break;
                }
            }
            self.cursor = Some(name);
        }
        if !has_more {
            self.cursor = None;
            self.listing = match self.listing {
                Listing::Outdated => Listing::UnderWay,
                _ => Listing::Complete,
            };
        }
    }

    /// Takes the first file that is ready, and marks it as at work.
    pub(crate) fn take(&mut self, now: Instant) -> Option<FileName> {
        while let Some((until, _)) = self.delayed.first()
            && *until <= now
        {
            if let Some((_, name)) = self.delayed.pop_first() {
                self.make_ready(name);
            }
        }
        let name = self.ready.pop_first()?;
        if let Some(state) = self.files.get_mut(&name) {
            state.stage = Stage::AtWork {
                listed_again: false,
            };
        }
        Some(name)
    }

    /// Notes that a file is no longer in the folder. If a listing has found its name since, the file is ready again,
    /// because another one may have the name.
    pub(crate) fn remove(&mut self, name: FileName) {
        match self.files.get(&name).map(|state| state.stage) {
            Some(Stage::AtWork { listed_again: true }) => {
                self.files.remove(&name);
                self.put_back(name);
            }
            _ => {
                self.files.remove(&name);
            }
        }
    }

    /// Makes a file that was at work ready again.
    pub(crate) fn put_back(&mut self, name: FileName) {
        let state = State {
            stage: Stage::Ready,
            next_pause: PAUSES[0],
        };
        self.files.entry(name.clone()).or_insert(state);
        self.make_ready(name);
    }

    /// Delays a file that was at work, for longer each time.
    pub(crate) fn delay(&mut self, name: FileName, is_incomplete: bool, now: Instant) {
        let Some(state) = self.files.get_mut(&name) else {
            return;
        };
        let until = now + state.next_pause;
        state.next_pause = (state.next_pause * 2).min(PAUSES[1]);
        state.stage = Stage::Delayed {
            until,
            is_incomplete,
        };
        self.delayed.insert((until, name));
    }

    /// Returns the instant at which the next delayed file is ready.
    pub(crate) fn next_instant(&self) -> Option<Instant> {
        self.delayed.first().map(|(until, _)| *until)
    }

    /// `true` if a file is ready.
    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    fn make_ready(&mut self, name: FileName) {
        if let Some(state) = self.files.get_mut(&name) {
            state.stage = Stage::Ready;
            self.ready.insert(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(number: usize) -> FileName {
        FileName::from_bytes(format!("{number:06}.json").as_bytes()).unwrap()
    }

    fn page(numbers: impl IntoIterator<Item = usize>, has_more: bool) -> Scan {
        Scan {
            names: numbers.into_iter().map(name).collect(),
            oversized: Vec::new(),
            has_more,
        }
    }

    #[test]
    fn file_at_work_is_not_taken_twice() {
        let now = Instant::now();
        let mut files = PendingFiles::default();
        files.note_change();
        files.add_page(page([1, 2], false));
        assert_eq!(files.take(now), Some(name(1)));
        files.note_change();
        files.add_page(page([1, 2], false));
        assert_eq!(files.take(now), Some(name(2)));
        assert_eq!(files.take(now), None);
        // The listing has found the name while the file was at work, so another file may have it now.
        files.remove(name(1));
        assert_eq!(files.take(now), Some(name(1)));
        files.remove(name(1));
        assert_eq!(files.take(now), None);
    }

    #[test]
    fn delayed_file_comes_back_later_each_time() {
        let start = Instant::now();
        let mut files = PendingFiles::default();
        files.note_change();
        files.add_page(page([1], false));
        let mut now = start;
        let mut pauses = Vec::new();
        for _ in 0..8 {
            assert_eq!(files.take(now), Some(name(1)));
            files.delay(name(1), false, now);
            // A change of the folder does not hurry it.
            files.note_change();
            files.add_page(page([1], false));
            assert_eq!(files.take(now), None);
            let next = files.next_instant().unwrap();
            pauses.push((next - now).as_secs());
            now = next;
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
    }

    #[test]
    fn change_of_folder_makes_incomplete_file_ready() {
        let now = Instant::now();
        let mut files = PendingFiles::default();
        files.note_change();
        files.add_page(page([1, 2], false));
        files.take(now);
        files.take(now);
        files.delay(name(1), true, now);
        files.delay(name(2), false, now);
        files.note_change();
        assert_eq!(files.take(now), Some(name(1)));
        assert_eq!(files.take(now), None);
    }

    #[test]
    fn number_of_files_is_bounded_and_none_is_left_out() {
        const COUNT: usize = 3 * MAX_FILES;
        let now = Instant::now();
        let mut files = PendingFiles::default();
        let mut folder: BTreeSet<usize> = (0..COUNT).collect();
        files.note_change();
        let mut taken = Vec::new();
        loop {
            while let Some(wanted) = files.next_page() {
                let after = wanted.after.map(|name| {
                    let digits = String::from_utf8(name.as_bytes()[..6].to_vec()).unwrap();
                    digits.parse::<usize>().unwrap()
                });
                let first = after.map_or(0, |after| after + 1);
                let mut rest = folder.range(first..).copied();
                let numbers: Vec<_> = rest.by_ref().take(wanted.limit).collect();
                files.add_page(page(numbers, rest.next().is_some()));
            }
            assert!(files.files.len() <= MAX_FILES);
            let Some(file) = files.take(now) else { break };
            let number = taken.len();
            assert_eq!(file, name(number));
            folder.remove(&number);
            files.remove(file.clone());
            taken.push(file);
            // A listing that begins anew in between changes nothing.
            if number.is_multiple_of(1000) {
                files.note_change();
            }
        }
        assert_eq!(taken.len(), COUNT);
        assert!(folder.is_empty() && files.files.is_empty());
    }
}
