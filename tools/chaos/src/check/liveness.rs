//! The recovery: after the last fault, each request of a person succeeds at the first attempt, for all tenants. No
//! server has logged a panic or a violated constraint at any time.

use super::{
    super::history::{History, Run},
    verdict::Check,
};

/// Checks the requests after the last fault and the suspicious log lines.
pub(super) fn check(history: &History) -> Check {
    let mut check = Check::new(
        "liveness",
        "each request after the last fault succeeds at the first attempt",
    );
    let runs = history.runs_by_id();
    let mut calm = 0;
    for request in history
        .requests
        .iter()
        .filter(|request| request.is_after_faults)
    {
        calm += 1;
        let Some(run) = request.run.as_deref().and_then(|id| runs.get(id)) else {
            check.add_violation(format!("{}: no server confirmed it", request.path));
            continue;
        };
        let attempts = history.runs.iter().filter(|other| other.input == run.input);
        let last = attempts.max_by_key(|other| other.attempt);
        if let Some(last) = last.filter(|last| last.status != "succeeded") {
            let why = last.reason.as_deref().unwrap_or("no reason");
            check.add_violation(format!(
                "{}: {}: {why}",
                request.path,
                last.format_attempt()
            ));
        }
        let late: Vec<_> = last.into_iter().filter(|last| last.attempt > 1).collect();
        check
            .violations
            .extend(late.into_iter().map(format_late_success));
    }
    check
        .violations
        .extend(history.suspicious_lines.iter().cloned());
    check.record_inspected("requests", calm);
    check.record_inspected("log lines", history.log_lines);
    check
}

/// Describes the violation that a run succeeded or failed only after a retry.
fn format_late_success(run: &Run) -> String {
    format!("{}: it ended only after a retry", run.format_attempt())
}

/// `true` if a log line reports a panic, or a violated constraint in the words of PostgreSQL or SQLite. The server's locks
/// must prevent such violations.
pub(crate) fn is_suspicious(line: &str) -> bool {
    let constraint = [
        "_fkey",
        "violates ",
        "_check)",
        // SQLite names no foreign keys.
        "a referenced row does not exist",
        "constraint failed",
    ];
    line.contains("panicked at")
        || (line.contains("ERROR") && constraint.iter().any(|word| line.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::{super::super::history::PersonRequest, *};

    /// A change that violates the invariant.
    type Mutation = fn(&mut History);

    fn history() -> History {
        History {
            runs: vec![Run {
                id: "run_1".into(),
                attempt: 1,
                status: "succeeded".into(),
                ..Run::default()
            }],
            requests: vec![PersonRequest {
                run: Some("run_1".into()),
                is_after_faults: true,
                ..PersonRequest::default()
            }],
            log_lines: 1,
            ..History::default()
        }
    }

    #[test]
    fn liveness_check_reports_each_violation() {
        assert!(check(&history()).holds(), "{:?}", check(&history()));
        let spoils: [Mutation; 4] = [
            |history| history.runs[0].status = "stalled".into(),
            |history| history.runs[0].attempt = 2,
            |history| history.requests[0].run = None,
            |history| history.suspicious_lines.push("a server panicked".into()),
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
        for message in [
            "ERROR cannot end a run: NOT NULL constraint failed: agent_runs.content",
            "ERROR cannot end a run: a referenced row does not exist: `foreign key` (during `runs/end`)",
        ] {
            assert!(is_suspicious(message), "{message}");
        }
        assert!(!is_suspicious(
            "ERROR cannot claim runs, will retry: cannot reach the database"
        ));
    }
}
