//! Sessions: begun by a person, spoken to, looked at, called off, deleted.

use std::path::PathBuf;

use model::{
    AutomationId, RunId, SessionId,
    automation::AutomationState,
    entity::{Automation, Message, Run, Seat, SeatSettings, Session},
    session::{Admission, SessionKind, SessionType},
};
use serde::Serialize;
use store::{Automations, Deletion, NewSession, RunFilter};

use crate::{Error, Service, naming, working_directory};

/// How many rows of a transcript are read at a time; one has a few MiB at the most.
const PAGE: u32 = 50;
/// How many of a session's newest runs are looked through for those that are not over.
const LOOKED_AT: u32 = 200;

/// The reason of what a person calls off.
pub(crate) const CALLED_OFF: &str = "called off by a person";

/// A session that a person begins.
#[derive(Debug, Clone, Default)]
pub struct SessionRequest {
    /// The harness that starts the agent, by name.
    pub harness: String,
    /// The working directory, absolute; absent: a folder of the session's own.
    pub cwd: Option<PathBuf>,
    /// What lists call it.
    pub title: Option<String>,
    /// The mode and the settings of the agent.
    pub settings: SeatSettings,
}

/// Which sessions a list shows.
#[derive(Debug, Clone, Default)]
pub struct SessionQuery {
    /// Those of every type, not only `regular`.
    pub all: bool,
    /// Those that an automation made, of whatever type: its name, its id or the beginning of that.
    pub automation: Option<String>,
    /// How many at the most.
    pub limit: u32,
}

/// A session with all that people read in it.
#[derive(Debug, Clone, Serialize)]
pub struct SessionView {
    /// The session.
    #[serde(flatten)]
    pub session: Session,
    /// Its seats.
    pub seats: Vec<Seat>,
    /// The names of the automations that are bound to it.
    pub bound_automations: Vec<String>,
    /// How many rows of its transcript come before those that are shown.
    pub messages_before: i64,
    /// Its transcript, or the end of it.
    pub messages: Vec<Message>,
    /// Its runs that are not over, the oldest first.
    pub open_runs: Vec<Run>,
    /// The number of the oldest event of its log that retention has kept, or that of the next one.
    pub oldest_event: i64,
}

/// What became of a wish to delete a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionDeleted {
    /// Whether it is gone.
    pub deleted: bool,
    /// Whether that would have taken automations with it, to which nobody has consented.
    pub blocked_by_automations: bool,
    /// The automations that block it, or those that went with it.
    pub automations: Vec<BoundAutomation>,
    /// How many turns were under way and were called off with it.
    #[serde(skip)]
    pub turns: u32,
    /// The session as it was.
    #[serde(skip)]
    pub session: Session,
}

/// An automation that is bound to a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BoundAutomation {
    /// Its id.
    pub id: AutomationId,
    /// Its name.
    pub name: String,
    /// Whether its triggers fire.
    pub enabled: bool,
}

impl From<Automation> for BoundAutomation {
    fn from(automation: Automation) -> Self {
        Self {
            id: automation.id,
            enabled: automation.state == AutomationState::Enabled,
            name: automation.name,
        }
    }
}

impl Service {
    /// Begins a session in which people talk with an agent.
    pub async fn create_session(&self, request: &SessionRequest) -> Result<Session, Error> {
        let harness = self.find_harness(&request.harness).await?;
        let title = match &request.title {
            Some(title) => Some(naming::name("title", title)?),
            None => None,
        };
        let cwd = working_directory::check(request.cwd.as_deref())?;
        self.require_restore(&harness).await?;
        let now = self.now();
        let id = SessionId::generate(now, &*self.entropy);
        let new = NewSession {
            id,
            kind: SessionKind::Interactive,
            session_type: SessionType::Regular,
            // The key under which automations can be bound to it.
            key: Some(format!("cli:{}", id.uuid().simple())),
            title,
            cwd: self.store.working_directory(cwd.as_deref(), id),
            schedule_id: None,
            harness: harness.id,
            settings: request.settings.clone(),
        };
        self.store.create_session(self.tenant, &new, now).await?;
        Ok(self.store.session(self.scope(), id).await?)
    }

    /// Lists sessions, the most recently changed first.
    pub async fn sessions(&self, query: &SessionQuery) -> Result<Vec<Session>, Error> {
        let automation = match &query.automation {
            Some(given) => Some(self.find_automation(given).await?.id),
            None => None,
        };
        let every_type = query.all || automation.is_some();
        let session_type = (!every_type).then_some(SessionType::Regular);
        let found = self
            .store
            .sessions(self.scope(), session_type, automation, query.limit)
            .await?;
        Ok(found)
    }

