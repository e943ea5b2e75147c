//! I3: every run ends exactly once, and its log shows the end. I4: an attempt that has ended changes nothing more.

use std::collections::{HashMap, HashSet};

use super::{
    super::history::{Event, History, Run},
    verdict::Check,
};

/// Checks I3: every run has ended, and the log of its session has exactly one event with that end. For a run without
/// a session, such as a skipped occurrence, the log of the automation has the event. A run that was started also has
/// a visible message: an answer or a notice.
pub(super) fn check_run_ends(history: &History) -> Check {
    let mut check = Check::new(
        "I3",
        "every run has ended once, and the log of its session shows the end",
    );
    let mut statuses: HashMap<&str, Vec<(&str, &str)>> = HashMap::new();
    for event in all_events(history).filter(|event| event.kind == "run") {
        if let Some(status) = event.body["status"].as_str() {
            let of_run = statuses.entry(&event.reference).or_default();
            of_run.push((event.log.as_str(), status));
        }
    }
    let visible: HashSet<&str> = history
        .messages
        .iter()
        .filter(|message| {
            let shown = (message.role.as_str(), message.kind.as_str());
            matches!(shown, ("assistant", "message") | ("system", "notice"))
        })
        .filter_map(|message| message.run.as_deref())
        .collect();
    let mut started = 0;
    for run in &history.runs {
        if !run.has_ended() {
            check.add_violation(format!("{} has not ended", run.format_attempt()));
            continue;
        }
        // There must be one end in all logs together, and it must be in the right log with the status of the row.
        let ends = statuses.get(run.id.as_str()).map_or(&[][..], Vec::as_slice);
        let ends: Vec<_> = ends
            .iter()
            .filter(|(_, end)| is_final_status(end))
            .collect();
        let home = run.session.as_ref().or(run.automation.as_ref());
        let home = home.map_or("nowhere", String::as_str);
        if ends != [&(home, run.status.as_str())] {
            check.add_violation(format!(
                "{}: the logs have these ends: {ends:?}",
                run.format_attempt()
            ));
        }
        if run.started_at.is_some() {
            started += 1;
            if !visible.contains(run.id.as_str()) {
                check.add_violation(format!(
                    "{}: no answer or notice shows its end",
                    run.format_attempt()
                ));
            }
        }
    }
    check_retries(&mut check, history);
    check.record_inspected("runs", history.runs.len());
    check.record_inspected("started runs", started);
    check
}

/// Checks that each input whose last attempt stalled has used up the attempts that its retry policy allows. The last
/// attempt counts the failures before it.
fn check_retries(check: &mut Check, history: &History) {
    let mut last: HashMap<&str, &Run> = HashMap::new();
    // The graph of a goal decides about another attempt at a task.
    for run in history.runs.iter().filter(|run| run.task.is_none()) {
        let newest = last.entry(&run.input).or_insert(run);
        if run.attempt > newest.attempt {
            *newest = run;
        }
    }
    let mut lost: Vec<_> = last.into_values().collect();
    lost.retain(|run| run.status == "stalled");
    for run in lost {
        let policies = policies_of(history, run);
        let may_fail = policies["on_crash"] == "fail";
        // An attempt that a stopping server requeued is no failure: a retry must follow it at any number of failures.
        let requeued = run.reason.as_deref() == Some("handed_back");
        if !may_fail && (requeued || run.failures + 1 < max_attempts(policies)) {
            check.add_violation(format!(
                "{}: it was lost and has no retry",
                run.format_attempt()
            ));
        }
    }
}

/// Returns the policies of a run's automation, or null for a run without an automation.
pub(super) fn policies_of<'a>(history: &'a History, run: &Run) -> &'a serde_json::Value {
    static NO_POLICIES: serde_json::Value = serde_json::Value::Null;
    let automation = run.automation.as_ref();
    let found = automation.and_then(|id| {
        history
            .automations
            .iter()
            .find(|automation| automation.id == *id)
    });
    found.map_or(&NO_POLICIES, |automation| &automation.policies)
}

/// Returns the maximum number of failed attempts: the one of the retry policy, or three.
pub(super) fn max_attempts(policies: &serde_json::Value) -> i64 {
    policies["retry"]["attempts"].as_i64().unwrap_or(3)
}

/// Returns the events of all sessions and automations.
fn all_events(history: &History) -> impl Iterator<Item = &Event> {
    history.events.iter().chain(&history.automation_events)
}

/// `true` if the status is final.
fn is_final_status(status: &str) -> bool {
    let ends = [
        "succeeded",
        "failed",
        "cancelled",
        "stalled",
        "skipped",
        "missed",
    ];
    ends.contains(&status)
}

