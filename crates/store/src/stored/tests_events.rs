//! The format of stored events: a snapshot of every form, and rows of other versions.

use std::{fs, path::PathBuf};

use model::{
    WorkerId,
    event::{DeferCause, Occurrences, RunChange, RunInput, SkippedWork},
    goal::{GoalState, PauseReason, StuckCause},
    run::{Origin, SkipReason},
};

use super::*;

/// An ID for tests. Each kind of ID has its own number.
fn id(number: u128) -> Uuid {
    Uuid::from_u128(0x0197_f3c2_a9d0_7cc1_a1b2_c3d4_e5f6_0000 + number)
}

fn instant(second: i64) -> Timestamp {
    Timestamp::from_microsecond(1_777_885_200_000_000 + second * 1_000_000).unwrap()
}

fn session(change: SessionChange) -> Change {
    let session_id = SessionId::from_uuid(id(1));
    Change::Session { session_id, change }
}

fn run(change: RunChange) -> Change {
    let run_id = RunId::from_uuid(id(2));
    Change::Run { run_id, change }
}

fn message(to: Option<SeatId>) -> Change {
    Change::Message {
        message_id: MessageId::from_uuid(id(3)),
        role: Role::Assistant,
        kind: EntryKind::ToolCall,
        to,
    }
}

fn approval(change: ApprovalChange) -> Change {
    Change::Approval {
        approval_id: ApprovalId::from_uuid(id(4)),
        run_id: RunId::from_uuid(id(2)),
        tool_kind: "execute".into(),
        title: "rm -rf build".into(),
        change,
    }
}

fn question(change: QuestionChange) -> Change {
    Change::Question {
        question_id: QuestionId::from_uuid(id(8)),
        run_id: RunId::from_uuid(id(2)),
        text: "Which colour?".into(),
        change,
    }
}

fn automation(change: AutomationChange) -> Change {
    let automation_id = AutomationId::from_uuid(id(5));
    Change::Automation {
        automation_id,
        change,
    }
}

fn input() -> RunInput {
    RunInput {
        origin: Origin::Occurrence,
        attempt: 2,
        automation_id: Some(AutomationId::from_uuid(id(5))),
        scheduled_for: Some(instant(0)),
        not_before: Some(instant(30)),
    }
}

fn occurrences() -> Occurrences {
    Occurrences {
        trigger_id: Some(TriggerId::from_uuid(id(6))),
        scheduled_for: Some(instant(0)),
        missed_until: Some(instant(120)),
        count: 3,
    }
}

/// Every form of every change.
fn changes() -> Vec<Change> {
    [
        changes_of_sessions_and_runs(),
        changes_of_other_kinds(),
        changes_of_questions(),
        changes_of_goals(),
    ]
    .concat()
}

fn changes_of_goals() -> Vec<Change> {
    let states = [
        GoalState::Draft,
        GoalState::Active,
        GoalState::Paused(PauseReason::ApprovePlan),
        GoalState::Stuck(StuckCause::Idle),
        GoalState::Done,
        GoalState::Cancelled,
        GoalState::GivenUp,
    ];
    let session_id = SessionId::from_uuid(id(1));
    let change = |state| Change::Goal { session_id, state };
    states.into_iter().map(change).collect()
}

fn changes_of_questions() -> Vec<Change> {
    vec![
        question(QuestionChange::Pending {
            deadline_at: instant(900),
        }),
        question(QuestionChange::Answered {
            answered_by: "ci".into(),
        }),
        question(QuestionChange::Expired),
        question(QuestionChange::Void),
    ]
}

fn changes_of_sessions_and_runs() -> Vec<Change> {
    let reason = || "timeout".to_owned();
    vec![
        session(SessionChange::Created {
            state: SessionStatus::Draft,
        }),
        session(SessionChange::Moved {
            state: SessionStatus::Paused,
            reason: Some("holiday".into()),
        }),
        session(SessionChange::Moved {
            state: SessionStatus::Active,
            reason: None,
        }),
        session(SessionChange::Renamed {
            state: SessionStatus::Active,
            title: Some("Notes".into()),
        }),
        session(SessionChange::Renamed {
            state: SessionStatus::Active,
            title: None,
        }),
        run(RunChange::Queued {
            input: Some(input()),
        }),
        run(RunChange::Queued { input: None }),
        run(RunChange::Deferred {
            cause: DeferCause::Created(input()),
        }),
        run(RunChange::Deferred {
            cause: DeferCause::SessionPaused,
        }),
        run(RunChange::Deferred {
            cause: DeferCause::Budget {
                reason: "budget".into(),
                not_before: instant(30),
            },
        }),
        run(RunChange::Running {
            attempt: 2,
            worker_id: WorkerId::from_stored("host-1-abcd1234".into()),
        }),
        run(RunChange::Succeeded { attempt: 2 }),
        run(RunChange::Failed {
            attempt: 2,
            reason: reason(),
        }),
        run(RunChange::Cancelled {
            attempt: 2,
            reason: "a person cancelled it".into(),
        }),
        run(RunChange::Stalled {
            attempt: 2,
            reason: "worker_lost".into(),
        }),
        run(RunChange::Skipped {
            reason: SkipReason::Precheck.to_string(),
            skipped: SkippedWork::Attempt(2),
        }),
        run(RunChange::Skipped {
            reason: SkipReason::Overlap.to_string(),
            skipped: SkippedWork::Occurrences(occurrences()),
        }),
        run(RunChange::Missed {
            reason: "the system was down".into(),
            occurrences: occurrences(),
        }),
    ]
}

