//! The recovery: after the last fault, each request of a person succeeds at the first attempt, for all tenants. No
//! server has logged a panic or a violated constraint at any time.

use super::{
    super::history::{History, Run},
    verdict::Check,
};

/// Checks the requests after the last fault and the suspicious log lines.
pub(super) fn check(history: &History) -> Check {
    let mut check = Check::new("life", "what is asked after the last fault is done");
    let runs = history.runs_by_id();
    let mut calm = 0;
    for asked in history.asked.iter().filter(|asked| asked.calm) {
        calm += 1;
        let Some(run) = asked.run.as_deref().and_then(|id| runs.get(id)) else {
            check.violated(format!("{}: nobody took it", asked.path));
            continue;
        };
        let attempts = history.runs.iter().filter(|other| other.input == run.input);
        let last = attempts.max_by_key(|other| other.attempt);
        if let Some(last) = last.filter(|last| last.status != "succeeded") {
            let why = last.reason.as_deref().unwrap_or("no reason");
            check.violated(format!("{}: {}: {why}", asked.path, last.told()));
        }
        let late: Vec<_> = last.into_iter().filter(|last| last.attempt > 1).collect();
        check.violations.extend(late.into_iter().map(again));
    }
    check.violations.extend(history.suspicious.iter().cloned());
    check.looked("things asked", calm);
    check.looked("lines of logs", history.log_lines);
    check
}

/// Describes the violation that a run succeeded or failed only after a retry.
fn again(run: &Run) -> String {
    format!("{}: it was done, and not at once", run.told())
}

/// `true` if a log line reports a panic, or a violated constraint of the database. The server's locks must prevent
/// such violations.
pub(crate) fn is_suspicious(line: &str) -> bool {
    let constraint = ["_fkey", "violates ", "_check)"];
    line.contains("panicked at")
        || (line.contains("ERROR") && constraint.iter().any(|word| line.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::{super::super::history::Asked, *};

    /// A way to break what holds.
    type Spoil = fn(&mut History);

    fn history() -> History {
        History {
            runs: vec![Run {
                id: "run_1".into(),
                attempt: 1,
                status: "succeeded".into(),
                ..Run::default()
            }],
            asked: vec![Asked {
                run: Some("run_1".into()),
                calm: true,
                ..Asked::default()
            }],
            log_lines: 1,
            ..History::default()
        }
    }

    #[test]
    fn liveness_check_reports_each_violation() {
        assert!(check(&history()).holds(), "{:?}", check(&history()));
        let spoils: [Spoil; 4] = [
            |history| history.runs[0].status = "stalled".into(),
            |history| history.runs[0].attempt = 2,
            |history| history.asked[0].run = None,
            |history| history.suspicious.push("a server panicked".into()),
        ];
        for spoil in spoils {
            let mut history = history();
            spoil(&mut history);
            assert_eq!(check(&history).violations.len(), 1);
        }
    }

    #[test]
    fn panics_and_constraint_errors_are_suspicious() {
        assert!(is_suspicious("thread 'main' panicked at crates/x.rs:1"));
        assert!(is_suspicious(
            "ERROR a row does not exist (agent_runs_tenant_id_instance_id_fkey)"
        ));
        assert!(!is_suspicious(
            "ERROR failed to claim runs, will try again: reach the database"
        ));
    }
}
