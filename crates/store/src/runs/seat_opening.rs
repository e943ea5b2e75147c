//! The instructions of seats, which open the memories of their agents.

use std::collections::HashMap;

use model::{
    RunId,
    entity::Seat,
    goal::{JUDGE, PLANNER},
    prompt::{
        RenderedPrompt, SeatOpening,
        goal::{SeatInstructions, open_goal_memory},
        open_memory,
    },
};

use crate::{Error, runs::start_candidate::StartCandidate};

/// Puts the instructions of seats before the prompts of turns that begin a memory.
pub(super) fn open_memories(
    ready: &[StartCandidate],
    prompts: &mut HashMap<RunId, RenderedPrompt>,
) -> Result<(), Error> {
    for StartCandidate { run, seat, .. } in ready {
        let Some(prompt) = prompts.get_mut(&run.id) else {
            continue;
        };
        if seat.acp_session_id.is_some() {
            continue;
        }
        let opened = match (run.task, seat.instructions.as_deref()) {
            (Some(_), instructions) => {
                let instructions = SeatInstructions {
                    seat: &seat.name,
                    role: &seat.role,
                    tools: goal_tools(seat),
                    instructions,
                };
                open_goal_memory(prompt, &instructions)
            }
            (None, Some(instructions)) => {
                let opening = SeatOpening {
                    name: &seat.name,
                    role: &seat.role,
                    instructions,
                };
                open_memory(prompt, &opening)
            }
            (None, None) => Ok(()),
        };
        opened.map_err(|source| Error::Prompt {
            run: run.id,
            source,
        })?;
    }
    Ok(())
}

/// Returns the tools that a seat of a goal calls for its tasks.
fn goal_tools(seat: &Seat) -> &'static [&'static str] {
    match seat.role.as_str() {
        PLANNER => &["create_task", "update_task", "ask_person"],
        JUDGE => &["judge_task", "ask_person"],
        _ => &["update_task", "ask_person"],
    }
}
