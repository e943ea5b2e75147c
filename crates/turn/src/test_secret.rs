//! A fixed secret of a run, for tests.

use model::{Entropy, access::secret::RunSecret};

struct Sevens;

impl Entropy for Sevens {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(7);
    }
}

pub(crate) fn test_secret() -> RunSecret {
    RunSecret::generate(&Sevens)
}
