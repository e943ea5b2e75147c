//! The runs of the turns that start.

use std::collections::HashMap;

use model::{
    InputId, TaskId, Timestamp,
    entity::RunTask,
    goal::{Activity, Memory, Prompt, SeatNo, TaskNo},
    run::Origin,
    team::MemoryScope,
};

use super::prompts::{GoalTexts, Turn, TurnMemory, goal_input};
use crate::{
    Error,
    database::Tx,
    goals::Goal,
    runs::{
        admit::{NewAttempt, Preloaded, insert_attempts},
        task_memories::{MemoryKey, StartingMemory, prepare_memories},
    },
    seat_message_rows::record_carried_to_tasks,
    session_log::SessionLogWriter,
    store::Store,
};

/// A turn of a task that starts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start {
    pub(super) seat: SeatNo,
    pub(super) task: TaskNo,
    pub(super) prompt: Prompt,
    pub(super) memory: Memory,
}

impl Start {
    /// Returns `true` if the turn judges the task.
    fn is_review(&self, goal: &Goal) -> bool {
        let task = &goal.graph.tasks()[self.task.0];
        matches!(task.activity(), Some(Activity::Review { .. }))
    }
}

/// Inserts the runs of turns that start, on the path of all runs. A run waits if a person's message has its seat.
pub(super) async fn insert_starts(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    goal: &Goal,
    starts: &[Start],
    now: Timestamp,
) -> Result<(), Error> {
    if starts.is_empty() {
        return Ok(());
    }
    // 1. Prepare the memories. The run of a turn is pinned to the instance of its memory.
    let memories = starts.iter().filter_map(|start| {
        let scope = goal.memory_scope(start.seat)?;
        let key = MemoryKey {
            task: goal.tasks[start.task.0],
            seat: goal.seat(start.seat)?,
            is_review: start.is_review(goal),
        };
        (scope == MemoryScope::Task).then_some(StartingMemory {
            key,
            is_new: start.memory == Memory::New,
        })
    });
    let memories: Vec<_> = memories.collect();
    let owner = (goal.tenant, goal.session);
    let lost = prepare_memories(tx, owner, &memories, now).await?;
    // 2. Render the prompts.
    let turns = starts.iter().map(|start| Turn {
        task: start.task,
        seat: goal.seat(start.seat),
        prompt: start.prompt,
        is_review: start.is_review(goal),
        memory: match start.memory {
            Memory::New => TurnMemory::New,
            Memory::Resumed if lost.contains(&goal.tasks[start.task.0]) => TurnMemory::Lost,
            Memory::Resumed => TurnMemory::Kept,
        },
    });
    let turns: Vec<Turn> = turns.collect();
    let texts = GoalTexts::read(tx, goal, &turns, now).await?;
    let mut contents: HashMap<SeatNo, String> = HashMap::with_capacity(starts.len());
    for (start, turn) in starts.iter().zip(&turns) {
        contents.insert(start.seat, goal_input(goal, *turn, &texts)?);
    }
    // 3. Insert the runs.
    let mut attempts = Vec::with_capacity(starts.len());
    let mut carried = Vec::new();
    for start in starts {
        let (Some(seat), Some(content)) = (goal.seat(start.seat), contents.get(&start.seat)) else {
            continue;
        };
        let id: TaskId = goal.tasks[start.task.0];
        let input = InputId::generate(now, store.ids());
        carried.extend(texts.carried_by(start.task).map(|id| (id, input)));
        attempts.push(NewAttempt {
            id: None,
            tenant: goal.tenant,
            input,
            number: 1,
            failures: 0,
            origin: Origin::Task,
            session: goal.session,
            seat,
            automation: None,
            trigger: None,
            task: Some(RunTask {
                id,
                prompt: Some(start.prompt),
                is_review: start.is_review(goal),
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
    record_carried_to_tasks(tx, carried.into_iter()).await
}
