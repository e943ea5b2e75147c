//! The rows behind the lists and the counts of prompts.

use std::collections::BTreeSet;

use model::{
    SessionId, TaskId, Timestamp,
    budget::RunUsage,
    goal::{Prompt, ReportBody, ReportStatus, Severity, TaskNo, TaskStatus},
    prompt::goal::{ArtifactEntry, QuestionEntry},
    run::RunStatus,
};
use serde_json::Value;

use super::{
    planned::PlannedPrompts,
    proposals::{StoredProposal, read_unplanned},
    turn::{StoredFinding, Turn, has_prompt},
};
use crate::{
    Error,
    database::Tx,
    goals::Goal,
    runs::goals::usage::usage_of_session,
    stored::{self, goals::StoredReport},
};

/// The highest number of artifacts, of verdicts, of questions and of memory keys of which a prompt counts those that it does not
/// list.
const MAX_COUNTED: u32 = 1000;

/// The prompts that list artifacts.
const LISTING_ARTIFACTS: &[Prompt] = &[Prompt::Work, Prompt::Review, Prompt::Check];

/// The newest version of an artifact.
pub(super) struct StoredArtifact {
    name: String,
    version: i64,
    /// The task whose turn saved it.
    pub(super) task: Option<TaskId>,
    key: Option<String>,
}

impl StoredArtifact {
    pub(super) fn entry(&self) -> ArtifactEntry<'_> {
        ArtifactEntry {
            name: &self.name,
            version: self.version,
            task: self.key.as_deref(),
        }
    }
}

/// A question of a seat.
pub(super) struct StoredQuestion {
    seat: String,
    question: String,
    answer: Option<String>,
}

impl StoredQuestion {
    pub(super) fn entry(&self) -> QuestionEntry<'_> {
        QuestionEntry {
            seat: &self.seat,
            question: &self.question,
            answer: self.answer.as_deref(),
        }
    }
}

/// The facts of a whole goal. Those that no prompt needs are empty.
#[derive(Default)]
pub(super) struct GoalFacts {
    /// The newest version of each artifact of the session.
    pub(super) artifacts: Vec<StoredArtifact>,
    /// The findings for which tasks have failed.
    pub(super) rejected: Vec<StoredFinding>,
    /// The prompts of complete plans.
    pub(super) planned: PlannedPrompts,
    /// The proposals of workers that no complete plan has had.
    pub(super) follow_ups: Vec<StoredProposal>,
    pub(super) questions: Vec<StoredQuestion>,
    /// The first keys of the memory entries of the session.
    pub(super) memory_keys: Vec<String>,
    pub(super) usage: RunUsage,
}

impl GoalFacts {
    /// Reads the facts for the prompts of turns.
    pub(super) async fn read(
        tx: &mut Tx,
        goal: &Goal,
        turns: &[Turn],
        now: Timestamp,
    ) -> Result<Self, Error> {
        let (session, graph) = (goal.session, &goal.graph);
        let mut facts = Self::default();
        if has_prompt(graph, turns, LISTING_ARTIFACTS) {
            facts.artifacts = read_artifacts(tx, session).await?;
        }
        if has_prompt(graph, turns, &[Prompt::Replan]) {
            facts.planned = PlannedPrompts::read(tx, goal, None).await?;
            facts.follow_ups = read_unplanned(tx, session, &facts.planned).await?;
        }
        if has_prompt(graph, turns, &[Prompt::Replan, Prompt::Report]) {
            facts.rejected = read_rejected(tx, goal, &facts.planned).await?;
        }
        if has_prompt(graph, turns, &[Prompt::Report]) {
            facts.questions = read_questions(tx, session).await?;
        }
        if has_prompt(graph, turns, &[Prompt::Plan]) {
            facts.memory_keys = read_memory_keys(tx, session, now).await?;
        }
        if has_prompt(graph, turns, &[Prompt::Report])
            || has_prompt(graph, turns, &[Prompt::Plan]) && !goal.budget.is_none()
        {
            facts.usage = usage_of_session(tx, session).await?;
        }
        Ok(facts)
    }
}

/// Reads the newest version of each artifact of a session, the newest first.
async fn read_artifacts(tx: &mut Tx, session: SessionId) -> Result<Vec<StoredArtifact>, Error> {
    let rows = tx
        .fetch_all(sql!("tasks/artifacts"), params![session, MAX_COUNTED])
        .await?;
    let mut artifacts = Vec::with_capacity(rows.len());
    for row in &rows {
        artifacts.push(StoredArtifact {
            name: row.get("name")?,
            version: row.get("version")?,
            task: row.optional("task_id")?,
            key: row.optional("key")?,
        });
    }
    Ok(artifacts)
}

