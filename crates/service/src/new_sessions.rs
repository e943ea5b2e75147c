//! The creation of sessions.

use api_types::{ChannelRequest, SeatSettingsRequest, SessionRequest};
use model::{
    InstanceId, SessionId,
    entity::{Channel, Session},
    session::{SessionKind, SessionType},
};
use store::{NewSeat, NewSession};

use crate::{Error, Service, boxed, naming, new_seats::plan_seats};

/// The channel whose sessions have a session type of their own.
const SLACK_CHANNEL: &str = "slack";

/// The seats of a new session.
struct NewSeats {
    kind: SessionKind,
    entry: NewSeat,
    others: Vec<NewSeat>,
}

impl Service {
    /// Creates a session in which people talk with an agent, or a background session with several seats. With a reserved
    /// `id`, returns the session that an earlier request has created.
    ///
    /// # Errors
    ///
    /// Returns an error if a field is invalid, if the key is in use, or if an agent cannot restore sessions.
    #[boxed]
    pub async fn create_session(
        &self,
        request: &SessionRequest,
        id: Option<SessionId>,
    ) -> Result<Session, Error> {
        if let Some(id) = id {
            // Before any check: the agent or the directory may have changed since the first request.
            match self.store.session(self.scope(), id).await {
                Err(store::Error::NotFound { .. }) => {}
                existing => return Ok(existing?),
            }
        }
        let placed_on = self.find_placement(request.placed_on.as_deref()).await?;
        let NewSeats {
            kind,
            entry,
            others: other_seats,
        } = self.new_seats(request, placed_on).await?;
        let title = match &request.title {
            Some(title) => Some(naming::validate_name("title", title)?),
            None => None,
        };
        let cwd = self
            .validate_directory(request.cwd.as_deref(), placed_on)
            .await?;
        let key = match &request.session_key {
            Some(key) => Some(naming::validate_new_name("session_key", key, None)?),
            None => None,
        };
        let channel = request.channel.as_ref().map(validate_channel).transpose()?;
        let now = self.now();
        let id = id.unwrap_or_else(|| SessionId::generate(now, &*self.entropy));
        let new = NewSession {
            id,
            kind,
            session_type: match &channel {
                Some(channel) if channel.channel == SLACK_CHANNEL => SessionType::ChannelSlack,
                _ => SessionType::Regular,
            },
            draft: request.draft,
            channel,
            // Automations are bound to a session by its key, so every session gets one.
            key: key.or_else(|| Some(format!("cli:{}", id.uuid().simple()))),
            title,
            cwd,
            placed_on,
            automation_id: None,
            entry,
            other_seats,
        };
        match self.store.create_session(self.tenant, &new, now).await {
            // A concurrent copy of this request has created the session.
            Ok(_) | Err(store::Error::AlreadyCreated { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(self.store.session(self.scope(), id).await?)
    }

    /// Returns the seats that a request describes, and the kind of a session with such seats.
    async fn new_seats(
        &self,
        request: &SessionRequest,
        placed_on: Option<InstanceId>,
    ) -> Result<NewSeats, Error> {
        let kind = kind_of(request)?;
        match (&request.seats, &request.agent) {
            (None, Some(agent)) => {
                let agent = self.find_agent(agent).await?;
                self.require_restore(&agent, placed_on).await?;
                Ok(NewSeats {
                    kind,
                    entry: NewSeat::only(agent.id, request.settings.clone().into()),
                    others: Vec::new(),
                })
            }
            (Some(_), Some(agent)) => {
                let problem = "`seats` excludes it, because each seat names its agent; accepted is one of both";
                Err(Error::invalid("agent", agent, problem))
            }
            (Some(_), None) if request.settings != SeatSettingsRequest::default() => {
                let given = serde_json::to_string(&request.settings).unwrap_or_default();
                let problem = "`seats` excludes it; accepted are the `settings` of each seat";
                Err(Error::invalid("settings", &given, problem))
            }
            (Some(seats), None) => {
                let planned = plan_seats(seats)?;
                let mut new = Vec::with_capacity(planned.len());
                for seat in planned {
                    let field = format!("seats[{}].agent", seat.index);
                    let agent = self.find_agent(&seat.request.agent).await;
                    let agent = agent.map_err(|error| error.at_field(field.clone()))?;
                    let restores = self.require_restore(&agent, placed_on).await;
                    restores.map_err(|error| error.at_field(field))?;
                    new.push(seat.into_new_seat(agent.id));
                }
                let mut new = new.into_iter();
                match new.next() {
                    Some(entry) => Ok(NewSeats {
                        kind,
                        entry,
                        others: new.collect(),
                    }),
                    None => Err(Error::Missing {
                        field: "seats",
                        expected: "1 to 16 seats".into(),
                    }),
                }
            }
            (None, None) if kind == SessionKind::Background => Err(Error::Missing {
                field: "seats",
                expected: "a background session has 1 to 16 seats".into(),
            }),
            (None, None) => Err(Error::Missing {
                field: "agent",
                expected: "the name or the ID of an agent, or `seats` for a background session"
                    .into(),
            }),
        }
    }
}

/// Returns the kind of a new session: the given one, which must fit the seats, or the one that follows from them.
fn kind_of(request: &SessionRequest) -> Result<SessionKind, Error> {
    let kind = match &request.seats {
        Some(_) => SessionKind::Background,
        None => SessionKind::Interactive,
    };
    match request.kind {
        None => Ok(kind),
        Some(given) if given == kind => Ok(kind),
        // The missing seats are reported.
        Some(SessionKind::Background) if request.agent.is_none() => Ok(SessionKind::Background),
        Some(given) => {
            let problem = match kind {
                SessionKind::Background => "a session with `seats` is `background`",
                _ => "a session with `agent` is `interactive`; `background` needs `seats`",
            };
            Err(Error::invalid("kind", given.as_str(), problem))
        }
    }
}

/// Returns the validated address of a chat in its channel.
fn validate_channel(given: &ChannelRequest) -> Result<Channel, Error> {
    Ok(Channel {
        channel: naming::validate_name("channel.channel", &given.channel)?,
        chat_id: naming::validate_name("channel.chat_id", &given.chat_id)?,
        thread: match &given.thread {
            Some(thread) => Some(naming::validate_name("channel.thread", thread)?),
            None => None,
        },
    })
}
