//! The instructions of seats, which open the memories of their agents.

use std::collections::HashMap;

use model::{
    RunId,
    prompt::{RenderedPrompt, SeatOpening, open_memory},
};

use crate::{Error, runs::start_candidate::StartCandidate};

/// Puts the instructions of seats before the prompts of turns that begin a memory.
pub(super) fn open_memories(
    ready: &[StartCandidate],
    prompts: &mut HashMap<RunId, RenderedPrompt>,
) -> Result<(), Error> {
    for StartCandidate { run, seat, .. } in ready {
        let begins_memory = seat.acp_session_id.is_none();
        let (Some(instructions), Some(prompt)) = (
            seat.instructions.as_deref().filter(|_| begins_memory),
            prompts.get_mut(&run.id),
        ) else {
            continue;
        };
        let opening = SeatOpening {
            name: &seat.name,
            role: &seat.role,
            instructions,
        };
        open_memory(prompt, &opening).map_err(|source| Error::Prompt {
            run: run.id,
            source,
        })?;
    }
    Ok(())
}
