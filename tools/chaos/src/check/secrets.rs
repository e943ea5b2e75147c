//! I8: no secret appears in logs, database rows, prompts or events.

use super::{super::history::History, verdict::Check};

/// Checks I8 from the leaks that the search after the test has found.
pub(super) fn check(history: &History) -> Check {
    let mut check = Check::new(
        "I8",
        "no secret appears in logs, database rows, prompts or events",
    );
    check.violations.clone_from(&history.leaks);
    check.record_inspected("searches for a secret", history.secret_searches);
    check
}

/// Searches `content` for secrets. Returns a description of the first occurrence of each. `secrets` has pairs of a
/// description and the secret; `place` is the origin of the content for the report.
pub(crate) fn find_secrets(place: &str, content: &str, secrets: &[(&str, &str)]) -> Vec<String> {
    let found = secrets.iter().filter_map(|(name, secret)| {
        let at = content.find(secret)?;
        let line = content[..at].lines().count();
        Some(format!("{name} is in {place}, near line {line}"))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_search_reports_name_and_line() {
        let secrets = [("the canary", "tweet"), ("a token", "mat_1")];
        let found = find_secrets("a log", "one\ntwo mat_1 three\n", &secrets);
        assert_eq!(found, ["a token is in a log, near line 2"]);
        let mut history = History {
            secret_searches: 2,
            ..History::default()
        };
        assert!(check(&history).holds());
        history.leaks = found;
        assert!(!check(&history).holds());
    }
}
