//! Sessions: begun by a person, spoken to, looked at, called off, deleted.

use std::path::PathBuf;

use model::{
    SessionId,
    entity::{Message, Run, Seat, SeatSettings, Session},
    session::{Admission, SessionKind, SessionType},
};
use serde::Serialize;
use store::{Deletion, NewSession, RunFilter};

use crate::{Error, Service, naming, working_directory};

/// How many rows of a transcript are read at a time.
const PAGE: u32 = 500;
/// How many of a session's newest runs are looked through for those that are not over.
const LOOKED_AT: u32 = 200;

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
    /// Its transcript.
    pub messages: Vec<Message>,
    /// Its runs that are not over, the oldest first.
    pub open_runs: Vec<Run>,
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

    /// Reads one session whole: by its key, its id or the beginning of that.
    pub async fn session(&self, given: &str) -> Result<SessionView, Error> {
        let session = self.find_session(given).await?;
        let filter = RunFilter {
            session: Some(session.id),
            ..RunFilter::default()
        };
        let mut open_runs = self.store.runs(self.scope(), filter, LOOKED_AT).await?;
        open_runs.retain(|run| !run.status.is_over());
        open_runs.reverse();
        Ok(SessionView {
            seats: self.store.seats(self.scope(), session.id).await?,
            messages: self.messages_after(session.id, 0).await?,
            open_runs,
            session,
        })
    }

    /// Reads the rows of a transcript after a number, in order.
    pub async fn messages_after(
        &self,
        session: SessionId,
        mut after: i64,
    ) -> Result<Vec<Message>, Error> {
        let mut messages = Vec::new();
        loop {
            let page = self
                .store
                .messages(self.scope(), session, after, PAGE)
                .await?;
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
            .cancel_session_runs(
                self.scope(),
                session.id,
                "called off by a person",
                self.now(),
            )
            .await?;
        Ok((session, count))
    }

    /// Deletes a session. Automations that are bound to it block that, unless `with_automations`
    /// says that they are to be deleted, too.
    pub async fn delete_session(
        &self,
        given: &str,
        with_automations: bool,
    ) -> Result<Deletion, Error> {
        let session = self.find_session(given).await?;
        let deletion = self
            .store
            .delete_session(self.tenant, session.id, with_automations, self.now())
            .await?;
        Ok(deletion)
    }
}
