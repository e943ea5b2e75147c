//! I5: the sequence numbers of a session's log have no gap, and each reader received each event once and in order,
//! over all its connections.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{
    super::history::{Event, History},
    verdict::Check,
};

/// Checks I5 for all sessions and all recordings.
pub(super) fn check(history: &History) -> Check {
    let mut check = Check::new(
        "I5",
        "each reader received each event of a log once, in order",
    );
    // 1. The log of each session has the numbers from 1 to the session's last one.
    let mut logs: HashMap<&str, Vec<&Event>> = HashMap::new();
    for event in &history.events {
        logs.entry(&event.log).or_default().push(event);
    }
    for session in &history.sessions {
        let log = logs.get(session.id.as_str()).map_or(&[][..], Vec::as_slice);
        let numbers = log.iter().map(|event| event.seq);
        if !numbers.eq(1..=session.last_seq) {
            check.add_violation(format!(
                "the log of {} has {} events, but its last number is {}",
                session.id,
                log.len(),
                session.last_seq
            ));
        }
    }
    // 2. Each recording equals the log of its session.
    let (mut events, mut again) = (0, 0);
    for recording in &history.recordings {
        let log = logs.get(recording.session.as_str());
        let log = log.map_or(&[][..], Vec::as_slice);
        events += recording.received.len();
        again += usize::try_from(recording.connections.saturating_sub(1)).unwrap_or(0);
        let who = || format!("{} of {}", recording.reader, recording.session);
        for (seen, event) in recording.received.iter().zip(log) {
            // The references of approvals differ in form: the query for the events gives them no prefix.
            let same = seen.seq == event.seq
                && seen.kind == event.kind
                && without_nulls(&seen.body) == without_nulls(&event.body)
                && (seen.reference == event.reference || event.kind == "approval");
            if !same {
                check.add_violation(format!(
                    "{} received {} {} {} instead of {} {} {}",
                    who(),
                    seen.seq,
                    seen.kind,
                    seen.reference,
                    event.seq,
                    event.kind,
                    event.reference
                ));
                break;
            }
        }
        if recording.received.len() != log.len() {
            check.add_violation(format!(
                "{} received {} of {} events, the last with number {} ({} connections, {} failed)",
                who(),
                recording.received.len(),
                log.len(),
                recording.last_seq(),
                recording.connections,
                recording.failed_opens
            ));
        }
    }
    check.record_inspected("logs", history.sessions.len());
    check.record_inspected("readers", history.recordings.len());
    check.record_inspected("events read", events);
    check.record_inspected("reconnections", again);
    check
}

/// Returns a body without the keys whose value is null, because only some versions write them.
fn without_nulls(body: &Value) -> Map<String, Value> {
    let keys = body.as_object().into_iter().flatten();
    keys.filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::super::history::{ReceivedEvent, Session, TraceRecording},
        *,
    };

    fn history() -> History {
        let body = json!({ "status": "queued" });
        let events = (1..=4).map(|seq| Event {
            log: "ses".into(),
            seq,
            kind: "run".into(),
            reference: "run_1".into(),
            body: body.clone(),
            ..Event::default()
        });
        let seen = (1..=4).map(|seq| ReceivedEvent {
            seq,
            kind: "run".into(),
            reference: "run_1".into(),
            body: body.clone(),
        });
        History {
            sessions: vec![Session {
                id: "ses".into(),
                last_seq: 4,
            }],
            events: events.collect(),
            recordings: vec![TraceRecording {
                session: "ses".into(),
                received: seen.collect(),
                connections: 3,
                ..TraceRecording::default()
            }],
            ..History::default()
        }
    }

    fn has_violation_after(spoil: impl FnOnce(&mut History)) -> bool {
        let mut history = history();
        spoil(&mut history);
        !check(&history).violations.is_empty()
    }

    #[test]
    fn trace_check_accepts_valid_history() {
        let found = check(&history());
        assert!(found.holds(), "{found:?}");
    }

    #[test]
    fn trace_check_reports_missed_repeated_or_changed_event() {
        assert!(has_violation_after(|history| drop(
            history.recordings[0].received.remove(1)
        )));
        assert!(has_violation_after(|history| drop(
            history.recordings[0].received.pop()
        )));
        assert!(has_violation_after(|history| {
            let again = history.recordings[0].received[1].clone();
            history.recordings[0].received.insert(2, again);
        }));
        assert!(has_violation_after(|history| history.recordings[0]
            .received
            .swap(0, 1)));
        assert!(has_violation_after(|history| history.recordings[0]
            .received[2]
            .body = json!({})));
    }

    #[test]
    fn trace_check_reports_gap_in_log() {
        assert!(has_violation_after(|history| {
            history.events.remove(1);
            history.recordings[0].received.remove(1);
        }));
        assert!(has_violation_after(
            |history| history.sessions[0].last_seq = 5
        ));
    }
}
