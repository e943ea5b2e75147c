//! What notifications say: events of the feed with what a receiver needs to know beside them.

use std::{
    collections::{BTreeSet, HashMap},
    hash::Hash,
};

use model::{
    AutomationId, RunId, SessionId, TenantId, Timestamp, entity::Message,
    notification::NotificationKind, transcript,
};
use serde_json::{Value, json};

use crate::{
    Error, FeedEvent, Scope,
    database::{Param, Row, Statement, Stored, Tx},
    store::Store,
};

/// An event that is told to whoever wants to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What it tells.
    pub kind: NotificationKind,
    /// Names the event, for as long as there is its log.
    pub event_id: String,
    /// The session that it is about.
    pub session: Option<SessionId>,
    /// The automation that it belongs to.
    pub automation: Option<AutomationId>,
    /// The channel of the session.
    pub channel: Option<String>,
    /// What is sent.
    pub body: String,
}

impl Notice {
    /// A notice that tells nothing, with which somebody tries whether notifications arrive.
    pub(super) fn test(id: &str, endpoint: &Value, now: Timestamp) -> Self {
        let kind = NotificationKind::EndpointTest;
        let event_id = format!("evt_{id}");
        Self {
            body: body(kind, &event_id, now, &json!({ "endpoint": endpoint })),
            kind,
            event_id,
            session: None,
            automation: None,
            channel: None,
        }
    }
}

impl Store {
    /// Makes notices of those events of a tenant's feed that are told at all, with what is so by now of
    /// sessions, runs and automations.
    pub async fn notices(
        &self,
        tenant: TenantId,
        events: &[FeedEvent],
    ) -> Result<Vec<Notice>, Error> {
        let told: Vec<(NotificationKind, &FeedEvent)> = events
            .iter()
            .filter_map(|event| Some((kind(event)?, event)))
            .collect();
        if told.is_empty() {
            return Ok(Vec::new());
        }
        let mut tx = self.db.read(Scope::Tenant(tenant)).await?;
        let known = Known::read(&mut tx, &told).await?;
        Ok(told
            .into_iter()
            .map(|(kind, event)| known.notice(kind, event))
            .collect())
    }
}

fn kind(event: &FeedEvent) -> Option<NotificationKind> {
    let message = event.message.as_ref();
    let message = message.map(|row| (row.role.as_str(), row.kind.as_str()));
    NotificationKind::of_event(&event.event.kind, &event.event.body, message)
}

/// What notices say beside the events.
struct Known {
    sessions: HashMap<SessionId, Value>,
    automations: HashMap<AutomationId, Value>,
    runs: HashMap<RunId, Value>,
}

impl Known {
    async fn read(tx: &mut Tx, told: &[(NotificationKind, &FeedEvent)]) -> Result<Self, Error> {
        let sessions = told.iter().filter_map(|(_, event)| event.session_id);
        let automations = told.iter().filter_map(|(_, event)| event.automation_id);
        let runs = told.iter().filter_map(|(_, event)| run_of(event));
        Ok(Self {
            sessions: by_id(tx, sql!("endpoints/sessions"), sessions.collect(), session).await?,
            automations: by_id(
                tx,
                sql!("endpoints/automations"),
                automations.collect(),
                automation,
            )
            .await?,
            runs: by_id(tx, sql!("endpoints/runs"), runs.collect(), run).await?,
        })
    }

    fn notice(&self, kind: NotificationKind, event: &FeedEvent) -> Notice {
        let session = event.session_id.and_then(|id| self.sessions.get(&id));
        let automation = event.automation_id.and_then(|id| self.automations.get(&id));
        let event_id = format!("evt_{}_{}", event.cursor.log.simple(), event.event.seq);
        let mut data = json!({ "session": session, "automation": automation });
        match kind {
            NotificationKind::MessagePublished => {
                if let Some(row) = &event.message {
                    // Who asked is written beside the answer, as it was when it was asked.
                    data["automation"] = source(row);
                    data["message"] = message(row);
                }
            }
            NotificationKind::AutomationPaused
            | NotificationKind::AutomationAttention
            | NotificationKind::SessionState => data["change"] = event.event.body.clone(),
            _ => {
                if kind == NotificationKind::ApprovalRequested {
                    data["approval"] = event.event.body.clone();
                    data["approval"]["id"] = json!(event.event.ref_id);
                }
                let found = run_of(event).and_then(|id| self.runs.get(&id));
                data["run"] = json!(found);
            }
        }
        Notice {
            kind,
            body: body(kind, &event_id, event.event.created_at, &data),
            event_id,
            session: event.session_id,
            automation: event.automation_id,
            channel: session
                .and_then(|session| session["channel"].as_str())
                .map(str::to_owned),
        }
    }
}

