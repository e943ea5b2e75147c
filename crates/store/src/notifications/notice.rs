//! The facts of notifications: events of a feed, with their sessions, automations, runs, goals and questions.
//!
//! `service` renders the text of a notification from these facts.

use std::{
    collections::{BTreeSet, HashMap},
    hash::Hash,
};

use model::{
    AutomationId, QuestionId, RunId, SessionId, TenantId,
    entity::{Channel, Message, Run},
    event::Change,
    goal::GoalState,
    notification::NotificationKind,
    question::Question,
    session::{SessionState, SessionType},
    transcript,
};

use crate::{
    Error, FeedEvent, Scope, TaskCount, boxed,
    database::{FromColumn, Param, Row, Statement, Tx},
    goals::goal_state,
    questions::question,
    rows,
    runs::read_task_counts,
    store::Store,
};

/// An event that causes a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The kind of the notification.
    pub kind: NotificationKind,
    /// The event.
    pub event: FeedEvent,
    /// The session of the event, in its present state.
    pub session: Option<NoticeSession>,
    /// The automation of the event. For an answer: the automation whose turn it ends, as it was when the turn began.
    pub automation: Option<NoticeAutomation>,
    /// The run of the event, in its present state.
    pub run: Option<Run>,
    /// The goal of the session, in its present state. `None` in notifications of kinds that describe no goal.
    pub goal: Option<NoticeGoal>,
    /// The question of the event, in its present state.
    pub question: Option<Question>,
}

impl Notice {
    /// Returns the ID of the event. The ID is unique while the log exists.
    pub fn event_id(&self) -> String {
        let FeedEvent { cursor, event, .. } = &self.event;
        format!("evt_{}_{}", cursor.log.simple(), event.seq)
    }

    /// Returns the channel of the session.
    pub(super) fn channel(&self) -> Option<&str> {
        let channel = self.session.as_ref()?.channel.as_ref()?;
        Some(&channel.channel)
    }
}

/// A session, as a notification describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeSession {
    /// The ID of the session.
    pub id: SessionId,
    /// The type of the session.
    pub session_type: SessionType,
    /// The stable external name of the session.
    pub key: Option<String>,
    /// The title of the session.
    pub title: Option<String>,
    /// The state of the session.
    pub state: SessionState,
    /// The external place in which people talk in the session.
    pub channel: Option<Channel>,
}

/// An automation, as a notification describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeAutomation {
    /// The ID of the automation.
    pub id: AutomationId,
    /// The name of the automation.
    pub name: String,
    /// The reason for the pause. `None` if the automation is not paused.
    pub pause_reason: Option<String>,
    /// A problem that a person should resolve. `None` if there is none.
    pub attention: Option<String>,
}

/// A goal, as a notification describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeGoal {
    /// The session of the goal.
    pub session: SessionId,
    /// The text of the goal.
    pub text: String,
    /// The state of the goal.
    pub state: GoalState,
    /// The numbers of tasks.
    pub tasks: Vec<TaskCount>,
    /// The number of questions that wait for a person.
    pub open_questions: u32,
}

impl Store {
    /// Returns the events of a tenant's feed that cause notifications, with their facts.
    #[boxed]
    pub async fn notices(
        &self,
        tenant: TenantId,
        events: Vec<FeedEvent>,
    ) -> Result<Vec<Notice>, Error> {
        let notified: Vec<(NotificationKind, FeedEvent)> = events
            .into_iter()
            .filter_map(|event| Some((notification_kind(&event)?, event)))
            .collect();
        if notified.is_empty() {
            return Ok(Vec::new());
        }
        let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
        let facts = Facts::read(&mut tx, &notified).await?;
        Ok(notified
            .into_iter()
            .map(|(kind, event)| facts.notice(kind, event))
            .collect())
    }
}

fn notification_kind(event: &FeedEvent) -> Option<NotificationKind> {
    let kind = NotificationKind::of_change(&event.event.change)?;
    // An answer whose row is missing has no text to send.
    let has_text = kind != NotificationKind::MessagePublished || event.message.is_some();
    has_text.then_some(kind)
}

/// The rows that events refer to, each read once.
struct Facts {
    sessions: HashMap<SessionId, NoticeSession>,
    automations: HashMap<AutomationId, NoticeAutomation>,
    runs: HashMap<RunId, Option<Run>>,
    goals: HashMap<SessionId, Option<NoticeGoal>>,
    questions: HashMap<QuestionId, Option<Question>>,
}

impl Facts {
    async fn read(tx: &mut Tx, notified: &[(NotificationKind, FeedEvent)]) -> Result<Self, Error> {
        let sessions = notified.iter().filter_map(|(_, event)| event.session_id);
        let automations = notified.iter().filter_map(|(_, event)| event.automation_id);
        let runs = notified.iter().filter_map(|(_, event)| run_of(event));
        let questions = notified.iter().filter_map(|(_, event)| question_of(event));
        let goals = read_goals(tx, notified).await?;
        Ok(Self {
            goals,
            sessions: by_id(tx, sql!("endpoints/sessions"), sessions.collect(), session).await?,
            automations: by_id(
                tx,
                sql!("endpoints/automations"),
                automations.collect(),
                automation,
            )
            .await?,
            runs: by_id(
                tx,
                sql!("endpoints/runs", rows::RUN_COLUMNS),
                runs.collect(),
                run,
            )
            .await?,
            questions: by_id(
                tx,
                sql!("endpoints/questions"),
                questions.collect(),
                question_if_readable,
            )
            .await?,
        })
    }

