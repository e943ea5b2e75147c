//! Parses names of time zones.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::{
    Timestamp,
    schedule::{Error, Zone, format_instant},
};

fuzz_target!(|text: &str| {
    match Zone::parse(text) {
        Ok(zone) => {
            assert!(
                zone.name().eq_ignore_ascii_case(text),
                "{text} became {zone}"
            );
            assert_eq!(Zone::parse(zone.name()).as_ref(), Ok(&zone));
            for instant in [Timestamp::UNIX_EPOCH, Timestamp::MAX] {
                assert!(format_instant(instant, &zone).ends_with(zone.name()));
            }
        }
        Err(Error::Zone { nearest, .. }) => {
            if let Some(nearest) = nearest {
                Zone::parse(&nearest).expect("a suggested name is valid");
            }
        }
        Err(other) => panic!("parsing {text:?} returned {other:?}"),
    }
});
