//! Builds the JSON body of a notification from the facts that the store has collected.

use api_types::{
    Notification, NotificationAutomation, NotificationData, NotificationEndpoint,
    NotificationSession,
};
use model::{
    DeliveryId, Timestamp,
    notification::{Endpoint, NotificationKind},
};
use serde_json::json;
use store::{NewDelivery, Notice, NoticeAutomation, NoticeSession};

use crate::trace_events;

/// Returns the delivery of a notice, with its JSON body.
pub fn delivery(notice: Notice) -> NewDelivery {
    let event_id = notice.event_id();
    let Notice {
        kind,
        event,
        session,
        automation,
        run,
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
