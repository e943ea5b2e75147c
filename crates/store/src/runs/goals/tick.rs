//! The deadlines of goals.

use model::{SessionId, Timestamp, goal::Event};

use super::step::{lock_goal, move_goal};
use crate::{
    Error, Scope, boxed, session_log::SessionLogWriter, store::Store, stored::DOCUMENT_FORMAT,
};

/// The maximum number of goals that one call of [`Store::pass_goal_deadlines`] moves.
const MAX_DUE_GOALS: u32 = 200;
impl Store {
    /// Moves goals whose deadline has passed or whose time is over, each in a transaction of its own. Returns the number of these goals.
    ///
    /// # Errors
    ///
    /// A goal that cannot be moved does not block the others. The first such error is returned after all others have moved.
    #[boxed]
    pub async fn pass_goal_deadlines(&self, now: Timestamp) -> Result<u32, Error> {
        let due = {
            let mut tx = self.db.begin_read(Scope::System).await?;
            tx.fetch_all(
                sql!("goals/due"),
                params![now, MAX_DUE_GOALS, DOCUMENT_FORMAT],
            )
            .await?
        };
        let mut passed = 0;
        let mut first_error = None;
        for row in &due {
            let session: SessionId = row.get("session_id")?;
            match self.pass_deadline(session, now).await {
                Ok(has_passed) => passed += u32::from(has_passed),
                // A database that cannot be reached fails for all the others too.
                Err(error) if error.is_transient() => return Err(error),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        first_error.map_or(Ok(passed), Err)
    }

    async fn pass_deadline(&self, session: SessionId, now: Timestamp) -> Result<bool, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                // The deadline may have moved between the search and the lock.
                let Some(mut goal) = lock_goal(tx, session).await? else {
                    return Ok(false);
                };
                let passed = goal.deadline.take_if(|(_, at)| *at <= now);
                if passed.is_none() && !goal.must_note_until(now) {
                    return Ok(false);
                }
                let mut log = SessionLogWriter::default();
                let passed = passed.map(|(deadline, _)| Event::DeadlinePassed(deadline));
                let events = passed.into_iter().collect();
                move_goal(self, tx, &mut log, &mut goal, events, now).await?;
                log.write(tx, now).await?;
                Ok(true)
            })
        })
        .await
    }
}