    fn notice(&self, kind: NotificationKind, event: FeedEvent) -> Notice {
        let session = event.session_id.and_then(|id| self.sessions.get(&id));
        let automation = if kind == NotificationKind::MessagePublished {
            event.message.as_ref().and_then(answer_automation)
        } else {
            let found = event.automation_id.and_then(|id| self.automations.get(&id));
            found.cloned()
        };
        let run = run_of(&event).and_then(|id| self.runs.get(&id));
        let goal = event.session_id.filter(|_| kind.describes_goal());
        let goal = goal.and_then(|id| self.goals.get(&id));
        let question = question_of(&event).and_then(|id| self.questions.get(&id));
        Notice {
            kind,
            goal: goal.cloned().flatten(),
            question: question.cloned().flatten(),
            session: session.cloned(),
            automation,
            run: run.cloned().flatten(),
            event,
        }
    }
}

/// Returns the run of an event. For an approval, it is the run whose agent requested the approval.
fn run_of(event: &FeedEvent) -> Option<RunId> {
    match &event.event.change {
        Change::Run { run_id, .. }
        | Change::Approval { run_id, .. }
        | Change::Question { run_id, .. } => Some(*run_id),
        _ => None,
    }
}

/// Returns the question of an event.
const fn question_of(event: &FeedEvent) -> Option<QuestionId> {
    match event.event.change {
        Change::Question { question_id, .. } => Some(question_id),
        _ => None,
    }
}

/// Returns the goals of the sessions of events whose notifications describe them.
async fn read_goals(
    tx: &mut Tx,
    notified: &[(NotificationKind, FeedEvent)],
) -> Result<HashMap<SessionId, Option<NoticeGoal>>, Error> {
    let described = notified.iter().filter(|(kind, _)| kind.describes_goal());
    let sessions = described.filter_map(|(_, event)| event.session_id);
    let mut goals = by_id(tx, sql!("endpoints/goals"), sessions.collect(), goal).await?;
    let sessions: Vec<SessionId> = goals.keys().copied().collect();
    let mut counts = match read_task_counts(tx, &sessions).await {
        // As in `run`: tasks of a later version must not stop the notifications of every endpoint.
        Err(error) if error.is_corrupt() => {
            tracing::warn!(%error, "cannot count the tasks of goals in notifications");
            HashMap::new()
        }
        counts => counts?,
    };
    for goal in goals.values_mut().flatten() {
        goal.tasks = counts.remove(&goal.session).unwrap_or_default();
    }
    Ok(goals)
}

/// Reads a goal without its tasks. Returns `None` if its row is corrupt or of a later version, as for a run.
fn goal(row: &Row) -> Result<Option<NoticeGoal>, Error> {
    let session: SessionId = row.get("id")?;
    let state = match goal_state(row) {
        Err(error) if error.is_corrupt() => {
            tracing::warn!(%error, goal = %session, "cannot describe goal {session} in a notification");
            return Ok(None);
        }
        state => state?,
    };
    let open_questions: i64 = row.get("open_questions")?;
    Ok(Some(NoticeGoal {
        session,
        text: row.get("text")?,
        state,
        tasks: Vec::new(),
        open_questions: u32::try_from(open_questions).unwrap_or(u32::MAX),
    }))
}

/// Reads a question. Returns `None` if its row is corrupt or of a later version, as for a run.
fn question_if_readable(row: &Row) -> Result<Option<Question>, Error> {
    match question(row) {
        Err(error) if error.is_corrupt() => {
            let id: QuestionId = row.get("id")?;
            tracing::warn!(%error, question = %id, "cannot describe question {id} in a notification");
            Ok(None)
        }
        question => question.map(Some),
    }
}

/// Returns the automation whose turn an answer ends, from the metadata of the answer.
fn answer_automation(row: &Message) -> Option<NoticeAutomation> {
    let text = |field: &str| row.metadata[field].as_str();
    if !transcript::is_automation_turn(&row.metadata) {
        return None;
    }
    Some(NoticeAutomation {
        id: text("automation_id")?.parse().ok()?,
        name: text("automation_name")?.to_owned(),
        pause_reason: None,
        attention: None,
    })
}

/// Reads a run. Returns `None` if its row is corrupt, because one such row must not stop the notifications of every
/// endpoint: the notice is then sent without the run.
fn run(row: &Row) -> Result<Option<Run>, Error> {
    match rows::run(row) {
        Err(error) if error.is_corrupt() => {
            let id: RunId = row.get("id")?;
            tracing::warn!(%error, run = %id, "cannot describe run {id} in a notification");
            Ok(None)
        }
        run => run.map(Some),
    }
}

fn session(row: &Row) -> Result<NoticeSession, Error> {
    let channel: Option<String> = row.optional("channel")?;
    let channel = match channel {
        None => None,
        Some(channel) => Some(Channel {
            channel,
            chat_id: row.get("chat_id")?,
            thread: row.optional("thread")?,
        }),
    };
    Ok(NoticeSession {
        id: row.get("id")?,
        session_type: row.parse("type")?,
        key: row.optional("session_key")?,
        title: row.optional("title")?,
        state: rows::session_state(row)?,
        channel,
    })
}

fn automation(row: &Row) -> Result<NoticeAutomation, Error> {
    Ok(NoticeAutomation {
        id: row.get("id")?,
        name: row.get("name")?,
        pause_reason: row.optional("pause_reason")?,
        attention: row.optional("attention")?,
    })
}

/// Returns rows by ID.
async fn by_id<I: Copy + Ord + Hash + FromColumn, T>(
    tx: &mut Tx,
    statement: &'static Statement,
    ids: BTreeSet<I>,
    read: fn(&Row) -> Result<T, Error>,
) -> Result<HashMap<I, T>, Error>
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
