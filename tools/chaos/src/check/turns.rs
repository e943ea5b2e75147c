//! I2: turns of one conversation do not overlap. I6: a run succeeds only if its agent ended the turn. Both checks use
//! the ledgers, in which the agents record their own actions.

use std::collections::{HashMap, HashSet};

use super::{
    super::history::{History, Noted, What},
    verdict::Check,
};

/// Checks I2: turns of one conversation do not overlap.
///
/// A conversation is a seat, according to the database, and also an agent's own session. A turn ends with its answer.
/// A turn without an answer ends with the last ledger entry of its process: another process may begin the next turn
/// then, but the first process must write no further entry.
pub(super) fn disjoint(history: &History) -> Check {
    let mut check = Check::new("I2", "turns of one conversation do not overlap");
    let runs = history.runs_by_id();
    let seat = |noted: &Noted| {
        let run = noted.run.as_deref().and_then(|run| runs.get(run))?;
        run.seat.clone()
    };
    let session = |noted: &Noted| Some(format!("{}/{}", noted.ledger, noted.session.as_ref()?));
    let by_seat = walk(&mut check, history, seat);
    let by_session = walk(&mut check, history, session);
    for noted in &history.noted {
        if noted.what == What::Crowded {
            let (pid, session) = (noted.pid, noted.session.as_deref().unwrap_or("none"));
            check.violated(format!(
                "process {pid} was not alone in its session {session}"
            ));
        }
        let known = noted
            .run
            .as_deref()
            .is_some_and(|run| runs.contains_key(run));
        if noted.what == What::Prompted && !known {
            let run = noted.run.as_deref().unwrap_or("no run");
            check.violated(format!("process {} had a prompt for {run}", noted.pid));
        }
    }
    check.looked("turns of seats", by_seat);
    check.looked("turns of agents' sessions", by_session);
    check
}

/// Checks the ledger entries of each conversation in their order. Returns the number of turns.
fn walk(
    check: &mut Check,
    history: &History,
    conversation: impl Fn(&Noted) -> Option<String>,
) -> usize {
    let mut turns = 0;
    // The process and run of each conversation's unanswered prompt.
    let mut prompted: HashMap<String, (u32, Option<&str>)> = HashMap::new();
    // The processes and runs whose unanswered turn was followed by another turn. They must write no further entry.
    let mut dead: HashMap<String, HashSet<(u32, Option<&str>)>> = HashMap::new();
    for noted in &history.noted {
        let Some(of) = conversation(noted) else {
            continue;
        };
        let who = (noted.pid, noted.run.as_deref());
        if dead.get(&of).is_some_and(|dead| dead.contains(&who)) {
            let run = who.1.unwrap_or("no run");
            check.violated(format!(
                "{of}: process {} of {run} went on after another turn had begun",
                who.0
            ));
        }
        match &noted.what {
            What::Prompted => {
                turns += 1;
                if let Some(before) = prompted.insert(of.clone(), who) {
                    if before == who {
                        check.violated(format!("{of}: {} was prompted within a turn", who.0));
                    }
                    dead.entry(of).or_default().insert(before);
                }
            }
            What::Finished(_) => {
                prompted.remove(&of);
            }
            What::Crowded | What::Else => {}
        }
    }
    turns
}

/// Checks I6: the agent of each succeeded run has ended its turn, and no input has succeeded twice.
pub(super) fn succeeded(history: &History) -> Check {
    let mut check = Check::new("I6", "what has succeeded was ended by its agent");
    let ended: HashSet<&str> = history
        .noted
        .iter()
        .filter(|noted| noted.what == What::Finished("end_turn".to_owned()))
        .filter_map(|noted| noted.run.as_deref())
        .collect();
    let mut inputs = HashSet::new();
    let succeeded = history.runs.iter().filter(|run| run.status == "succeeded");
    let mut count = 0;
    for run in succeeded {
        count += 1;
        if !ended.contains(run.id.as_str()) {
            check.violated(format!("{}: no agent ended its turn", run.told()));
        }
        if !inputs.insert(&run.input) {
            check.violated(format!("{}: its input had succeeded before", run.told()));
        }
    }
    check.looked("runs that succeeded", count);
    check
}

#[cfg(test)]
mod tests {
    use super::{super::super::history::Run, *};

    fn noted(pid: u32, what: What) -> Noted {
        Noted {
            pid,
            run: Some(format!("run_{pid}")),
            session: Some("s".into()),
            what,
            ..Noted::default()
        }
    }

    fn finished() -> What {
        What::Finished("end_turn".into())
    }

    /// Two attempts on one seat, the first of which was lost.
    fn history(noted: Vec<Noted>) -> History {
        let run = |number: u32| Run {
            id: format!("run_{number}"),
            seat: Some("seat".into()),
            input: "input".into(),
            status: if number == 2 { "succeeded" } else { "stalled" }.into(),
            ..Run::default()
        };
        History {
            runs: vec![run(1), run(2)],
            noted,
            ..History::default()
        }
    }

    fn valid_log() -> Vec<Noted> {
        vec![
            noted(1, What::Prompted),
            noted(1, What::Else),
            noted(2, What::Prompted),
            noted(2, finished()),
        ]
    }

    #[test]
    fn what_is_in_order_holds() {
        let history = history(valid_log());
        let (disjoint, succeeded) = (disjoint(&history), succeeded(&history));
        assert!(disjoint.holds(), "{disjoint:?}");
        assert!(succeeded.holds(), "{succeeded:?}");
        assert_eq!(disjoint.looked[0], ("turns of seats", 2));
    }

    #[test]
    fn overlap_check_reports_entry_after_next_prompt() {
        let mut spoiled = valid_log();
        spoiled.insert(3, noted(1, finished()));
        let found = disjoint(&history(spoiled)).violations.join("\n");
        assert!(found.contains("process 1 of run_1 went on"), "{found}");
    }

    #[test]
    fn overlap_check_reports_overlap_by_seat_alone() {
        let mut spoiled = valid_log();
        spoiled.insert(3, noted(1, finished()));
        for noted in &mut spoiled {
            noted.session = Some(noted.pid.to_string());
        }
        let found = disjoint(&history(spoiled)).violations;
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn overlap_check_reports_shared_session_and_unknown_run() {
        let crowded = vec![noted(1, What::Prompted), noted(2, What::Crowded)];
        let found = disjoint(&history(crowded)).violations.join("\n");
        assert!(found.contains("process 2 was not alone"), "{found}");
        let found = disjoint(&history(vec![noted(7, What::Prompted)])).violations;
        assert!(found.join("\n").contains("a prompt for run_7"), "{found:?}");
    }

    #[test]
    fn success_check_reports_run_without_agent_end() {
        let mut claimed = valid_log();
        claimed.pop();
        let found = succeeded(&history(claimed)).violations.join("\n");
        assert!(
            found.contains("run_2 (succeeded, attempt 0): no agent"),
            "{found}"
        );
        let refused = vec![noted(2, What::Finished("refusal".into()))];
        assert!(!succeeded(&history(refused)).holds());
    }

    #[test]
    fn success_check_reports_input_succeeding_twice() {
        let mut history = history(valid_log());
        history.noted.push(noted(1, finished()));
        history.runs[0].status = "succeeded".into();
        let found = succeeded(&history).violations.join("\n");
        assert!(found.contains("had succeeded before"), "{found}");
    }
}
