//! Sessions: listing, reading, sending messages, cancelling, editing and deleting.

use std::{collections::BTreeMap, path::Path};

use api_types::{
    LastMessage, MAX_LINE_CHARS, Messages, OpenRun, Page, Seat, SessionCancelled, SessionDeleted,
    SessionEdit, SessionItem, SessionView,
};
use model::{
    InputId, RunId, SessionId,
    entity::{Run, Session},
    run::RunStatus,
    session::{Admission, SessionEvent, SessionKind, SessionStatus, SessionType},
};
use store::{Automations, ChangeCursor, RunFilter, SessionDeletion, SessionFilter, SessionOrder};

use crate::{Error, Service, automations::run_outcome, boxed, naming, text::plain_line};

/// The number of a session's open runs that are read at once.
const OPEN_RUNS_PAGE_SIZE: u32 = 200;

/// The number of characters of a session's last message that are read for a list. White space counts among them, and
/// the line has none of it.
const READ_MESSAGE_CHARS: u32 = 1000;

/// The reason of a cancellation by a person.
pub(crate) const CANCEL_REASON: &str = "cancelled by a person";

/// The filters and the page of a list of sessions.
#[derive(Debug, Clone, Default)]
pub struct SessionQuery {
    /// The session types. `None` means only `regular`, or every type if `automation` is set.
    pub types: Option<Vec<SessionType>>,
    /// The session kind.
    pub kind: Option<SessionKind>,
    /// The session status.
    pub state: Option<SessionStatus>,
    /// `true` for the sessions of goals, `false` for the others. `None` means both.
    pub of_goal: Option<bool>,
    /// The automation that created the sessions: its name, its ID or an ID prefix.
    pub automation: Option<String>,
    /// A text that the title, the key or the ID contains.
    pub text: Option<String>,
    /// The order of the list, with the last session of the previous page.
    pub order: SessionOrder,
    /// The highest number of sessions on the page.
    pub limit: u32,
}

fn session_item(item: store::SessionItem) -> SessionItem {
    let store::SessionItem {
        session,
        last_message,
        last_run,
        removed_instance,
    } = item;
    SessionItem {
        session: session.into(),
        last_message: last_message.map(|message| LastMessage {
            role: message.role.into(),
            text: plain_line(&message.content, MAX_LINE_CHARS),
            at: message.created_at,
        }),
        last_run: last_run.map(run_outcome),
        removed_instance,
    }
}

impl Service {
    /// Lists sessions, each with its last message and its last run: the newest first, or the most recently changed
    /// first.
    #[boxed]
    pub async fn sessions(&self, query: &SessionQuery) -> Result<Page<SessionItem>, Error> {
        let automation = match &query.automation {
            Some(given) => Some(self.find_automation(given).await?.id),
            None => None,
        };
        let types = match (&query.types, automation) {
            (Some(types), _) => types.clone(),
            (None, Some(_)) => SessionType::ALL.to_vec(),
            (None, None) => vec![SessionType::Regular],
        };
        let filter = SessionFilter {
            types,
            kind: query.kind,
            state: query.state,
            of_goal: query.of_goal,
            automation,
            text: query.text.clone(),
        };
        let found = self
            .store
            .session_items(
                self.tenant,
                &filter,
                query.order,
                query.limit + 1,
                READ_MESSAGE_CHARS,
            )
            .await?;
        let page = Page::of(found, query.limit, |item| match query.order {
            SessionOrder::Created { .. } => item.session.id.to_string(),
            SessionOrder::Changed { .. } => ChangeCursor {
                at: item.session.updated_at,
                id: item.session.id,
            }
            .to_string(),
        });
        Ok(page.map(session_item))
    }

    /// Returns one session with its open runs, by its key, its ID or an ID prefix.
    #[boxed]
    pub async fn session(&self, given: &str) -> Result<SessionView, Error> {
        let session = self.find_session(given).await?;
        let runs = self.open_runs(session.id).await?;
        let mut open_runs = Vec::with_capacity(runs.len());
        for run in runs {
            let blocked_on = self.blocked_on(&run).await?;
            open_runs.push(OpenRun {
                run: run.into(),
                blocked_on,
            });
        }
        let bound = match &session.session_key {
            None => Automations::default(),
            Some(key) => self.store.automations_bound_to(self.tenant, key).await?,
        };
        let readable = bound.readable.into_iter().map(|it| it.name);
        let unreadable = bound.corrupt.into_iter().map(|it| it.name);
        let seats = self.seats_of(session.id).await?;
        Ok(SessionView {
            bound_automations: readable.chain(unreadable).collect(),
            own_folder: self.own_folder(&session),
            seats,
            open_runs,
            oldest_event: self
                .store
                .oldest_event_seq(self.scope(), session.id)
                .await?,
            session: session.into(),
        })
    }

