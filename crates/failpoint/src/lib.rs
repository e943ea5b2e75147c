//! Points between durable effects, at which tests abort the process.
//!
//! **Invariant:** nothing of it ships. Whoever has such points depends on this crate optionally, by
//! the feature `failpoints`, which no default has and only tests ask for.

use std::{
    fs::File,
    io::Write as _,
    process,
    sync::{Mutex, PoisonError},
};

/// Where the process aborts.
struct Armed {
    /// How many points are still passed, the one included at which it aborts.
    left: u64,
    /// Which points count.
    counts: fn(&str) -> bool,
    /// Where the names of the points go that were reached.
    names: File,
}

static ARMED: Mutex<Option<Armed>> = Mutex::new(None);

/// From now on the process aborts when it reaches the `number`-th point (from 1) that `counts`. The
/// names of those that it reaches go to `names`, a line each.
pub fn arm(number: u64, counts: fn(&str) -> bool, names: File) {
    let armed = Armed {
        left: number,
        counts,
        names,
    };
    *ARMED.lock().unwrap_or_else(PoisonError::into_inner) = Some(armed);
}

/// The process is at a point: what is before it may have had its effect, what is after it has not.
pub fn reached(name: &str) {
    let mut armed = ARMED.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(armed) = armed.as_mut().filter(|armed| (armed.counts)(name)) else {
        return;
    };
    // The name is only for those who read along; losing it changes nothing.
    let _ = writeln!(armed.names, "{name}");
    armed.left = armed.left.saturating_sub(1);
    if armed.left == 0 {
        process::abort();
    }
}
