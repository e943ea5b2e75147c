//! Numbers out of many.

use std::time::Duration;

/// The middle one.
pub(crate) fn median(mut all: Vec<Duration>) -> Duration {
    all.sort_unstable();
    all.get(all.len() / 2).copied().unwrap_or_default()
}