    async fn seats_of(&self, session: SessionId) -> Result<Vec<Seat>, Error> {
        let found = self.store.seat_overviews(self.scope(), session).await?;
        let mut seats = Vec::with_capacity(found.len());
        for overview in found {
            let store::SeatOverview {
                seat,
                agent,
                instance,
                is_busy,
            } = overview;
            let mut seat = Seat::from(seat);
            seat.agent = Some(agent);
            seat.instance = instance;
            seat.is_busy = is_busy;
            seat.removed_instance = self
                .removed_instance(seat.placed_on.or(seat.instance_id))
                .await?;
            seats.push(seat);
        }
        Ok(seats)
    }

    /// Returns the path of the session's own folder if it is in the data folder of this server.
    fn own_folder(&self, session: &Session) -> Option<String> {
        if session.cwd.is_some() {
            return None;
        }
        let path = self.store.working_directory(None, session.id);
        Some(path).filter(|path| Path::new(path).is_dir())
    }

    /// Returns the runs of a session that are not over, the oldest first.
    async fn open_runs(&self, session: SessionId) -> Result<Vec<Run>, Error> {
        // A run that changes its status between two queries is read twice. The map keeps its last reading.
        let mut open = BTreeMap::new();
        for status in RunStatus::ALL {
            if status.is_over() {
                continue;
            }
            let filter = RunFilter {
                session: Some(session),
                statuses: vec![*status],
                ..RunFilter::default()
            };
            let mut page = store::Page::first(OPEN_RUNS_PAGE_SIZE);
            loop {
                let found = self.store.run_page(self.scope(), &filter, page).await?;
                page.after = found.last().map(|run| run.id);
                let is_last_page = found.len() < OPEN_RUNS_PAGE_SIZE as usize;
                open.extend(found.into_iter().map(|run| (run.id, run)));
                if is_last_page {
                    break;
                }
            }
        }
        Ok(open.into_values().collect())
    }

    /// Returns the last rows of a transcript, and the number of rows before them.
    #[boxed]
    pub async fn last_messages(&self, given: &str, last: u32) -> Result<Messages, Error> {
        let session = self.find_session(given).await?.id;
        let page = self.earlier_messages(session, None, last).await?;
        let before = match page.previous {
            // Without an earlier row, there is nothing to count.
            None => 0,
            Some(previous) => {
                let counted = self
                    .store
                    .count_messages_before(self.scope(), session, previous);
                counted.await?
            }
        };
        Ok(Messages {
            before: Some(before),
            ..page
        })
    }

    /// Returns the last `limit` rows of a transcript before the number `before`, in order.
    #[boxed]
    pub async fn messages_before(
        &self,
        given: &str,
        before: i64,
        limit: u32,
    ) -> Result<Messages, Error> {
        let session = self.find_session(given).await?.id;
        self.earlier_messages(session, Some(before), limit).await
    }

