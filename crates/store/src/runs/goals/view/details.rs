//! A task with its texts, and the rows of a goal's report.

use std::collections::HashMap;

use model::{
    RunId, SessionId, TaskId, Timestamp,
    artifact::ARTIFACTS_PER_SESSION,
    goal::{
        CountedVerdict, DoneBy, EditsOutsideWrites, ReportBody, ReportStatus, Severity, Task,
        TaskNo, TaskState, Verdict, is_complete_verdict,
    },
    run::RunStatus,
};

use super::{
    super::{
        check_rows::{TaskChecks, read_checks},
        tool_calls::read_tool_calls,
    },
    GoalTask, GoalView,
    causes::LastTurns,
    read_view, task_view,
    waiting_turns::WaitingTurns,
};
use crate::{
    Error, Scope, boxed,
    database::{Row, Tx},
    goals::{TaskGraph, read_goal, read_task_graph},
    store::Store,
    stored::{self, goals::StoredReport},
};

/// The highest number of runs that the details of a task list.
const MAX_TASK_RUNS: u32 = 100;

/// A finding about the result of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskFinding {
    /// The ID, which stays the same in each round.
    pub id: String,
    /// The text.
    pub text: String,
    /// The severity.
    pub severity: Severity,
    /// The number of the acceptance line that the result misses, from 1. `None` if the judge names none.
    pub criterion: Option<u32>,
    /// The name of the check. `None` for a finding of the judge.
    pub check: Option<String>,
}

/// The verdict of a run of a judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunVerdict {
    /// The verdict as it counts: one that sends a task back without a finding that counts has accepted it.
    pub verdict: CountedVerdict,
    /// The evidence.
    pub evidence: Vec<String>,
    /// The findings, with those that do not count.
    pub findings: Vec<TaskFinding>,
}

/// A run of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRunRow {
    /// The ID.
    pub id: RunId,
    /// The status.
    pub status: RunStatus,
    /// The kind of the prompt.
    pub prompt: Option<String>,
    /// The name of the seat.
    pub seat: String,
    /// The instant at which the run began.
    pub started_at: Option<Timestamp>,
    /// The instant at which the run was over.
    pub ended_at: Option<Timestamp>,
    /// The verdict. `None` for other turns, and for a verdict that does not count: its turn has not succeeded, it lacks its
    /// evidence or its findings, or the task was over before the turn ended.
    pub verdict: Option<RunVerdict>,
}

/// A task with its texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskDetails {
    /// The session of the goal.
    pub session: SessionId,
    /// The version of the plan of the goal.
    pub plan_version: u32,
    /// The number of rounds after which the task fails.
    pub round_limit: u32,
    /// The task, as lists show it.
    pub task: GoalTask,
    /// The description.
    pub description: String,
    /// The lines by which the result is judged.
    pub acceptance: Vec<String>,
    /// The path prefixes that the task writes.
    pub writes: Vec<String>,
    /// The names of the checks.
    pub checks: Vec<String>,
    /// The names of the artifacts of the newest result.
    pub artifacts: Vec<String>,
    /// The findings of the last round.
    pub findings: Vec<TaskFinding>,
    /// The evidence of the newest verdict.
    pub evidence: Vec<String>,
    /// The last checks. `None` if the task had none.
    pub last_checks: Option<TaskChecks>,
    /// The number of tool calls of the last round of work on the task, without those of the tools of Matins.
    pub tool_calls: u32,
    /// The edits outside of `writes` that the agents of the work report.
    pub edits_outside_writes: EditsOutsideWrites,
    /// The newest runs, the oldest of them first.
    pub runs: Vec<TaskRunRow>,
}

/// The newest verdict about a task, for the report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportedTask {
    /// The findings of the last round.
    pub findings: Vec<TaskFinding>,
    /// The evidence of the judge that accepted.
    pub evidence: Vec<String>,
}

/// The newest version of an artifact, for the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedArtifact {
    /// The name.
    pub name: String,
    /// The version.
    pub version: i64,
    /// The key of the task whose turn saved it. `None` for a turn of no task.
    pub task: Option<String>,
}

/// The rows from which Matins writes the report of a goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoalReportRows {
    /// The goal.
    pub goal: GoalView,
    /// The newest verdicts by task. A task that was never judged has none, and neither has a failed check of the goal after
    /// which a later one was accepted.
    pub verdicts: HashMap<TaskId, ReportedTask>,
    /// The newest version of each artifact, in the order of the names.
    pub artifacts: Vec<ReportedArtifact>,
    /// The edits that agents report outside of the paths of their tasks, by task. A task without such edits has none.
    pub edits_outside_writes: HashMap<TaskId, EditsOutsideWrites>,
    /// The answer of the turn that wrote the report. `None` if no such turn has succeeded.
    pub prose: Option<String>,
}

