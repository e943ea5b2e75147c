//! Aborts the process at named points between durable effects (failpoints), so that tests can check its recovery.
//!
//! The code under test calls [`reached`] at each point. A test calls [`arm`] in a child process to choose the point at
//! which that process aborts, and then checks that another process recovers.
//!
//! **Invariant:** no release contains this crate. A crate with failpoints depends on it optionally, by the feature
//! `failpoints`, which is in no default and which only tests enable.

use std::{
    fs::File,
    io::Write as _,
    process,
    sync::{Mutex, PoisonError},
};

/// The configuration of the next abort.
struct ArmedAbort {
    /// The number of points until the abort, including the one that aborts.
    remaining: u64,
    /// The filter of points by name.
    matches_name: fn(&str) -> bool,
    /// The file that receives the names of the reached points.
    name_log: File,
}

static ARMED: Mutex<Option<ArmedAbort>> = Mutex::new(None);

/// Arms the failpoints: the process aborts when it reaches the `number`-th point (from 1) whose name `counts`
/// accepts. Each of those points writes its name to `names`, one on each line, before it may abort.
pub fn arm(number: u64, counts: fn(&str) -> bool, names: File) {
    let armed = ArmedAbort {
        remaining: number,
        matches_name: counts,
        name_log: names,
    };
    *ARMED.lock().unwrap_or_else(PoisonError::into_inner) = Some(armed);
}

/// Marks a point. At an abort here all effects before the point may have happened, and none after it.
pub fn reached(name: &str) {
    // A panic of another thread poisons the lock. The points after it must still count.
    let mut armed = ARMED.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(armed) = armed.as_mut().filter(|armed| (armed.matches_name)(name)) else {
        return;
    };
    // The names do not affect the abort, so a failed write must not change the behavior of the process.
    let _ = writeln!(armed.name_log, "{name}");
    armed.remaining = armed.remaining.saturating_sub(1);
    if armed.remaining == 0 {
        process::abort();
    }
}
