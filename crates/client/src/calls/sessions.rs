//! Sessions: begun, spoken to, looked at, moved on, deleted.

use http::Method;
use model::{
    RunId,
    session::{SessionKind, SessionStatus, SessionType},
};
use wire::{
    ExportFormat, Messages, Move, Page, Replay, Run, Seat, Session, SessionCancelled,
    SessionDeleted, SessionPatch, SessionRequest, SessionView, Words,
};

use super::{Part, Tagged};
use crate::{Body, Client, Error};

/// Which sessions a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionFilter {
    /// Those of these types; none: what the server shows unless asked otherwise.
    pub types: Vec<SessionType>,
    /// Those of a kind.
    pub kind: Option<SessionKind>,
    /// Those in a state.
    pub state: Option<SessionStatus>,
    /// Those that an automation made: its name, its id or the beginning of that.
    pub automation: Option<String>,
    /// Those with a text in their titles, keys or ids.
    pub text: Option<String>,
    /// Those first in which anything changed last; such a list has one page.
    pub by_change: bool,
    /// Which part.
    pub part: Part,
}

/// Which rows of a transcript are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessagePart {
    /// Those after this number.
    After(i64),
    /// Those from the beginning of what belongs to this run on.
    FromRun(RunId),
    /// The last ones, so many.
    Last(u32),
}

/// What moves a session on in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionMove {
    /// A draft becomes active.
    Enable,
    /// Everything that has not begun waits.
    Pause,
    /// What waited starts.
    Resume,
    /// It is done.
    Complete,
    /// One that is done or failed is put away.
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
    /// Lists sessions.
    pub async fn sessions(&self, filter: &SessionFilter) -> Result<Page<Session>, Error> {
        let types: Vec<_> = filter.types.iter().map(ToString::to_string).collect();
        let types = types.join(",");
        self.get(&["sessions"])
            .ask("type", Some(types).filter(|types| !types.is_empty()))
            .ask("kind", filter.kind)
            .ask("state", filter.state)
            .ask("automation", filter.automation.as_ref())
            .ask("text", filter.text.as_ref())
            .ask("order", filter.by_change.then_some("changed"))
            .part(&filter.part)
            .fetch()
            .await
    }

    /// Begins a session.
    pub async fn create_session(&self, request: &SessionRequest) -> Result<Session, Error> {
        self.post(&["sessions"]).json(request).once().fetch().await
    }

    /// Shows a session, by its key, its id or the beginning of that.
    pub async fn session(&self, session: &str) -> Result<Tagged<SessionView>, Error> {
        self.get(&["sessions", session]).fetch_tagged().await
    }

    /// Changes what of a session can be changed: with a tag, of the one that was seen alone.
    pub async fn edit_session(
        &self,
        session: &str,
        patch: &SessionPatch,
        seen: Option<&str>,
    ) -> Result<SessionView, Error> {
        let call = self.call(Method::PATCH, &["sessions", session]);
        call.json(patch).seen(seen).fetch().await
    }

    /// Deletes a session. Automations that are bound to it block that, which is no error; unless they are to
    /// go, too.
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
    pub async fn seats(&self, session: &str) -> Result<Page<Seat>, Error> {
        self.get(&["sessions", session, "seats"]).fetch().await
    }

    /// Shows a seat of a session, by its id.
    pub async fn seat(&self, session: &str, seat: &str) -> Result<Seat, Error> {
        self.get(&["sessions", session, "seats", seat])
            .fetch()
            .await
    }

    /// Lists rows of a session's transcript.
    pub async fn messages(
        &self,
        session: &str,
        part: MessagePart,
        limit: Option<u32>,
    ) -> Result<Messages, Error> {
        let call = self.get(&["sessions", session, "messages"]);
        let call = match part {
            MessagePart::After(after) => call.ask("after", Some(after)),
            MessagePart::FromRun(run) => call.ask("from_run", Some(run)),
            MessagePart::Last(last) => call.ask("last", Some(last)),
        };
        call.ask("limit", limit).fetch().await
    }

    /// Says something in a session; gives the run that the words became.
    pub async fn say(&self, session: &str, words: &str) -> Result<Run, Error> {
        let words = Words {
            words: words.to_owned(),
        };
        let call = self.post(&["sessions", session, "messages"]);
        call.json(&words).once().fetch().await
    }

    /// Tells what happened in a session, in order, behind a number.
    pub async fn replay(
        &self,
        session: &str,
        after: Option<i64>,
        limit: Option<u32>,
    ) -> Result<Replay, Error> {
        let call = self.get(&["sessions", session, "replay"]);
        call.ask("after", after).ask("limit", limit).fetch().await
    }

    /// Writes a session down, as it comes. A body that breaks off ends with an error. Markdown shows times in
    /// a zone, by its IANA name.
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
        let call = call.ask("format", Some(format)).ask("zone", zone);
        Ok(call.stream().await?.into_body())
    }

    /// Calls off everything in a session.
    pub async fn cancel_session(&self, session: &str) -> Result<SessionCancelled, Error> {
        self.post(&["sessions", session, "cancel"]).fetch().await
    }

    /// Moves a session on in its life.
    pub async fn move_session(
        &self,
        session: &str,
        how: SessionMove,
        reason: Option<&str>,
    ) -> Result<SessionView, Error> {
        let why = Move {
            reason: reason.map(str::to_owned),
        };
        let call = self.post(&["sessions", session, how.as_str()]);
        call.json(&why).fetch().await
    }
}
