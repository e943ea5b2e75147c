//! Chance with a seed (SplitMix64): the same seed deals the same faults and the same words.

use std::{ops::Range, time::Duration};

/// What is thrown.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Dice of somebody else, whose throws do not depend on how often these are thrown.
    pub(crate) fn of(&self, who: &str) -> Self {
        let named = who.bytes().fold(self.0, |seed, byte| {
            (seed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let mut dice = Self(named);
        dice.next();
        dice
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A place in something of this length, which is not empty.
    pub(crate) fn below(&mut self, length: usize) -> usize {
        let length = u64::try_from(length.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.next() % length).unwrap_or(0)
    }

    pub(crate) fn one_of<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(self.below(all.len()))
    }

    /// True so many times of a hundred.
    pub(crate) fn chance(&mut self, of_hundred: usize) -> bool {
        self.below(100) < of_hundred
    }

    /// A time between two, in milliseconds.
    pub(crate) fn millis(&mut self, between: Range<u64>) -> Duration {
        let span = between.end.saturating_sub(between.start).max(1);
        Duration::from_millis(between.start + self.next() % span)
    }

    /// In an order of its own.
    pub(crate) fn shuffled<T>(&mut self, mut all: Vec<T>) -> Vec<T> {
        for last in (1..all.len()).rev() {
            let other = self.below(last + 1);
            all.swap(last, other);
        }
        all
    }

    /// Sixteen hexadecimal digits.
    pub(crate) fn word(&mut self) -> String {
        format!("{:016x}", self.next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_says_what_falls() {
        let throws = |seed| {
            let mut dice = Dice::new(seed).of("someone");
            (0..50).map(|_| dice.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(throws(1), throws(1));
        assert_ne!(throws(1), throws(2));
        let mut shuffled = Dice::new(3).shuffled((0..100).collect::<Vec<_>>());
        assert_ne!(shuffled, (0..100).collect::<Vec<_>>());
        shuffled.sort_unstable();
        assert_eq!(shuffled, (0..100).collect::<Vec<_>>());
    }
}
