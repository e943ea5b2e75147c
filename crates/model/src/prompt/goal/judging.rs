//! The prompts of the judge, and of the report.

use serde_json::json;

use super::{
    ArtifactEntry, FindingEntry, GOAL_CHECK, GOAL_REPORT, GOAL_REVIEW, QuestionEntry, TaskEntry,
    entries::{Listed, bounded},
};
use crate::prompt::{Error, RenderedPrompt};

/// The facts of a review.
#[derive(Debug, Clone, Copy)]
pub struct ReviewContext<'a> {
    /// The key of the task.
    pub key: &'a str,
    /// The title of the task.
    pub title: &'a str,
    /// The lines by which the result is judged.
    pub acceptance: &'a [&'a str],
    /// The result.
    pub result: &'a str,
    /// The artifacts of the task, the ones to be listed first.
    pub artifacts: &'a [ArtifactEntry<'a>],
    /// The number of tools that the worker called, without those of Matins.
    pub tool_calls: u32,
    /// The number of the round, from 1.
    pub round: u32,
    /// The findings of earlier rounds, at most 20.
    pub earlier_findings: &'a [FindingEntry<'a>],
}

/// The facts of the check of a whole goal.
#[derive(Debug, Clone, Copy)]
pub struct CheckContext<'a> {
    /// The goal.
    pub goal: &'a str,
    /// The tasks, the ones to be listed first.
    pub tasks: &'a [TaskEntry<'a>],
    /// The number of tasks that `tasks` lacks.
    pub tasks_more: usize,
    /// The artifacts of the goal, the ones to be listed first.
    pub artifacts: &'a [ArtifactEntry<'a>],
    /// The number of the round, from 1. Each check of the goal is one.
    pub round: u32,
    /// The findings of earlier checks that count in this round, at most 20.
    pub earlier_findings: &'a [FindingEntry<'a>],
}

/// The facts of a report.
#[derive(Debug, Clone, Copy)]
pub struct ReportContext<'a> {
    /// The goal.
    pub goal: &'a str,
    /// The tasks, the ones to be listed first.
    pub tasks: &'a [TaskEntry<'a>],
    /// The number of tasks that `tasks` lacks.
    pub tasks_more: usize,
    /// The findings for which results were not accepted, the ones to be listed first.
    pub rejected: &'a [FindingEntry<'a>],
    /// The questions of the seats, the ones to be listed first.
    pub questions: &'a [QuestionEntry<'a>],
    /// The usage, in a few words.
    pub usage: &'a str,
}

impl ReviewContext<'_> {
    /// Renders the prompt.
    ///
    /// # Errors
    ///
    /// [`Error`] if the template and its variables do not match.
    pub fn render(&self) -> Result<RenderedPrompt, Error> {
        let artifacts = Listed::artifacts(self.artifacts);
        GOAL_REVIEW.render(json!({
            "key": self.key,
            "title": self.title,
            "acceptance": self.acceptance,
            "result": self.result,
            "artifacts": artifacts.lines,
            "artifacts_more": artifacts.more,
            "tool_calls": self.tool_calls,
            "round": self.round,
            "earlier_findings": Listed::findings(self.earlier_findings).lines,
        }))
    }
}

impl CheckContext<'_> {
    /// Renders the prompt.
    ///
    /// # Errors
    ///
    /// [`Error`] if the template and its variables do not match.
    pub fn render(&self) -> Result<RenderedPrompt, Error> {
        let (tasks, left_out) = bounded(self.tasks);
        let tasks = Listed::tasks(&tasks);
        let artifacts = Listed::artifacts(self.artifacts);
        GOAL_CHECK.render(json!({
            "goal": self.goal,
            "tasks": tasks.lines.unwrap_or_else(|| "no task".into()),
            "tasks_more": tasks.more + self.tasks_more,
            "results_left_out": left_out,
            "artifacts": artifacts.lines,
            "artifacts_more": artifacts.more,
            "round": self.round,
            "earlier_findings": Listed::findings(self.earlier_findings).lines,
        }))
    }
}

impl ReportContext<'_> {
    /// Renders the prompt.
    ///
    /// # Errors
    ///
    /// [`Error`] if the template and its variables do not match.
    pub fn render(&self) -> Result<RenderedPrompt, Error> {
        let (tasks, left_out) = bounded(self.tasks);
        let tasks = Listed::tasks(&tasks);
        let rejected = Listed::findings(self.rejected);
        let questions = Listed::questions(self.questions);
        GOAL_REPORT.render(json!({
            "goal": self.goal,
            "tasks": tasks.lines,
            "tasks_more": tasks.more + self.tasks_more,
            "results_left_out": left_out,
            "rejected": rejected.lines,
            "rejected_more": rejected.more,
            "questions": questions.lines,
            "questions_more": questions.more,
            "usage": self.usage,
        }))
    }
}
