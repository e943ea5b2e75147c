//! Builds the JSON body of a notification from the facts that the store has collected.

use api_types::{
    Notification, NotificationAutomation, NotificationData, NotificationEndpoint, NotificationGoal,
    NotificationQuestion, NotificationSession,
};
use model::{
    DeliveryId, Timestamp,
    notification::{Endpoint, NotificationKind},
    question::Question,
};
use serde_json::json;
use store::{NewDelivery, Notice, NoticeAutomation, NoticeGoal, NoticeSession};

use crate::{
    goals::{reason_of, task_counts},
    text::plain_line,
    trace_events,
};

/// The longest text of a goal in a notification, in characters.
const MAX_OBJECTIVE_CHARS: usize = 500;

/// The longest text of a question in a notification, in characters.
const MAX_QUESTION_CHARS: usize = 2048;

/// Returns the delivery of a notice, with its JSON body.
pub fn delivery(notice: Notice) -> NewDelivery {
    let event_id = notice.event_id();
    let Notice {
        kind,
        event,
        session,
        automation,
        run,
        goal,
        question,
    } = notice;
    let session_id = event.session_id;
    let notification = Notification {
        kind,
        id: event_id.clone(),
        timestamp: event.event.created_at,
        data: NotificationData {
            event: Some(trace_events::feed_event(event)),
            session: session.map(session_view),
            automation: automation.map(automation_view),
            run: run.map(Into::into),
            goal: goal.as_ref().map(goal_view),
            question: question.map(question_view),
            endpoint: None,
        },
    };
    NewDelivery {
        kind,
        event_id,
        session: session_id,
        body: json!(notification).to_string(),
    }
}

/// Returns the delivery that tests an endpoint. Its body holds no data beside the endpoint itself.
pub(crate) fn test_delivery(
    delivery: DeliveryId,
    endpoint: &Endpoint,
    now: Timestamp,
) -> NewDelivery {
    let kind = NotificationKind::EndpointTest;
    let event_id = format!("evt_{}", delivery.uuid().simple());
    let notification = Notification {
        kind,
        id: event_id.clone(),
        timestamp: now,
        data: NotificationData {
            event: None,
            session: None,
            automation: None,
            run: None,
            goal: None,
            question: None,
            endpoint: Some(NotificationEndpoint {
                id: endpoint.id,
                name: endpoint.name.clone(),
            }),
        },
    };
    NewDelivery {
        kind,
        event_id,
        session: None,
        body: json!(notification).to_string(),
    }
}

fn session_view(session: NoticeSession) -> NotificationSession {
    let (channel, chat_id, thread) = match session.channel {
        Some(channel) => (Some(channel.channel), Some(channel.chat_id), channel.thread),
        None => (None, None, None),
    };
    NotificationSession {
        id: session.id,
        session_type: session.session_type,
        key: session.key,
        title: session.title,
        state: session.state.status(),
        state_reason: session.state.into_reason(),
        channel,
        chat_id,
        thread,
    }
}

fn automation_view(automation: NoticeAutomation) -> NotificationAutomation {
    NotificationAutomation {
        id: automation.id,
        name: automation.name,
        pause_reason: automation.pause_reason,
        attention: automation.attention,
    }
}

fn goal_view(goal: &NoticeGoal) -> NotificationGoal {
    let (reason, cause) = reason_of(goal.state);
    NotificationGoal {
        id: goal.session,
        objective: plain_line(&goal.text, MAX_OBJECTIVE_CHARS),
        state: goal.state.status(),
        reason,
        cause: cause.map(|cause| cause.to_string()),
        tasks: task_counts(&goal.tasks),
        open_questions: goal.open_questions,
        report: format!("/api/v1/goals/{}/report", goal.session),
    }
}

fn question_view(question: Question) -> NotificationQuestion {
    NotificationQuestion {
        id: question.id,
        session_id: question.session_id,
        kind: question.kind,
        state: question.state.status(),
        text: plain_line(&question.text, MAX_QUESTION_CHARS),
        options: question.body.options,
        default: question.body.default,
        deadline_at: question.deadline_at,
    }
}
