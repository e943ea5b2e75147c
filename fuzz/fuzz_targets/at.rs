//! Parses instants as people write them. An input has three lines: a letter for a time zone, the current time in
//! seconds since 1970, and the text.
#![no_main]

mod zones;

use libfuzzer_sys::fuzz_target;
use model::{
    Timestamp,
    schedule::{format_instant, parse_at},
};

fuzz_target!(|text: &str| {
    let mut lines = text.splitn(3, '\n');
    let (Some(zone), Some(seconds), Some(text)) = (lines.next(), lines.next(), lines.next()) else {
        return;
    };
    let micros = seconds
        .parse::<i64>()
        .ok()
        .and_then(|seconds| seconds.checked_mul(1_000_000));
    let Some(Ok(now)) = micros.map(Timestamp::from_microsecond) else {
        return;
    };
    let zone = zones::zone_for(zone);
    if let Ok(at) = parse_at(text, &zone, now) {
        assert!(at > now, "{at} is not after {now}");
        assert_eq!(parse_at(&at.to_string(), &zone, now), Ok(at));
        assert!(format_instant(at, &zone).ends_with(zone.name()));
    }
});
