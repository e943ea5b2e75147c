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
const GOAL_CANCELLED: &str = "the goal was cancelled";
const GOAL_GIVEN_UP: &str = "the goal was given up";

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
        // A claim locks no seat, so that a worker may have taken the run since it was read.
        if row.get("is_waiting")? && end_waiting(tx, log, goal, row, TASK_NOT_NEEDED, now).await? {
            freed.extend(seat);
            return Ok(true);
        }
        request_stop(tx, log, goal, row.get("id")?, TASK_NOT_NEEDED, now).await?;
        return Ok(false);
    }
    Ok(true)
}

/// Requests the cancellation of each run of a goal's session that a worker has, of turns with messages too. An earlier request
/// stays.
async fn stop_all_turns(
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    goal: &Goal,
    reason: &str,
    now: Timestamp,
) -> Result<(), Error> {
    let open = tx
        .fetch_all(sql!("runs/open_of_session"), params![goal.session])
        .await?;
    for row in &open {
        let status: RunStatus = row.parse("status")?;
        let has_worker = matches!(status, RunStatus::Delivered | RunStatus::Running)
            && !row.get::<bool>("is_unclaimed")?;
        if has_worker {
            request_stop(tx, log, goal, row.get("id")?, reason, now).await?;
        }
    }
    Ok(())
}

/// Requests the cancellation of a run that a worker has. The run ends when its agent has stopped.
async fn request_stop(
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    goal: &Goal,
    run: RunId,
    reason: &str,
    now: Timestamp,
) -> Result<(), Error> {
    tx.execute(sql!("runs/request_cancel"), params![run, now, reason])
        .await?;
    // Wake the readers of the session's log, because a runtime learns of the request by them.
    note_change(tx, goal.session.uuid()).await?;
    // Void the approvals of the turn, because the turn stops before a decision could reach it.
    approvals::void_approvals(tx, log, std::iter::once(run), now).await
}

/// Cancels a run that no worker has. It has no heartbeat, no live text and no approvals. Returns `false` if a worker has taken
/// it meanwhile.
async fn end_waiting(
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    goal: &Goal,
    row: &Row,
    reason: &str,
    now: Timestamp,
) -> Result<bool, Error> {
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
    if ended.is_empty() {
        return Ok(false);
    }
    let change = RunChange::from_outcome(&outcome, row.get("attempt")?);
    log.add_run_change(goal.session, run, change);
    Ok(true)
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

/// Closes the session of a goal that is over, cancels its waiting inputs, and requests the cancellation of its turns unless the
/// goal is done. Turns under way end after the session, because their processes must stop first.
pub(super) async fn close_session(
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    goal: &Goal,
    now: Timestamp,
) -> Result<(), Error> {
    // 1. Ask the turns to stop. If the goal is done, only turns with messages are under way, and these end by themselves, so
    // that a person gets the answer.
    let (state, reason, stop_reason) = match goal.graph.goal() {
        GoalState::Done => (SessionStatus::Done, None, None),
        GoalState::Cancelled => (
            SessionStatus::Failed,
            Some("cancelled"),
            Some(GOAL_CANCELLED),
        ),
        _ => (
            SessionStatus::Failed,
            Some("stuck for too long"),
            Some(GOAL_GIVEN_UP),
        ),
    };
    if let Some(stop_reason) = stop_reason {
        stop_all_turns(tx, log, goal, stop_reason, now).await?;
    }
    // 2. Move the session. A person may have closed it, which has cancelled the goal.
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
    // 3. Cancel the waiting inputs and void the questions.
    let reason = format!("the session is {state}");
    let open = tx
        .fetch_all(sql!("goals/open_runs"), params![goal.session])
        .await?;
    for row in &open {
        // If a worker has just taken the run, its turn does not begin, because the session is closed.
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