/// Checks I4: after the event with the end of an attempt, no event of a session's log belongs to that attempt. This
/// covers messages too, because each message has an event.
pub(super) fn check_fencing(history: &History) -> Check {
    let mut check = Check::new("I4", "an attempt that has ended writes nothing more");
    let of_message: HashMap<&str, &str> = history
        .messages
        .iter()
        .filter_map(|message| Some((message.id.as_str(), message.run.as_deref()?)))
        .collect();
    // The end of each run so far. The events are ordered by session and sequence number, and all events of a run are
    // in one session, so each event after the end is a late write.
    let mut over: HashMap<&str, &str> = HashMap::new();
    let (mut stalled, mut inspected) = (0, 0);
    for event in &history.events {
        let run = match event.kind.as_str() {
            "run" => event.reference.as_str(),
            "message" => match of_message.get(event.reference.as_str()) {
                Some(run) => run,
                None => continue,
            },
            _ => continue,
        };
        inspected += 1;
        if let Some(end) = over.get(run) {
            check.add_violation(format!(
                "{run} was {end}, but then wrote {} {} as event {} of {}",
                event.kind, event.body, event.seq, event.log
            ));
        }
        let status = event.body["status"]
            .as_str()
            .filter(|_| event.kind == "run");
        if let Some(status) = status.filter(|status| is_final_status(status)) {
            over.insert(run, status);
            stalled += usize::from(status == "stalled");
        }
    }
    check.record_inspected("events of runs", inspected);
    check.record_inspected("stalled attempts", stalled);
    check
}

#[cfg(test)]
mod tests {
    use super::{
        super::{super::history::Message, tests_support::event},
        *,
    };

    fn run(number: i64, status: &str) -> Run {
        Run {
            id: format!("run_{number}"),
            input: "input".into(),
            attempt: number,
            failures: number - 1,
            session: Some("ses".into()),
            status: status.into(),
            started_at: Some(1),
            ..Run::default()
        }
    }

    fn message(number: i64, kind: &str) -> Message {
        let role = if kind == "notice" {
            "system"
        } else {
            "assistant"
        };
        Message {
            id: format!("msg_{number}"),
            run: Some(format!("run_{number}")),
            role: role.into(),
            kind: kind.into(),
        }
    }

    /// Returns a history with a lost attempt and the attempt that replaced it.
    fn history() -> History {
        History {
            runs: vec![run(1, "stalled"), run(2, "succeeded")],
            messages: vec![message(1, "notice"), message(2, "message")],
            events: vec![
                event(1, "run", "run_1", Some("running")),
                event(2, "message", "msg_1", None),
                event(3, "run", "run_1", Some("stalled")),
                event(4, "run", "run_2", Some("running")),
                event(5, "message", "msg_2", None),
                event(6, "run", "run_2", Some("succeeded")),
            ],
            ..History::default()
        }
    }

    fn violations_after(
        check: impl Fn(&History) -> Check,
        spoil: impl FnOnce(&mut History),
    ) -> String {
        let mut history = history();
        spoil(&mut history);
        check(&history).violations.join("\n")
    }

    #[test]
    fn run_end_checks_accept_valid_history() {
        for found in [check_run_ends(&history()), check_fencing(&history())] {
            assert!(found.holds(), "{found:?}");
        }
    }

    #[test]
    fn run_end_check_reports_open_run() {
        let found = violations_after(check_run_ends, |history| {
            history.runs[1].status = "running".into();
        });
        assert!(
            found.contains("run_2 (running, attempt 2) has not ended"),
            "{found}"
        );
    }

    #[test]
    fn run_end_check_reports_missing_answer_or_notice() {
        let found = violations_after(check_run_ends, |history| drop(history.messages.pop()));
        assert!(
            found.contains("no answer or notice shows its end"),
            "{found}"
        );
        // A thought is no answer.
        let found = violations_after(check_run_ends, |history| {
            history.messages[1].kind = "thought".into();
        });
        assert!(
            found.contains("no answer or notice shows its end"),
            "{found}"
        );
    }

    #[test]
    fn run_end_check_reports_missing_or_duplicate_end_event() {
        let found = violations_after(check_run_ends, |history| drop(history.events.pop()));
        assert!(found.contains("the logs have these ends: []"), "{found}");
        let found = violations_after(check_run_ends, |history| {
            let again = event(7, "run", "run_2", Some("failed"));
            history.events.push(again);
        });
        assert!(found.contains("the logs have these ends"), "{found}");
    }

    #[test]
    fn run_end_check_reports_end_event_in_wrong_log() {
        let found = violations_after(check_run_ends, |history| {
            history.events[5].log = "other".into();
        });
        assert!(found.contains("the logs have these ends"), "{found}");
    }

    #[test]
    fn run_end_check_reports_missing_retry() {
        let found = violations_after(check_run_ends, |history| {
            history.runs.pop();
            history.events.truncate(3);
        });
        assert!(found.contains("has no retry"), "{found}");
        // A requeued attempt is no failure, so a retry must follow even after the last allowed failure.
        let found = violations_after(check_run_ends, |history| {
            history.runs.pop();
            history.runs[0].failures = 9;
            history.runs[0].reason = Some("handed_back".into());
        });
        assert!(found.contains("has no retry"), "{found}");
    }

    #[test]
    fn fencing_check_reports_write_after_end() {
        let found = violations_after(check_fencing, |history| {
            history
                .events
                .push(event(7, "run", "run_1", Some("succeeded")));
        });
        assert!(
            found.contains("run_1 was stalled, but then wrote run"),
            "{found}"
        );
        let found = violations_after(check_fencing, |history| {
            history.events.push(event(7, "message", "msg_1", None));
        });
        assert!(
            found.contains("run_1 was stalled, but then wrote message"),
            "{found}"
        );
    }
}
