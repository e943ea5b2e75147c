//! Unified mode: automations that are created in web chats are bound to one conversation, and every web chat lists
//! them.
//!
//! **Invariant:** the mode decides only about new bindings and about lists. Switching it on or off never moves an
//! existing binding.

use api_types::{AutomationRequest, SeatSettingsRequest};
use model::{
    SessionId,
    agent::Agent,
    entity::{SeatSettings, Session},
    session::{SessionKind, SessionType},
};
use store::{NewSeat, NewSession, SessionSelector};

use crate::{Error, Service, UnifiedMode, working_directory};

/// The session key of the unified conversation.
const UNIFIED_KEY: &str = "unified:default";

/// The prefix of the session keys of web chats.
const WEB_CHAT_KEY_PREFIX: &str = "web:";

impl Service {
    /// Returns the session to which an automation is to be bound. In unified mode this is the unified conversation
    /// instead of a web chat. An edit may keep a web chat to which the automation is bound already (`bound_so_far`).
    ///
    /// # Errors
    ///
    /// Returns an error if the session is missing or does not exist.
    pub(crate) async fn session_to_bind(
        &self,
        request: &AutomationRequest,
        given: &str,
        bound_so_far: Option<&str>,
    ) -> Result<Session, Error> {
        let UnifiedMode {
            enabled,
            by_browser,
        } = self.unified;
        if given.is_empty() && !(enabled && by_browser) {
            return Err(Error::Missing {
                field: "session",
                expected: "accepted is `bound:` with the key or the ID of a session".into(),
            });
        }
        if enabled && (given.is_empty() || given == UNIFIED_KEY) {
            return self.unified_session(request, None).await;
        }
        let session = self.find_session(given).await?;
        let keeps_chat = bound_so_far.is_some() && session.session_key.as_deref() == bound_so_far;
        if enabled && is_web_chat(&session) && !keeps_chat {
            return self.unified_session(request, Some(&session)).await;
        }
        Ok(session)
    }

    /// Returns the filter of a list of automations for a session.
    pub(crate) async fn session_filter(&self, given: &str) -> Result<SessionSelector, Error> {
        let session = self.find_session(given).await?;
        let unified = self.unified.enabled && is_web_chat(&session);
        Ok(SessionSelector {
            session: session.id,
            key: session.session_key,
            other_key: unified.then(|| UNIFIED_KEY.to_owned()),
        })
    }

    /// Returns the unified conversation. Creates it if necessary, with the agent of the request or else with that
    /// of `chat`.
    async fn unified_session(
        &self,
        request: &AutomationRequest,
        chat: Option<&Session>,
    ) -> Result<Session, Error> {
        let find = async || self.store.session_by_key(self.tenant, UNIFIED_KEY).await;
        if let Some(found) = find().await? {
            return Ok(found);
        }
        let agent = match (&request.agent, chat) {
            (None, Some(chat)) => self.agent_of_session(chat).await?,
            _ => self.requested_agent(request).await?,
        };
        self.require_restore(&agent, None).await?;
        // Refuse the request before the conversation is created, so that a refused request leaves no conversation
        // behind.
        if let Some(cwd) = self
            .validate_directory(request.cwd.as_deref(), None)
            .await?
        {
            let problem = "the unified conversation has a folder of its own";
            return Err(working_directory::invalid(&cwd, problem));
        }
        if request.settings != SeatSettingsRequest::default() {
            let problem = "the unified conversation begins with the settings of its agent";
            return Err(Error::invalid("session", UNIFIED_KEY, problem));
        }
        let now = self.now();
        let id = SessionId::generate(now, &*self.entropy);
        let new = NewSession {
            id,
            kind: SessionKind::Interactive,
            session_type: SessionType::Regular,
            key: Some(UNIFIED_KEY.to_owned()),
            title: None,
            draft: false,
            channel: None,
            cwd: None,
            placed_on: None,
            automation_id: None,
            entry: NewSeat::only(agent.id, SeatSettings::default()),
            other_seats: Vec::new(),
        };
        match self.store.create_session(self.tenant, &new, now).await {
            // A concurrent request has created the conversation, which is read below.
            Ok(_) | Err(store::Error::NameTaken { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let created = find().await?;
        created.ok_or_else(|| Error::NotFound {
            what: "session",
            given: UNIFIED_KEY.to_owned(),
            nearest: None,
        })
    }

    async fn agent_of_session(&self, session: &Session) -> Result<Agent, Error> {
        let seats = self.store.seats(self.scope(), session.id).await?;
        let seat = seats.iter().find(|seat| seat.is_entry);
        let seat = seat.ok_or_else(|| {
            let problem = "it has no agent that accepts inputs";
            Error::invalid("session", &session.id.to_string(), problem)
        })?;
        Ok(self.store.agent(self.scope(), seat.agent_id).await?)
    }
}

fn is_web_chat(session: &Session) -> bool {
    let key = session.session_key.as_deref();
    key.is_some_and(|key| key.starts_with(WEB_CHAT_KEY_PREFIX))
}
