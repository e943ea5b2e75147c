//! Statistics of durations.

use std::time::Duration;

/// Returns the median, or zero for no durations.
pub(crate) fn median(mut all: Vec<Duration>) -> Duration {
    all.sort_unstable();
    all.get(all.len() / 2).copied().unwrap_or_default()
}

/// Returns a quantile of sorted durations, or zero for no durations. For example, `part` 0.99 gives the 99th
/// percentile.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "an index into a list, which is far below 2^52"
)]
pub(crate) fn quantile(sorted: &[Duration], part: f64) -> Duration {
    let at = (sorted.len() as f64 * part) as usize;
    let last = sorted.len().saturating_sub(1);
    sorted.get(at.min(last)).copied().unwrap_or_default()
}

/// Returns a time in milliseconds.
pub(crate) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Formats the median and the maximum of a few sorted durations, whose 99th percentile would be the maximum.
pub(crate) fn format_median_and_max(sorted: &[Duration]) -> String {
    let at = |part| ms(quantile(sorted, part));
    format!("median {:8.2} ms, max {:8.2} ms", at(0.5), at(1.0))
}

/// Formats the median, the 99th percentile and the maximum.
pub(crate) fn format_quantiles(sorted: &[Duration]) -> String {
    let at = |part| ms(quantile(sorted, part));
    format!(
        "p50 {:8.2} ms, p99 {:8.2} ms, max {:8.2} ms",
        at(0.5),
        at(0.99),
        at(1.0)
    )
}
