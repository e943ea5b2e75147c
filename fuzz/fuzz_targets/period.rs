//! Parses periods such as `1h30m`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::{
    Timestamp,
    schedule::{Every, MAX_PERIOD, MIN_PERIOD, Period},
};

fuzz_target!(|text: &str| {
    let Ok(period) = text.parse::<Period>() else {
        return;
    };
    assert!((MIN_PERIOD..=MAX_PERIOD).contains(&period.duration()));
    assert_eq!(period.to_string().parse(), Ok(period));
    let every = model::schedule::Schedule::Every(Every {
        period,
        anchor: Timestamp::UNIX_EPOCH,
    });
    let second = every.next_after(Timestamp::UNIX_EPOCH);
    assert_eq!(second, Some(Timestamp::UNIX_EPOCH + period.duration()));
});
