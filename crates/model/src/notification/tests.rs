use uuid::Uuid;

use super::*;
use crate::{
    event::{Occurrences, RunChange, SessionChange, SkippedWork},
    goal::StuckCause,
    ids::{ApprovalId, MessageId, QuestionId, RunId},
    session::SessionStatus,
};

#[test]
fn change_maps_to_its_notification_kind() {
    use NotificationKind as Kind;
    for (change, expected) in [
        (
            message(Role::Assistant, EntryKind::Message),
            Some(Kind::MessagePublished),
        ),
        (message(Role::User, EntryKind::Message), None),
        (message(Role::Assistant, EntryKind::Thought), None),
        (
            run(RunChange::Succeeded { attempt: 1 }),
            Some(Kind::RunSucceeded),
        ),
        (run(failed()), Some(Kind::RunFailed)),
        (run(skipped()), Some(Kind::RunSkipped)),
        (run(missed()), Some(Kind::RunMissed)),
        (run(RunChange::Queued { input: None }), None),
        (automation(paused()), Some(Kind::AutomationPaused)),
        (automation(attention()), Some(Kind::AutomationAttention)),
        (automation(AutomationChange::Resumed), None),
        (session(SessionStatus::Done), Some(Kind::SessionState)),
        (approval(pending()), Some(Kind::ApprovalRequested)),
        (approval(ApprovalChange::Expired), None),
        (goal(GoalState::Done), Some(Kind::GoalDone)),
        (goal(GoalState::Cancelled), Some(Kind::GoalFailed)),
        (goal(GoalState::GivenUp), Some(Kind::GoalFailed)),
        (goal(GoalState::Draft), None),
        (goal(GoalState::Active), None),
        (question(pending_question()), Some(Kind::QuestionAsked)),
        (question(QuestionChange::Expired), None),
        (question(QuestionChange::Void), None),
        (unknown("task"), None),
    ] {
        assert_eq!(NotificationKind::of_change(&change), expected, "{change:?}");
    }
}

#[test]
fn pause_of_goal_is_either_paused_or_stuck() {
    use NotificationKind as Kind;
    for reason in PauseReason::ALL {
        let expected = if *reason == PauseReason::Stuck {
            Kind::GoalStuck
        } else {
            Kind::GoalPaused
        };
        let change = goal(GoalState::Paused(*reason));
        assert_eq!(NotificationKind::of_change(&change), Some(expected));
    }
    for cause in StuckCause::ALL {
        let change = goal(GoalState::Stuck(*cause));
        let kind = NotificationKind::of_change(&change);
        assert_eq!(kind, Some(Kind::GoalStuck), "{cause}");
    }
}

fn goal(state: GoalState) -> Change {
    let session_id = SessionId::from_uuid(Uuid::from_u128(1));
    Change::Goal { session_id, state }
}

fn question(change: QuestionChange) -> Change {
    Change::Question {
        question_id: QuestionId::from_uuid(Uuid::from_u128(1)),
        run_id: RunId::from_uuid(Uuid::from_u128(1)),
        text: "Which colour?".into(),
        change,
    }
}

fn pending_question() -> QuestionChange {
    let deadline_at = Timestamp::from_microsecond(1).unwrap();
    QuestionChange::Pending { deadline_at }
}

fn message(role: Role, kind: EntryKind) -> Change {
    Change::Message {
        message_id: MessageId::from_uuid(Uuid::from_u128(1)),
        role,
        kind,
        to: None,
    }
}

fn run(change: RunChange) -> Change {
    let run_id = RunId::from_uuid(Uuid::from_u128(1));
    Change::Run { run_id, change }
}

fn failed() -> RunChange {
    RunChange::Failed {
        attempt: 1,
        reason: "timeout".into(),
    }
}

fn skipped() -> RunChange {
    RunChange::Skipped {
        reason: "overlap".into(),
        skipped: SkippedWork::Attempt(1),
    }
}

fn missed() -> RunChange {
    RunChange::Missed {
        reason: "the system was down".into(),
        occurrences: Occurrences {
            trigger_id: None,
            scheduled_for: None,
            missed_until: None,
            count: 1,
        },
    }
}

fn automation(change: AutomationChange) -> Change {
    let automation_id = AutomationId::from_uuid(Uuid::from_u128(1));
    Change::Automation {
        automation_id,
        change,
    }
}

fn paused() -> AutomationChange {
    let reason = "failures".into();
    AutomationChange::Paused { reason }
}

fn attention() -> AutomationChange {
    let text = "paused itself".into();
    AutomationChange::Attention { text }
}

fn session(state: SessionStatus) -> Change {
    let session_id = SessionId::from_uuid(Uuid::from_u128(1));
    let change = SessionChange::Created { state };
    Change::Session { session_id, change }
}

fn approval(change: ApprovalChange) -> Change {
    Change::Approval {
        approval_id: ApprovalId::from_uuid(Uuid::from_u128(1)),
        run_id: RunId::from_uuid(Uuid::from_u128(1)),
        tool_kind: "execute".into(),
        title: "ls".into(),
        change,
    }
}

fn pending() -> ApprovalChange {
    let deadline_at = Timestamp::from_microsecond(1).unwrap();
    ApprovalChange::Pending { deadline_at }
}

fn unknown(kind: &str) -> Change {
    Change::Unknown {
        kind: kind.into(),
        about: Uuid::from_u128(1),
    }
}

#[test]
fn delivery_backs_off_and_is_given_up() {
    let delivery = DeliveryId::from_uuid(Uuid::from_u128(7));
    let mut total = Duration::ZERO;
    for attempt in 1..limits::DELIVERY_ATTEMPTS {
        let doubled = limits::DELIVERY_BACKOFF * (1 << (attempt - 1));
        let full = doubled.min(limits::DELIVERY_BACKOFF_MAX);
        for status in [None, Some(301), Some(404), Some(500)] {
            let DeliveryOutcome::RetryAfter(pause) = delivery_outcome(delivery, attempt, status)
            else {
                panic!("{attempt} {status:?}");
            };
            assert!(pause >= full / 2 && pause <= full, "{attempt}: {pause:?}");
            total += pause;
        }
    }
    assert!(total > Duration::from_hours(1), "{total:?}");
    let last = limits::DELIVERY_ATTEMPTS;
    assert_eq!(
        delivery_outcome(delivery, last, Some(500)),
        DeliveryOutcome::GivenUp
    );
    assert_eq!(
        delivery_outcome(delivery, last + 1, None),
        DeliveryOutcome::GivenUp
    );
    assert_eq!(
        delivery_outcome(delivery, last, Some(204)),
        DeliveryOutcome::Delivered
    );
    assert_eq!(
        delivery_outcome(delivery, 1, Some(410)),
        DeliveryOutcome::EndpointGone
    );
}

#[test]
fn deliveries_that_failed_at_once_retry_at_different_times() {
    let pauses: std::collections::BTreeSet<Duration> = (0..100)
        .map(|n| backoff(DeliveryId::from_uuid(Uuid::from_u128(n)), 5))
        .collect();
    assert!(pauses.len() > 50, "{}", pauses.len());
}
