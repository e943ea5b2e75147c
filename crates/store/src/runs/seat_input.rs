//! The inputs that bring messages to seats.
//!
//! **Invariant:** a seat has at most one input that carries messages and has not begun. It carries the messages that are
//! undelivered when its turn begins, so that further messages need no further input. An input that has begun carries no
//! more messages, so that the next message makes an input that waits behind it.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    InputId, SeatId, Timestamp,
    entity::Run,
    run::Origin,
    seat_message::{INPUT_CONTENT, LONGEST_CHAIN},
};

use crate::{
    Error,
    database::Tx,
    runs::admit::{NewAttempt, Preloaded, insert_attempts},
    seat_message_rows::{deliver_carried, restart_chains},
    session_log::SessionLogWriter,
    store::Store,
};

/// Creates an input for each of `seats` that has undelivered messages and no input for them. The value of a seat is `true`
/// if it got an input from outside, which also brings it the messages at the end of long chains. Creates no input in a
/// session that takes none. The caller must hold the locks of the seats.
pub(crate) async fn wake_seats(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    seats: &BTreeMap<SeatId, bool>,
    now: Timestamp,
) -> Result<(), Error> {
    // 1. Find the seats.
    let rows = seats.iter().map(|(seat, outside)| params![*seat, *outside]);
    let found = tx
        .fetch_rows(
            sql!("seats/to_wake"),
            rows.collect(),
            params![LONGEST_CHAIN],
        )
        .await?;
    if found.is_empty() {
        return Ok(());
    }
    // 2. Insert the inputs.
    let mut restarted = BTreeSet::new();
    let mut attempts = Vec::with_capacity(found.len());
    for row in &found {
        let seat: SeatId = row.get("id")?;
        if seats.get(&seat) == Some(&true) {
            restarted.insert(seat);
        }
        attempts.push(NewAttempt {
            id: None,
            tenant: row.get("tenant_id")?,
            input: InputId::generate(now, store.ids()),
            number: 1,
            failures: 0,
            origin: Origin::Message,
            session: row.get("session_id")?,
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
        });
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
/// without end. The caller must hold the locks of the runs' seats.
pub(super) async fn wake_seats_after(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    succeeded: &[&Run],
    now: Timestamp,
) -> Result<(), Error> {
    deliver_carried(tx, succeeded.iter().copied(), now).await?;
    let seats = succeeded.iter().filter_map(|run| {
        let from_outside = run.origin != Origin::Message;
        Some((run.seat_id?, from_outside))
    });
    wake_seats(store, tx, log, &seats.collect(), now).await
}
