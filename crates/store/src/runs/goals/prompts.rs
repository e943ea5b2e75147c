//! The texts of the prompts of a goal's turns.

mod contexts;
mod facts;
mod lists;
mod planned;
mod proposals;
mod turn;

use std::collections::{BTreeSet, HashMap};

use model::{
    MessageId, SeatId, TaskId, Timestamp,
    goal::{
        DoneBy, FailReason, Plan, Prompt, ReportBody, ReportStatus, Severity, TaskKind, TaskNo,
        TaskState,
    },
    seat_message::count_fitting,
};
use serde_json::Value;

use self::{
    facts::GoalFacts,
    lists::TaskList,
    turn::{StoredFinding, WaitingMessage},
};

pub(super) use contexts::goal_input;
pub(super) use proposals::has_unplanned;
pub(super) use turn::{Turn, TurnMemory};

use crate::{
    Error,
    database::Tx,
    goals::{Goal, read_staged},
    runs::goals::tool_calls::read_tool_calls,
    seat_message_rows::read_waiting,
    stored::{self, goals::StoredReport},
};

/// The highest number of verdicts on a task in which the findings that count are searched.
const MAX_VERDICTS: u32 = 20;

/// The texts of one task.
#[derive(Default)]
struct TaskTexts {
    title: String,
    description: String,
    acceptance: Vec<String>,
    result: Option<String>,
    /// The reason of a failed task with the number of its turns, so that a task that fails again has another line in the next
    /// plan. `None` for other tasks.
    fail_text: Option<String>,
}

/// A question of a task, with its answer.
struct StoredAnswer {
    question: String,
    answer: String,
    /// The name of the person. `None` for the default of the question.
    person: Option<String>,
}

/// The rows from which the prompts of turns are rendered.
pub(super) struct GoalTexts {
    tasks: HashMap<TaskId, TaskTexts>,
    /// The keys of staged tasks.
    staged: Vec<String>,
    /// The keys of the tasks whose cancellation is staged.
    cancelled: Vec<String>,
    /// The findings of the last round of a task. For a check of the goal, those of earlier checks that count in it.
    findings: HashMap<TaskNo, Vec<StoredFinding>>,
    /// The findings for which an earlier result of a task was not accepted, for a new attempt at it.
    open_findings: HashMap<TaskNo, Vec<StoredFinding>>,
    /// The answers for which the turn of a task starts.
    answers: HashMap<TaskNo, Vec<StoredAnswer>>,
    /// The messages that the turn of a task carries to its seat.
    messages: HashMap<TaskNo, Vec<WaitingMessage>>,
    /// The number of tool calls of the work on a task, without those of the tools of Matins.
    tool_calls: HashMap<TaskNo, u32>,
    /// The end of the attempt before.
    last_errors: HashMap<TaskNo, String>,
    facts: GoalFacts,
}

