//! The checks of the invariants I1 to I10 (see `docs/testing.md`). Each check is a pure function of the [`History`]
//! and shares no code with the product, so that an error in the product cannot hide itself.
//!
//! Each check counts the items that it inspects. If one of its counts is 0, the check fails, because it could not
//! have found a violation.

mod bounds;
mod ends;
mod life;
mod occurrences;
mod secrets;
mod strangers;
mod survivors;
mod traces;
mod turns;
mod verdict;
mod words;

pub(crate) use life::is_suspicious;
pub(crate) use secrets::search;

use self::verdict::Check;
use super::history::History;

/// Runs all checks.
pub(crate) fn all(history: &History) -> Vec<Check> {
    vec![
        occurrences::check(history),
        turns::disjoint(history),
        ends::closed(history),
        ends::fenced(history),
        traces::check(history),
        turns::succeeded(history),
        survivors::check(history),
        secrets::check(history),
        strangers::check(history),
        bounds::check(history),
        words::check(history),
        life::check(history),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_that_inspected_nothing_fails() {
        for check in all(&History::default()) {
            assert!(!check.holds(), "{} holds of nothing", check.name);
        }
    }
}
