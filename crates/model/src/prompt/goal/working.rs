//! The prompts of a seat that works on a task.

use serde_json::{Value, json};

use super::{
    ArtifactEntry, FindingEntry, GOAL_ANSWER, GOAL_REMINDER, GOAL_REWORK, GOAL_WORK, InputEntry,
    MAX_LISTED, MessageEntry,
    entries::{Inputs, Listed, finding_values, message_values, quoted},
};
use crate::{
    caller_name::display_name,
    prompt::{Error, RenderedPrompt},
};

/// The facts of an attempt at a task.
#[derive(Debug, Clone, Copy)]
pub struct WorkContext<'a> {
    /// The key.
    pub key: &'a str,
    /// The title.
    pub title: &'a str,
    /// The description.
    pub description: &'a str,
    /// The lines by which the result is judged.
    pub acceptance: &'a [&'a str],
    /// The path prefixes that the task writes.
    pub writes: &'a [&'a str],
    /// The dependencies, the ones to be shown first.
    pub inputs: &'a [InputEntry<'a>],
    /// The artifacts of the goal, the ones to be listed first.
    pub artifacts: &'a [ArtifactEntry<'a>],
    /// The messages that wait, oldest first.
    pub messages: &'a [MessageEntry<'a>],
    /// The findings for which an earlier result was not accepted.
    pub findings: &'a [FindingEntry<'a>],
    /// The number of the attempt, from 1. A person's retry begins at 1 again.
    pub attempt: u32,
    /// The end of the last turn of the task. `None` if it has had none.
    pub last_error: Option<&'a str>,
}

/// The facts of a result that was sent back.
#[derive(Debug, Clone, Copy)]
pub struct ReworkContext<'a> {
    /// The key of the task.
    pub key: &'a str,
    /// The number of the round, from 1.
    pub round: u32,
    /// The highest number of rounds.
    pub rounds: u32,
    /// The findings that count.
    pub findings: &'a [FindingEntry<'a>],
}

/// The source of an answer.
#[derive(Debug, Clone, Copy)]
pub enum AnswerSource<'a> {
    /// A person, by name.
    Person(&'a str),
    /// The default of the question, at its deadline.
    Default,
}

/// The facts of an answer.
#[derive(Debug, Clone, Copy)]
pub struct AnswerContext<'a> {
    /// The question of the seat.
    pub question: &'a str,
    /// The answer.
    pub answer: &'a str,
    /// The source of the answer.
    pub source: AnswerSource<'a>,
    /// The keys of the tasks that the plan makes, if a planner has asked. They are published although the answer is no.
    pub staged: &'a [&'a str],
    /// The keys of the tasks that such a plan cancels.
    pub cancelled: &'a [&'a str],
}

/// The facts of a missing call.
#[derive(Debug, Clone, Copy)]
pub struct ReminderContext<'a> {
    /// The name of the tool.
    pub missing: &'a str,
    /// The schema of its input.
    pub schema: &'a Value,
    /// The reasons for which the plan or the report was refused, the ones to be listed first. Empty if none was refused.
    pub refusals: &'a [&'a str],
    /// `true` if the refused plan is still staged. A report in an answer is lost, also if it is one of a planner.
    pub is_staged: bool,
}

impl WorkContext<'_> {
    /// Renders the prompt.
    ///
    /// # Errors
    ///
    /// [`Error`] if the template and its variables do not match.
    pub fn render(&self) -> Result<RenderedPrompt, Error> {
        let inputs = Inputs::of(self.inputs);
        let artifacts = Listed::artifacts(self.artifacts);
        GOAL_WORK.render(json!({
            "key": self.key,
            "title": self.title,
            "description": self.description,
            "acceptance": self.acceptance,
            "writes": quoted(self.writes),
            "inputs": inputs.results,
            "without_result": inputs.without_result.join(", "),
            "inputs_more": inputs.more,
            "artifacts": artifacts.lines,
            "artifacts_more": artifacts.more,
            "messages": message_values(self.messages),
            "messages_more": self.messages.len().saturating_sub(MAX_LISTED),
            "findings": finding_values(self.findings),
            "attempt": self.attempt,
            "last_error": self.last_error,
        }))
    }
}

impl ReworkContext<'_> {
    /// Renders the prompt.
    ///
    /// # Errors
    ///
    /// [`Error`] if the template and its variables do not match.
    pub fn render(&self) -> Result<RenderedPrompt, Error> {
        GOAL_REWORK.render(json!({
            "key": self.key,
            "round": self.round,
            "rounds": self.rounds,
            "findings": finding_values(self.findings),
        }))
    }
}

impl AnswerContext<'_> {
    /// Renders the prompt.
    ///
    /// # Errors
    ///
    /// [`Error`] if the template and its variables do not match.
    pub fn render(&self) -> Result<RenderedPrompt, Error> {
        let (by_default, answered_by) = match self.source {
            AnswerSource::Person(person) => (false, Some(display_name(person))),
            AnswerSource::Default => (true, None),
        };
        GOAL_ANSWER.render(json!({
            "question": self.question,
            "answer": self.answer,
            "by_default": by_default,
            "answered_by": answered_by,
            "staged": quoted(self.staged),
            "cancelled": quoted(self.cancelled),
        }))
    }
}

impl ReminderContext<'_> {
    /// Renders the prompt.
    ///
    /// # Errors
    ///
    /// [`Error`] if the template and its variables do not match.
    pub fn render(&self) -> Result<RenderedPrompt, Error> {
        let refusals = Listed::texts(self.refusals);
        GOAL_REMINDER.render(json!({
            "missing": self.missing,
            "schema": self.schema.to_string(),
            "refusals": refusals.lines,
            "staged": self.is_staged,
            "refusals_more": refusals.more,
        }))
    }
}
