//! The instructions of seats, which open the memories of their agents.

use std::collections::HashMap;

use model::{
    RunId,
    entity::{RunTask, Seat},
    goal::PLANNER,
    prompt::{
        RenderedPrompt, SeatOpening,
        goal::{SeatInstructions, open_goal_memory},
        open_memory,
    },
};

use crate::{
    Error,
    runs::{start_candidate::StartCandidate, turn_context::TurnContext},
};

/// Puts the instructions of seats before the prompts of turns that begin a memory, whatever the turns carry: in a goal, a later
/// turn of a task may resume the memory that a message has begun.
pub(super) fn open_memories(
    ready: &[StartCandidate],
    context: &TurnContext,
    prompts: &mut HashMap<RunId, RenderedPrompt>,
) -> Result<(), Error> {
    for StartCandidate { run, seat, .. } in ready {
        let Some(prompt) = prompts.get_mut(&run.id) else {
            continue;
        };
        if seat.acp_session_id.is_some() {
            continue;
        }
        let opened = if context.is_of_goal(seat.id) {
            let instructions = SeatInstructions {
                seat: &seat.name,
                role: &seat.role,
                tools: goal_tools(seat, run.task),
                instructions: seat.instructions.as_deref(),
            };
            open_goal_memory(prompt, &instructions)
        } else if let Some(instructions) = seat.instructions.as_deref() {
            let opening = SeatOpening {
                name: &seat.name,
                role: &seat.role,
                instructions,
            };
            open_memory(prompt, &opening)
        } else {
            Ok(())
        };
        opened.map_err(|source| Error::Prompt {
            run: run.id,
            source,
        })?;
    }
    Ok(())
}

/// Returns the tools by which a seat acts in a turn of a task. A judge that does a task of the plan is its worker. Empty for a
/// memory that a message begins: turns with messages have others than turns of tasks, and both may come in it.
fn goal_tools(seat: &Seat, task: Option<RunTask>) -> &'static [&'static str] {
    match task {
        None => &[],
        Some(task) if task.is_review => &["judge_task", "ask_person"],
        Some(_) if seat.role == PLANNER => &["create_task", "update_task", "ask_person"],
        Some(_) => &["update_task", "ask_person"],
    }
}
