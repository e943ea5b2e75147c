//! The second net: killing whatever carries a run's marker or a worker's name, without a guard.

use std::{io, thread, time::Duration};

use rustix::process::getpid;

use super::{MARKER_VARIABLE, WORKER_VARIABLE, kill::stop_and_kill, process::Table};

/// How often a sweep looks whether the killed are gone, and how long it waits in between.
const MAX_LOOKS: u32 = 500;
const PAUSE: Duration = Duration::from_millis(10);

/// Kills every process of this user whose environment has `MATINS_RUN=<marker>`, with all its
/// descendants, and answers how many there were.
///
/// For after a guard was itself killed, and for the start of a worker that may have left something
/// behind. The calling process is spared. Blocks the thread until the last one is gone; fails with
/// [`io::ErrorKind::TimedOut`] if some are still there after five seconds.
pub fn sweep(marker: &str) -> io::Result<usize> {
    let assignment = format!("{MARKER_VARIABLE}={marker}");
    kill_all(&assignment, |variable| variable == assignment.as_bytes())
}

/// Kills every process of this user that was started by a worker who is gone, by what `MATINS_RUN_WORKER` says in
/// its environment, with all its descendants, and answers how many there were. Otherwise as [`sweep`].
///
/// For what is left of runs that nobody knows as under way any more: others have given them up.
pub fn sweep_workers(is_gone: impl Fn(&str) -> bool) -> io::Result<usize> {
    let prefix = format!("{WORKER_VARIABLE}=");
    kill_all("a worker that is gone", |variable| {
        variable
            .strip_prefix(prefix.as_bytes())
            .and_then(|worker| str::from_utf8(worker).ok())
            .is_some_and(&is_gone)
    })
}

/// Kills every process that has such a variable, until there is none.
fn kill_all(what: &str, has: impl Fn(&[u8]) -> bool) -> io::Result<usize> {
    let mut killed = 0;
    for _ in 0..MAX_LOOKS {
        let found = stop_and_kill(|| Ok(Table::read()?.marked(&has, getpid())))?;
        if found == 0 {
            return Ok(killed);
        }
        killed = killed.max(found);
        thread::sleep(PAUSE);
    }
    Err(io::Error::new(
        io::ErrorKind::TimedOut,
        format!("processes of {what} outlive SIGKILL"),
    ))
}
