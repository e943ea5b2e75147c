//! The events of traces and notifications.

use api_types::{Notification, TraceEvent};
use model::{
    ApprovalId, AutomationId, MessageId, RunId, SeatId, SessionId, TaskId, TriggerId, WorkerId,
    event::{
        ApprovalChange, AutomationChange, Change, DeferCause, Event, Occurrences, RunChange,
        RunInput, SessionChange, SkippedWork, TaskChange, TriggerEdit,
    },
    feed::FeedCursor,
    goal::{GoalState, PauseReason, Step, StuckCause, TaskStatus},
    notification::NotificationKind,
    run::Origin,
    session::SessionStatus,
    turn::{EntryKind, Role},
};
use serde_json::{Value, json};
use service::{notification_text, trace_events};
use store::{LogEntry, NewDelivery};
use testkit::clock::FakeClock;
use uuid::Uuid;

use crate::world::{NOW, World};

const UUID: Uuid = Uuid::from_u128(0x0197_f3c2_a9d0_7cc1_a1b2_c3d4_e5f6_0718);

fn id_text(prefix: &str) -> String {
    format!("{prefix}_{}", UUID.simple())
}

/// Returns the JSON of an event in the trace of a session, without the fields that all events share.
fn traced(change: Change) -> Value {
    let event = Event {
        seq: 7,
        change,
        created_at: model::Clock::now(&FakeClock::at(NOW)),
    };
    let logged = LogEntry {
        event,
        message: None,
    };
    let event = trace_events::session_event(SessionId::from_uuid(UUID), logged);
    let mut sent = json!(event);
    let again: TraceEvent = serde_json::from_value(sent.clone()).unwrap();
    assert_eq!(again, event);
    let fields = sent.as_object_mut().unwrap();
    assert_eq!(fields.remove("kind").unwrap(), event.tag());
    assert_eq!(fields.remove("seq").unwrap(), 7);
    assert_eq!(fields.remove("created_at").unwrap(), NOW);
    fields.remove("session_id");
    without_nulls(sent)
}

/// Leaves out the keys that have no value.
fn without_nulls(value: Value) -> Value {
    let Value::Object(fields) = value else {
        return value;
    };
    let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
    let fields = fields.map(|(name, value)| (name, without_nulls(value)));
    Value::Object(fields.collect())
}

fn run(change: RunChange) -> Value {
    let run_id = RunId::from_uuid(UUID);
    let sent = traced(Change::Run { run_id, change });
    assert_eq!(sent["run_id"], id_text("run"));
    sent["change"].clone()
}

fn automation(change: AutomationChange) -> Value {
    let automation_id = AutomationId::from_uuid(UUID);
    let sent = traced(Change::Automation {
        automation_id,
        change,
    });
    assert_eq!(sent["automation_id"], id_text("aut"));
    sent["change"].clone()
}

#[test]
fn run_events_have_data_of_their_status() {
    let input = || RunInput {
        origin: Origin::Person,
        attempt: 1,
        automation_id: None,
        scheduled_for: None,
        not_before: None,
    };
    let sent_input = json!({ "origin": "person", "attempt": 1 });
    let reason = || "timeout".to_owned();
    let not_before = model::Clock::now(&FakeClock::at(NOW));
    for (change, expected) in [
        (
            RunChange::Queued {
                input: Some(input()),
            },
            json!({ "status": "queued", "input": sent_input }),
        ),
        (
            RunChange::Queued { input: None },
            json!({ "status": "queued" }),
        ),
        (
            RunChange::Deferred {
                cause: DeferCause::Created(input()),
            },
            json!({ "status": "deferred", "input": sent_input }),
        ),
        (
            RunChange::Deferred {
                cause: DeferCause::SessionPaused,
            },
            json!({ "status": "deferred" }),
        ),
        (
            RunChange::Deferred {
                cause: DeferCause::Budget {
                    reason: "budget".into(),
                    not_before,
                },
            },
            json!({ "status": "deferred", "reason": "budget", "not_before": NOW }),
        ),
        (
            RunChange::Running {
                attempt: 1,
                worker_id: WorkerId::from_stored("host-1-aaaaaaaa".into()),
            },
            json!({ "status": "running", "attempt": 1, "worker_id": "host-1-aaaaaaaa" }),
        ),
        (
            RunChange::Succeeded { attempt: 1 },
            json!({ "status": "succeeded", "attempt": 1 }),
        ),
        (
            RunChange::Failed {
                attempt: 1,
                reason: reason(),
            },
            json!({ "status": "failed", "attempt": 1, "reason": "timeout" }),
        ),
        (
            RunChange::Cancelled {
                attempt: 1,
                reason: reason(),
            },
            json!({ "status": "cancelled", "attempt": 1, "reason": "timeout" }),
        ),
        (
            RunChange::Stalled {
                attempt: 1,
                reason: reason(),
            },
            json!({ "status": "stalled", "attempt": 1, "reason": "timeout" }),
        ),
    ] {
        assert_eq!(run(change), expected);
    }
}

