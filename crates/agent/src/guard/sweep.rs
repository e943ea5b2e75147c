//! The sweep: killing processes by the run's marker or the worker's name in their environment, without a guard.
//!
//! The sweep is the second line of defence, for trees whose guard was killed.

use std::{io, thread, time::Duration};

use rustix::process::getpid;

use super::{MARKER_VARIABLE, WORKER_VARIABLE, kill::stop_and_kill, process::ProcessTable};

/// The most rounds of a sweep; [`SWEEP_PAUSE`] lies between two of them.
const MAX_SWEEP_ROUNDS: u32 = 500;
const SWEEP_PAUSE: Duration = Duration::from_millis(10);

/// Kills every process of this user whose environment has `MATINS_RUN=<marker>`, with all its descendants. Returns
/// the number of processes.
///
/// A worker calls it after a guard was killed, and when it starts and may have left processes behind. Spares the
/// calling process. Blocks the thread until the last process has ended.
///
/// # Errors
///
/// Returns [`io::ErrorKind::TimedOut`] if some processes are still there after five seconds.
pub fn sweep(marker: &str) -> io::Result<usize> {
    let assignment = format!("{MARKER_VARIABLE}={marker}");
    kill_all(&assignment, |variable| variable == assignment.as_bytes())
}

/// Kills every process of this user that a worker started for which `is_dead` returns `true`, with all its
/// descendants. Returns the number of processes. The variable `MATINS_RUN_WORKER` in the environment names the
/// worker. Otherwise the function works as [`sweep`].
///
/// The function finds the remaining processes of runs that other workers have given up, whose markers are therefore
/// unknown here.
pub fn sweep_workers(is_dead: impl Fn(&str) -> bool) -> io::Result<usize> {
    let prefix = format!("{WORKER_VARIABLE}=");
    kill_all("dead workers", |variable| {
        variable
            .strip_prefix(prefix.as_bytes())
            .and_then(|worker| str::from_utf8(worker).ok())
            .is_some_and(&is_dead)
    })
}

/// Kills every process with a matching variable until a round finds none.
fn kill_all(owner: &str, matches: impl Fn(&[u8]) -> bool) -> io::Result<usize> {
    let mut killed = 0;
    for _ in 0..MAX_SWEEP_ROUNDS {
        let found =
            stop_and_kill(
                || Ok(ProcessTable::read()?.processes_with_variable(&matches, getpid())),
            )?;
        if found == 0 {
            return Ok(killed);
        }
        // Later rounds find the same processes again while they end, so the largest round counts.
        killed = killed.max(found);
        thread::sleep(SWEEP_PAUSE);
    }
    Err(io::Error::new(
        io::ErrorKind::TimedOut,
        format!("processes of {owner} are still alive after SIGKILL"),
    ))
}
