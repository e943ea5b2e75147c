//! I2: turns of one conversation do not overlap. I6: a run succeeds only if its agent ended the turn. Both checks use
//! the prompt logs, in which the agents record their own actions.

use std::collections::{HashMap, HashSet};

use super::{
    super::history::{History, PromptLogEntry, PromptLogKind},
    verdict::Check,
};

/// Checks I2: turns of one conversation do not overlap.
///
/// A conversation is a seat, according to the database, and also an agent's own session. A turn ends with its answer.
/// A turn without an answer ends with the last log entry of its process: another process may begin the next turn
/// then, but the first process must write no further entry.
pub(super) fn check_overlap(history: &History) -> Check {
    let mut check = Check::new("I2", "turns of one conversation do not overlap");
    let runs = history.runs_by_id();
    let seat = |noted: &PromptLogEntry| {
        let run = noted.run.as_deref().and_then(|run| runs.get(run))?;
        run.seat.clone()
    };
    let session =
        |noted: &PromptLogEntry| Some(format!("{}/{}", noted.log_index, noted.session.as_ref()?));
    let by_seat = check_conversations(&mut check, history, seat);
    let by_session = check_conversations(&mut check, history, session);
    for noted in &history.prompt_log {
        if noted.kind == PromptLogKind::Overlapped {
            let (pid, session) = (noted.pid, noted.session.as_deref().unwrap_or("none"));
            check.add_violation(format!(
                "process {pid} shared its session {session} with another process"
            ));
        }
        let is_known = noted
            .run
            .as_deref()
            .is_some_and(|run| runs.contains_key(run));
        if noted.kind == PromptLogKind::Prompted && !is_known {
            let run = noted.run.as_deref().unwrap_or("no run");
            check.add_violation(format!(
                "process {} received a prompt for the unknown run {run}",
                noted.pid
            ));
        }
    }
    check.record_inspected("turns of seats", by_seat);
    check.record_inspected("turns of agents' sessions", by_session);
    check
}

/// Checks the log entries of each conversation in their order. Returns the number of turns.
fn check_conversations(
    check: &mut Check,
    history: &History,
    conversation: impl Fn(&PromptLogEntry) -> Option<String>,
) -> usize {
    let mut turns = 0;
    // The process and run of each conversation's unanswered prompt.
    let mut prompted: HashMap<String, (u32, Option<&str>)> = HashMap::new();
    // The processes and runs whose unanswered turn was followed by another turn. They must write no further entry.
    let mut dead: HashMap<String, HashSet<(u32, Option<&str>)>> = HashMap::new();
    for noted in &history.prompt_log {
        let Some(of) = conversation(noted) else {
            continue;
        };
        let who = (noted.pid, noted.run.as_deref());
        if dead.get(&of).is_some_and(|dead| dead.contains(&who)) {
            let run = who.1.unwrap_or("no run");
            check.add_violation(format!(
                "{of}: process {} of {run} wrote an entry after another turn had begun",
                who.0
            ));
        }
        match &noted.kind {
            PromptLogKind::Prompted => {
                turns += 1;
                if let Some(before) = prompted.insert(of.clone(), who) {
                    if before == who {
                        check.add_violation(format!(
                            "{of}: process {} received a prompt during its turn",
                            who.0
                        ));
                    }
                    dead.entry(of).or_default().insert(before);
                }
            }
            PromptLogKind::Finished(_) => {
                prompted.remove(&of);
            }
            PromptLogKind::Overlapped | PromptLogKind::Other => {}
        }
    }
    turns
}

/// Checks I6: the agent of each succeeded run has ended its turn, and no input has succeeded twice.
pub(super) fn check_success(history: &History) -> Check {
    let mut check = Check::new("I6", "a run succeeds only if its agent ended the turn");
    let ended: HashSet<&str> = history
        .prompt_log
        .iter()
        .filter(|noted| noted.kind == PromptLogKind::Finished("end_turn".to_owned()))
        .filter_map(|noted| noted.run.as_deref())
        .collect();
    let mut inputs = HashSet::new();
    let succeeded = history.runs.iter().filter(|run| run.status == "succeeded");
    let mut count = 0;
    for run in succeeded {
        count += 1;
        if !ended.contains(run.id.as_str()) {
            check.add_violation(format!(
                "{}: its agent did not end the turn",
                run.format_attempt()
            ));
        }
        if !inputs.insert(&run.input) {
            check.add_violation(format!(
                "{}: its input had succeeded before",
                run.format_attempt()
            ));
        }
    }
    check.record_inspected("succeeded runs", count);
    check
}

