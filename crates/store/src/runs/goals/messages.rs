//! The messages between the seats of a goal, and the turns that they start.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    SeatId, Timestamp,
    goal::{Event, MessageDelay, Presence, Refusal},
};

use super::step::move_goal;
use crate::{Error, database::Tx, goals::Goal, session_log::SessionLogWriter, store::Store};

/// Counts a message of a seat to each of `sent`, and a turn for messages of each of `due`. Returns the seats of `due` that
/// get no such turn, each with the reason for which its messages wait. The caller must hold the locks of all seats of the
/// session, and of the session. The caller writes `log`.
///
/// # Errors
///
/// Returns [`Error::MessageLimit`] if the goal takes no further message.
pub(in crate::runs) async fn count_messages(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    goal: &mut Goal,
    sent: &BTreeSet<SeatId>,
    due: &BTreeSet<SeatId>,
    now: Timestamp,
) -> Result<BTreeMap<SeatId, MessageDelay>, Error> {
    // The session of a goal that is over takes no input.
    if goal.graph.goal().is_over() {
        return Ok(BTreeMap::new());
    }
    let number = |seat: &SeatId| {
        let no = goal.seat_no(*seat)?;
        let presence = goal.graph.seats().get(no.0)?.presence;
        (presence != Presence::Removed).then_some(no)
    };
    let sent = sent.iter().filter_map(number).map(Event::MessageSent);
    let due = due.iter().filter_map(number).map(Event::MessageTurn);
    let events: Vec<Event> = sent.chain(due).collect();
    if events.is_empty() {
        return Ok(BTreeMap::new());
    }
    let delayed = match move_goal(store, tx, log, goal, events, now).await {
        Err(Error::Goal(Refusal::Limit { count, .. })) => {
            return Err(Error::MessageLimit {
                goal: goal.session,
                limit: count,
            });
        }
        moved => moved?,
    };
    let delayed = delayed.into_iter();
    let delayed = delayed.filter_map(|(no, delay)| Some((goal.seat(no)?, delay)));
    Ok(delayed.collect())
}
