//! The state that an interrupted attempt at a turn of a task leaves to the next attempt.

use serde_json::json;

use super::{GOAL_INTERRUPTED, entries::quoted};
use crate::{
    escape::escape_line,
    goal::{ReportBody, ReportStatus},
    prompt::{Error, RenderedPrompt},
};

/// The highest number of staged tasks that a prompt lists with their titles, and of cancelled ones: those of a plan within the
/// default limit.
pub const MAX_STAGED_LISTED: usize = 50;

/// A task that a planner has staged.
#[derive(Debug, Clone, Copy)]
pub struct StagedEntry<'a> {
    /// The key.
    pub key: &'a str,
    /// The title.
    pub title: &'a str,
}

/// The state that an interrupted attempt has left.
#[derive(Debug, Clone, Copy)]
pub enum InterruptedState<'a> {
    /// The changes of a plan.
    Plan {
        /// The tasks that the plan makes, the ones to be listed first.
        staged: &'a [StagedEntry<'a>],
        /// The keys of the tasks that the plan cancels.
        cancelled: &'a [&'a str],
    },
    /// The report of a worker or a judge.
    Report {
        /// The status.
        status: ReportStatus,
        /// The content.
        body: &'a ReportBody,
    },
}

impl InterruptedState<'_> {
    /// Renders the text that the prompt of the next attempt has before the request.
    ///
    /// # Errors
    ///
    /// [`Error`] if the template and its variables do not match.
    pub fn render(&self) -> Result<RenderedPrompt, Error> {
        match *self {
            Self::Plan { staged, cancelled } => {
                let listed = staged.iter().take(MAX_STAGED_LISTED);
                let listed: Vec<_> = listed.map(StagedEntry::line).collect();
                let (first, others) = cancelled.split_at(cancelled.len().min(MAX_STAGED_LISTED));
                let more = match others.len() {
                    0 => String::new(),
                    count => format!(" and {count} more"),
                };
                GOAL_INTERRUPTED.render(json!({
                    "report": null,
                    "staged": listed,
                    "staged_more": staged.len().saturating_sub(MAX_STAGED_LISTED),
                    "cancelled": quoted(first).map(|words| words + &more),
                }))
            }
            Self::Report { status, body } => {
                let tool = if status.is_verdict() {
                    "judge_task"
                } else {
                    "update_task"
                };
                GOAL_INTERRUPTED.render(json!({
                    "report": report_lines(body).join("\n"),
                    "status": status.as_str(),
                    "tool": tool,
                }))
            }
        }
    }
}

impl StagedEntry<'_> {
    fn line(&self) -> String {
        escape_line(&format!("{}: {}", self.key, self.title)).into_owned()
    }
}

/// Returns the fields of a report, each on lines of its own. Only the result can have several.
fn report_lines(body: &ReportBody) -> Vec<String> {
    let line = |name: &str, text: &str| escape_line(&format!("{name}: {text}")).into_owned();
    let result = body.result.as_deref();
    let result = result.map(|result| format!("result: {result}"));
    let mut lines: Vec<String> = result.into_iter().collect();
    lines.extend(body.artifacts.iter().map(|name| line("artifact", name)));
    lines.extend(body.follow_up.iter().map(|text| line("follow_up", text)));
    lines.extend(body.evidence.iter().map(|text| line("evidence", text)));
    lines.extend(body.findings.iter().map(|finding| {
        let criterion = finding
            .criterion
            .map(|no| format!(", acceptance line {no}"));
        let regression = if finding.regression {
            ", regression"
        } else {
            ""
        };
        let name = format!(
            "finding {} ({}{}{regression})",
            finding.id,
            finding.severity,
            criterion.unwrap_or_default()
        );
        line(&name, &finding.text)
    }));
    if lines.is_empty() {
        lines.push("no text".to_owned());
    }
    lines
}
