//! The instructions of a seat, which open each new memory of its agent.

use serde_json::json;

use super::{Error, RenderedPrompt, SEAT_OPENING};

/// The facts that open a new memory.
#[derive(Debug, Clone, Copy)]
pub struct SeatOpening<'a> {
    /// The name of the seat.
    pub name: &'a str,
    /// The role of the seat.
    pub role: &'a str,
    /// The instructions, as a person wrote them.
    pub instructions: &'a str,
}

/// Puts the instructions of a seat before its first prompt. Leaves a command of the agent as it is, because a text before it
/// would hide the command.
///
/// # Errors
///
/// [`Error`] if the template and its variables do not match.
pub fn open_memory(prompt: &mut RenderedPrompt, opening: &SeatOpening<'_>) -> Result<(), Error> {
    if prompt.is_command() {
        return Ok(());
    }
    let SeatOpening {
        name,
        role,
        instructions,
    } = opening;
    let opening =
        SEAT_OPENING.render(json!({ "name": name, "role": role, "instructions": instructions }))?;
    prompt.text = format!("{}\n\n{}", opening.text, prompt.text);
    if let Some(variables) = prompt.variables.as_object_mut() {
        let template = json!({ "id": SEAT_OPENING.id, "version": SEAT_OPENING.version });
        variables.insert("opening".into(), template);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::MESSAGE;

    const OPENING: SeatOpening<'_> = SeatOpening {
        name: "worker-1",
        role: "worker",
        instructions: "Write the failing test first. {{ 7 * 7 }}",
    };

    fn opened(message: &str) -> RenderedPrompt {
        let mut prompt = MESSAGE.render(json!({ "message": message })).unwrap();
        open_memory(&mut prompt, &OPENING).unwrap();
        prompt
    }

    #[test]
    fn instructions_precede_unchanged_prompt() {
        let prompt = opened(" Mend {{ it }}\n");
        assert!(prompt.text.starts_with("You are the seat `worker-1`"));
        let end = format!("\n\n{}\n\n Mend {{{{ it }}}}\n", OPENING.instructions);
        assert!(prompt.text.ends_with(&end), "{}", prompt.text);
        assert_eq!(prompt.prompt_ref, MESSAGE.prompt_ref());
        assert_eq!(prompt.variables["opening"]["id"], SEAT_OPENING.id);
    }

    #[test]
    fn command_of_agent_stays_first() {
        assert_eq!(opened("/compact").text, "/compact");
    }
}
