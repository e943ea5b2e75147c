//! The messages between the seats of a goal, and the turns that they start.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    InputId, SeatId, SessionId, Timestamp,
    goal::{Event, MessageDelay, Presence, Refusal},
    run::Origin,
    turn::Assignment,
};

use super::{message_turns::read_message_turns, step::move_goal};
use crate::{
    Error,
    database::Tx,
    goals::{Goal, read_goal},
    locks::lock_sessions,
    session_log::SessionLogWriter,
    store::Store,
};

/// Counts a message of a seat to each of `sent`, and requests a turn for messages of each of `due`, with its input. Returns the
/// seats for which the caller inserts no input, each with the reason for which its messages wait for a turn of a task, if they
/// do. The caller must hold the locks of all seats of the session, and of the session. The caller writes `log`.
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
    due: &BTreeMap<SeatId, InputId>,
    now: Timestamp,
) -> Result<BTreeMap<SeatId, Option<MessageDelay>>, Error> {
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
    let due = due.iter().filter_map(|(seat, input)| {
        let (seat, input) = (number(seat)?, *input);
        Some(Event::MessageTurn { seat, input })
    });
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

/// Counts the turns for messages that have just begun, so that the goal shows them at once and gets stuck in time. The caller
/// must hold the locks of all seats of the goals. The caller writes `log`.
pub(in crate::runs) async fn count_begun_turns(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    started: &[Assignment],
    now: Timestamp,
) -> Result<(), Error> {
    let messages = started.iter().map(|turn| &turn.run);
    let messages = messages.filter(|run| run.origin == Origin::Message);
    let with_messages: BTreeSet<SessionId> = messages.filter_map(|run| run.session_id).collect();
    if with_messages.is_empty() {
        return Ok(());
    }
    // Lock the sessions of all turns in their order, because the log locks them too.
    let sessions = started.iter().filter_map(|turn| turn.run.session_id);
    let sessions: BTreeSet<SessionId> = sessions.collect();
    lock_sessions(tx, sessions.into_iter()).await?;
    for session in with_messages {
        let Some(mut goal) = read_goal(tx, session).await? else {
            continue;
        };
        if !read_message_turns(tx, &goal).await?.is_empty() {
            move_goal(store, tx, log, &mut goal, Vec::new(), now).await?;
        }
    }
    Ok(())
}
