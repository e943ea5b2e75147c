//! The patience with files that are not JSON yet, because a program writes them in place.

use std::{collections::HashMap, time::Duration};

use tokio::time::Instant;

use crate::{file_name::FileName, trigger_folder::FileStamp};

/// The time for which a file may stay unchanged before it is rejected.
const UNCHANGED_BEFORE_REJECTION: Duration = Duration::from_secs(30);
/// The most files that are remembered. Further ones wait until some are decided.
const MAX_FILES: usize = 1024;

/// The files that could not be parsed and may still be under way.
///
/// Ages count from the first sighting of a state of the file, by the monotonic clock: the clock of the file system may
/// be another machine's.
#[derive(Debug, Default)]
pub struct IncompleteFiles {
    files: HashMap<FileName, Sighting>,
}

/// The first sighting of a state of a file.
#[derive(Debug, Clone, Copy)]
struct Sighting {
    stamp: FileStamp,
    at: Instant,
    last_seen: Instant,
}

impl IncompleteFiles {
    /// Notes that a file was found unparsable. Returns `true` if the file has not changed for 30 s, so that the caller
    /// must reject it.
    pub fn is_final(&mut self, name: &FileName, stamp: FileStamp, now: Instant) -> bool {
        if let Some(sighting) = self.files.get_mut(name) {
            sighting.last_seen = now;
            if sighting.stamp != stamp {
                (sighting.stamp, sighting.at) = (stamp, now);
            }
            return now.duration_since(sighting.at) >= UNCHANGED_BEFORE_REJECTION;
        }
        if self.files.len() >= MAX_FILES {
            // Files that vanished are never decided.
            let forget_after = 4 * UNCHANGED_BEFORE_REJECTION;
            self.files
                .retain(|_, it| now.duration_since(it.last_seen) < forget_after);
        }
        if self.files.len() < MAX_FILES {
            let sighting = Sighting {
                stamp,
                at: now,
                last_seen: now,
            };
            self.files.insert(name.clone(), sighting);
        }
        false
    }

    /// Forgets a file that was read, removed or rejected.
    pub fn forget(&mut self, name: &FileName) {
        self.files.remove(name);
    }

    /// `true` if a file may still be under way, so that the caller must read it again without an event.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}
