//! The presence of the seats of goals, which follows from the servers of their instances.

use std::collections::BTreeMap;

use model::{
    InstanceId, SeatId, SessionId, Timestamp,
    goal::{Event, GoalState, Presence},
    limits,
};

use super::{
    people::start_message_turns,
    step::{lock_goal, move_goal},
};
use crate::{
    Error, Scope, boxed,
    database::{Row, Tx},
    session_log::SessionLogWriter,
    store::Store,
    stored::DOCUMENT_FORMAT,
};

/// The maximum number of seats whose changes one call of [`Store::note_seat_presence`] finds.
const MAX_CHANGED_SEATS: u32 = 500;

impl Store {
    /// Moves open goals with seats whose instance came, went or was removed, each goal in a transaction of its own. Returns
    /// the number of goals. `own` is the instance of the server that calls, whose seats count as online.
    ///
    /// # Errors
    ///
    /// A goal that cannot be moved does not block the others. The first such error is returned after all others have moved.
    #[boxed]
    pub async fn note_seat_presence(&self, own: InstanceId, now: Timestamp) -> Result<u32, Error> {
        let changed = {
            let mut tx = self.db.begin_read(Scope::System).await?;
            read_changes(&mut tx, None, own, now).await?
        };
        let mut moved = 0;
        let mut first_error = None;
        for session in changed.keys() {
            match self.note_presence_in(*session, own, now).await {
                Ok(has_moved) => moved += u32::from(has_moved),
                // A database that cannot be reached fails for all the others too.
                Err(error) if error.is_transient() => return Err(error),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        first_error.map_or(Ok(moved), Err)
    }

    async fn note_presence_in(
        &self,
        session: SessionId,
        own: InstanceId,
        now: Timestamp,
    ) -> Result<bool, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                // Read again under the lock, because another server may have moved the goal meanwhile.
                let Some(mut goal) = lock_goal(tx, session).await? else {
                    return Ok(false);
                };
                let changed = read_changes(tx, Some(session), own, now).await?;
                let Some(changed) = changed.get(&session) else {
                    return Ok(false);
                };
                let rows = changed.iter();
                let rows = rows.map(|(seat, presence)| params![*seat, presence.as_str()]);
                tx.execute_rows(sql!("seats/set_presence"), rows.collect(), params![])
                    .await?;
                // One event for all of them, so that no task moves to another seat of a removed instance. A removed seat
                // accepts no further change.
                let seats = goal.graph.seats();
                let changes = changed.iter().filter_map(|(seat, presence)| {
                    let no = goal.seat_no(*seat)?;
                    let is_removed = seats.get(no.0)?.presence == Presence::Removed;
                    (!is_removed).then_some((no, *presence))
                });
                let event = Event::SeatPresence(changes.collect());
                let was_active = goal.graph.goal() == GoalState::Active;
                let mut log = SessionLogWriter::default();
                move_goal(self, tx, &mut log, &mut goal, vec![event], now).await?;
                log.write(tx, now).await?;
                if !was_active && goal.graph.goal() == GoalState::Active {
                    start_message_turns(self, tx, &goal, now).await?;
                }
                Ok(true)
            })
        })
        .await
    }
}

/// Returns the seats of each open goal whose presence has changed.
async fn read_changes(
    tx: &mut Tx,
    only: Option<SessionId>,
    own: InstanceId,
    now: Timestamp,
) -> Result<BTreeMap<SessionId, Vec<(SeatId, Presence)>>, Error> {
    let online_since = now.saturating_sub(limits::SERVER_OFFLINE_AFTER);
    let params = params![only, online_since, own, DOCUMENT_FORMAT, MAX_CHANGED_SEATS];
    let rows = tx.fetch_all(sql!("goals/seat_changes"), params).await?;
    let mut changed: BTreeMap<SessionId, Vec<_>> = BTreeMap::new();
    let read = |row: &Row| Ok::<_, Error>((row.get("seat_id")?, row.parse("presence")?));
    for row in &rows {
        let seats = changed.entry(row.get("session_id")?).or_default();
        seats.push(read(row)?);
    }
    Ok(changed)
}
