//! The bodies of notifications.

use api_types::Notification;
use model::{
    QuestionId, RunId, SeatId, SessionId, TenantId,
    event::{Change, Event, QuestionChange},
    feed::FeedCursor,
    goal::{GoalState, StuckCause, TaskKind, TaskStatus},
    notification::NotificationKind,
    question::{Question, QuestionBody, QuestionKind, QuestionState},
};
use serde_json::{Value, json};
use service::notification_text;
use store::{FeedEvent, Notice, NoticeGoal, TaskCount};
use testkit::clock::FakeClock;
use uuid::Uuid;

use crate::world::NOW;

const UUID: Uuid = Uuid::from_u128(0x0197_f3c2_a9d0_7cc1_a1b2_c3d4_e5f6_0718);

/// The notice of a question that an agent of a goal has asked.
fn notice_of_question(text: &str, goal: &str) -> Notice {
    let session_id = SessionId::from_uuid(UUID);
    let question_id = QuestionId::from_uuid(UUID);
    let run_id = RunId::from_uuid(UUID);
    let at = model::Clock::now(&FakeClock::at(NOW));
    let change = Change::Question {
        question_id,
        run_id,
        text: text.into(),
        change: QuestionChange::Pending { deadline_at: at },
    };
    Notice {
        kind: NotificationKind::QuestionAsked,
        event: FeedEvent {
            cursor: FeedCursor::START,
            session_id: Some(session_id),
            automation_id: None,
            event: Event {
                seq: 7,
                change,
                created_at: at,
            },
            message: None,
        },
        session: None,
        automation: None,
        run: None,
        goal: Some(NoticeGoal {
            session: session_id,
            text: goal.into(),
            state: GoalState::Stuck(StuckCause::Idle),
            tasks: vec![
                TaskCount {
                    kind: TaskKind::Work,
                    status: TaskStatus::Done,
                    number: 3,
                },
                TaskCount {
                    kind: TaskKind::Work,
                    status: TaskStatus::Pending,
                    number: 4,
                },
                TaskCount {
                    kind: TaskKind::Plan,
                    status: TaskStatus::Done,
                    number: 1,
                },
            ],
            open_questions: 1,
        }),
        question: Some(Question {
            id: question_id,
            tenant_id: TenantId::from_uuid(UUID),
            session_id,
            seat_id: SeatId::from_uuid(UUID),
            run_id,
            automation_id: None,
            kind: QuestionKind::Tool,
            text: text.into(),
            body: QuestionBody {
                options: vec!["red".into(), "blue".into()],
                default: Some(json!("red")),
                schema: None,
            },
            state: QuestionState::Pending,
            deadline_at: at,
            created_at: at,
        }),
    }
}

#[test]
fn notification_of_goal_and_question_is_bounded() {
    let notice = notice_of_question("Which\ncolour?", "Draft it.");
    let delivery = notification_text::delivery(notice);
    let sent: Value = serde_json::from_str(&delivery.body).unwrap();
    let read: Notification = serde_json::from_str(&delivery.body).unwrap();
    assert_eq!(read.kind, NotificationKind::QuestionAsked);
    let id = SessionId::from_uuid(UUID);
    assert_eq!(
        sent["data"]["goal"],
        json!({
            "id": id, "objective": "Draft it.", "state": "paused", "reason": "stuck",
            "cause": "nothing can run", "open_questions": 1,
            "tasks": {
                "total": 7, "done": 3, "running": 0, "ready": 0, "pending": 4, "failed": 0,
                "cancelled": 0,
            },
            "report": format!("/api/v1/goals/{id}/report"),
        })
    );
    assert_eq!(
        sent["data"]["question"],
        json!({
            "id": QuestionId::from_uuid(UUID), "session_id": id, "kind": "tool", "state": "pending",
            "text": "Which colour?", "options": ["red", "blue"], "default": "red",
            "deadline_at": NOW,
        })
    );
    // A text of 32 KiB is cut.
    let long = "Draft\n it. \u{1b}[31m".repeat(2000);
    let delivery = notification_text::delivery(notice_of_question(&long, &long));
    let cut: Notification = serde_json::from_str(&delivery.body).unwrap();
    let (goal, question) = (cut.data.goal.unwrap(), cut.data.question.unwrap());
    for (text, chars) in [(goal.objective, 500), (question.text, 2048)] {
        assert_eq!(text.chars().count(), chars);
        assert!(text.ends_with('…') && !text.contains(char::is_control));
    }
}
