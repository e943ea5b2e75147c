//! I10: the lengths of queues, the numbers of attempts and processes, and the memory of servers stay below their
//! limits.

use super::{
    super::history::History,
    run_ends::{max_attempts, policies_of},
    verdict::Check,
};

/// The maximum resident memory of a server, in KiB, for debug and release builds.
const MAX_RESIDENT_KIB: u64 = 512 * 1024;
/// The maximum number of agent processes for each server: agents, guards and children for all workers, and as many
/// processes that are about to end.
const MAX_PROCESSES_PER_SERVER: usize = 60;

/// Checks I10 with the measurements of the test and the failure counts of the runs.
pub(super) fn check(history: &History) -> Check {
    let mut check = Check::new("I10", "queues, attempts, processes and memory are bounded");
    let mut limited = 0;
    for automation in &history.automations {
        // An automation without a limit has the default one. The number is repeated here, because the checks share no
        // code with the product.
        let limit = automation.policies["queue_limit"].as_i64().unwrap_or(100);
        limited += 1;
        let most = history.measurements.max_waiting.get(&automation.id);
        if let Some(most) = most.filter(|most| **most > limit) {
            check.add_violation(format!(
                "{} ({}): {most} occurrences waited, at most {limit} are allowed",
                automation.id, automation.name
            ));
        }
    }
    for run in &history.runs {
        let may = max_attempts(policies_of(history, run));
        if run.failures >= may {
            check.add_violation(format!(
                "{} had {} failures before it",
                run.format_attempt(),
                run.failures
            ));
        }
    }
    for resident in &history.measurements.resident_kib {
        if *resident > MAX_RESIDENT_KIB {
            check.add_violation(format!("a server has {resident} KiB of resident memory"));
        }
    }
    let may = MAX_PROCESSES_PER_SERVER * history.server_count;
    if history.measurements.max_processes > may {
        let most = history.measurements.max_processes;
        check.add_violation(format!(
            "{most} agent processes at once, at most {may} are allowed"
        ));
    }
    // A missing figure must not pass: the server may have been down at the end.
    if history.measurements.resident_kib.len() != history.server_count {
        check.add_violation("the memory of a server could not be read".to_owned());
    }
    check.record_inspected("automations", limited);
    check.record_inspected("samples of queues", history.measurements.queue_samples);
    check.record_inspected("runs", history.runs.len());
    check.record_inspected("servers", history.measurements.resident_kib.len());
    check
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::super::history::{Automation, Measurements, Run},
        *,
    };

    /// A change that violates the invariant.
    type Mutation = fn(&mut History);

    fn history() -> History {
        History {
            automations: vec![Automation {
                id: "aut".into(),
                policies: json!({ "queue_limit": 3, "retry": { "attempts": 2 } }),
                ..Automation::default()
            }],
            runs: vec![Run {
                automation: Some("aut".into()),
                failures: 1,
                ..Run::default()
            }],
            measurements: Measurements {
                max_waiting: [("aut".to_owned(), 3)].into(),
                queue_samples: 1,
                resident_kib: vec![1000],
                max_processes: 5,
            },
            server_count: 1,
            ..History::default()
        }
    }

    #[test]
    fn bounds_check_reports_each_exceeded_limit() {
        assert!(check(&history()).holds(), "{:?}", check(&history()));
        let spoils: [Mutation; 5] = [
            |history| history.measurements.max_waiting = [("aut".to_owned(), 4)].into(),
            |history| history.runs[0].failures = 2,
            |history| history.measurements.resident_kib[0] = MAX_RESIDENT_KIB + 1,
            |history| history.measurements.max_processes = MAX_PROCESSES_PER_SERVER + 1,
            |history| history.measurements.resident_kib.clear(),
        ];
        for spoil in spoils {
            let mut history = history();
            spoil(&mut history);
            assert_eq!(check(&history).violations.len(), 1);
        }
    }
}
