//! Random numbers that depend only on the seed.

/// A stream of random numbers (xorshift64*).
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        // The state is never zero, and the states of neighbouring seeds are far apart.
        Self(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Returns a number below `limit`.
    pub(crate) fn below(&mut self, limit: i64) -> i64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let word = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 1;
        word.cast_signed() % limit
    }

    /// Returns a number from `least` to `limit`, exclusive.
    pub(crate) fn between(&mut self, least: i64, limit: i64) -> i64 {
        least + self.below(limit - least)
    }

    pub(crate) fn one_in(&mut self, times: i64) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        if from.is_empty() {
            return None;
        }
        let index = self.below(i64::try_from(from.len()).ok()?);
        from.get(usize::try_from(index).ok()?).copied()
    }

    /// Returns a random element, like [`Self::pick`], of a list that is never empty.
    pub(crate) fn choose<T: Copy, const N: usize>(&mut self, from: [T; N]) -> T {
        self.pick(&from).unwrap_or(from[0])
    }
}