/// Returns the end of the last turn that worked on a task. Returns `None` if the task has no turn that is over.
pub(super) async fn read_last_error(tx: &mut Tx, task: TaskId) -> Result<Option<String>, Error> {
    let row = tx
        .fetch_optional(sql!("tasks/last_turn"), params![task])
        .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    let (message, reason, result): (Option<String>, Option<String>, Option<String>) = (
        row.optional("message")?,
        row.optional("reason")?,
        row.optional("result")?,
    );
    // An agent that reports a failure ends its turn with success.
    let status: RunStatus = row.parse("status")?;
    Ok(match status {
        RunStatus::Succeeded => result,
        _ => message.or(reason),
    })
}

/// Returns the findings for which tasks have failed: those of checks of the goal, then those of the newest verdicts and tasks, and
/// behind them those that a complete plan has had in its prompt. The findings of a check of the goal are resolved once a later
/// check was accepted.
async fn read_rejected(
    tx: &mut Tx,
    goal: &Goal,
    planned: &PlannedPrompts,
) -> Result<Vec<StoredFinding>, Error> {
    let mut of_checks = Vec::new();
    for task in goal.graph.tasks().iter().rev() {
        if let (TaskStatus::Failed, Some((check, lines))) =
            (task.status(), &task.progress.failed_check)
        {
            of_checks.push(StoredFinding {
                check: Some(check.clone()),
                id: task.key.clone(),
                severity: Severity::Blocker,
                criterion: None,
                text: lines.clone(),
            });
        }
    }
    let rows = tx
        .fetch_all(
            sql!("task_reports/rejected"),
            params![
                goal.session,
                ReportStatus::SendBack.as_str(),
                TaskStatus::Failed.as_str(),
                MAX_COUNTED
            ],
        )
        .await?;
    let numbers = (0..goal.tasks.len()).map(TaskNo);
    let resolved = numbers.filter(|no| goal.graph.is_resolved_check(*no));
    let resolved: BTreeSet<&str> = resolved
        .map(|no| goal.graph.tasks()[no.0].key.as_str())
        .collect();
    let mut findings = Vec::new();
    for row in &rows {
        // The newest verdict of a task has the findings that are still open.
        let task: String = row.get("key")?;
        if resolved.contains(task.as_str()) {
            continue;
        }
        let body: ReportBody = stored::read::<StoredReport>(row, "body")?;
        let found = body.findings.into_iter().map(|finding| StoredFinding {
            check: None,
            id: format!("{task}/{}", finding.id),
            severity: finding.severity,
            criterion: finding.criterion,
            text: finding.text,
        });
        findings.extend(found);
    }
    findings.extend(of_checks);
    findings.sort_by_cached_key(|finding| {
        let is_planned = planned.has_line(&finding.entry().line());
        (is_planned, !finding.is_of_goal(goal.graph.tasks()))
    });
    Ok(findings)
}

/// Returns the newest questions of a session.
async fn read_questions(tx: &mut Tx, session: SessionId) -> Result<Vec<StoredQuestion>, Error> {
    let rows = tx
        .fetch_all(sql!("tasks/questions"), params![session, MAX_COUNTED])
        .await?;
    let mut questions = Vec::with_capacity(rows.len());
    for row in &rows {
        let answer: Option<Value> = row.optional("answer")?;
        questions.push(StoredQuestion {
            seat: row.get("seat")?,
            question: row.get("text")?,
            answer: match answer {
                None | Some(Value::Null) => None,
                Some(Value::String(text)) => Some(text),
                Some(other) => Some(other.to_string()),
            },
        });
    }
    Ok(questions)
}

/// Returns the first keys of the memory entries of a session.
async fn read_memory_keys(
    tx: &mut Tx,
    session: SessionId,
    now: Timestamp,
) -> Result<Vec<String>, Error> {
    let rows = tx
        .fetch_all(
            sql!("tasks/memory_keys"),
            params![session, now, MAX_COUNTED],
        )
        .await?;
    let mut keys = Vec::with_capacity(rows.len());
    for row in &rows {
        keys.push(row.get("key")?);
    }
    Ok(keys)
}
