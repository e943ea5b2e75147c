//! The sweep that finds active goals which nothing would ever move.
//!
//! A transition leaves an active goal with an open turn, check, question or deadline. A goal without one is a fault of this
//! program, as a run without a promotion is. The sweep counts it and moves it, because a person who waits for the goal would
//! otherwise wait forever.

use model::{
    SessionId, Timestamp,
    goal::{Activity, Deadline, Event, SeatNo, TaskNo},
};

use super::{
    checks::broken,
    step::{failed_turn, lock_goal, move_goal},
};
use crate::{
    Error, Scope, boxed, goals::Goal, session_log::SessionLogWriter, store::Store,
    stored::DOCUMENT_FORMAT,
};

/// The maximum number of goals that one call of [`Store::move_idle_goals`] moves.
const MAX_IDLE_GOALS: u32 = 50;

impl Store {
    /// Moves active goals that have no open turn, check, question or deadline, each in a transaction of its own. Returns
    /// their number. Each is a fault of this program.
    ///
    /// # Errors
    ///
    /// A goal that cannot be moved does not block the others. The first such error is returned after all others have moved.
    #[boxed]
    pub async fn move_idle_goals(&self, now: Timestamp) -> Result<u32, Error> {
        let idle = {
            let mut tx = self.db.begin_read(Scope::System).await?;
            let none = None::<SessionId>;
            tx.fetch_all(
                sql!("goals/idle"),
                params![none, DOCUMENT_FORMAT, MAX_IDLE_GOALS],
            )
            .await?
        };
        let mut moved = 0;
        let mut first_error = None;
        for row in &idle {
            let session: SessionId = row.get("session_id")?;
            match self.move_idle_goal(session, now).await {
                Ok(has_moved) => moved += u32::from(has_moved),
                // A database that cannot be reached fails for all the others too.
                Err(error) if error.is_transient() => return Err(error),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        first_error.map_or(Ok(moved), Err)
    }

    async fn move_idle_goal(&self, session: SessionId, now: Timestamp) -> Result<bool, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                // The goal may have moved between the search and the lock.
                let Some(mut goal) = lock_goal(tx, session).await? else {
                    return Ok(false);
                };
                let params = params![session, DOCUMENT_FORMAT, 1_u32];
                if tx.fetch_all(sql!("goals/idle"), params).await?.is_empty() {
                    return Ok(false);
                }
                let events = lost_ends(&goal);
                tracing::error!(
                    %session,
                    events = events.len(),
                    "nothing would have moved the goal {session}: its turns, checks and questions are over"
                );
                let mut log = SessionLogWriter::default();
                move_goal(self, tx, &mut log, &mut goal, events, now).await?;
                log.write(tx, now).await?;
                Ok(true)
            })
        })
        .await
    }
}

/// Returns the ends that the graph of an idle goal still waits for. A graph that waits for nothing gets an event that only
/// lets it look for its next turn.
fn lost_ends(goal: &Goal) -> Vec<Event> {
    let graph = &goal.graph;
    let mut events = Vec::new();
    for (no, seat) in graph.seats().iter().enumerate() {
        if seat.turn.is_some() {
            events.push(failed_turn(SeatNo(no)));
        }
    }
    for (no, task) in graph.tasks().iter().enumerate() {
        match task.activity() {
            Some(Activity::Question { open, .. }) => {
                events.extend((0..*open).map(|_| Event::Answered(TaskNo(no))));
            }
            Some(Activity::Checks) => events.push(broken(goal, TaskNo(no))),
            _ => {}
        }
    }
    if events.is_empty() {
        events.push(Event::DeadlinePassed(Deadline::Seats));
    }
    events
}
