//! The turns for messages between the seats of a goal: which of the requested ones have begun, and which wait for a limit.
//!
//! **Invariant:** a requested turn counts once, when it begins. Whatever else becomes of its input, such as a cancellation or an
//! acknowledgement of its messages, the next move of the goal finds out before it decides anything, so that no other
//! transition has to give the turn back.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    InputId, MessageId, RunId, SeatId, Timestamp,
    goal::{Event, MessageDelay},
    turn::{EntryKind, Role},
};
use serde_json::json;

use crate::{
    Error,
    database::Tx,
    goals::Goal,
    seat_message_rows::block_waiting,
    session_log::{EntryLocation, SessionLogWriter},
    store::Store,
};

/// Returns the events of the requested turns for messages that have begun, in the order of their beginnings, and of those that
/// never will.
pub(super) async fn read_message_turns(tx: &mut Tx, goal: &Goal) -> Result<Vec<Event>, Error> {
    let requested = goal.graph.message_inputs();
    if requested.is_empty() || goal.graph.goal().is_over() {
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

/// Lets the messages to seats wait for another input than a message, because the goal delays their turns, and shows that in the
/// transcript. Leaves out the messages that an open input carries. Returns those that did not wait before. The caller must
/// hold the locks of the seats, and writes `log`.
pub(in crate::runs) async fn block_messages(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    goal: &Goal,
    delayed: &BTreeMap<SeatId, MessageDelay>,
    run: Option<RunId>,
    now: Timestamp,
) -> Result<BTreeSet<MessageId>, Error> {
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
