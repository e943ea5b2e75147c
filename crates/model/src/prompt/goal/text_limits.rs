//! The longest texts of a goal.

use crate::text_enum::text_enum;

text_enum! {
    /// A text that the prompts of a goal carry, by the field in which it is written.
    GoalText, "a text of a goal" {
        /// The goal, as a person wrote it.
        Goal = "goal",
        /// The instructions of a role.
        Instructions = "instructions",
        /// The description of a task.
        Description = "description",
        /// A message between seats.
        Message = "text",
        /// The result of a task.
        Result = "result",
        /// The proposal of a worker.
        FollowUp = "follow_up",
        /// A question to a person.
        Question = "question",
        /// The answer of a person.
        Answer = "answer",
        /// A finding of a judge.
        Finding = "findings",
        /// The last lines of a check.
        CheckOutput = "output",
    }
}

/// The error for a text that no prompt of a goal carries.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GoalTextError {
    /// The text has no letters.
    #[error("`{field}` is empty; accepted are 1 to {accepted} bytes")]
    Empty {
        /// The field.
        field: GoalText,
        /// The longest accepted text, in bytes.
        accepted: usize,
    },
    /// The text is too long.
    #[error("`{field}` has {bytes} bytes; accepted are 1 to {accepted}")]
    TooLong {
        /// The field.
        field: GoalText,
        /// The size of the text, in bytes.
        bytes: usize,
        /// The longest accepted text, in bytes.
        accepted: usize,
    },
}

impl GoalText {
    /// Returns the size of the longest accepted text, in bytes.
    pub const fn max_bytes(self) -> usize {
        match self {
            Self::Goal => 32 << 10,
            Self::Instructions | Self::Description => 16 << 10,
            Self::Message | Self::CheckOutput => 8 << 10,
            Self::Result | Self::Answer => 4 << 10,
            Self::FollowUp | Self::Question => 2 << 10,
            Self::Finding => 1000,
        }
    }

    /// Checks a text before it is stored.
    ///
    /// # Errors
    ///
    /// Returns [`GoalTextError`] if the text is empty or too long.
    pub fn check(self, text: &str) -> Result<(), GoalTextError> {
        let (field, accepted) = (self, self.max_bytes());
        if text.len() > accepted {
            let bytes = text.len();
            return Err(GoalTextError::TooLong {
                field,
                bytes,
                accepted,
            });
        }
        if text.trim().is_empty() {
            return Err(GoalTextError::Empty { field, accepted });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_accepted_up_to_its_limit() {
        for field in GoalText::ALL {
            let accepted = field.max_bytes();
            let bytes = accepted + 1;
            let field = *field;
            let check = |text: &str| field.check(text);
            assert_eq!(check(&"x".repeat(accepted)), Ok(()));
            let too_long = GoalTextError::TooLong {
                field,
                bytes,
                accepted,
            };
            assert_eq!(check(&"x".repeat(bytes)), Err(too_long));
            let empty = Err(GoalTextError::Empty { field, accepted });
            assert_eq!(check(""), empty);
            assert_eq!(check(" \n"), empty);
        }
    }

    #[test]
    fn error_names_field_size_and_accepted_sizes() {
        let error = GoalText::Result.check(&"é".repeat(2049)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`result` has 4098 bytes; accepted are 1 to 4096"
        );
        let error = GoalText::Goal.check("").unwrap_err();
        assert_eq!(
            error.to_string(),
            "`goal` is empty; accepted are 1 to 32768 bytes"
        );
    }

    #[test]
    fn instructions_have_limit_of_team() {
        let bytes = GoalText::Instructions.max_bytes();
        assert_eq!(bytes, crate::limits::INSTRUCTIONS_BYTES);
    }
}
