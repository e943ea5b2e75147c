//! A clock and an uptime that change only when a test changes them, and deterministic randomness.

use std::{
    sync::atomic::{AtomicI64, AtomicU64, Ordering},
    time::Duration,
};

use model::{Clock, Entropy, Timestamp, Uptime};

/// A clock that stands still until a test sets it.
#[derive(Debug)]
pub struct FakeClock {
    micros: AtomicI64,
}

impl FakeClock {
    /// Creates a clock that shows `now`.
    pub fn new(now: Timestamp) -> Self {
        Self {
            micros: AtomicI64::new(now.as_microsecond()),
        }
    }

    /// Creates a clock that shows an instant such as `2026-11-21T09:00:00Z`.
    ///
    /// # Panics
    ///
    /// Panics if the text is no instant, because tests pass only literals.
    pub fn at(now: &str) -> Self {
        match now.parse() {
            Ok(now) => Self::new(now),
            Err(error) => panic!("{now:?} is not an instant: {error}"),
        }
    }

    /// Sets the clock to `now`, which may be earlier than before.
    pub fn set(&self, now: Timestamp) {
        self.micros.store(now.as_microsecond(), Ordering::SeqCst);
    }

    /// Advances the clock and returns the new instant.
    pub fn advance(&self, by: Duration) -> Timestamp {
        let now = self.now() + by;
        self.set(now);
        now
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Timestamp {
        let micros = self.micros.load(Ordering::SeqCst);
        match Timestamp::from_microsecond(micros) {
            Ok(now) => now,
            Err(error) => unreachable!("only instants are stored: {error}"),
        }
    }
}

/// A machine's uptime that grows only when a test advances it.
#[derive(Debug)]
pub struct FakeUptime {
    micros: AtomicU64,
}

impl FakeUptime {
    /// Creates the uptime of a machine that has run for `uptime`.
    pub fn new(uptime: Duration) -> Self {
        let fake = Self {
            micros: AtomicU64::new(0),
        };
        fake.advance(uptime);
        fake
    }

    /// Adds `by` to the uptime.
    pub fn advance(&self, by: Duration) {
        let micros = u64::try_from(by.as_micros()).unwrap_or(u64::MAX);
        self.micros.fetch_add(micros, Ordering::SeqCst);
    }
}

impl Uptime for FakeUptime {
    fn uptime(&self) -> Duration {
        Duration::from_micros(self.micros.load(Ordering::SeqCst))
    }
}

/// Deterministic randomness: the same seed gives the same bytes (`SplitMix64`).
#[derive(Debug)]
pub struct SeededEntropy {
    state: AtomicU64,
}

impl SeededEntropy {
    /// Creates a stream of bytes that depends only on `seed`.
    pub fn new(seed: u64) -> Self {
        Self {
            state: AtomicU64::new(seed),
        }
    }

    fn next(&self) -> u64 {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut word = self
            .state
            .fetch_add(STEP, Ordering::SeqCst)
            .wrapping_add(STEP);
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fake_clock_moves_only_explicitly() {
        let clock = FakeClock::at("2026-11-21T09:00:00Z");
        assert_eq!(clock.now(), clock.now());
        clock.advance(Duration::from_mins(90));
        assert_eq!(clock.now().to_string(), "2026-11-21T10:30:00Z");
        clock.set(Timestamp::UNIX_EPOCH);
        assert_eq!(clock.now(), Timestamp::UNIX_EPOCH);
    }

    #[test]
    fn fake_clock_stops_at_latest_timestamp() {
        let clock = FakeClock::new(Timestamp::MAX);
        assert_eq!(clock.advance(Duration::MAX), Timestamp::MAX);
    }

    #[test]
    fn seeded_entropy_is_deterministic() {
        let fill = |seed| {
            let entropy = SeededEntropy::new(seed);
            let (mut first, mut second) = ([0; 10], [0; 10]);
            entropy.fill(&mut first);
            entropy.fill(&mut second);
            (first, second)
        };
        assert_eq!(fill(7), fill(7));
        assert_ne!(fill(7), fill(8));
        assert_ne!(fill(7).0, fill(7).1);
    }
}