#[test]
fn skipped_and_missed_run_events_have_occurrences() {
    let occurrences = || Occurrences {
        trigger_id: Some(TriggerId::from_uuid(UUID)),
        scheduled_for: None,
        missed_until: None,
        count: 3,
    };
    let sent_occurrences = json!({ "trigger_id": id_text("trg"), "count": 3 });
    for (change, expected) in [
        (
            RunChange::Skipped {
                reason: "precheck".into(),
                skipped: SkippedWork::Attempt(1),
            },
            json!({ "status": "skipped", "reason": "precheck", "attempt": 1 }),
        ),
        (
            RunChange::Skipped {
                reason: "overlap".into(),
                skipped: SkippedWork::Occurrences(occurrences()),
            },
            json!({ "status": "skipped", "reason": "overlap", "occurrences": sent_occurrences }),
        ),
        (
            RunChange::Missed {
                reason: "the system was down".into(),
                occurrences: occurrences(),
            },
            json!({
                "status": "missed", "reason": "the system was down",
                "occurrences": sent_occurrences,
            }),
        ),
    ] {
        assert_eq!(run(change), expected);
    }
}

#[test]
fn automation_events_have_data_of_their_change() {
    let name = || "standup".to_owned();
    let trigger = TriggerId::from_uuid(UUID);
    for (change, expected) in [
        (
            AutomationChange::Created { name: name() },
            json!({ "action": "created", "name": "standup" }),
        ),
        (
            AutomationChange::Edited {
                name: name(),
                trigger: None,
            },
            json!({ "action": "edited", "name": "standup" }),
        ),
        (
            AutomationChange::Edited {
                name: name(),
                trigger: Some(TriggerEdit::Added(trigger)),
            },
            json!({ "action": "edited", "name": "standup", "trigger_added": trigger }),
        ),
        (
            AutomationChange::Edited {
                name: name(),
                trigger: Some(TriggerEdit::Removed(trigger)),
            },
            json!({ "action": "edited", "name": "standup", "trigger_removed": trigger }),
        ),
        (
            AutomationChange::Paused { reason: name() },
            json!({ "action": "paused", "reason": "standup" }),
        ),
        (AutomationChange::Resumed, json!({ "action": "resumed" })),
        (
            AutomationChange::Reset { session_id: None },
            json!({ "action": "reset" }),
        ),
        (
            AutomationChange::Attention { text: name() },
            json!({ "action": "attention", "text": "standup" }),
        ),
        (AutomationChange::Deleted, json!({ "action": "deleted" })),
    ] {
        assert_eq!(automation(change), expected);
    }
}

