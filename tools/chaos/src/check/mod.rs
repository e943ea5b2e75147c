//! The invariants, each as a pure function of what happened. Nothing here is the product's code.
//!
//! A check counts what it has looked at, and one that has looked at nothing has failed: it would find nothing.

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

/// All checks.
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
    fn what_has_looked_at_nothing_does_not_hold() {
        for check in all(&History::default()) {
            assert!(!check.holds(), "{} holds of nothing", check.name);
        }
    }
}
