//! Parses cron expressions. An input has three lines: a letter for a time zone, an instant in seconds since 1970, and
//! the expression.
#![no_main]

mod zones;

use libfuzzer_sys::fuzz_target;
use model::{
    Timestamp,
    schedule::{Schedule, Spec, due_instants},
};

/// More bytes than any error needs for the name of the field, its value (80 characters, each up to ten bytes when it
/// is escaped, shown up to twice) and the accepted values.
const MAX_ERROR_BYTES: usize = 2500;

fuzz_target!(|text: &str| {
    let mut lines = text.splitn(3, '\n');
    let (Some(zone), Some(seconds), Some(expression)) = (lines.next(), lines.next(), lines.next())
    else {
        return;
    };
    let spec = Spec::Cron {
        expression: expression.into(),
        zone: zones::zone_for(zone).name().into(),
    };
    let schedule = match Schedule::parse(&spec) {
        Ok(schedule) => schedule,
        Err(error) => return assert!(error.to_string().len() < MAX_ERROR_BYTES, "{error}"),
    };
    let micros = seconds
        .parse::<i64>()
        .ok()
        .and_then(|seconds| seconds.checked_mul(1_000_000));
    let Some(Ok(after)) = micros.map(Timestamp::from_microsecond) else {
        return;
    };
    // Formatting an accepted specification must not panic.
    let _ = spec.to_string();
    let fires = schedule.upcoming(after, 3);
    let mut before = after;
    for fire in fires {
        assert!(fire > before, "{fire} is not after {before}");
        assert_eq!(
            schedule.count(before, fire),
            1,
            "between {before} and {fire}"
        );
        let due = due_instants(&schedule, fire, fire, 1);
        assert_eq!((due.earlier, due.instants), (None, vec![fire]));
        before = fire;
    }
});