impl GoalTexts {
    /// Reads the texts for turns.
    pub(super) async fn read(
        tx: &mut Tx,
        goal: &Goal,
        turns: &[Turn],
        now: Timestamp,
    ) -> Result<Self, Error> {
        // 1. The texts of the tasks, of those whose results they need, and of those that the prompts list.
        let graph = &goal.graph;
        let mut wanted = BTreeSet::new();
        for turn in turns {
            wanted.insert(turn.task.0);
            let depends_on = &graph.tasks()[turn.task.0].depends_on;
            wanted.extend(depends_on.iter().map(|no| no.0));
            for prompt in turn.prompts(graph) {
                let lists = TaskList::of_prompt(prompt).iter();
                wanted.extend(lists.flat_map(|list| list.of(graph).tasks).map(|no| no.0));
            }
        }
        let tasks = read_texts(tx, goal, &wanted).await?;
        // 2. The keys of the staged changes, which only turns of plans have.
        let mut kinds = turns.iter().map(|turn| graph.tasks()[turn.task.0].kind);
        let staged = if kinds.any(|kind| kind == TaskKind::Plan) {
            read_staged(tx, goal.session).await?
        } else {
            Plan::default()
        };
        // 3. The findings and the answers.
        let mut findings = HashMap::new();
        let (mut open_findings, mut answers) = (HashMap::new(), HashMap::new());
        let (mut tool_calls, mut last_errors) = (HashMap::new(), HashMap::new());
        for turn in turns {
            let no = turn.task;
            let task = &graph.tasks()[no.0];
            if turn.is_review || turn.prompt == Prompt::Rework {
                let found = match task.kind {
                    TaskKind::Check => read_check_findings(tx, goal, no).await?,
                    // Those from before a person's retry bound no judge.
                    _ if turn.is_review && task.progress.reviews == 0 => Vec::new(),
                    _ if turn.is_review => {
                        read_counted(tx, goal, no, &task.progress.findings).await?
                    }
                    _ => read_findings(tx, goal, no).await?,
                };
                findings.insert(no, found);
            }
            if turn.is_review {
                tool_calls.insert(no, read_tool_calls(tx, goal.tasks[no.0]).await?);
            }
            if turn.prompt == Prompt::Answer {
                answers.insert(no, read_answers(tx, goal, turn).await?);
            }
            if turn.prompt == Prompt::Work {
                let error = facts::read_last_error(tx, goal.tasks[no.0]).await?;
                last_errors.extend(error.map(|error| (no, error)));
            }
            let progress = &task.progress;
            let is_open = progress.failed_check.is_some() || !progress.findings.is_empty();
            let mut prompts = turn.prompts(graph);
            // The prompt of a rework has them itself.
            let lists = turn.prompt != Prompt::Rework && prompts.any(|it| it == Prompt::Work);
            if is_open && lists {
                open_findings.insert(no, read_findings(tx, goal, no).await?);
            }
        }
        Ok(Self {
            facts: GoalFacts::read(tx, goal, turns, now).await?,
            messages: read_messages(tx, turns).await?,
            tool_calls,
            last_errors,
            tasks,
            staged: staged.tasks.into_iter().map(|task| task.key).collect(),
            cancelled: staged.drops,
            findings,
            open_findings,
            answers,
        })
    }

    /// Returns the messages that the turn of a task carries.
    pub(super) fn carried_by(&self, no: TaskNo) -> impl Iterator<Item = MessageId> {
        let messages = self.messages.get(&no).into_iter().flatten();
        messages.map(WaitingMessage::id)
    }
}

/// Reads the texts of the tasks with some numbers.
async fn read_texts(
    tx: &mut Tx,
    goal: &Goal,
    wanted: &BTreeSet<usize>,
) -> Result<HashMap<TaskId, TaskTexts>, Error> {
    let rows = wanted.iter().map(|no| params![goal.tasks[*no]]).collect();
    let mut tasks = HashMap::new();
    for row in tx.fetch_rows(sql!("tasks/texts"), rows, params![]).await? {
        let id: TaskId = row.get("id")?;
        let turns: i64 = row.get("turns")?;
        let task = goal.task_no(id).map(|no| &goal.graph.tasks()[no.0]);
        let fail_text = match task.map(|task| &task.state) {
            Some(TaskState::Failed { reason, .. }) => {
                let note = match reason {
                    FailReason::TurnCancelled => {
                        ". A person decides about it, so no new task replaces it."
                    }
                    _ => "",
                };
                Some(format!("{reason} (turns: {turns}){note}"))
            }
            _ => None,
        };
        let texts = TaskTexts {
            title: row.get("title")?,
            description: row.get("description")?,
            acceptance: row.json("acceptance")?,
            result: row.optional("result")?,
            fail_text,
        };
        tasks.insert(id, texts);
    }
    Ok(tasks)
}

/// Returns the messages that the turns of tasks carry to their seats, the oldest first. Those beyond the bound of a turn stay
/// undelivered and wait for the next one.
async fn read_messages(
    tx: &mut Tx,
    turns: &[Turn],
) -> Result<HashMap<TaskNo, Vec<WaitingMessage>>, Error> {
    let turns = turns.iter();
    let by_seat: HashMap<SeatId, TaskNo> = turns
        .filter_map(|turn| Some((turn.seat?, turn.task)))
        .collect();
    let mut messages: HashMap<TaskNo, Vec<WaitingMessage>> = HashMap::new();
    for message in read_waiting(tx, by_seat.keys().copied()).await? {
        if let Some(task) = by_seat.get(&message.to) {
            let waiting = messages.entry(*task).or_default();
            waiting.push(WaitingMessage::new(message));
        }
    }
    for waiting in messages.values_mut() {
        let fitting = count_fitting(waiting.iter().map(WaitingMessage::bytes));
        waiting.truncate(fitting);
    }
    Ok(messages)
}

