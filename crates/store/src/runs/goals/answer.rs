//! The answers to questions of tasks.

use model::{
    TaskId, Timestamp,
    goal::{Activity, Event, Input, TaskNo},
    question::Question,
};

use super::step::{lock_goal, move_goal};
use crate::{Error, database::Tx, session_log::SessionLogWriter, store::Store};

/// Moves the goal of a question whose task waits for the answer. If the turn that asked is not over, its end takes the answer.
/// Returns `false` if no task waits for it. The caller must hold the locks of all seats of the session.
pub(crate) async fn answer_task(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    question: &Question,
    now: Timestamp,
) -> Result<bool, Error> {
    let row = tx
        .fetch_optional(sql!("goals/task_of_run"), params![question.run_id])
        .await?;
    let Some(row) = row else {
        return Ok(false);
    };
    let task: TaskId = row.get("task_id")?;
    let Some(mut goal) = lock_goal(tx, question.session_id).await? else {
        return Ok(false);
    };
    let Some(TaskNo(no)) = goal.task_no(task) else {
        return Ok(false);
    };
    let is_waiting = match goal.graph.tasks()[no].activity() {
        Some(Activity::Question { seat, .. }) => goal.seat(*seat) == Some(question.seat_id),
        _ => false,
    };
    if is_waiting {
        let events = vec![Event::Answered(TaskNo(no))];
        move_goal(store, tx, log, &mut goal, events, now).await?;
        return Ok(true);
    }
    let seats = goal.graph.seats().iter();
    let turns = seats.filter_map(|seat| seat.turn.and_then(Input::task));
    Ok(turns.into_iter().any(|task| task == TaskNo(no)))
}
