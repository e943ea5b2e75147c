//! The text that opens each new memory of a goal's seat.

use serde_json::json;

use super::{SEAT_INSTRUCTIONS, entries::quoted};
use crate::prompt::{Error, RenderedPrompt};

/// The facts that open a new memory.
#[derive(Debug, Clone, Copy)]
pub struct SeatInstructions<'a> {
    /// The name of the seat.
    pub seat: &'a str,
    /// The role.
    pub role: &'a str,
    /// The tools by which the seat acts. Empty if its turns differ in their tools.
    pub tools: &'a [&'a str],
    /// The instructions of the team. `None` if it has none for the role.
    pub instructions: Option<&'a str>,
}

impl SeatInstructions<'_> {
    /// Renders the text.
    ///
    /// # Errors
    ///
    /// [`Error`] if the template and its variables do not match.
    pub fn render(&self) -> Result<RenderedPrompt, Error> {
        SEAT_INSTRUCTIONS.render(json!({
            "seat": self.seat,
            "role": self.role,
            "tools": quoted(self.tools).unwrap_or_else(|| "those that each turn offers".into()),
            "instructions": self.instructions,
        }))
    }
}

/// Puts the instructions of a seat before the first prompt of a memory. Leaves a command of the agent, which a person can
/// send to a seat, as it is, because a text before it would hide the command.
///
/// # Errors
///
/// [`Error`] if the template and its variables do not match.
pub fn open_goal_memory(
    prompt: &mut RenderedPrompt,
    instructions: &SeatInstructions<'_>,
) -> Result<(), Error> {
    if prompt.is_command() {
        return Ok(());
    }
    let opening = instructions.render()?;
    prompt.text = format!("{}\n\n{}", opening.text, prompt.text);
    if let Some(variables) = prompt.variables.as_object_mut() {
        let template = json!({ "id": SEAT_INSTRUCTIONS.id, "version": SEAT_INSTRUCTIONS.version });
        variables.insert("opening".into(), template);
    }
    Ok(())
}
