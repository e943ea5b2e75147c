//! The seats of a session, as people see them.

use model::{SessionId, entity::Seat};

use crate::{Error, Scope, boxed, database::Row, rows, store::Store};

/// A seat, with the names of the objects to which it refers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeatOverview {
    /// The seat.
    pub seat: Seat,
    /// The name of its agent.
    pub agent: String,
    /// The name of the instance on which its turns run. `None` if any instance may take the first one.
    pub instance: Option<String>,
    /// `true` if a run holds the seat, so that further inputs wait.
    pub is_busy: bool,
}

impl Store {
    /// Lists a session's seats with their names, the entry seat first.
    #[boxed]
    pub async fn seat_overviews(
        &self,
        scope: Scope,
        session: SessionId,
    ) -> Result<Vec<SeatOverview>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let found = tx
            .fetch_all(sql!("seats/overview"), params![scope.tenant(), session])
            .await?;
        let read = |row: &Row| {
            Ok(SeatOverview {
                seat: rows::seat(row)?,
                agent: row.get("agent_name")?,
                instance: row.optional("instance_name")?,
                is_busy: row.get("is_busy")?,
            })
        };
        found.iter().map(read).collect()
    }
}