    async fn earlier_messages(
        &self,
        session: SessionId,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Messages, Error> {
        let page = self
            .store
            .messages_before(self.scope(), session, before, limit);
        let page = page.await?;
        Ok(Messages {
            items: page.messages.into_iter().map(Into::into).collect(),
            previous: page.previous,
            ..Messages::default()
        })
    }

    /// Returns up to `limit` rows of a transcript from the first row of a run on, in order.
    #[boxed]
    pub async fn messages_from_run(
        &self,
        given: &str,
        run: RunId,
        limit: u32,
    ) -> Result<Messages, Error> {
        let session = self.find_session(given).await?.id;
        let start = self.store.seq_before_run(self.scope(), run).await?;
        let page = self.messages(given, start, limit).await?;
        let earlier = self.earlier_messages(session, Some(start.saturating_add(1)), 0);
        Ok(Messages {
            previous: earlier.await?.previous,
            ..page
        })
    }

    /// Returns up to `limit` rows of a transcript after the number `after`, in order.
    #[boxed]
    pub async fn messages(&self, given: &str, after: i64, limit: u32) -> Result<Messages, Error> {
        let session = self.find_session(given).await?.id;
        let mut items = self
            .store
            .messages(self.scope(), session, after, limit + 1)
            .await?;
        // One row more than requested was read, to know whether another page follows.
        let more = items.len() > limit as usize;
        items.truncate(limit as usize);
        Ok(Messages {
            next: items.last().filter(|_| more).map(|last| last.seq),
            items: items.into_iter().map(Into::into).collect(),
            ..Messages::default()
        })
    }

    /// Sends a person's message to the entry seat of a session and returns the resulting run. With a reserved ID for the
    /// `input`, a repeated request does not send the message again.
    ///
    /// # Errors
    ///
    /// Returns an error if the message is empty or too long, or if the session is closed.
    #[boxed]
    pub async fn send_message(
        &self,
        given: &str,
        text: &str,
        input: Option<InputId>,
    ) -> Result<Run, Error> {
        self.send_message_to_seat(given, None, text, input).await
    }

    /// Sends a person's message to a seat of a session, by its name or its ID. Without one, the entry seat takes the message.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Service::send_message`], and an error if the session has no such seat.
    #[boxed]
    pub async fn send_message_to_seat(
        &self,
        given: &str,
        seat: Option<&str>,
        text: &str,
        input: Option<InputId>,
    ) -> Result<Run, Error> {
        // Before any check, because the session may have been closed since the first request.
        if let Some(run) = self.first_run_of_input(input).await? {
            return Ok(run);
        }
        naming::validate_content("text", text)?;
        let session = self.find_session(given).await?;
        if session.status().admission() == Admission::Refuse {
            return Err(self.closed_session(given, &session).await);
        }
        let (now, id) = (self.now(), session.id);
        let store = &self.store;
        let submitted = if let Some(seat) = seat {
            let to = (id, self.find_seat(id, seat).await?);
            store
                .send_message_to_seat(self.tenant, to, input, text, now)
                .await
        } else {
            store.send_message(self.tenant, id, input, text, now).await
        };
        self.run_of_input(input, submitted).await
    }

    /// Returns the error for a message to a closed session, which may be that of a goal.
    async fn closed_session(&self, given: &str, session: &Session) -> Error {
        match self.store.goal(self.scope(), session.id).await {
            Ok(goal) if goal.state.is_over() => Error::GoalEnded {
                goal: given.to_owned(),
                state: goal.state,
            },
            _ => Error::SessionClosed {
                session: given.to_owned(),
                state: session.status(),
            },
        }
    }

    /// Cancels every run of a session that is not over. Returns how many there were.
    #[boxed]
    pub async fn cancel_session(&self, given: &str) -> Result<SessionCancelled, Error> {
        let session = self.find_session(given).await?;
        let cancelled = self
            .store
            .cancel_session_runs(self.scope(), session.id, CANCEL_REASON, self.now())
            .await?;
        Ok(SessionCancelled {
            session_id: session.id,
            cancelled,
        })
    }

    /// Applies an event such as pause, resume or close to a session. Running turns go on in any case. A paused
    /// session holds back its other runs until it is resumed; a closed session cancels them.
    #[boxed]
    pub async fn move_session(
        &self,
        given: &str,
        event: SessionEvent,
        reason: Option<&str>,
    ) -> Result<SessionView, Error> {
        let reason = match reason {
            Some(reason) => Some(naming::validate_name("reason", reason)?),
            None => None,
        };
        let id = self.find_session(given).await?.id;
        self.store
            .transition_session(self.scope(), id, event, reason.as_deref(), self.now())
            .await?;
        self.session(&id.to_string()).await
    }

    /// Changes the title of a session, if the session is still as `seen`.
    #[boxed]
    pub async fn edit_session(
        &self,
        id: SessionId,
        seen: &SessionEdit,
        to: &SessionEdit,
    ) -> Result<SessionView, Error> {
        let title = match &to.title {
            Some(title) => Some(naming::validate_name("title", title)?),
            None => None,
        };
        let seen = store::SessionEdit {
            title: seen.title.clone(),
        };
        let to = store::SessionEdit { title };
        self.store
            .edit_session(self.scope(), id, &seen, &to, self.now())
            .await?;
        self.session(&id.to_string()).await
    }

    /// Deletes a session. If automations are bound to it, deletes nothing and returns these automations, unless
    /// `with_automations` is set, which deletes them as well. A running turn is cancelled: its worker loses its fence
    /// with the row of the run, so that the store answers the next heartbeat with "lost".
    #[boxed]
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
            SessionDeletion::Deleted {
                automations,
                cancelled_turns: turns,
            } => (true, automations, turns),
            SessionDeletion::BlockedBy(automations) => (false, automations, 0),
        };
        Ok(SessionDeleted {
            deleted,
            blocked_by_automations: !deleted,
            automations: automations.into_iter().map(Into::into).collect(),
            turns,
        })
    }
}
