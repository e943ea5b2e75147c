//! Killing a set of processes that may grow meanwhile.

use std::{collections::HashSet, io};

use rustix::process::Signal;

use super::process::Process;

/// The most rounds of reading and stopping the set. A stopped process cannot fork, so two or three rounds suffice;
/// the bound is for a set that changes in every round.
const MAX_STOP_ROUNDS: usize = 64;

/// Stops all processes that `members` returns until it returns no new one, and then kills all of them. Returns the
/// number of signalled processes.
///
/// Stopping comes first, because a process that is killed alone leaves children that fork on. A process that was
/// forked in the last instant may survive, so callers must repeat the call until it finds nothing. Processes of
/// another user survive as well, because the signals do not reach them.
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
