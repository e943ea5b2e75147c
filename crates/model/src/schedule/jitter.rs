//! Jitter: spreads the instants at which many automations would fire together.

use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::{ids::TriggerId, time::Timestamp};

/// Returns a nominal instant, delayed by less than `spread` and by less than the distance to the next nominal
/// instant.
///
/// A hash of the trigger and the instant determines the delay, so that every server computes the same delay, also
/// after a restart. The delays of different triggers are evenly distributed.
pub fn jitter(
    trigger: TriggerId,
    nominal: Timestamp,
    spread: Duration,
    next_nominal: Option<Timestamp>,
) -> Timestamp {
    let room = next_nominal.map_or(Duration::MAX, |next| next.since(nominal));
    let room = u64::try_from(spread.min(room).as_micros()).unwrap_or(u64::MAX);
    let mut hash = Sha256::new();
    hash.update(trigger.uuid().as_bytes());
    hash.update(nominal.as_microsecond().to_be_bytes());
    let digest = hash.finalize();
    let uniform = digest[..8]
        .iter()
        .fold(0, |n, byte| n << 8 | u128::from(*byte));
    // The upper half of the product of a uniform 64-bit number and `room` lies in `0..room`. A remainder instead
    // would favor short delays.
    let moved = (uniform * u128::from(room)) >> 64;
    nominal + Duration::from_micros(u64::try_from(moved).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    fn trigger(number: u128) -> TriggerId {
        TriggerId::from_uuid(Uuid::from_u128(number))
    }

    /// Servers of different versions must compute the same delay, so the result must never change.
    #[test]
    fn jitter_matches_pinned_value() {
        let nominal: Timestamp = "2026-11-21T09:00:00Z".parse().unwrap();
        let moved = jitter(trigger(7), nominal, Duration::from_mins(10), None);
        assert_eq!(moved.to_string(), "2026-11-21T09:02:21.885109Z");
    }

    #[test]
    fn jitter_with_zero_spread_is_zero() {
        let nominal = Timestamp::UNIX_EPOCH;
        assert_eq!(jitter(trigger(7), nominal, Duration::ZERO, None), nominal);
        let next = Some(nominal);
        assert_eq!(jitter(trigger(7), nominal, Duration::MAX, next), nominal);
    }

    #[test]
    fn jitter_of_triggers_covers_whole_spread() {
        let nominal = Timestamp::UNIX_EPOCH;
        let mut tenths = [0; 10];
        for number in 0..1000 {
            let moved = jitter(trigger(number), nominal, Duration::from_secs(10), None);
            let tenth = usize::try_from(moved.since(nominal).as_secs()).unwrap();
            tenths[tenth] += 1;
        }
        assert!(tenths.iter().all(|count| *count > 50), "{tenths:?}");
    }

    proptest! {
        #[test]
        fn jitter_is_below_spread_and_next_instant(
            number: u128,
            nominal in 0..4_000_000_000_000_000_i64,
            spread in 1..u64::MAX,
            gap in 1..u64::MAX / 1_000_000,
        ) {
            let nominal = Timestamp::from_microsecond(nominal).unwrap();
            let spread = Duration::from_micros(spread);
            let next = nominal + Duration::from_micros(gap);
            let moved = jitter(trigger(number), nominal, spread, Some(next));
            prop_assert!(moved >= nominal && moved < next);
            prop_assert!(moved.since(nominal) < spread);
            prop_assert_eq!(moved, jitter(trigger(number), nominal, spread, Some(next)));
        }
    }
}
