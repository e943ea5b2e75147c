//! The texts of the prompts of a goal's turns.

mod contexts;

use std::collections::{BTreeSet, HashMap};

use model::{
    TaskId,
    goal::{Prompt, ReportBody, Severity, TaskNo, TaskStatus},
    prompt::goal::{FindingEntry, FindingSource, TaskEntry},
    question::QUESTIONS_PER_TURN,
};
use serde_json::Value;

pub(super) use contexts::goal_input;

use crate::{
    Error,
    database::Tx,
    goals::{Goal, read_staged},
    stored::{self, goals::StoredReport},
};

/// The highest number of tasks that a prompt lists.
const MAX_LISTED_TASKS: u32 = 100;

/// The texts of one task.
#[derive(Default)]
struct TaskTexts {
    title: String,
    description: String,
    acceptance: Vec<String>,
    result: Option<String>,
}

/// A task in the lists of the planner and the judge.
struct TaskSummary {
    key: String,
    title: String,
    status: TaskStatus,
    result: Option<String>,
}

impl TaskSummary {
    fn entry(&self) -> TaskEntry<'_> {
        TaskEntry {
            key: &self.key,
            title: &self.title,
            status: self.status,
            result: self.result.as_deref(),
        }
    }
}

/// A finding of the judge, or of a check.
struct StoredFinding {
    /// The name of the check. `None` for a finding of the judge.
    check: Option<String>,
    id: String,
    severity: Severity,
    text: String,
}

impl StoredFinding {
    fn entry(&self) -> FindingEntry<'_> {
        let check = self.check.as_deref();
        FindingEntry {
            source: check.map_or(FindingSource::Judge, FindingSource::Check),
            id: &self.id,
            severity: self.severity,
            text: &self.text,
        }
    }
}

/// A question of a task, with its answer.
struct StoredAnswer {
    question: String,
    answer: String,
    /// The name of the person. `None` for the default of the question.
    person: Option<String>,
}

/// The rows from which the prompts of turns are rendered.
pub(super) struct GoalTexts<'a> {
    tasks: HashMap<TaskId, TaskTexts>,
    /// The tasks of the plan.
    summaries: Vec<TaskSummary>,
    /// The keys of staged tasks.
    staged: Vec<String>,
    /// The findings of the last round of a task.
    findings: HashMap<TaskNo, Vec<StoredFinding>>,
    /// The newest answers to the questions of a task, the oldest first.
    answers: HashMap<TaskNo, Vec<StoredAnswer>>,
    refusal: &'a str,
}

impl<'a> GoalTexts<'a> {
    /// Reads the texts for turns.
    pub(super) async fn read(
        tx: &mut Tx,
        goal: &Goal,
        turns: &[(TaskNo, Prompt)],
        refusal: &'a str,
    ) -> Result<Self, Error> {
        // 1. The texts of the tasks and of those whose results they need.
        let mut wanted = BTreeSet::new();
        for (no, _) in turns {
            wanted.insert(no.0);
            wanted.extend(goal.graph.tasks()[no.0].depends_on.iter().map(|no| no.0));
        }
        let rows = wanted.iter().map(|no| params![goal.tasks[*no]]).collect();
        let mut tasks = HashMap::new();
        for row in tx.fetch_rows(sql!("tasks/texts"), rows, params![]).await? {
            let texts = TaskTexts {
                title: row.get("title")?,
                description: row.get("description")?,
                acceptance: row.json("acceptance")?,
                result: row.optional("result")?,
            };
            tasks.insert(row.get("id")?, texts);
        }
        // 2. The lists of the planner, of the judge of the whole goal and of the report.
        let lists = |(_, prompt): &(TaskNo, Prompt)| {
            matches!(prompt, Prompt::Replan | Prompt::Check | Prompt::Report)
        };
        let summaries = if turns.iter().any(lists) {
            read_summaries(tx, goal).await?
        } else {
            Vec::new()
        };
        let plans =
            |(_, prompt): &(TaskNo, Prompt)| matches!(prompt, Prompt::Plan | Prompt::Replan);
        let staged = if turns.iter().any(plans) {
            let plan = read_staged(tx, goal.session).await?;
            plan.tasks.into_iter().map(|task| task.key).collect()
        } else {
            Vec::new()
        };
        // 3. The findings and the answers.
        let mut findings = HashMap::new();
        let mut answers = HashMap::new();
        for (no, prompt) in turns {
            match prompt {
                Prompt::Rework | Prompt::Review => {
                    findings.insert(*no, read_findings(tx, goal, *no).await?);
                }
                Prompt::Answer => {
                    answers.insert(*no, read_answers(tx, goal, *no).await?);
                }
                _ => {}
            }
        }
        Ok(Self {
            tasks,
            summaries,
            staged,
            findings,
            answers,
            refusal,
        })
    }
}

async fn read_summaries(tx: &mut Tx, goal: &Goal) -> Result<Vec<TaskSummary>, Error> {
    let rows = tx
        .fetch_all(
            sql!("tasks/summaries"),
            params![goal.session, MAX_LISTED_TASKS],
        )
        .await?;
    let mut tasks = Vec::with_capacity(rows.len());
    for row in &rows {
        let status: TaskStatus = row.parse("status")?;
        let ended_without_result = matches!(status, TaskStatus::Failed | TaskStatus::Cancelled);
        tasks.push(TaskSummary {
            key: row.get("key")?,
            title: row.get("title")?,
            status,
            result: if ended_without_result {
                row.optional("reason")?
            } else {
                row.optional("result")?
            },
        });
    }
    Ok(tasks)
}

/// Returns the findings of the last round: those of the failed check, or those of the newest verdict.
async fn read_findings(tx: &mut Tx, goal: &Goal, no: TaskNo) -> Result<Vec<StoredFinding>, Error> {
    let rows = tx
        .fetch_all(
            sql!("task_reports/of_task"),
            params![goal.tasks[no.0], "verdict", 1_u32],
        )
        .await?;
    let mut findings = Vec::new();
    if let Some((check, lines)) = &goal.graph.tasks()[no.0].progress.failed_check {
        findings.push(StoredFinding {
            check: Some(check.clone()),
            id: check.clone(),
            severity: Severity::Blocker,
            text: lines.clone(),
        });
    }
    for row in &rows {
        let body: ReportBody = stored::read::<StoredReport>(row, "body")?;
        let found = body.findings.into_iter().map(|finding| StoredFinding {
            check: None,
            id: finding.id,
            severity: finding.severity,
            text: finding.text,
        });
        findings.extend(found);
    }
    Ok(findings)
}

/// Returns the newest answers to the questions of a task, the oldest first.
async fn read_answers(tx: &mut Tx, goal: &Goal, no: TaskNo) -> Result<Vec<StoredAnswer>, Error> {
    let task = goal.tasks[no.0];
    let rows = tx
        .fetch_all(sql!("tasks/answers"), params![task, QUESTIONS_PER_TURN])
        .await?;
    let mut answers = Vec::with_capacity(rows.len());
    for row in rows.iter().rev() {
        let answer: Option<Value> = row.optional("answer")?;
        answers.push(StoredAnswer {
            question: row.get("text")?,
            answer: match answer {
                None | Some(Value::Null) => "no answer".to_owned(),
                Some(Value::String(text)) => text,
                Some(other) => other.to_string(),
            },
            person: row.optional("answered_by")?,
        });
    }
    Ok(answers)
}
