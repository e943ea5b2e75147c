//! The rows behind the lists and the counts of prompts.

use std::collections::BTreeSet;

use model::{
    SessionId, TaskId, Timestamp,
    budget::RunUsage,
    goal::{Prompt, ReportBody, ReportStatus, Severity, TaskNo, TaskStatus},
    prompt::goal::{ArtifactEntry, MAX_LISTED, ProposalEntry, QuestionEntry},
    run::RunStatus,
};
use serde_json::Value;

use super::{
    planned::PlannedPrompts,
    turn::{StoredFinding, Turn, has_prompt},
};
use crate::{
    Error,
    database::Tx,
    goals::Goal,
    runs::goals::usage::usage_of_session,
    stored::{self, goals::StoredReport},
};

/// The highest number of artifacts of which a prompt counts those that it does not list.
const MAX_COUNTED: u32 = 1000;
/// The highest number of rows from which a prompt takes its 20 findings and proposals.
const MAX_REPORTS: u32 = 100;

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

/// A proposal of further work, which a worker reported with a result.
pub(super) struct StoredProposal {
    task: String,
    /// The number of the result among the results of the task.
    result: i64,
    text: String,
}

impl StoredProposal {
    pub(super) fn entry(&self) -> ProposalEntry<'_> {
        ProposalEntry {
            task: &self.task,
            result: self.result,
            text: &self.text,
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
        if has_prompt(graph, turns, &[Prompt::Replan, Prompt::Report]) {
            facts.rejected = read_rejected(tx, goal).await?;
        }
        if has_prompt(graph, turns, &[Prompt::Replan]) {
            facts.planned = PlannedPrompts::read(tx, goal).await?;
            facts.follow_ups = read_follow_ups(tx, session, &facts.planned).await?;
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

/// Returns the findings for which tasks have failed, those of the newest verdicts first. The findings of a check of the goal are
/// resolved once a later check was accepted.
async fn read_rejected(tx: &mut Tx, goal: &Goal) -> Result<Vec<StoredFinding>, Error> {
    let mut findings = Vec::new();
    for task in goal.graph.tasks() {
        if let (TaskStatus::Failed, Some((check, lines))) =
            (task.status(), &task.progress.failed_check)
        {
            findings.push(StoredFinding {
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
                MAX_REPORTS
            ],
        )
        .await?;
    let numbers = (0..goal.tasks.len()).map(TaskNo);
    let resolved = numbers.filter(|no| goal.graph.is_resolved_check(*no));
    let mut tasks: BTreeSet<String> = resolved
        .map(|no| goal.graph.tasks()[no.0].key.clone())
        .collect();
    for row in &rows {
        // The newest verdict of a task has the findings that are still open.
        let task: String = row.get("key")?;
        if !tasks.insert(task.clone()) {
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
    findings.truncate(MAX_LISTED);
    Ok(findings)
}

/// Returns the proposals of workers that no complete plan has had in its prompt, the newest first. The whole line decides, with
/// the task and the number of its result, because two workers can propose the same in the same words.
async fn read_follow_ups(
    tx: &mut Tx,
    session: SessionId,
    planned: &PlannedPrompts,
) -> Result<Vec<StoredProposal>, Error> {
    let rows = tx
        .fetch_all(
            sql!("task_reports/succeeded"),
            params![session, MAX_REPORTS],
        )
        .await?;
    let mut follow_ups = Vec::new();
    for row in &rows {
        let body: ReportBody = stored::read::<StoredReport>(row, "body")?;
        if let Some(text) = body.follow_up {
            follow_ups.push(StoredProposal {
                task: row.get("key")?,
                result: row.get("result_number")?,
                text,
            });
        }
    }
    follow_ups.retain(|proposal| !planned.has_line(&proposal.entry().line()));
    follow_ups.truncate(MAX_LISTED);
    Ok(follow_ups)
}

/// Returns the newest questions of a session.
async fn read_questions(tx: &mut Tx, session: SessionId) -> Result<Vec<StoredQuestion>, Error> {
    let limit = u32::try_from(MAX_LISTED).unwrap_or(u32::MAX);
    let rows = tx
        .fetch_all(sql!("tasks/questions"), params![session, limit])
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
    let limit = u32::try_from(MAX_LISTED).unwrap_or(u32::MAX);
    let rows = tx
        .fetch_all(sql!("tasks/memory_keys"), params![session, now, limit])
        .await?;
    let mut keys = Vec::with_capacity(rows.len());
    for row in &rows {
        keys.push(row.get("key")?);
    }
    Ok(keys)
}
