//! The turns for messages between the seats of a goal: which of the requested ones have begun, which wait for a limit, and which
//! start after another turn has ended.
//!
//! **Invariant:** a requested turn counts once, when it begins. Whatever else becomes of its input, such as a cancellation or an
//! acknowledgement of its messages, the next move of the goal finds out before it decides anything, so that no other
//! transition has to give the turn back.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    InputId, MessageId, RunId, SeatId, SessionId, TenantId, Timestamp,
    goal::{Event, MessageDelay, SeatNo},
    run::Origin,
    seat_message::{INPUT_CONTENT, LONGEST_CHAIN},
    turn::{EntryKind, Role},
};
use serde_json::json;

use crate::{
    Error,
    database::Tx,
    goals::Goal,
    runs::admit::{NewAttempt, Preloaded, insert_attempts},
    seat_message_rows::{block_waiting, restart_chains},
    session_log::{EntryLocation, SessionLogWriter},
    store::Store,
};

/// Returns the events of the requested turns for messages that have begun, in the order of their beginnings, and of those that
/// never will.
pub(super) async fn read_message_turns(tx: &mut Tx, goal: &Goal) -> Result<Vec<Event>, Error> {
    if goal.graph.goal().is_over() {
        return Ok(Vec::new());
    }
    let mut events = read_requested(tx, goal).await?;
    events.extend(read_delivered(tx, goal).await?);
    Ok(events)
}

/// Returns the events of those turns whose inputs were inserted.
async fn read_requested(tx: &mut Tx, goal: &Goal) -> Result<Vec<Event>, Error> {
    let requested = goal.graph.message_inputs();
    if requested.is_empty() {
        return Ok(Vec::new());
    }
    let keys = requested.iter().map(|(_, input)| input.uuid()).collect();
    let found = tx
        .fetch_by_keys(sql!("goals/message_inputs"), keys, params![])
        .await?;
    let mut events = Vec::new();
    let mut open: BTreeSet<InputId> = BTreeSet::new();
    for row in &found {
        let input: InputId = row.get("input_id")?;
        open.insert(input);
        if row.get::<i64>("attempts_begun")? > 0 {
            events.push(Event::MessageTurnBegan(input));
        }
    }
    let dropped = requested.iter().filter(|(_, input)| !open.contains(input));
    events.extend(dropped.map(|(_, input)| Event::MessageTurnDropped(*input)));
    Ok(events)
}

/// Returns the events of those turns that wait for the end of another turn, and have no message to bring any more: a turn of a
/// task or of a person has brought them, or the seat has acknowledged them.
async fn read_delivered(tx: &mut Tx, goal: &Goal) -> Result<Vec<Event>, Error> {
    let waiting = goal.graph.waiting_messages();
    if waiting.is_empty() {
        return Ok(Vec::new());
    }
    let seats = waiting.iter().filter_map(|(no, _)| goal.seat(*no));
    let rows = seats.map(|seat| params![seat, true]).collect();
    let found = tx
        .fetch_rows(sql!("seats/to_wake"), rows, params![LONGEST_CHAIN])
        .await?;
    let mut with_messages: BTreeSet<SeatId> = BTreeSet::new();
    for row in &found {
        with_messages.insert(row.get("id")?);
    }
    let delivered = waiting.iter().filter(|(no, _)| {
        let seat = goal.seat(*no);
        seat.is_none_or(|seat| !with_messages.contains(&seat))
    });
    let dropped = delivered.map(|(_, input)| Event::MessageTurnDropped(*input));
    Ok(dropped.collect())
}

