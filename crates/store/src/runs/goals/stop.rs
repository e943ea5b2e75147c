//! The end of turns that a goal no longer needs, and of the session of a goal that is over.

use std::collections::BTreeSet;

use model::{
    RunId, SeatId, SessionId, Timestamp,
    event::{Change, RunChange, SessionChange},
    goal::{GoalState, SeatNo},
    outcome::Outcome,
    run::RunStatus,
    session::SessionStatus,
};
use serde_json::Value;

use crate::{
    Error, approvals,
    changes::note_change,
    database::{Row, Tx},
    goals::Goal,
    question_log,
    session_log::SessionLogWriter,
    stored::{self, StoredFlags},
};

const TASK_NOT_NEEDED: &str = "the task no longer needs the turn";

/// Cancels the turn of a task on a seat. Returns `true` if no worker has its run, so that it is over at once. Otherwise the
/// run ends when its agent has stopped.
pub(super) async fn stop_turn(
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    goal: &Goal,
    seat: SeatNo,
    freed: &mut BTreeSet<SeatId>,
    now: Timestamp,
) -> Result<bool, Error> {
    let open = tx
        .fetch_all(sql!("goals/open_turns"), params![goal.session])
        .await?;
    let seat = goal.seat(seat);
    for row in &open {
        if row.optional::<SeatId>("seat_id")? != seat {
            continue;
        }
        if row.get("is_waiting")? {
            end_waiting(tx, log, goal, row, TASK_NOT_NEEDED, now).await?;
            freed.extend(seat);
            return Ok(true);
        }
        let run: RunId = row.get("id")?;
        tx.execute(
            sql!("runs/request_cancel"),
            params![run, now, TASK_NOT_NEEDED],
        )
        .await?;
        note_change(tx, goal.session.uuid()).await?;
        approvals::void_approvals(tx, log, std::iter::once(run), now).await?;
        return Ok(false);
    }
    Ok(true)
}

/// Cancels a run that no worker has. It has no heartbeat, no live text and no approvals.
async fn end_waiting(
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    goal: &Goal,
    row: &Row,
    reason: &str,
    now: Timestamp,
) -> Result<(), Error> {
    let run: RunId = row.get("id")?;
    let outcome = Outcome::Cancelled(reason.to_owned());
    let end = params! { "runs/end";
        id: run,
        before: row.get::<String>("status")?,
        after: RunStatus::Cancelled.as_str(),
        reason: outcome.reason(),
        message: None::<&str>,
        stop_reason: None::<&str>,
        flags: stored::write::<StoredFlags>(&model::run::RunFlags::default()).value,
        usage: None::<Value>,
        acp_session: None::<&str>,
    };
    let ended = tx
        .fetch_rows(sql!("runs/end"), vec![end], params![now])
        .await?;
    if !ended.is_empty() {
        let change = RunChange::from_outcome(&outcome, row.get("attempt")?);
        log.add_run_change(goal.session, run, change);
    }
    Ok(())
}

/// Voids the questions of tasks for which nothing waits any more, because an answer or a default would start a turn that no
/// limit of the goal counts.
pub(super) async fn void_questions(
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    session: SessionId,
    now: Timestamp,
) -> Result<(), Error> {
    let voided = tx
        .fetch_all(sql!("questions/void_of_tasks"), params![session, now])
        .await?;
    for row in &voided {
        question_log::add_void(log, row)?;
    }
    Ok(())
}

/// Closes the session of a goal that is over, and cancels its waiting inputs. Turns under way end by themselves, because
/// their processes must stop first.
pub(super) async fn close_session(
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    goal: &Goal,
    now: Timestamp,
) -> Result<(), Error> {
    // 1. Move the session. A person may have closed it, which has cancelled the goal.
    let (state, reason) = match goal.graph.goal() {
        GoalState::Done => (SessionStatus::Done, None),
        GoalState::Cancelled => (SessionStatus::Failed, Some("cancelled")),
        _ => (SessionStatus::Failed, Some("stuck for too long")),
    };
    let before = goal.session_status;
    if matches!(
        before,
        SessionStatus::Done | SessionStatus::Failed | SessionStatus::Archived
    ) {
        return Ok(());
    }
    tx.execute(
        sql!("sessions/set_state"),
        params![
            goal.session,
            before.as_str(),
            state.as_str(),
            reason,
            now,
            now
        ],
    )
    .await?;
    log.add_change(
        goal.session,
        Change::Session {
            session_id: goal.session,
            change: SessionChange::Moved {
                state,
                reason: reason.map(str::to_owned),
            },
        },
    );
    // 2. Cancel the waiting inputs and void the questions.
    let reason = format!("the session is {state}");
    let open = tx
        .fetch_all(sql!("goals/open_runs"), params![goal.session])
        .await?;
    for row in &open {
        end_waiting(tx, log, goal, row, &reason, now).await?;
    }
    let voided = tx
        .fetch_all(
            sql!("questions/void_of_session"),
            params![goal.session, now],
        )
        .await?;
    for row in &voided {
        question_log::add_void(log, row)?;
    }
    Ok(())
}
