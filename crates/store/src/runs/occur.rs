//! What one occurrence becomes: a run, or a row that says why not. The one way in which automations
//! start turns, on time and on demand.

use model::{
    InputId, RunId, SeatId, SessionId, Timestamp, TriggerId,
    automation::{Decision, Standing, decide},
    entity::Automation,
    policy::{Overlap, SessionMode},
    run::{Origin, RunStatus, SkipReason},
    schedule::{QuietHours, Schedule, Spec, Stretch},
    session::{SessionKind, SessionType},
    turn::Submitted,
};

use crate::{
    Error, automations,
    database::Tx,
    rows,
    runs::{
        cancel,
        place::{Attempt, OwnRuns, SeatStanding, insert, lock_seat},
    },
    sessions,
    store::Store,
};

/// Makes the row of one occurrence. The automation's row is locked.
pub(super) async fn occur(
    store: &Store,
    tx: &mut Tx,
    automation: &Automation,
    trigger: TriggerId,
    scheduled_for: Timestamp,
    now: Timestamp,
) -> Result<Submitted, Error> {
    let target = Target::find(tx, automation).await?;
    let seat = match target {
        Target::Seat(_, seat) => lock_seat(tx, seat, now).await?,
        _ => None,
    };
    let decision = match (&target, seat) {
        // The session may have been deleted before its seat was locked.
        (Target::Closed, _) | (Target::Seat(..), None) => Decision::Skip(SkipReason::SessionClosed),
        (_, seat) => {
            let standing = own_standing(tx, automation, seat.as_ref()).await?;
            decide(automation.session_mode, &automation.policies, standing)
        }
    };
    let decision = match decision {
        Decision::Run { .. } if quiet(tx, automation, trigger, scheduled_for).await? => {
            Decision::Skip(SkipReason::QuietHours)
        }
        decision => decision,
    };
    let cancel_others = match decision {
        Decision::Skip(reason) => {
            return skip(store, tx, automation, trigger, scheduled_for, reason, now).await;
        }
        Decision::Run { cancel_others, .. } => cancel_others,
    };
    if cancel_others {
        cancel::all_of(
            store,
            tx,
            automation.id,
            "superseded by a later occurrence",
            now,
        )
        .await?;
    }
    let (session, seat) = match target {
        Target::Seat(session, seat) => (session, seat),
        _ => new_session(store, tx, automation, scheduled_for, now).await?,
    };
    let overlap = automation.policies.overlap(automation.session_mode);
    let attempt = Attempt {
        tenant: automation.tenant_id,
        input: InputId::generate(now, store.ids()),
        number: 1,
        failures: 0,
        origin: Origin::Occurrence,
        session,
        seat,
        automation: Some(automation.id),
        trigger: Some(trigger),
        scheduled_for: Some(scheduled_for),
        exclusive: overlap != Overlap::Allow,
        content: &automation.prompt,
        not_before: None,
        interrupted: None,
        // What was due earlier is taken up earlier, however late it is made up for.
        input_at: scheduled_for,
    };
    let (run_id, status) = insert(store, tx, &attempt, now).await?;
    Ok(Submitted {
        run_id,
        seat_id: Some(seat),
        status,
    })
}

/// Where an occurrence's turn goes.
enum Target {
    /// To a seat that is there.
    Seat(SessionId, SeatId),
    /// To a session that its run makes.
    New,
    /// Nowhere: the session that it is bound to is not there.
    Closed,
}

impl Target {
    async fn find(tx: &mut Tx, automation: &Automation) -> Result<Self, Error> {
        let session = match automation.session_mode {
            SessionMode::Fresh => return Ok(Self::New),
            SessionMode::Continuous => match automation.current_session_id {
                None => return Ok(Self::New),
                Some(session) => session,
            },
            SessionMode::Bound => {
                let key = automation.bound_session_key.as_deref();
                let row = tx
                    .fetch_optional(sql!("sessions/by_key"), params![automation.tenant_id, key])
                    .await?;
                match row {
                    None => return Ok(Self::Closed),
                    Some(row) => rows::session(&row)?.id,
                }
            }
        };
        let seat = tx.fetch_one(sql!("seats/entry"), params![session]).await?;
        Ok(Self::Seat(session, seat.get("id")?))
    }
}

async fn own_standing(
    tx: &mut Tx,
    automation: &Automation,
    seat: Option<&SeatStanding>,
) -> Result<Standing, Error> {
    let own = OwnRuns::count(tx, automation.id).await?;
    let count = |rows: i64| u64::try_from(rows).unwrap_or(0);
    Ok(Standing {
        active: count(own.executing),
        waiting: count(own.waiting),
        session: seat.map(|seat| seat.state),
        seat_taken: seat.is_some_and(|seat| seat.held || seat.waited_for),
    })
}

