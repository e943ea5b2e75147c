//! The inputs that bring messages to seats.
//!
//! **Invariant:** a seat has at most one input that carries messages and has not begun. It carries the messages that are
//! undelivered when its turn begins, so that further messages need no further input. An input that has begun carries no
//! more messages, so that the next message makes an input that waits behind it.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    InputId, MessageId, RunId, SeatId, SessionId, Timestamp, entity::Run, run::Origin,
    seat_message::LONGEST_CHAIN,
};

use crate::{
    Error,
    database::{Row, Tx},
    goals::{Goal, read_goal},
    locks::lock_sessions,
    runs::{
        admit::{Preloaded, insert_attempts},
        goals::{block_messages, count_messages, message_attempt},
    },
    seat_message_rows::{deliver_carried, restart_chains},
    session_log::SessionLogWriter,
    store::Store,
};

/// The cause for which a seat may get an input for its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WakeCause {
    /// A message of another seat, or a message that was delivered before others. Messages at the end of long chains wait on.
    Message,
    /// The end of a turn of a task, or a goal whose limits a person has changed.
    Task,
    /// An input of a person or of an automation, which no limit of a goal delays.
    Outside,
}

impl WakeCause {
    /// Returns `true` if the input also brings the messages at the end of long chains.
    const fn ends_chains(self) -> bool {
        !matches!(self, Self::Message)
    }
}

/// Creates an input for each of `seats` that has undelivered messages and no input for them. The limits of a goal delay an
/// input in its session: then its messages wait, and the transcript says so. Creates no input in a session that takes none.
/// The caller must hold the locks of the seats, and of all seats of their goals.
pub(crate) async fn wake_seats(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    seats: &BTreeMap<SeatId, WakeCause>,
    now: Timestamp,
) -> Result<(), Error> {
    // 1. Find the seats.
    let found = find_seats(tx, seats).await?;
    let mut inputs = new_inputs(store, &found, now)?;
    let mut due: BTreeMap<SessionId, BTreeMap<SeatId, InputId>> = BTreeMap::new();
    for row in &found {
        let seat: SeatId = row.get("id")?;
        let is_limited = seats.get(&seat) != Some(&WakeCause::Outside);
        let goal: Option<SessionId> = row.optional("goal_id")?;
        let goal = goal.filter(|_| is_limited);
        if let (Some(goal), Some(input)) = (goal, inputs.get(&seat)) {
            due.entry(goal).or_default().insert(seat, *input);
        }
    }
    // 2. Let their goals decide.
    lock_sessions(tx, due.keys().copied()).await?;
    for (session, due) in &due {
        let Some(mut goal) = read_goal(tx, *session).await? else {
            continue;
        };
        let none = BTreeSet::new();
        let delayed = count_messages(store, tx, log, &mut goal, &none, due, now).await?;
        inputs.retain(|seat, _| !delayed.contains_key(seat));
        block_messages(store, tx, log, &goal, &delayed, None, now).await?;
    }
    // 3. Insert the inputs.
    insert_inputs(store, tx, log, &found, (seats, &inputs), now).await
}

/// Counts a message that a seat of a goal has sent to `receivers` in `run`, and creates an input for each of them that has none
/// for its messages. Returns the messages that wait for a turn of a task from now on. The caller must hold the locks of all
/// seats of the session, and of the session.
///
/// # Errors
///
/// Returns [`Error::MessageLimit`] if the goal takes no further message.
pub(crate) async fn wake_receivers(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    goal: &mut Goal,
    receivers: &BTreeSet<SeatId>,
    (run, now): (Option<RunId>, Timestamp),
) -> Result<BTreeSet<MessageId>, Error> {
    let causes = receivers.iter().map(|seat| (*seat, WakeCause::Message));
    let causes: BTreeMap<SeatId, WakeCause> = causes.collect();
    let found = find_seats(tx, &causes).await?;
    let mut inputs = new_inputs(store, &found, now)?;
    let delayed = count_messages(store, tx, log, goal, receivers, &inputs, now).await?;
    inputs.retain(|seat, _| !delayed.contains_key(seat));
    insert_inputs(store, tx, log, &found, (&causes, &inputs), now).await?;
    block_messages(store, tx, log, goal, &delayed, run, now).await
}

/// Returns an ID for the input of each seat that was found.
fn new_inputs(
    store: &Store,
    found: &[Row],
    now: Timestamp,
) -> Result<BTreeMap<SeatId, InputId>, Error> {
    let input = |row: &Row| Ok((row.get("id")?, InputId::generate(now, store.ids())));
    found.iter().map(input).collect()
}

/// Returns the rows of those seats that need an input for their messages.
async fn find_seats(tx: &mut Tx, seats: &BTreeMap<SeatId, WakeCause>) -> Result<Vec<Row>, Error> {
    let rows = seats
        .iter()
        .map(|(seat, cause)| params![*seat, cause.ends_chains()]);
    let found = tx
        .fetch_rows(
            sql!("seats/to_wake"),
            rows.collect(),
            params![LONGEST_CHAIN],
        )
        .await?;
    Ok(found)
}

/// Inserts the inputs of those seats that were found.
async fn insert_inputs(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    found: &[Row],
    (causes, inputs): (&BTreeMap<SeatId, WakeCause>, &BTreeMap<SeatId, InputId>),
    now: Timestamp,
) -> Result<(), Error> {
    let mut restarted = BTreeSet::new();
    let mut attempts = Vec::with_capacity(found.len());
    for row in found {
        let seat: SeatId = row.get("id")?;
        let Some(input) = inputs.get(&seat) else {
            continue;
        };
        if causes.get(&seat).is_some_and(|cause| cause.ends_chains()) {
            restarted.insert(seat);
        }
        let location = (row.get("tenant_id")?, row.get("session_id")?, seat);
        attempts.push(message_attempt(location, *input, now));
    }
    if attempts.is_empty() {
        return Ok(());
    }
    restart_chains(tx, &restarted).await?;
    let inserted = insert_attempts(store, tx, log, &attempts, Preloaded::default(), now).await?;
    for result in inserted {
        match result {
            // The session takes no more inputs.
            Ok(_) | Err(Error::Refused(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Marks the messages that succeeded runs carried as delivered, and creates inputs for those that their seats still have.
/// The messages of a failed turn stay undelivered until the next message or acknowledgement, so that they start no turns
/// without end. The caller must hold the locks of the runs' seats, and of all seats of their goals.
pub(super) async fn wake_seats_after(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    succeeded: &[&Run],
    now: Timestamp,
) -> Result<(), Error> {
    deliver_carried(tx, succeeded.iter().copied(), now).await?;
    let seats = succeeded.iter().filter_map(|run| {
        let cause = match run.origin {
            Origin::Message => WakeCause::Message,
            Origin::Task => WakeCause::Task,
            _ => WakeCause::Outside,
        };
        Some((run.seat_id?, cause))
    });
    wake_seats(store, tx, log, &seats.collect(), now).await
}
