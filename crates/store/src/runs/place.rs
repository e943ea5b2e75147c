//! Giving a run its seat: at its insertion, or once what it waited for is free.
//!
//! **Invariant:** the code decides under the seat's lock, and the unique indexes decide in the end:
//! where they refuse, the transaction is done again on what is true by then.

use model::{
    AutomationId, InputId, RunId, SeatId, SessionId, TenantId, Timestamp, TriggerId,
    run::{Origin, RunStatus},
    session::{Admission, SessionState},
};
use serde_json::json;

use crate::{Error, database::Tx, journal, store::Store};

/// An attempt to be inserted.
pub(crate) struct Attempt<'a> {
    pub(crate) tenant: TenantId,
    pub(crate) input: InputId,
    pub(crate) number: i64,
    pub(crate) failures: i64,
    pub(crate) origin: Origin,
    pub(crate) session: SessionId,
    pub(crate) seat: SeatId,
    pub(crate) automation: Option<AutomationId>,
    pub(crate) trigger: Option<TriggerId>,
    pub(crate) scheduled_for: Option<Timestamp>,
    /// Whether it may not run beside another run of its automation.
    pub(crate) exclusive: bool,
    pub(crate) content: &'a str,
    pub(crate) not_before: Option<Timestamp>,
    pub(crate) interrupted: Option<RunId>,
    pub(crate) input_at: Timestamp,
}

/// How a seat stands.
pub(crate) struct SeatStanding {
    /// Whether anything holds it or waits for it.
    pub(crate) taken: bool,
    /// The state of its session.
    pub(crate) state: SessionState,
}

/// Locks a seat and says how it stands.
pub(crate) async fn lock_seat(
    tx: &mut Tx,
    seat: SeatId,
    now: Timestamp,
) -> Result<SeatStanding, Error> {
    tx.fetch_optional(sql_by_dialect!("seats/lock"), params![seat])
        .await?
        .ok_or_else(|| Error::not_found("seat", seat))?;
    let row = tx
        .fetch_one(sql!("seats/standing"), params![seat, now])
        .await?;
    Ok(SeatStanding {
        taken: row.get("taken")?,
        state: row.parse("state")?,
    })
}

/// An automation's own runs, by where they are.
pub(crate) struct OwnRuns {
    pub(crate) executing: i64,
    pub(crate) queued: i64,
    pub(crate) deferred: i64,
}

impl OwnRuns {
    pub(crate) async fn count(tx: &mut Tx, automation: AutomationId) -> Result<Self, Error> {
        let row = tx
            .fetch_one(sql!("automations/standing"), params![automation])
            .await?;
        Ok(Self {
            executing: row.get("executing")?,
            queued: row.get("queued")?,
            deferred: row.get("deferred")?,
        })
    }
}

/// Inserts an attempt: queued if its seat is free and nothing else holds it back, else deferred.
pub(crate) async fn insert(
    store: &Store,
    tx: &mut Tx,
    attempt: &Attempt<'_>,
    now: Timestamp,
) -> Result<(RunId, RunStatus), Error> {
    let seat = lock_seat(tx, attempt.seat, now).await?;
    let behind_own = match attempt.automation {
        Some(automation) if attempt.exclusive => {
            let own = OwnRuns::count(tx, automation).await?;
            own.executing + own.queued + own.deferred > 0
        }
        _ => false,
    };
    let waits = seat.taken
        || behind_own
        || seat.state.admission() != Admission::Start
        || attempt.not_before.is_some_and(|at| at > now);
    let status = if waits {
        RunStatus::Deferred
    } else {
        RunStatus::Queued
    };
    let id = RunId::generate(now, store.ids());
    tx.execute(
        sql!("runs/insert"),
        params![
            id,
            attempt.tenant,
            attempt.input,
            attempt.number,
            attempt.failures,
            status.as_str(),
            attempt.origin.as_str(),
            attempt.origin.priority(),
            attempt.session,
            attempt.seat,
            attempt.automation,
            attempt.trigger,
            attempt.scheduled_for,
            attempt.exclusive,
            attempt.content,
            attempt.not_before,
            attempt.interrupted,
            attempt.input_at,
            now
        ],
    )
    .await?;
    let body = json!({
        "status": status,
        "origin": attempt.origin,
        "attempt": attempt.number,
        "automation_id": attempt.automation,
        "scheduled_for": attempt.scheduled_for,
        "not_before": attempt.not_before,
    });
    journal::run_event(tx, attempt.session, id, body, now).await?;
    Ok((id, status))
}

/// Lets the next waiting input of a free seat have it. Gives the run, and whether it had waited for
/// a backoff.
pub(crate) async fn promote_on_seat(
    tx: &mut Tx,
    seat: SeatId,
    now: Timestamp,
) -> Result<Option<(RunId, bool)>, Error> {
    let Some(locked) = tx
        .fetch_optional(sql_by_dialect!("seats/lock"), params![seat])
        .await?
    else {
        return Ok(None);
    };
    let session: SessionId = locked.get("session_id")?;
    let next = tx
        .fetch_optional(sql!("runs/next_waiting_on_seat"), params![seat, now])
        .await?;
    let Some(next) = next else { return Ok(None) };
    let run: RunId = next.get("id")?;
    let backoff: Option<Timestamp> = next.optional("not_before")?;
    if tx.execute(sql!("runs/promote"), params![run]).await? == 0 {
        return Ok(None);
    }
    let body = json!({ "status": RunStatus::Queued });
    journal::run_event(tx, session, run, body, now).await?;
    Ok(Some((run, backoff.is_some())))
}

/// Lets what waited for a run that is over start: on its seat, and, where the automation's runs
/// exclude each other, on another one.
pub(crate) async fn promote_after(
    tx: &mut Tx,
    seat: SeatId,
    automation: Option<AutomationId>,
    now: Timestamp,
) -> Result<(), Error> {
    promote_on_seat(tx, seat, now).await?;
    let Some(automation) = automation else {
        return Ok(());
    };
    let own = OwnRuns::count(tx, automation).await?;
    if own.executing + own.queued > 0 || own.deferred == 0 {
        return Ok(());
    }
    let next = tx
        .fetch_optional(
            sql!("runs/next_waiting_of_automation"),
            params![automation, now],
        )
        .await?;
    if let Some(next) = next {
        promote_on_seat(tx, next.get("seat_id")?, now).await?;
    }
    Ok(())
}