/// The text that is sent, as Standard Webhooks advises.
fn body(kind: NotificationKind, event_id: &str, at: Timestamp, data: &Value) -> String {
    json!({ "type": kind, "id": event_id, "timestamp": at, "data": data }).to_string()
}

/// The run that an event is about, or whose agent asks for what it is about.
fn run_of(event: &FeedEvent) -> Option<RunId> {
    match event.event.kind.as_str() {
        "run" => event.event.ref_id.parse().ok(),
        "approval" => event.event.body["run_id"].as_str()?.parse().ok(),
        _ => None,
    }
}

fn message(row: &Message) -> Value {
    json!({
        "id": row.id,
        "seq": row.seq,
        "run_id": row.run_id,
        "role": row.role,
        "content": row.content,
        "outcome": row.metadata["outcome"],
    })
}

/// The automation whose turn an answer ends.
fn source(row: &Message) -> Value {
    if transcript::is_automation_turn(&row.metadata) {
        json!({ "id": row.metadata["automation_id"], "name": row.metadata["automation_name"] })
    } else {
        Value::Null
    }
}

fn session(row: &Row) -> Result<Value, Error> {
    let text = |column| row.optional::<String>(column);
    Ok(json!({
        "id": row.get::<SessionId>("id")?,
        "type": text("type")?,
        "key": text("session_key")?,
        "title": text("title")?,
        "state": text("state")?,
        "state_reason": text("state_reason")?,
        "channel": text("channel")?,
        "chat_id": text("chat_id")?,
        "thread": text("thread")?,
    }))
}

fn automation(row: &Row) -> Result<Value, Error> {
    Ok(json!({
        "id": row.get::<AutomationId>("id")?,
        "name": row.get::<String>("name")?,
        "pause_reason": row.optional::<String>("pause_reason")?,
        "attention": row.optional::<String>("attention")?,
    }))
}

fn run(row: &Row) -> Result<Value, Error> {
    let text = |column| row.optional::<String>(column);
    let instant = |column| row.optional::<Timestamp>(column);
    Ok(json!({
        "id": row.get::<RunId>("id")?,
        "input_id": row.get::<model::InputId>("input_id")?,
        "attempt": row.get::<i64>("attempt")?,
        "status": text("status")?,
        "origin": text("origin")?,
        "automation_id": row.optional::<AutomationId>("automation_id")?,
        "trigger_id": row.optional::<model::TriggerId>("trigger_id")?,
        "scheduled_for": instant("scheduled_for")?,
        "missed_until": instant("missed_until")?,
        "occurrences": row.get::<i64>("occurrences")?,
        "reason": text("reason")?,
        "message": text("message")?,
        "stop_reason": text("stop_reason")?,
        "started_at": instant("started_at")?,
        "ended_at": instant("ended_at")?,
    }))
}

/// Reads rows of ids, each under its id.
async fn by_id<I: Copy + Ord + Hash + Stored>(
    tx: &mut Tx,
    statement: &'static Statement,
    ids: BTreeSet<I>,
    read: fn(&Row) -> Result<Value, Error>,
) -> Result<HashMap<I, Value>, Error>
where
    Param: From<I>,
{
    let rows = ids.iter().map(|id| params![*id]).collect();
    let found = tx.fetch_rows(statement, rows, params![]).await?;
    found
        .iter()
        .map(|row| Ok((row.get("id")?, read(row)?)))
        .collect()
}
