//! Numbers out of many.

use std::time::Duration;

/// The middle one.
pub(crate) fn median(mut all: Vec<Duration>) -> Duration {
    all.sort_unstable();
    all.get(all.len() / 2).copied().unwrap_or_default()
}

/// The one at a part of all that are sorted: 0.99 is the one that a hundredth is above.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a place in a list"
)]
pub(crate) fn quantile(sorted: &[Duration], part: f64) -> Duration {
    let at = (sorted.len() as f64 * part) as usize;
    let last = sorted.len().saturating_sub(1);
    sorted.get(at.min(last)).copied().unwrap_or_default()
}