#[cfg(test)]
mod tests {
    use super::{super::super::history::Run, *};

    fn log_entry(pid: u32, what: PromptLogKind) -> PromptLogEntry {
        PromptLogEntry {
            pid,
            run: Some(format!("run_{pid}")),
            session: Some("s".into()),
            kind: what,
            ..PromptLogEntry::default()
        }
    }

    fn end_turn() -> PromptLogKind {
        PromptLogKind::Finished("end_turn".into())
    }

    /// Two attempts on one seat, the first of which was lost.
    fn history(noted: Vec<PromptLogEntry>) -> History {
        let run = |number: u32| Run {
            id: format!("run_{number}"),
            seat: Some("seat".into()),
            input: "input".into(),
            status: if number == 2 { "succeeded" } else { "stalled" }.into(),
            ..Run::default()
        };
        History {
            runs: vec![run(1), run(2)],
            prompt_log: noted,
            ..History::default()
        }
    }

    fn valid_log() -> Vec<PromptLogEntry> {
        vec![
            log_entry(1, PromptLogKind::Prompted),
            log_entry(1, PromptLogKind::Other),
            log_entry(2, PromptLogKind::Prompted),
            log_entry(2, end_turn()),
        ]
    }

    #[test]
    fn turn_checks_accept_valid_history() {
        let history = history(valid_log());
        let (disjoint, succeeded) = (check_overlap(&history), check_success(&history));
        assert!(disjoint.holds(), "{disjoint:?}");
        assert!(succeeded.holds(), "{succeeded:?}");
        assert_eq!(disjoint.inspected[0], ("turns of seats", 2));
    }

    #[test]
    fn overlap_check_reports_entry_after_next_prompt() {
        let mut spoiled = valid_log();
        spoiled.insert(3, log_entry(1, end_turn()));
        let found = check_overlap(&history(spoiled)).violations.join("\n");
        assert!(
            found.contains("process 1 of run_1 wrote an entry"),
            "{found}"
        );
    }

    #[test]
    fn overlap_check_reports_overlap_by_seat_alone() {
        let mut spoiled = valid_log();
        spoiled.insert(3, log_entry(1, end_turn()));
        for noted in &mut spoiled {
            noted.session = Some(noted.pid.to_string());
        }
        let found = check_overlap(&history(spoiled)).violations;
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn overlap_check_reports_shared_session_and_unknown_run() {
        let crowded = vec![
            log_entry(1, PromptLogKind::Prompted),
            log_entry(2, PromptLogKind::Overlapped),
        ];
        let found = check_overlap(&history(crowded)).violations.join("\n");
        assert!(found.contains("process 2 shared its session"), "{found}");
        let found = check_overlap(&history(vec![log_entry(7, PromptLogKind::Prompted)])).violations;
        assert!(
            found
                .join("\n")
                .contains("a prompt for the unknown run run_7"),
            "{found:?}"
        );
    }

    #[test]
    fn success_check_reports_run_without_agent_end() {
        let mut claimed = valid_log();
        claimed.pop();
        let found = check_success(&history(claimed)).violations.join("\n");
        assert!(
            found.contains("run_2 (succeeded, attempt 0): its agent did not"),
            "{found}"
        );
        let refused = vec![log_entry(2, PromptLogKind::Finished("refusal".into()))];
        assert!(!check_success(&history(refused)).holds());
    }

    #[test]
    fn success_check_reports_input_succeeding_twice() {
        let mut history = history(valid_log());
        history.prompt_log.push(log_entry(1, end_turn()));
        history.runs[0].status = "succeeded".into();
        let found = check_success(&history).violations.join("\n");
        assert!(found.contains("had succeeded before"), "{found}");
    }
}