    /// Reads one session, by its key, its id or the beginning of that, with the last rows of its
    /// transcript, as many as `last` says, or all of them.
    pub async fn session(&self, given: &str, last: Option<u32>) -> Result<SessionView, Error> {
        let session = self.find_session(given).await?;
        let filter = RunFilter {
            session: Some(session.id),
            ..RunFilter::default()
        };
        let mut open_runs = self.store.runs(self.scope(), filter, LOOKED_AT).await?;
        open_runs.retain(|run| !run.status.is_over());
        open_runs.reverse();
        let (messages, messages_before) = match last {
            None => (self.messages_after(session.id, 0).await?, 0),
            Some(last) => {
                let end = self.store.last_messages(self.scope(), session.id, last);
                let end = end.await?;
                (end.messages, end.before)
            }
        };
        let bound = match &session.session_key {
            None => Automations::default(),
            Some(key) => self.store.automations_bound_to(self.tenant, key).await?,
        };
        let readable = bound.readable.into_iter().map(|one| one.name);
        let unreadable = bound.unreadable.into_iter().map(|one| one.name);
        Ok(SessionView {
            bound_automations: readable.chain(unreadable).collect(),
            seats: self.store.seats(self.scope(), session.id).await?,
            messages_before,
            messages,
            open_runs,
            oldest_event: self.store.oldest_event(self.scope(), session.id).await?,
            session,
        })
    }

    /// Reads some rows of a transcript after a number, in order; none at its end.
    pub async fn messages_page(
        &self,
        session: SessionId,
        after: i64,
    ) -> Result<Vec<Message>, Error> {
        let page = self.store.messages(self.scope(), session, after, PAGE);
        Ok(page.await?)
    }

    /// The number after which a transcript has everything that belongs to a run.
    pub async fn before_run(&self, run: RunId) -> Result<i64, Error> {
        Ok(self.store.before_run(self.scope(), run).await?)
    }

    /// Reads the rows of a transcript after a number, in order.
    pub async fn messages_after(
        &self,
        session: SessionId,
        mut after: i64,
    ) -> Result<Vec<Message>, Error> {
        let mut messages = Vec::new();
        loop {
            let page = self.messages_page(session, after).await?;
            let Some(last) = page.last() else {
                return Ok(messages);
            };
            after = last.seq;
            messages.extend(page);
        }
    }

    /// Gives a session a person's words and answers with the run that they became.
    pub async fn say(&self, given: &str, words: &str) -> Result<Run, Error> {
        naming::content("words", words)?;
        let session = self.find_session(given).await?;
        if session.state.admission() == Admission::Refuse {
            return Err(Error::SessionClosed {
                session: given.to_owned(),
                state: session.state,
            });
        }
        let submitted = self
            .store
            .say(self.tenant, session.id, words, self.now())
            .await?;
        self.run_by_id(submitted.run_id).await
    }

    /// Begins a session with a person's first words.
    pub async fn say_new(&self, request: &SessionRequest, words: &str) -> Result<Run, Error> {
        naming::content("words", words)?;
        let session = self.create_session(request).await?;
        self.say(&session.id.to_string(), words).await
    }

    /// Calls off every run of a session that is not over. Gives the session and how many there were.
    pub async fn cancel_session(&self, given: &str) -> Result<(Session, u32), Error> {
        let session = self.find_session(given).await?;
        let count = self
            .store
            .cancel_session_runs(self.scope(), session.id, CALLED_OFF, self.now())
            .await?;
        Ok((session, count))
    }

    /// Deletes a session. Automations that are bound to it block that, unless `with_automations`
    /// says that they are to be deleted, too. A turn that is under way is called off: its worker finds
    /// nothing any more.
    pub async fn delete_session(
        &self,
        given: &str,
        with_automations: bool,
    ) -> Result<SessionDeleted, Error> {
        let session = self.find_session(given).await?;
        let deletion = self
            .store
            .delete_session(self.tenant, session.id, with_automations, self.now())
            .await?;
        let (deleted, automations, turns) = match deletion {
            Deletion::Done { automations, turns } => (true, automations, turns),
            Deletion::BlockedBy(automations) => (false, automations, 0),
        };
        Ok(SessionDeleted {
            deleted,
            blocked_by_automations: !deleted,
            automations: automations.into_iter().map(Into::into).collect(),
            turns,
            session,
        })
    }
}
