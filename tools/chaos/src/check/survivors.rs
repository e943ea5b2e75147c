//! I7: no process of an agent outlives its run.

use super::{super::history::History, verdict::Check};

/// Checks I7: no agent process was alive after the end of all runs.
pub(super) fn check(history: &History) -> Check {
    let mut check = Check::new("I7", "no agent process outlives its run");
    for process in &history.survivors {
        let run = process.run.as_deref().unwrap_or("no run");
        check.add_violation(format!(
            "process {} of {run} is alive: {}",
            process.pid, process.command
        ));
    }
    // The check must fail if the search for processes never found one during the test.
    check.record_inspected(
        "agent processes during the test",
        history.measurements.max_processes,
    );
    check
}

#[cfg(test)]
mod tests {
    use super::{
        super::super::{history::Measurements, processes::Process},
        *,
    };

    #[test]
    fn survivor_check_reports_leftover_process() {
        let mut history = History {
            measurements: Measurements {
                max_processes: 3,
                ..Measurements::default()
            },
            ..History::default()
        };
        assert!(check(&history).holds());
        history.survivors.push(Process {
            pid: 7,
            parent: 1,
            command: "sleeper".into(),
            run: Some("run_1".into()),
        });
        let found = check(&history).violations;
        assert_eq!(found, ["process 7 of run_1 is alive: sleeper"]);
    }
}