#[test]
fn session_message_and_approval_events_have_their_data() {
    let session = |change| {
        let session_id = SessionId::from_uuid(UUID);
        traced(Change::Session { session_id, change })["change"].clone()
    };
    let state = SessionStatus::Paused;
    assert_eq!(
        session(SessionChange::Created { state }),
        json!({ "action": "created", "state": "paused" })
    );
    let reason = Some("lunch".to_owned());
    assert_eq!(
        session(SessionChange::Moved { state, reason }),
        json!({ "action": "moved", "state": "paused", "reason": "lunch" })
    );
    assert_eq!(
        session(SessionChange::Renamed { state, title: None }),
        json!({ "action": "renamed", "state": "paused" })
    );
    let message = Change::Message {
        message_id: MessageId::from_uuid(UUID),
        role: Role::Tool,
        kind: EntryKind::ToolCall,
        to: Some(SeatId::from_uuid(UUID)),
    };
    assert_eq!(
        traced(message),
        json!({
            "message_id": id_text("msg"), "role": "tool", "message_kind": "tool_call",
            "to_seat_id": id_text("seat"),
        })
    );
    let decided_by = || "ci".to_owned();
    let deadline_at = model::Clock::now(&FakeClock::at(NOW));
    for (change, expected) in [
        (
            ApprovalChange::Pending { deadline_at },
            json!({ "state": "pending", "deadline_at": NOW }),
        ),
        (
            ApprovalChange::Allowed {
                decided_by: decided_by(),
            },
            json!({ "state": "allowed", "decided_by": "ci" }),
        ),
        (
            ApprovalChange::Denied {
                decided_by: decided_by(),
            },
            json!({ "state": "denied", "decided_by": "ci" }),
        ),
        (ApprovalChange::Expired, json!({ "state": "expired" })),
        (ApprovalChange::Void, json!({ "state": "void" })),
    ] {
        let approval = Change::Approval {
            approval_id: ApprovalId::from_uuid(UUID),
            run_id: RunId::from_uuid(UUID),
            tool_kind: "execute".into(),
            title: "ls".into(),
            change,
        };
        assert_eq!(
            traced(approval),
            json!({
                "approval_id": id_text("apr"), "run_id": id_text("run"), "tool_kind": "execute",
                "title": "ls", "change": expected,
            })
        );
    }
    let task = Change::Task {
        task_id: TaskId::from_uuid(UUID),
        change: TaskChange {
            key: "draft".into(),
            status: TaskStatus::Running,
            step: Some(Step::Review),
            round: 1,
            seat: Some(SeatId::from_uuid(UUID)),
            plan_version: 2,
        },
    };
    assert_eq!(
        traced(task),
        json!({
            "task_id": id_text("task"), "key": "draft", "status": "RUNNING", "step": "review",
            "seat_id": id_text("seat"), "round": 1, "plan_version": 2,
        })
    );
    let later = Change::Unknown {
        kind: "vote".into(),
        about: UUID,
    };
    assert_eq!(traced(later), json!({ "logged_kind": "vote" }));
}

#[test]
fn goal_event_has_state_reason_and_cause() {
    let session_id = SessionId::from_uuid(UUID);
    for (state, expected) in [
        (GoalState::Done, json!({ "state": "done" })),
        (
            GoalState::Paused(PauseReason::ApprovePlan),
            json!({ "state": "paused", "reason": "approve_plan" }),
        ),
        (
            GoalState::Stuck(StuckCause::Idle),
            json!({ "state": "paused", "reason": "stuck", "cause": "nothing can run" }),
        ),
        (
            GoalState::GivenUp,
            json!({ "state": "failed", "reason": "given_up" }),
        ),
    ] {
        assert_eq!(traced(Change::Goal { session_id, state }), expected);
    }
}

impl World {
    /// The notifications of everything that has happened so far.
    async fn notifications(&self) -> Vec<(NewDelivery, Notification)> {
        let page = self.store.feed(self.tenant, FeedCursor::START, 100).await;
        let events = page.unwrap().events;
        let notices = self.store.notices(self.tenant, events).await.unwrap();
        let deliveries = notices.into_iter().map(notification_text::delivery);
        deliveries
            .map(|delivery| {
                let notification = serde_json::from_str(&delivery.body).unwrap();
                (delivery, notification)
            })
            .collect()
    }
}

#[tokio::test]
async fn notification_of_answer_has_trace_event() {
    let world = World::new().await;
    let session = world.conversation().await;
    let run = world.send_message(&session.id.to_string(), "hello").await;
    world.begin_turn(run).await;
    world.finish_with_answer(run, "Done.").await;
    let all = world.notifications().await;
    let kinds: Vec<_> = all.iter().map(|(delivery, _)| delivery.kind).collect();
    assert_eq!(
        kinds,
        [
            NotificationKind::SessionState,
            NotificationKind::MessagePublished,
            NotificationKind::RunSucceeded,
        ]
    );
    for (delivery, notification) in &all {
        assert_eq!(
            (delivery.kind, &delivery.event_id, delivery.session),
            (notification.kind, &notification.id, Some(session.id))
        );
        let found = notification.data.session.as_ref().unwrap();
        assert_eq!(found.id, session.id);
        assert_eq!(notification.data.endpoint, None);
    }
    let Some(TraceEvent::Message(event)) = &all[1].1.data.event else {
        panic!("{all:?}");
    };
    let message = event.message.as_ref().unwrap();
    assert_eq!((&*message.content, message.run_id), ("Done.", Some(run)));
    assert_eq!(all[1].1.data.automation, None, "a person asked");
    let Some(TraceEvent::Run(event)) = &all[2].1.data.event else {
        panic!("{all:?}");
    };
    assert_eq!((event.run_id, event.change.tag()), (run, "succeeded"));
    assert_eq!(all[2].1.data.run.as_ref().unwrap().id, run);
}
