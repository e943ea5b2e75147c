//! The runs of the turns that start.

use std::collections::HashMap;

use model::{
    InputId, TaskId, Timestamp,
    entity::RunTask,
    goal::{Prompt, SeatNo, TaskNo},
    run::Origin,
};

use super::prompts::{GoalTexts, goal_input};
use crate::{
    Error,
    database::Tx,
    goals::Goal,
    runs::admit::{NewAttempt, Preloaded, insert_attempts},
    session_log::SessionLogWriter,
    store::Store,
};

/// Inserts the runs of turns that start, on the path of all runs. A run waits if a person's message has its seat.
pub(super) async fn insert_starts(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    goal: &Goal,
    starts: &[(SeatNo, (TaskNo, Prompt))],
    refusal: &str,
    now: Timestamp,
) -> Result<(), Error> {
    if starts.is_empty() {
        return Ok(());
    }
    // 1. Render the prompts.
    let turns: Vec<(TaskNo, Prompt)> = starts.iter().map(|(_, turn)| *turn).collect();
    let texts = GoalTexts::read(tx, goal, &turns, refusal).await?;
    let mut contents: HashMap<SeatNo, String> = HashMap::with_capacity(starts.len());
    for (seat, (task, prompt)) in starts {
        contents.insert(*seat, goal_input(goal, *task, *prompt, &texts)?);
    }
    // 2. Insert the runs.
    let mut attempts = Vec::with_capacity(starts.len());
    for (seat_no, (task, prompt)) in starts {
        let (Some(seat), Some(content)) = (goal.seat(*seat_no), contents.get(seat_no)) else {
            continue;
        };
        let id: TaskId = goal.tasks[task.0];
        attempts.push(NewAttempt {
            id: None,
            tenant: goal.tenant,
            input: InputId::generate(now, store.ids()),
            number: 1,
            failures: 0,
            origin: Origin::Task,
            session: goal.session,
            seat,
            automation: None,
            trigger: None,
            task: Some(RunTask {
                id,
                prompt: Some(*prompt),
            }),
            scheduled_for: None,
            exclusive: false,
            content,
            not_before: None,
            interrupted: None,
            input_at: now,
        });
    }
    let inserted = insert_attempts(store, tx, log, &attempts, Preloaded::default(), now).await?;
    inserted.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(())
}
