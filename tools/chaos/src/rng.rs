//! Random choices from a seed (`SplitMix64`), so that the same seed gives the same faults and messages.

use std::{ops::Range, time::Duration};

/// A generator of random numbers. The field is its state.
#[derive(Debug, Clone)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Derives the generator of the participant `name`. Its numbers depend only on `name` and on the present state of
    /// this generator. Because the root generator is never advanced, they do not depend on the other participants.
    pub(crate) fn derive(&self, name: &str) -> Self {
        let seed = name.bytes().fold(self.0, |seed, byte| {
            (seed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let mut dice = Self(seed);
        dice.next();
        dice
    }

    /// Advances the state and returns the next random number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to `length` - 1, or 0 if `length` is 0.
    pub(crate) fn below(&mut self, length: usize) -> usize {
        let length = u64::try_from(length.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.next() % length).unwrap_or(0)
    }

    /// Returns a random element. Returns `None` if the slice is empty.
    pub(crate) fn choose<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(self.below(all.len()))
    }

    /// Returns `true` with a probability of `of_hundred` percent.
    pub(crate) fn chance(&mut self, of_hundred: usize) -> bool {
        self.below(100) < of_hundred
    }

    /// Returns a random duration from a range of milliseconds.
    pub(crate) fn millis(&mut self, between: Range<u64>) -> Duration {
        let span = between.end.saturating_sub(between.start).max(1);
        Duration::from_millis(between.start + self.next() % span)
    }

    /// Returns the elements in random order (Fisher-Yates).
    pub(crate) fn shuffled<T>(&mut self, mut all: Vec<T>) -> Vec<T> {
        for last in (1..all.len()).rev() {
            let other = self.below(last + 1);
            all.swap(last, other);
        }
        all
    }

    /// Returns sixteen random hexadecimal digits.
    pub(crate) fn hex_string(&mut self) -> String {
        format!("{:016x}", self.next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rng_same_seed_gives_same_numbers() {
        let throws = |seed| {
            let mut dice = Rng::new(seed).derive("someone");
            (0..50).map(|_| dice.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(throws(1), throws(1));
        assert_ne!(throws(1), throws(2));
        let mut shuffled = Rng::new(3).shuffled((0..100).collect::<Vec<_>>());
        assert_ne!(shuffled, (0..100).collect::<Vec<_>>());
        shuffled.sort_unstable();
        assert_eq!(shuffled, (0..100).collect::<Vec<_>>());
    }
}
