//! Killing a set of processes that may grow while it is being killed.

use std::{collections::HashSet, io};

use rustix::process::Signal;

use super::process::Process;

/// How often the set is read again to find what was forked meanwhile. A stopped process forks no
/// more, so two or three rounds do; the bound is for a set that is never the same twice.
const MAX_STOP_ROUNDS: usize = 64;

/// Stops all that `members` finds, until it finds nothing new, then kills all of it.
///
/// Answers how many processes were signalled. What was forked in the last instant may be left:
/// callers look again. So may what belongs to another user, which a signal does not reach.
pub(super) fn stop_and_kill(
    mut members: impl FnMut() -> io::Result<Vec<Process>>,
) -> io::Result<usize> {
    let mut stopped = HashSet::new();
    for _ in 0..MAX_STOP_ROUNDS {
        let mut fresh = 0;
        for process in members()? {
            if stopped.insert(process) {
                fresh += 1;
                process.signal(Signal::STOP).ok();
            }
        }
        if fresh == 0 {
            break;
        }
    }
    for process in &stopped {
        process.signal(Signal::KILL).ok();
    }
    Ok(stopped.len())
}
