//! Operations on sessions, their seats and their transcripts.

use api_types::{
    ExportFormat, Messages, Page, Replay, Run, Seat, SendMessageRequest, Session, SessionCancelled,
    SessionDeleted, SessionItem, SessionPatch, SessionRequest, SessionView, StateChangeRequest,
};
use http::Method;
use model::{
    RunId,
    session::{SessionKind, SessionStatus, SessionType},
};

use super::{PageParams, Tagged, comma_separated};
use crate::{Body, Client, Error, boxed};

/// The filter of a list of sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionFilter {
    /// The accepted types. If empty, the default of the server.
    pub types: Vec<SessionType>,
    /// The accepted kind.
    pub kind: Option<SessionKind>,
    /// The accepted state.
    pub state: Option<SessionStatus>,
    /// `true` for the sessions of goals, `false` for the others.
    pub of_goal: Option<bool>,
    /// The automation that created the sessions, by its name, its ID or a prefix of its ID.
    pub automation: Option<String>,
    /// A text that the title, the key or the ID contains.
    pub text: Option<String>,
    /// `true` to sort by the last change, the latest first.
    pub by_change: bool,
    /// The requested part of the list.
    pub page: PageParams,
}

/// The requested rows of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageRange {
    /// The rows after this number.
    After(i64),
    /// The last rows before this number.
    Before(i64),
    /// The rows from the first one of this run on.
    FromRun(RunId),
    /// The last rows, up to this number of them.
    Last(u32),
}

/// A move of a session to another state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionMove {
    /// The move from draft to active.
    Enable,
    /// The move from active to paused. Runs that have not begun then wait.
    Pause,
    /// The move from paused to active. Runs that waited then start.
    Resume,
    /// The move to done.
    Complete,
    /// The move from done or failed to archived.
    Archive,
}

impl SessionMove {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Enable => "enable",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Complete => "complete",
            Self::Archive => "archive",
        }
    }
}

impl Client {
    /// Lists sessions, each with its last message and its last run.
    #[boxed]
    pub async fn sessions(&self, filter: &SessionFilter) -> Result<Page<SessionItem>, Error> {
        self.get(&["sessions"])
            .query_param("type", comma_separated(&filter.types))
            .query_param("kind", filter.kind)
            .query_param("state", filter.state)
            .query_param("of_goal", filter.of_goal)
            .query_param("automation", filter.automation.as_ref())
            .query_param("text", filter.text.as_ref())
            .query_param("order", filter.by_change.then_some("changed"))
            .page(&filter.page)
            .fetch()
            .await
    }

    /// Creates a session.
    #[boxed]
    pub async fn create_session(&self, request: &SessionRequest) -> Result<Session, Error> {
        self.post(&["sessions"])
            .json(request)
            .idempotent()
            .fetch()
            .await
    }

    /// Returns a session, by its key, its ID or a prefix of its ID.
    #[boxed]
    pub async fn session(&self, session: &str) -> Result<Tagged<SessionView>, Error> {
        self.get(&["sessions", session]).fetch_tagged().await
    }

    /// Changes some fields of a session. With an entity tag, the server refuses if the session has changed since.
    #[boxed]
    pub async fn edit_session(
        &self,
        session: &str,
        patch: &SessionPatch,
        seen: Option<&str>,
    ) -> Result<SessionView, Error> {
        let call = self.call(Method::PATCH, &["sessions", session]);
        call.json(patch).if_match(seen).fetch().await
    }

    /// Deletes a session. If automations are bound to the session and `with_automations` is not set, the session
    /// stays and the result names them.
    #[boxed]
    pub async fn delete_session(
        &self,
        session: &str,
        with_automations: bool,
    ) -> Result<SessionDeleted, Error> {
        let call = self.delete(&["sessions", session]);
        let call = call.flag("with_automations", with_automations);
        match call.fetch().await {
            Err(Error::Problem(problem)) if problem.automations.is_some() => Ok(SessionDeleted {
                deleted: false,
                blocked_by_automations: true,
                automations: problem.automations.unwrap_or_default(),
                turns: 0,
            }),
            deleted => deleted,
        }
    }

    /// Lists the seats of a session.
    #[boxed]
    pub async fn seats(&self, session: &str) -> Result<Page<Seat>, Error> {
        self.get(&["sessions", session, "seats"]).fetch().await
    }

    /// Returns a seat of a session, by its name or its ID.
    #[boxed]
    pub async fn seat(&self, session: &str, seat: &str) -> Result<Seat, Error> {
        self.get(&["sessions", session, "seats", seat])
            .fetch()
            .await
    }

    /// Lists rows of a session's transcript.
    #[boxed]
    pub async fn messages(
        &self,
        session: &str,
        part: MessageRange,
        limit: Option<u32>,
    ) -> Result<Messages, Error> {
        let call = self.get(&["sessions", session, "messages"]);
        let call = match part {
            MessageRange::After(after) => call.query_param("after", Some(after)),
            MessageRange::Before(before) => call.query_param("before", Some(before)),
            MessageRange::FromRun(run) => call.query_param("from_run", Some(run)),
            MessageRange::Last(last) => call.query_param("last", Some(last)),
        };
        call.query_param("limit", limit).fetch().await
    }

    /// Sends a message to the entry seat of a session, and returns the run that answers it.
    #[boxed]
    pub async fn send_message(&self, session: &str, text: &str) -> Result<Run, Error> {
        self.send_message_to_seat(session, None, text).await
    }

    /// Sends a message to a seat of a session, by its name or its ID. Without one, the entry seat takes the message.
    #[boxed]
    pub async fn send_message_to_seat(
        &self,
        session: &str,
        seat: Option<&str>,
        text: &str,
    ) -> Result<Run, Error> {
        let request = SendMessageRequest {
            text: text.to_owned(),
            seat: seat.map(str::to_owned),
        };
        let call = self.post(&["sessions", session, "messages"]);
        call.json(&request).idempotent().fetch().await
    }

    /// Returns a part of the replay of a session, from the rows after a number.
    #[boxed]
    pub async fn replay(
        &self,
        session: &str,
        after: Option<i64>,
        limit: Option<u32>,
    ) -> Result<Replay, Error> {
        let call = self.get(&["sessions", session, "replay"]);
        call.query_param("after", after)
            .query_param("limit", limit)
            .fetch()
            .await
    }

    /// Streams the export of a session. If the connection breaks, the last item of the body is an error. Markdown
    /// shows instants in the time zone with the IANA name `zone`.
    #[boxed]
    pub async fn export_session(
        &self,
        session: &str,
        format: ExportFormat,
        zone: Option<&str>,
    ) -> Result<Body, Error> {
        let format = match format {
            ExportFormat::Jsonl => "jsonl",
            ExportFormat::Markdown => "markdown",
        };
        let call = self.get(&["sessions", session, "export"]);
        let call = call
            .query_param("format", Some(format))
            .query_param("zone", zone);
        Ok(call.stream().await?.into_body())
    }

    /// Cancels all runs of a session.
    #[boxed]
    pub async fn cancel_session(&self, session: &str) -> Result<SessionCancelled, Error> {
        self.post(&["sessions", session, "cancel"]).fetch().await
    }

    /// Moves a session to another state.
    #[boxed]
    pub async fn move_session(
        &self,
        session: &str,
        action: SessionMove,
        reason: Option<&str>,
    ) -> Result<SessionView, Error> {
        let request = StateChangeRequest {
            reason: reason.map(str::to_owned),
        };
        let call = self.post(&["sessions", session, action.as_str()]);
        call.json(&request).fetch().await
    }
}
