//! The prompts of a goal's turns.
//!
//! Each prompt has a context with its facts, such as [`WorkContext`], which renders it. Texts of agents are fenced, or
//! escaped so that they stay on one line. Prompts are never cut: [`text_limits`](crate::goal::text_limits) limits each text when it is
//! written, and a list that is longer than [`MAX_LISTED`] becomes its beginning and a count. A list of tasks or of dependencies leaves
//! out the results beyond [`RESULTS_BYTES`], and counts them.

mod entries;
mod interrupted;
mod judging;
mod opening;
mod planning;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_hostile;
#[cfg(test)]
mod tests_lists;
mod working;

use serde_json::json;

use super::{RenderedPrompt, Template};
use crate::goal::Prompt;

pub use entries::{
    ArtifactEntry, FindingEntry, FindingSource, InputEntry, MAX_LISTED, MessageEntry,
    MessageSender, ProposalEntry, QuestionEntry, RESULTS_BYTES, TaskEntry,
};
pub use interrupted::{InterruptedState, MAX_STAGED_LISTED, StagedEntry};
pub use judging::{CheckContext, ReportContext, ReviewContext};
pub use opening::{SeatInstructions, open_goal_memory};
pub use planning::{PlanContext, PlanLimits, PlanPrompt, PlanRules, ReplanContext, RoleEntry};
pub use working::{AnswerContext, AnswerSource, ReminderContext, ReworkContext, WorkContext};

macro_rules! template {
    ($(#[$doc:meta])* $name:ident, $id:literal) => {
        template!($(#[$doc])* $name, $id, version 1);
    };
    ($(#[$doc:meta])* $name:ident, $id:literal, version $version:literal) => {
        $(#[$doc])*
        pub const $name: Template = Template {
            id: $id,
            version: $version,
            text: include_str!(concat!("templates/", $id, ".jinja")),
        };
    };
}

template!(
    /// The text that opens each new memory of a goal's seat. Variables: `seat`, `role`, `tools` and `instructions`.
    SEAT_INSTRUCTIONS,
    "seat.instructions"
);
template!(
    /// The prompt of the first plan. Variables: those of [`PlanContext`].
    GOAL_PLAN,
    "goal.plan",
    version 2
);
template!(
    /// The prompt of a later plan, or of the first one after tasks of a person. Variables: those of [`ReplanContext`].
    GOAL_REPLAN,
    "goal.replan",
    version 4
);
template!(
    /// The prompt of an attempt at a task. Variables: those of [`WorkContext`].
    GOAL_WORK,
    "goal.work",
    version 4
);
template!(
    /// The prompt of a task whose result was sent back. Variables: those of [`ReworkContext`].
    GOAL_REWORK,
    "goal.rework"
);
template!(
    /// The prompt of the judge of a task. Variables: those of [`ReviewContext`].
    GOAL_REVIEW,
    "goal.review"
);
template!(
    /// The prompt that carries an answer to a seat. Variables: those of [`AnswerContext`].
    GOAL_ANSWER,
    "goal.answer",
    version 2
);
template!(
    /// The prompt of the judge of the whole goal. Variables: those of [`CheckContext`].
    GOAL_CHECK,
    "goal.check",
    version 3
);
template!(
    /// The prompt of the report. Variables: those of [`ReportContext`].
    GOAL_REPORT,
    "goal.report",
    version 4
);
template!(
    /// The prompt after a turn that made no call of its tool. Variables: those of [`ReminderContext`].
    GOAL_REMINDER,
    "goal.reminder",
    version 4
);
template!(
    /// The state in the prompt of an attempt that follows an interrupted one. Variables: `report`, and either `status` and `tool`,
    /// or `staged`, `staged_more` and `cancelled`.
    GOAL_INTERRUPTED,
    "goal.interrupted"
);

/// Returns the template of a prompt.
pub const fn goal_template(prompt: Prompt) -> Template {
    match prompt {
        Prompt::Plan => GOAL_PLAN,
        Prompt::Replan => GOAL_REPLAN,
        Prompt::Work => GOAL_WORK,
        Prompt::Rework => GOAL_REWORK,
        Prompt::Review => GOAL_REVIEW,
        Prompt::Answer => GOAL_ANSWER,
        Prompt::Check => GOAL_CHECK,
        Prompt::Report => GOAL_REPORT,
        Prompt::Reminder => GOAL_REMINDER,
    }
}

/// Returns the prompt of a turn whose input was rendered when the goal started the turn.
pub(super) fn rendered_input(prompt: Prompt, content: &str) -> RenderedPrompt {
    RenderedPrompt {
        prompt_ref: goal_template(prompt).prompt_ref(),
        text: content.to_owned(),
        variables: json!({ "input": content }),
        run_report: None,
    }
}
