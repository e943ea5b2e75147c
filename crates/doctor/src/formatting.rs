//! Formats amounts and errors for findings.

use std::{error::Error, time::Duration};

/// Formats an amount of bytes with up to three significant digits.
pub(crate) fn format_bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut whole = bytes;
    let mut tenths = 0;
    let mut unit = 0;
    while whole >= 1024 && unit + 1 < UNITS.len() {
        tenths = (whole % 1024) * 10 / 1024;
        whole /= 1024;
        unit += 1;
    }
    if unit == 0 || whole >= 100 {
        format!("{whole} {}", UNITS[unit])
    } else {
        format!("{whole}.{tenths} {}", UNITS[unit])
    }
}

/// Formats a duration in its largest unit.
pub(crate) fn format_duration(length: Duration) -> String {
    let seconds = length.as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// Formats a count with the singular or plural noun.
pub(crate) fn format_count(number: usize, one: &str, many: &str) -> String {
    if number == 1 {
        format!("1 {one}")
    } else {
        format!("{number} {many}")
    }
}

/// Formats an error and its sources, separated by colons.
pub(crate) fn with_sources(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_formatted_in_fitting_unit() {
        assert_eq!(format_bytes(0), "0 B");
        assert_eq!(format_bytes(1023), "1023 B");
        assert_eq!(format_bytes(1536), "1.5 KiB");
        assert_eq!(format_bytes(377 << 20), "377 MiB");
        assert_eq!(format_duration(Duration::from_secs(119)), "119 s");
        assert_eq!(format_duration(Duration::from_hours(3)), "3 h");
        assert_eq!(format_duration(Duration::from_hours(240)), "10 days");
        assert_eq!(format_count(1, "run", "runs"), "1 run");
        assert_eq!(format_count(0, "run", "runs"), "0 runs");
    }
}
