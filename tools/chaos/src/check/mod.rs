//! The checks of the invariants I1 to I10 (see `docs/testing.md`). Each check is a pure function of the [`History`]
//! and shares no code with the product, so that an error in the product cannot hide itself.
//!
//! Each check counts the items that it inspects. If one of its counts is 0, the check fails, because it could not
//! have found a violation.

mod bounds;
mod folders;
mod goal_turns;
mod goals;
mod liveness;
mod occurrences;
mod requests;
mod run_ends;
mod secrets;
mod survivors;
mod tenant_isolation;
mod traces;
mod turns;
mod verdict;

#[cfg(test)]
mod tests_support;

pub(crate) use liveness::is_suspicious;
pub(crate) use secrets::find_secrets;

use self::verdict::Check;
use super::history::History;

/// Runs all checks.
pub(crate) fn run_all(history: &History) -> Vec<Check> {
    let mut checks = vec![
        occurrences::check(history),
        turns::check_overlap(history),
        run_ends::check_run_ends(history),
        run_ends::check_fencing(history),
        traces::check(history),
        turns::check_success(history),
        survivors::check(history),
        secrets::check(history),
        tenant_isolation::check(history),
        bounds::check(history),
        requests::check(history),
        liveness::check(history),
    ];
    if let Some(of_folders) = &history.folders {
        checks.push(folders::check(history, of_folders));
    }
    if let Some(of_goals) = &history.goals {
        checks.push(goals::check(history, of_goals));
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_that_inspected_nothing_fails() {
        for check in run_all(&History::default()) {
            assert!(
                !check.holds(),
                "{} holds without an inspected item",
                check.name
            );
        }
    }
}
