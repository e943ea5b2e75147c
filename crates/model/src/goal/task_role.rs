//! The part of an agent in a turn of a task, on which its tools depend.

use crate::{
    goal::{
        seat::Prompt,
        task::{Step, TaskKind},
    },
    text_enum::text_enum,
};

text_enum! {
    /// The part of an agent in a turn of a task.
    TaskRole, "a part in a task" {
        /// The agent makes the tasks of a plan.
        Planner = "planner",
        /// The agent does a task.
        Worker = "worker",
        /// The agent judges a task, or the whole goal.
        Judge = "judge",
        /// The agent writes the prose of the report.
        Reporter = "reporter",
    }
}

impl TaskRole {
    /// Returns the part in a turn with this prompt of a task with this kind and step. A judge that takes a task of the plan is
    /// its worker.
    pub fn of_turn(kind: TaskKind, step: Option<Step>, prompt: Option<Prompt>) -> Self {
        let is_review = match prompt {
            Some(Prompt::Review | Prompt::Check) => true,
            Some(Prompt::Reminder | Prompt::Answer) => step == Some(Step::Review),
            _ => false,
        };
        match kind {
            _ if is_review => Self::Judge,
            TaskKind::Plan => Self::Planner,
            TaskKind::Report => Self::Reporter,
            TaskKind::Work | TaskKind::Check => Self::Worker,
        }
    }

    /// Returns `true` if the agent ends its turn by a report: a result or a verdict.
    pub const fn reports(self) -> bool {
        matches!(self, Self::Worker | Self::Judge)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_follows_from_task_and_prompt() {
        let review = Some(Step::Review);
        for (kind, step, prompt, expected) in [
            (
                TaskKind::Plan,
                Some(Step::Work),
                Some(Prompt::Plan),
                TaskRole::Planner,
            ),
            (
                TaskKind::Plan,
                Some(Step::Work),
                Some(Prompt::Reminder),
                TaskRole::Planner,
            ),
            (
                TaskKind::Work,
                Some(Step::Work),
                Some(Prompt::Rework),
                TaskRole::Worker,
            ),
            (
                TaskKind::Work,
                Some(Step::Work),
                Some(Prompt::Answer),
                TaskRole::Worker,
            ),
            (
                TaskKind::Work,
                review,
                Some(Prompt::Review),
                TaskRole::Judge,
            ),
            (
                TaskKind::Work,
                review,
                Some(Prompt::Reminder),
                TaskRole::Judge,
            ),
            (
                TaskKind::Work,
                review,
                Some(Prompt::Answer),
                TaskRole::Judge,
            ),
            (
                TaskKind::Check,
                review,
                Some(Prompt::Check),
                TaskRole::Judge,
            ),
            (
                TaskKind::Report,
                Some(Step::Work),
                Some(Prompt::Report),
                TaskRole::Reporter,
            ),
            // The prompt of a later version is unknown.
            (TaskKind::Work, Some(Step::Work), None, TaskRole::Worker),
        ] {
            assert_eq!(
                TaskRole::of_turn(kind, step, prompt),
                expected,
                "{kind} {prompt:?}"
            );
        }
    }
}
