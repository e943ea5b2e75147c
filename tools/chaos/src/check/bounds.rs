//! I10: the lengths of queues, the numbers of attempts and processes, and the memory of servers stay below their
//! limits.

use super::{
    super::history::History,
    ends::{attempts, policies},
    verdict::Check,
};

/// The maximum resident memory of a server, in KiB, for debug and release builds.
const RESIDENT: u64 = 512 * 1024;
/// The maximum number of agent processes for each server: agents, guards and children for all workers, and as many
/// processes that are about to end.
const PROCESSES: usize = 60;

/// Checks I10 with the measurements of the test and the failure counts of the runs.
pub(super) fn check(history: &History) -> Check {
    let mut check = Check::new("I10", "queues, attempts, processes and memory are bounded");
    let mut limited = 0;
    for automation in &history.automations {
        // An automation without a limit has the default one. The number is repeated here, because the checks share no
        // code with the product.
        let limit = automation.policies["queue_limit"].as_i64().unwrap_or(100);
        limited += 1;
        let most = history.measured.waiting.get(&automation.id);
        if let Some(most) = most.filter(|most| **most > limit) {
            check.violated(format!(
                "{} ({}): {most} occurrences waited, {limit} may",
                automation.id, automation.name
            ));
        }
    }
    for run in &history.runs {
        let may = attempts(policies(history, run));
        if run.failures >= may {
            check.violated(format!(
                "{} had {} failures before it",
                run.told(),
                run.failures
            ));
        }
    }
    for resident in &history.measured.resident {
        if *resident > RESIDENT {
            check.violated(format!("a server holds {resident} KiB"));
        }
    }
    let may = PROCESSES * history.servers;
    if history.measured.processes > may {
        let most = history.measured.processes;
        check.violated(format!("{most} processes of agents at once, {may} may be"));
    }
    // A missing figure must not pass: the server may have been down at the end.
    if history.measured.resident.len() != history.servers {
        check.violated("a server's memory could not be read".to_owned());
    }
    check.looked("automations", limited);
    check.looked("looks at queues", history.measured.looks);
    check.looked("runs", history.runs.len());
    check.looked("servers", history.measured.resident.len());
    check
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::super::history::{Automation, Measured, Run},
        *,
    };

    /// A way to break what holds.
    type Spoil = fn(&mut History);

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
            measured: Measured {
                waiting: [("aut".to_owned(), 3)].into(),
                looks: 1,
                resident: vec![1000],
                processes: 5,
            },
            servers: 1,
            ..History::default()
        }
    }

    #[test]
    fn bounds_check_reports_each_exceeded_limit() {
        assert!(check(&history()).holds(), "{:?}", check(&history()));
        let spoils: [Spoil; 5] = [
            |history| history.measured.waiting = [("aut".to_owned(), 4)].into(),
            |history| history.runs[0].failures = 2,
            |history| history.measured.resident[0] = RESIDENT + 1,
            |history| history.measured.processes = PROCESSES + 1,
            |history| history.measured.resident.clear(),
        ];
        for spoil in spoils {
            let mut history = history();
            spoil(&mut history);
            assert_eq!(check(&history).violations.len(), 1);
        }
    }
}