/// Inserts the inputs of turns for messages that have waited for the end of another turn. They bring all messages of their seats.
/// The caller must hold the locks of all seats of the session, and writes `log`.
pub(super) async fn insert_message_turns(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    goal: &Goal,
    turns: &[(SeatNo, InputId)],
    now: Timestamp,
) -> Result<(), Error> {
    // A later event of the same move may have removed the seat, or ended the goal.
    let requested = goal.graph.message_inputs();
    let turns = turns.iter().filter(|turn| requested.contains(turn));
    let turns = turns.filter_map(|(no, input)| Some((goal.seat(*no)?, *input)));
    let turns: Vec<(SeatId, InputId)> = turns.collect();
    if turns.is_empty() || goal.graph.goal().is_over() {
        return Ok(());
    }
    let seats = turns.iter().map(|(seat, _)| *seat).collect();
    restart_chains(tx, &seats).await?;
    let attempt = |(seat, input): &(SeatId, InputId)| {
        message_attempt((goal.tenant, goal.session, *seat), *input, now)
    };
    let attempts: Vec<_> = turns.iter().map(attempt).collect();
    let inserted = insert_attempts(store, tx, log, &attempts, Preloaded::default(), now).await?;
    inserted.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(())
}

/// Returns the first attempt at an input that brings messages to a seat.
pub(in crate::runs) fn message_attempt(
    (tenant, session, seat): (TenantId, SessionId, SeatId),
    input: InputId,
    now: Timestamp,
) -> NewAttempt<'static> {
    NewAttempt {
        id: None,
        tenant,
        input,
        number: 1,
        failures: 0,
        origin: Origin::Message,
        session,
        seat,
        automation: None,
        trigger: None,
        task: None,
        scheduled_for: None,
        exclusive: false,
        content: INPUT_CONTENT,
        not_before: None,
        interrupted: None,
        input_at: now,
    }
}

/// Lets the messages to seats wait for another input than a message, because the goal delays their turns, and shows that in the
/// transcript. Leaves out the messages that an open input carries, and those that only wait for the end of another turn. Returns
/// those that did not wait before. The caller must hold the locks of the seats, and writes `log`.
pub(in crate::runs) async fn block_messages(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    goal: &Goal,
    delayed: &BTreeMap<SeatId, Option<MessageDelay>>,
    run: Option<RunId>,
    now: Timestamp,
) -> Result<BTreeSet<MessageId>, Error> {
    let delayed = delayed.iter();
    let delayed = delayed.filter_map(|(seat, delay)| Some((*seat, (*delay)?)));
    let delayed: BTreeMap<SeatId, MessageDelay> = delayed.collect();
    let blocked = block_waiting(tx, delayed.keys().copied()).await?;
    let seats: BTreeSet<SeatId> = blocked.iter().map(|(_, seat)| *seat).collect();
    for delay in MessageDelay::ALL {
        let of_delay = seats
            .iter()
            .filter(|seat| delayed.get(*seat) == Some(delay));
        let names: Vec<String> = of_delay.filter_map(|seat| name_of(goal, *seat)).collect();
        if names.is_empty() {
            continue;
        }
        let text = describe_delay(*delay, goal, &names.join(", "));
        let location = EntryLocation {
            tenant: goal.tenant,
            session: goal.session,
            run,
            seat: None,
        };
        let metadata = json!({ "notice": "seat_messages" });
        let entry = store.new_entry(Role::System, EntryKind::Notice, text, metadata, now);
        log.add_message(location, entry);
    }
    Ok(blocked.into_iter().map(|(message, _)| message).collect())
}

/// Returns the name of a seat, as texts show it.
fn name_of(goal: &Goal, seat: SeatId) -> Option<String> {
    let no = goal.seat_no(seat)?;
    let seat = goal.graph.seats().get(no.0)?;
    Some(format!("`{}`", seat.name))
}

/// Returns the reason for which messages to seats of a goal start no turn, for its transcript.
fn describe_delay(delay: MessageDelay, goal: &Goal, names: &str) -> String {
    let (limits, session) = (goal.graph.limits(), goal.session);
    let cause = match delay {
        MessageDelay::NotActive => format!("The goal `{session}` starts no turn now"),
        MessageDelay::AlternatingTurns => format!(
            "Two seats have only written to each other in {} turns, which is the limit `{delay}` of the goal `{session}`",
            limits.alternating_turns
        ),
        MessageDelay::MessageTurns => format!(
            "The seats of the goal have had, or will have, {} turns for messages, which is the limit `{delay}` of the goal `{session}`",
            limits.message_turns
        ),
    };
    format!(
        "{cause}. Messages to {names} start no turn. The next turn of a task on the seat brings them, and so does a message \
         of a person."
    )
}
