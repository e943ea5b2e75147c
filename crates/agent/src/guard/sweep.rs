//! The second net: killing whatever carries a run's marker, without a guard.

use std::{io, thread, time::Duration};

use rustix::process::getpid;

use super::{MARKER_VARIABLE, kill::stop_and_kill, process::Table};

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
    let mut killed = 0;
    for _ in 0..MAX_LOOKS {
        let found = stop_and_kill(|| Ok(Table::read()?.marked(&assignment, getpid())))?;
        if found == 0 {
            return Ok(killed);
        }
        killed = killed.max(found);
        thread::sleep(PAUSE);
    }
    Err(io::Error::new(
        io::ErrorKind::TimedOut,
        format!("processes with {assignment} outlive SIGKILL"),
    ))
}
