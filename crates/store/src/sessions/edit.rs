//! Edits of the properties of a session that people set.

use model::{SessionId, Timestamp, entity::Session};

use crate::{Error, Scope, boxed, session_title::rename_session, store::Store};

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
                let titles = [seen.title.as_deref(), to.title.as_deref()];
                if rename_session(tx, scope, id, titles, now).await? {
                    return Ok(());
                }
                // Find out whether the session is missing or has changed.
                let existing = tx
                    .fetch_optional(sql!("sessions/by_id"), params![scope.tenant(), id])
                    .await?;
                Err(match existing {
                    None => Error::not_found("session", id),
                    Some(_) => Error::StaleVersion {
                        what: "session",
                        name: id.to_string(),
                    },
                })
            })
        })
        .await
    }
}