/// Whether the instant falls into the automation's quiet hours, in the trigger's zone. What a person
/// fires on demand is not due, and is never quiet.
async fn quiet(
    tx: &mut Tx,
    automation: &Automation,
    trigger: TriggerId,
    scheduled_for: Timestamp,
) -> Result<bool, Error> {
    if automation.policies.quiet_hours == QuietHours::default() {
        return Ok(false);
    }
    let triggers = automations::triggers(tx, automation.id).await?;
    let Some(found) = triggers.iter().find(|candidate| candidate.id == trigger) else {
        return Ok(false);
    };
    if found.spec == (Spec::Manual {}) {
        return Ok(false);
    }
    let zone = found
        .spec
        .zone()
        .map_err(|source| Error::Schedule { trigger, source })?;
    Ok(automation.policies.quiet_hours.covers(scheduled_for, &zone))
}

/// Makes the session of a fresh run, or of a continuous automation's first one.
async fn new_session(
    store: &Store,
    tx: &mut Tx,
    automation: &Automation,
    scheduled_for: Timestamp,
    now: Timestamp,
) -> Result<(SessionId, SeatId), Error> {
    let id = SessionId::generate(now, store.ids());
    let title = match automation.session_mode {
        SessionMode::Fresh => format!("{} {scheduled_for}", automation.name),
        _ => automation.name.clone(),
    };
    let new = sessions::NewSession {
        id,
        kind: SessionKind::Automation,
        session_type: SessionType::ScheduleCron,
        key: None,
        title: Some(title),
        cwd: store.working_directory(automation.cwd.as_deref(), id),
        schedule_id: Some(automation.id),
        harness: automation.harness_id,
        settings: automation.settings.clone(),
    };
    let made = sessions::insert(store, tx, automation.tenant_id, &new, now).await?;
    if automation.session_mode == SessionMode::Continuous {
        tx.execute(
            sql!("automations/set_current_session"),
            params![automation.id, made.0, now],
        )
        .await?;
    }
    Ok(made)
}

/// Makes the row of an occurrence that is skipped.
async fn skip(
    store: &Store,
    tx: &mut Tx,
    automation: &Automation,
    trigger: TriggerId,
    scheduled_for: Timestamp,
    reason: SkipReason,
    now: Timestamp,
) -> Result<Submitted, Error> {
    let stretch = Stretch {
        first: scheduled_for,
        last: scheduled_for,
        count: 1,
    };
    let run_id = not_run(
        store,
        tx,
        automation,
        trigger,
        stretch,
        RunStatus::Skipped,
        reason.as_str(),
        now,
    )
    .await?;
    if reason == SkipReason::SessionClosed {
        let text = "its session is closed or gone and takes no more inputs";
        automations::set_attention(tx, automation.id, Some(text), now).await?;
    }
    Ok(Submitted {
        run_id,
        seat_id: None,
        status: RunStatus::Skipped,
    })
}

/// Makes the row of a stretch of instants that are over and not made up for. Instants at its beginning
/// that have their rows already are left out of it.
#[expect(
    clippy::too_many_arguments,
    reason = "one row's columns, named at both call sites"
)]
pub(crate) async fn miss(
    store: &Store,
    tx: &mut Tx,
    automation: &Automation,
    trigger: TriggerId,
    schedule: &Schedule,
    mut stretch: Stretch,
    reason: &str,
    now: Timestamp,
) -> Result<(), Error> {
    while occurred(tx, trigger, stretch.first).await? {
        stretch.count -= 1;
        match schedule.next_after(stretch.first) {
            Some(next) if stretch.count > 0 => stretch.first = next,
            _ => return Ok(()),
        }
    }
    not_run(
        store,
        tx,
        automation,
        trigger,
        stretch,
        RunStatus::Missed,
        reason,
        now,
    )
    .await
    .map(|_| ())
}

/// Whether an instant of a trigger has its row already.
pub(super) async fn occurred(
    tx: &mut Tx,
    trigger: TriggerId,
    instant: Timestamp,
) -> Result<bool, Error> {
    let row = tx
        .fetch_one(sql!("runs/occurred"), params![trigger, instant])
        .await?;
    Ok(row.get("occurred")?)
}

#[expect(
    clippy::too_many_arguments,
    reason = "one row's columns, named at both call sites"
)]
async fn not_run(
    store: &Store,
    tx: &mut Tx,
    automation: &Automation,
    trigger: TriggerId,
    stretch: Stretch,
    status: RunStatus,
    reason: &str,
    now: Timestamp,
) -> Result<RunId, Error> {
    let id = RunId::generate(now, store.ids());
    let input = InputId::generate(now, store.ids());
    let count = i64::try_from(stretch.count).unwrap_or(i64::MAX);
    let until = (stretch.count > 1).then_some(stretch.last);
    tx.execute(
        sql!("runs/insert_not_run"),
        params![
            id,
            automation.tenant_id,
            input,
            status.as_str(),
            Origin::Occurrence.priority(),
            automation.id,
            trigger,
            stretch.first,
            until,
            count,
            automation.prompt.as_str(),
            reason,
            now
        ],
    )
    .await?;
    Ok(id)
}
