//! Unified mode: automations of the web go to one conversation, which every web chat shows.
//!
//! **Invariant:** the mode decides where something new is bound and what a chat shows. It moves nothing
//! that is there, be it switched on or off.

use model::{
    SessionId,
    entity::{SeatSettings, Session},
    harness::Harness,
    session::{SessionKind, SessionType},
};
use store::{InSession, NewSession};
use wire::{AutomationRequest, SeatSettingsRequest};

use crate::{Error, Service, Unified, working_directory};

/// The key of the one conversation.
const UNIFIED_KEY: &str = "unified:default";

/// What the keys of web chats begin with.
const OF_THE_WEB: &str = "web:";

impl Service {
    /// The session to which an automation is to be bound: the one that is named, but where that is a web
    /// chat and unified mode is on, the one conversation. One that is bound to a web chat, `bound_so_far`, may
    /// stay there.
    pub(crate) async fn session_to_bind(
        &self,
        request: &AutomationRequest,
        given: &str,
        bound_so_far: Option<&str>,
    ) -> Result<Session, Error> {
        let Unified { on, by_browser } = self.unified;
        if given.is_empty() && !(on && by_browser) {
            return Err(Error::Missing {
                field: "session",
                what: "a session",
                expected: "accepted are bound: and the key or the id of a session".into(),
            });
        }
        if on && (given.is_empty() || given == UNIFIED_KEY) {
            return self.unified_session(request, None).await;
        }
        let session = self.find_session(given).await?;
        let stays = bound_so_far.is_some() && session.session_key.as_deref() == bound_so_far;
        if on && is_of_the_web(&session) && !stays {
            return self.unified_session(request, Some(&session)).await;
        }
        Ok(session)
    }

    /// What a list of automations shows for a session.
    pub(crate) async fn shown_in(&self, given: &str) -> Result<InSession, Error> {
        let session = self.find_session(given).await?;
        let unified = self.unified.on && is_of_the_web(&session);
        Ok(InSession {
            session: session.id,
            key: session.session_key,
            other_key: unified.then(|| UNIFIED_KEY.to_owned()),
        })
    }

    /// The one conversation. Whoever needs it first has it made, with the harness that is asked for, else
    /// with that of the chat from which it is asked.
    async fn unified_session(
        &self,
        request: &AutomationRequest,
        chat: Option<&Session>,
    ) -> Result<Session, Error> {
        let find = async || self.store.session_by_key(self.tenant, UNIFIED_KEY).await;
        if let Some(found) = find().await? {
            return Ok(found);
        }
        let harness = match (&request.harness, chat) {
            (None, Some(chat)) => self.harness_of(chat).await?,
            _ => self.named_harness(request).await?,
        };
        self.require_restore(&harness).await?;
        // What would be refused once it is there is refused before it is made.
        if let Some(cwd) = working_directory::check(request.cwd.as_deref())? {
            let problem = "the unified conversation has a folder of its own";
            return Err(working_directory::invalid(&cwd, problem));
        }
        if request.settings != SeatSettingsRequest::default() {
            let problem = "the unified conversation begins with the settings of its harness";
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
            cwd: self.store.working_directory(None, id),
            schedule_id: None,
            harness: harness.id,
            settings: SeatSettings::default(),
        };
        match self.store.create_session(self.tenant, &new, now).await {
            // Somebody else needed it at the same time.
            Ok(_) | Err(store::Error::Exists { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let made = find().await?;
        made.ok_or_else(|| Error::NotFound {
            what: "session",
            given: UNIFIED_KEY.to_owned(),
            nearest: None,
        })
    }

    async fn harness_of(&self, session: &Session) -> Result<Harness, Error> {
        let seats = self.store.seats(self.scope(), session.id).await?;
        let seat = seats.iter().find(|seat| seat.is_entry);
        let seat = seat.ok_or_else(|| {
            let problem = "it has no agent that takes inputs";
            Error::invalid("session", &session.id.to_string(), problem)
        })?;
        Ok(self.store.harness(self.scope(), seat.harness_id).await?)
    }
}

fn is_of_the_web(session: &Session) -> bool {
    let key = session.session_key.as_deref();
    key.is_some_and(|key| key.starts_with(OF_THE_WEB))
}
