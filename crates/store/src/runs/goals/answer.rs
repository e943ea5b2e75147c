//! The answers to questions of tasks.

use model::{
    InputId, TaskId, Timestamp,
    goal::{Activity, Event},
    question::Question,
};

use super::step::{lock_goal, move_goal};
use crate::{Error, database::Tx, session_log::SessionLogWriter, store::Store};

/// Moves the goal of a question whose task waits for the answer. If the turn that asked is not over, its end takes the answer.
/// Otherwise the answer is only recorded. Returns `false` for a question that no task has asked. The caller must hold the locks
/// of all seats of the session.
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
    let input: InputId = row.get("input_id")?;
    let Some(mut goal) = lock_goal(tx, question.session_id).await? else {
        return Ok(false);
    };
    let Some(no) = goal.task_no(task) else {
        return Ok(true);
    };
    // A question of an earlier turn, such as one that failed, is none for which the task waits. Only an earlier program has
    // left it pending.
    let newest = tx
        .fetch_optional(
            sql!("goals/newest_input"),
            params![question.session_id, task],
        )
        .await?;
    let newest = newest
        .map(|row| row.get::<InputId>("input_id"))
        .transpose()?;
    let activity = goal.graph.tasks()[no.0].activity();
    if newest == Some(input) && matches!(activity, Some(Activity::Question { .. })) {
        let events = vec![Event::Answered(no)];
        move_goal(store, tx, log, &mut goal, events, now).await?;
    }
    Ok(true)
}