impl Store {
    /// Returns one task of a goal with its texts, findings and runs.
    ///
    /// # Errors
    ///
    /// Returns a not-found error if the task does not exist in `scope`.
    #[boxed]
    pub async fn task_details(&self, scope: Scope, id: TaskId) -> Result<TaskDetails, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        // 1. The task. This statement checks the tenant.
        let not_found = || Error::not_found("task", id);
        let texts = tx
            .fetch_optional(sql!("tasks/details"), params![scope.tenant(), id])
            .await?;
        let texts = texts.ok_or_else(not_found)?;
        let session: SessionId = texts.get("session_id")?;
        let found = read_task_graph(&mut tx, session, id, &texts).await?;
        let TaskGraph { graph, no, faults } = found.ok_or_else(not_found)?;
        let in_graph = &graph.tasks()[no.0];
        let last_turns = LastTurns::read(&mut tx, &[id], std::slice::from_ref(in_graph)).await?;
        let waiting = WaitingTurns::read(&mut tx, session).await?;
        let turns = (&last_turns, &waiting);
        let task = task_view(&graph, (no, id), &texts, &faults, turns)?;
        // 2. The reports and the runs.
        let result = tx
            .fetch_optional(sql!("task_reports/newest_result"), params![id])
            .await?;
        let result = result.as_ref().map(read_report).transpose()?;
        let verdict = read_last_verdict(&mut tx, id).await?;
        let reported = reported_task(in_graph, verdict.as_ref());
        let runs = read_runs(&mut tx, session, &task, in_graph).await?;
        // 3. The edits.
        let writes: Vec<String> = texts.json("writes")?;
        let mut edits = self
            .read_edits_outside_writes(&mut tx, session, &[(id, writes.as_slice())])
            .await?;
        Ok(TaskDetails {
            session,
            plan_version: graph.plan_version(),
            round_limit: graph.limits().rounds,
            task,
            description: texts.get("description")?,
            acceptance: texts.json("acceptance")?,
            writes,
            checks: texts.json("checks")?,
            artifacts: result.map(|(_, body)| body.artifacts).unwrap_or_default(),
            findings: reported.findings,
            evidence: reported.evidence,
            last_checks: read_checks(&mut tx, scope, id).await?,
            tool_calls: read_tool_calls(&mut tx, id).await?,
            edits_outside_writes: edits.remove(&id).unwrap_or_default(),
            runs,
        })
    }

    /// Returns the rows of a goal's report.
    ///
    /// # Errors
    ///
    /// Returns a not-found error if the session has no goal in `scope`.
    #[boxed]
    pub async fn goal_report(
        &self,
        scope: Scope,
        session: SessionId,
    ) -> Result<GoalReportRows, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        // This read checks the tenant.
        let view = read_view(&mut tx, scope, session).await?;
        let goal = read_goal(&mut tx, session).await?;
        let goal = goal.ok_or_else(|| Error::not_found("goal", session))?;
        let rows = tx
            .fetch_all(sql!("tasks/details_verdicts"), params![session])
            .await?;
        // A later verdict of a task replaces the earlier one.
        let mut newest: HashMap<TaskId, (ReportStatus, ReportBody)> = HashMap::new();
        for row in &rows {
            let body = stored::read::<StoredReport>(row, "body")?;
            newest.insert(row.get("task_id")?, (row.parse("status")?, body));
        }
        let tasks = goal.tasks.iter().zip(goal.graph.tasks()).enumerate();
        let open = tasks.filter(|(no, _)| !goal.graph.is_resolved_check(TaskNo(*no)));
        let verdicts = open.map(|(_, (id, task))| (*id, reported_task(task, newest.get(id))));
        let verdicts = verdicts.filter(|(_, task)| *task != ReportedTask::default());
        let verdicts = verdicts.collect();
        let tasks = view.tasks.iter().zip(goal.graph.tasks());
        let started = tasks.filter(|(task, _)| task.started_at.is_some());
        let started: Vec<_> = started
            .map(|(task, in_graph)| (task.id, in_graph.writes.as_slice()))
            .collect();
        let edits_outside_writes = self
            .read_edits_outside_writes(&mut tx, session, &started)
            .await?;
        let prose = tx
            .fetch_optional(sql!("tasks/details_prose"), params![session])
            .await?;
        Ok(GoalReportRows {
            goal: view,
            verdicts,
            artifacts: read_artifacts(&mut tx, session).await?,
            edits_outside_writes,
            prose: prose.map(|row| row.get("content")).transpose()?,
        })
    }
}

