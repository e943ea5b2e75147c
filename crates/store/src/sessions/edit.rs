//! Edits of the properties of a session that people set.

use model::{SessionId, Timestamp, entity::Session, event::SessionChange, session::SessionStatus};

use crate::{Error, Scope, boxed, session_log, store::Store};

/// The properties of a session that people can edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionEdit {
    /// The title that lists show. `None` lets the agent name the session.
    pub title: Option<String>,
}

impl SessionEdit {
    /// Returns the current properties of a session.
    pub fn of(session: &Session) -> Self {
        Self {
            title: session.title.clone(),
        }
    }
}

impl Store {
    /// Edits a session, closed or not.
    ///
    /// # Errors
    ///
    /// Returns [`Error::StaleVersion`] if the session no longer equals `seen`, and changes nothing.
    #[boxed]
    pub async fn edit_session(
        &self,
        scope: Scope,
        id: SessionId,
        seen: &SessionEdit,
        to: &SessionEdit,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                // 1. Write. Optimistic locking: the statement compares with `seen`, so that the second of two
                // concurrent edits fails.
                let edited = tx
                    .fetch_optional(
                        sql!("sessions/edit"),
                        params![
                            scope.tenant(),
                            id,
                            seen.title.as_deref(),
                            to.title.as_deref(),
                            now
                        ],
                    )
                    .await?;
                // 2. If the statement changed no row, find out whether the session is missing or has changed.
                let Some(edited) = edited else {
                    let existing = tx
                        .fetch_optional(sql!("sessions/by_id"), params![scope.tenant(), id])
                        .await?;
                    return Err(match existing {
                        None => Error::not_found("session", id),
                        Some(_) => Error::StaleVersion {
                            what: "session",
                            name: id.to_string(),
                        },
                    });
                };
                // 3. Log the edit. Omit the event of an edit that changes nothing.
                if seen != to {
                    let state: SessionStatus = edited.parse("state")?;
                    let title = to.title.clone();
                    let change = SessionChange::Renamed { state, title };
                    session_log::write_session_change(tx, id, change, now).await?;
                }
                Ok(())
            })
        })
        .await
    }
}
