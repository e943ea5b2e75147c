//! Changing what people say of a session.

use model::{SessionId, Timestamp, entity::Session, event::SessionChange, session::SessionStatus};

use crate::{Error, Scope, journal, store::Store};

/// What people say of a session and may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionEdit {
    /// What lists call it; absent: its agent may name it.
    pub title: Option<String>,
}

impl SessionEdit {
    /// What a session says.
    pub fn of(session: &Session) -> Self {
        Self {
            title: session.title.clone(),
        }
    }
}

impl Store {
    /// Changes a session, closed or not. Where it is something else by now than `seen`, nothing is changed.
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
                // The statement compares, so that of two who change it one has lost.
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
                let Some(edited) = edited else {
                    let there = tx
                        .fetch_optional(sql!("sessions/by_id"), params![scope.tenant(), id])
                        .await?;
                    return Err(match there {
                        None => Error::not_found("session", id),
                        Some(_) => Error::Changed {
                            what: "session",
                            name: id.to_string(),
                        },
                    });
                };
                if seen != to {
                    let state: SessionStatus = edited.parse("state")?;
                    let title = to.title.clone();
                    let change = SessionChange::Renamed { state, title };
                    journal::session(tx, id, change, now).await?;
                }
                Ok(())
            })
        })
        .await
    }
}