/// Returns the newest version of each artifact of a session, in the order of the names.
async fn read_artifacts(tx: &mut Tx, session: SessionId) -> Result<Vec<ReportedArtifact>, Error> {
    let rows = tx
        .fetch_all(
            sql!("tasks/artifacts"),
            params![session, ARTIFACTS_PER_SESSION],
        )
        .await?;
    let mut artifacts = Vec::with_capacity(rows.len());
    for row in &rows {
        artifacts.push(ReportedArtifact {
            name: row.get("name")?,
            version: row.get("version")?,
            task: row.optional("key")?,
        });
    }
    artifacts.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(artifacts)
}

/// Returns the newest verdict on a task.
async fn read_last_verdict(
    tx: &mut Tx,
    id: TaskId,
) -> Result<Option<(ReportStatus, ReportBody)>, Error> {
    let row = tx
        .fetch_optional(sql!("task_reports/verdicts"), params![id, 1_u32])
        .await?;
    row.as_ref().map(read_report).transpose()
}

fn read_report(row: &Row) -> Result<(ReportStatus, ReportBody), Error> {
    Ok((
        row.parse("status")?,
        stored::read::<StoredReport>(row, "body")?,
    ))
}

/// Returns the findings of the last round of a task, those of the failed check first.
pub(crate) async fn read_last_findings(
    tx: &mut Tx,
    task: &Task,
    id: TaskId,
) -> Result<Vec<TaskFinding>, Error> {
    let verdict = read_last_verdict(tx, id).await?;
    Ok(reported_task(task, verdict.as_ref()).findings)
}

/// Returns the findings of the last round, those of the failed check first.
fn reported_task(task: &Task, verdict: Option<&(ReportStatus, ReportBody)>) -> ReportedTask {
    let mut reported = ReportedTask::default();
    if let Some((check, lines)) = &task.progress.failed_check {
        reported.findings.push(TaskFinding {
            id: check.clone(),
            text: lines.clone(),
            severity: Severity::Blocker,
            criterion: None,
            check: Some(check.clone()),
        });
    }
    if let Some((status, body)) = verdict {
        if *status == ReportStatus::Accept {
            reported.evidence.clone_from(&body.evidence);
        }
        reported.findings.extend(findings_of_judge(body));
    }
    reported
}

fn findings_of_judge(body: &ReportBody) -> impl Iterator<Item = TaskFinding> {
    body.findings.iter().map(|finding| TaskFinding {
        id: finding.id.clone(),
        text: finding.text.clone(),
        severity: finding.severity,
        criterion: finding.criterion,
        check: None,
    })
}

/// Returns the newest runs of a task, the oldest of them first.
async fn read_runs(
    tx: &mut Tx,
    session: SessionId,
    task: &GoalTask,
    in_graph: &Task,
) -> Result<Vec<TaskRunRow>, Error> {
    let rows = tx
        .fetch_all(
            sql!("tasks/details_runs"),
            params![session, task.id, MAX_TASK_RUNS],
        )
        .await?;
    let mut runs = Vec::with_capacity(rows.len());
    for row in rows.iter().rev() {
        let ended_at: Option<Timestamp> = row.optional("ended_at")?;
        // A person may accept or cancel a task during the turn of its judge, whose verdict moves nothing then.
        let is_late = task.ended_at.is_some_and(|end| ended_at > Some(end));
        runs.push(TaskRunRow {
            id: row.get("id")?,
            status: row.parse("status")?,
            prompt: row.optional("task_prompt")?,
            seat: row.get("seat")?,
            started_at: row.optional("started_at")?,
            ended_at,
            verdict: read_verdict(row, in_graph)?.filter(|_| !is_late),
        });
    }
    // The last verdict about a task that the judge has accepted is the acceptance, also if no finding of a `send_back` counted.
    let last = runs.iter_mut().rev().find_map(|run| run.verdict.as_mut());
    if let (Some(last), TaskState::Done(DoneBy::Judge)) = (last, &in_graph.state) {
        last.verdict = CountedVerdict::Accept;
    }
    Ok(runs)
}

/// Returns the verdict of a run. Returns `None` if it has none, or one that is not complete.
fn read_verdict(row: &Row, task: &Task) -> Result<Option<RunVerdict>, Error> {
    let status: Option<ReportStatus> = row.parse_optional("verdict")?;
    let body = stored::read_optional::<StoredReport>(row, "body")?;
    let Some((status, body)) = status.zip(body) else {
        return Ok(None);
    };
    let verdict = body.verdict(status);
    let verdict = verdict.filter(|it| is_complete_verdict(task, it));
    Ok(verdict.map(|verdict| RunVerdict {
        verdict: match verdict {
            Verdict::Accept { .. } => CountedVerdict::Accept,
            Verdict::SendBack(_) => CountedVerdict::SendBack,
        },
        findings: findings_of_judge(&body).collect(),
        evidence: body.evidence,
    }))
}
