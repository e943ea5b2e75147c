//! Random numbers that a seed determines (`SplitMix64`).

/// A stream of random numbers.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    /// Returns a number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        let numbers = u128::from(low.abs_diff(high)) + 1;
        let chosen = u64::try_from((u128::from(self.next()) * numbers) >> 64).unwrap();
        low.checked_add_unsigned(chosen).unwrap()
    }

    /// Returns `true` in one of `cases` cases.
    pub(crate) fn one_in(&mut self, cases: i64) -> bool {
        self.between(1, cases) == 1
    }

    /// Returns one of `choices`.
    pub(crate) fn pick<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        let last = i64::try_from(choices.len()).unwrap() - 1;
        choices[usize::try_from(self.between(0, last)).unwrap()]
    }
}