fn changes_of_other_kinds() -> Vec<Change> {
    let name = || "standup".to_owned();
    let by = || "ci".to_owned();
    let trigger = TriggerId::from_uuid(id(6));
    vec![
        message(None),
        message(Some(SeatId::from_uuid(id(7)))),
        approval(ApprovalChange::Pending {
            deadline_at: instant(900),
        }),
        approval(ApprovalChange::Allowed { decided_by: by() }),
        approval(ApprovalChange::Denied { decided_by: by() }),
        approval(ApprovalChange::Expired),
        approval(ApprovalChange::Void),
        automation(AutomationChange::Created { name: name() }),
        automation(AutomationChange::Edited {
            name: name(),
            trigger: None,
        }),
        automation(AutomationChange::Edited {
            name: name(),
            trigger: Some(TriggerEdit::Added(trigger)),
        }),
        automation(AutomationChange::Edited {
            name: name(),
            trigger: Some(TriggerEdit::Removed(trigger)),
        }),
        automation(AutomationChange::Paused {
            reason: "failures".into(),
        }),
        automation(AutomationChange::Resumed),
        automation(AutomationChange::Reset {
            session_id: Some(SessionId::from_uuid(id(1))),
        }),
        automation(AutomationChange::Reset { session_id: None }),
        automation(AutomationChange::Attention {
            text: "paused itself after 3 consecutive failures".into(),
        }),
        automation(AutomationChange::Deleted),
    ]
}

fn row(stored: &StoredEvent) -> Value {
    json!({ "kind": stored.kind, "ref_id": stored.about, "body": stored.body })
}

fn stored(row: &Value) -> StoredEvent {
    StoredEvent {
        kind: row["kind"].as_str().unwrap().to_owned(),
        about: row["ref_id"].as_str().unwrap().parse().unwrap(),
        body: row["body"].clone(),
    }
}

fn file(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/stored");
    folder.join(name)
}

fn rows(name: &str) -> Vec<Value> {
    let text = fs::read_to_string(file(name)).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn stored_events_match_snapshot() {
    let rows: Vec<String> = changes()
        .iter()
        .map(|change| row(&StoredEvent::of(change)).to_string() + "\n")
        .collect();
    let written = rows.concat();
    let path = file("events.jsonl");
    if option_env!("MATINS_UPDATE").is_some() {
        fs::write(&path, &written).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == written,
        "the format of stored events has changed. Servers of other versions read the same rows: read the rules in \
         stored/events.rs, then write the snapshot with: MATINS_UPDATE=1 cargo test -p matins-store stored"
    );
}

#[test]
fn stored_event_round_trips() {
    for change in changes() {
        assert_eq!(StoredEvent::of(&change).into_change(), change);
    }
}

/// New reader, old data. The rows were written by the program before the stored events had a type of their own.
#[test]
fn untyped_event_rows_are_read_and_rewritten_unchanged() {
    let before = rows("events_untyped.jsonl");
    // That program knew no questions and no goals.
    let known = [changes_of_sessions_and_runs(), changes_of_other_kinds()].concat();
    assert_eq!(before.len(), known.len(), "one row for each form");
    for (row_before, expected) in before.iter().zip(known) {
        let change = stored(row_before).into_change();
        assert_eq!(change, expected);
        // Old reader, new data: the old program gets the row that it would have written.
        assert_eq!(row(&StoredEvent::of(&change)), *row_before);
    }
}

#[test]
fn unknown_event_keys_are_ignored() {
    for change in changes() {
        let mut later = StoredEvent::of(&change);
        later.body["added_later"] = json!({ "x": [1] });
        assert_eq!(later.into_change(), change);
    }
}

#[test]
fn event_of_unknown_kind_or_form_becomes_unknown_change() {
    let bodies = [
        ("task", json!({ "status": "succeeded" })),
        ("run", json!({ "status": "hibernating", "attempt": 1 })),
        ("run", json!({ "status": "running" })),
        (
            "run",
            json!({ "status": "failed", "attempt": 1, "reason": { "kind": "x" } }),
        ),
        ("message", json!({ "role": "assistant", "kind": "picture" })),
        ("session", json!({ "state": "asleep" })),
        ("session", json!({ "goal": "asleep" })),
        ("session", json!({ "goal": "stuck", "cause": "asleep" })),
        ("approval", json!({ "state": "pending" })),
        (
            "approval",
            json!({ "state": "pending", "question": "Which?" }),
        ),
        (
            "approval",
            json!({ "state": "asked", "question": "Which?" }),
        ),
        ("automation", json!({ "change": "cloned" })),
        ("automation", json!(null)),
    ];
    for (kind, body) in bodies {
        let later = StoredEvent {
            kind: kind.to_owned(),
            about: id(9),
            body,
        };
        let unknown = Change::Unknown {
            kind: kind.to_owned(),
            about: id(9),
        };
        assert_eq!(later.clone().into_change(), unknown, "{later:?}");
    }
}