/// Returns the newest verdicts on a task with their findings, without those of turns that have not succeeded.
async fn read_verdicts(
    tx: &mut Tx,
    goal: &Goal,
    no: TaskNo,
    limit: u32,
) -> Result<Vec<(ReportStatus, Vec<StoredFinding>)>, Error> {
    let rows = tx
        .fetch_all(
            sql!("task_reports/verdicts"),
            params![goal.tasks[no.0], limit],
        )
        .await?;
    let mut verdicts = Vec::with_capacity(rows.len());
    for row in &rows {
        let body: ReportBody = stored::read::<StoredReport>(row, "body")?;
        let findings = body.findings.into_iter().map(|finding| StoredFinding {
            check: None,
            id: finding.id,
            severity: finding.severity,
            criterion: finding.criterion,
            text: finding.text,
        });
        verdicts.push((row.parse("status")?, findings.collect()));
    }
    Ok(verdicts)
}

/// Returns the findings for which a task goes back to its seat: those of the failed check, and those of the newest verdict.
async fn read_findings(tx: &mut Tx, goal: &Goal, no: TaskNo) -> Result<Vec<StoredFinding>, Error> {
    let mut findings = Vec::new();
    if let Some((check, lines)) = &goal.graph.tasks()[no.0].progress.failed_check {
        findings.push(StoredFinding {
            check: Some(check.clone()),
            id: check.clone(),
            severity: Severity::Blocker,
            criterion: None,
            text: lines.clone(),
        });
    }
    for (_, found) in read_verdicts(tx, goal, no, 1).await? {
        findings.extend(found);
    }
    Ok(findings)
}

/// Returns the findings that count in the next round, with the texts of the newest verdict that sends the task back for one of
/// them. The notes of a judge that accepts send nothing back.
async fn read_counted(
    tx: &mut Tx,
    goal: &Goal,
    no: TaskNo,
    counted: &BTreeSet<String>,
) -> Result<Vec<StoredFinding>, Error> {
    if counted.is_empty() {
        return Ok(Vec::new());
    }
    for (status, mut findings) in read_verdicts(tx, goal, no, MAX_VERDICTS).await? {
        findings.retain(|finding| counted.contains(&finding.id));
        if status == ReportStatus::SendBack && !findings.is_empty() {
            return Ok(findings);
        }
    }
    Ok(Vec::new())
}

/// Returns the findings of earlier checks of the goal that count in a check: those for which the last of them sent the goal
/// back. The judge of a later check does not have them otherwise, because each check has a memory of its own.
async fn read_check_findings(
    tx: &mut Tx,
    goal: &Goal,
    no: TaskNo,
) -> Result<Vec<StoredFinding>, Error> {
    let tasks = goal.graph.tasks();
    let counted = &tasks[no.0].progress.findings;
    for earlier in (0..no.0).rev() {
        let task = &tasks[earlier];
        // A judge that accepts may have notes, which send nothing back.
        if task.kind != TaskKind::Check || task.state == TaskState::Done(DoneBy::Judge) {
            continue;
        }
        let findings = read_counted(tx, goal, TaskNo(earlier), counted).await?;
        if !findings.is_empty() {
            return Ok(findings);
        }
    }
    Ok(Vec::new())
}

/// Returns the answers for which a turn starts: those to the questions of the turn before, in their order. The prompts of earlier
/// turns have had the others.
async fn read_answers(tx: &mut Tx, goal: &Goal, turn: &Turn) -> Result<Vec<StoredAnswer>, Error> {
    let params = params![goal.tasks[turn.task.0], turn.is_review];
    let rows = tx.fetch_all(sql!("tasks/answers"), params).await?;
    let mut answers = Vec::with_capacity(rows.len());
    for row in &rows {
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
