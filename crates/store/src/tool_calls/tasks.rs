//! The tasks that planners stage, and the reports of workers and judges.
//!
//! **Invariant:** a call changes no task. The end of the successful turn does, so that a turn which fails has no effect.

mod keep;
mod list;

use model::{
    RunId, SessionId, TaskId, Timestamp,
    goal::{
        Finding, Graph, NewTask, Plan, PlanError, Refusal, ReportBody, ReportStatus, Task,
        TaskKind, TaskRole, TaskStatus, Verdict, counted_findings, names_task, needed_evidence,
        validate,
    },
    lifecycle::InvalidTransition,
};

pub use list::{TaskContent, TurnTasks};

use super::{CallingTurn, ToolCaller, check_session, lock_turn};
use crate::{
    Error, Scope, boxed,
    database::Tx,
    goals::{Goal, read_goal, read_staged, stage},
    store::Store,
    stored::{self, DOCUMENT_FORMAT, goals::StoredReport},
};

/// The task of a goal whose turn it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnTask {
    /// The key.
    pub key: String,
    /// The part of the agent in the turn.
    pub role: TaskRole,
}

/// A task that a planner has staged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedTask {
    /// The number of staged changes of the plan.
    pub staged: usize,
    /// The faults of keys in `depends_on` that name no task yet. The plan is refused unless the planner stages these tasks.
    pub unresolved: Vec<PlanError>,
}

/// The result of the cancellation of a task by a planner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StagedCancellation {
    /// The publication of the plan will cancel the task. The number is that of the staged changes of the plan.
    Staged(usize),
    /// The plan has lost the staged task, or the cancellation of a task that has ended meanwhile. The number is that of the
    /// staged changes that are left.
    Withdrawn(usize),
}

/// The report of an agent about the task of its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskReport {
    /// The status.
    pub status: ReportStatus,
    /// The content.
    pub body: ReportBody,
}

/// A report that is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTaskReport {
    /// The key of the task.
    pub key: String,
    /// The round of checks and reviews, from 1.
    pub round: u32,
    /// The IDs of the findings that count in this round.
    pub counted: Vec<String>,
}

/// The turn of a task whose agent calls a tool.
struct TaskTurn {
    turn: CallingTurn,
    goal: Goal,
    task: TaskId,
    no: usize,
    role: TaskRole,
}

/// Returns the plan that only cancels the task with a key.
fn cancellation(key: &str) -> Plan {
    Plan {
        tasks: Vec::new(),
        drops: vec![key.to_owned()],
    }
}

impl TaskTurn {
    /// Locks the seat of the turn, and reads the turn and the goal.
    async fn lock(tx: &mut Tx, caller: &ToolCaller, now: Timestamp) -> Result<Self, Error> {
        let turn = lock_turn(tx, caller, now).await?;
        check_session(&turn.session, "change its tasks")?;
        let turn = Self::read(tx, turn).await?;
        let goal = turn.goal.graph.goal();
        if goal.is_over() {
            return Err(Error::Goal(Refusal::Closed(goal.status())));
        }
        // A person or a plan may have moved the task, so that the end of its turn changes nothing.
        let status = turn.row().status();
        if status != TaskStatus::Running {
            return Err(Error::Goal(Refusal::Task {
                task: turn.row().key.clone(),
                status,
                accepted: "calls about RUNNING tasks are accepted",
            }));
        }
        if turn.turn.is_cancelled {
            return Err(Error::RunOver { run: turn.turn.run });
        }
        Ok(turn)
    }

    /// As [`Self::lock`], and refuses a turn that is none of a planner.
    async fn lock_planner(tx: &mut Tx, caller: &ToolCaller, now: Timestamp) -> Result<Self, Error> {
        let turn = Self::lock(tx, caller, now).await?;
        match turn.role {
            TaskRole::Planner => Ok(turn),
            _ => Err(turn.refuse("change the plan")),
        }
    }

    async fn read(tx: &mut Tx, turn: CallingTurn) -> Result<Self, Error> {
        let no_task = || not_in_task(&turn);
        let task = turn.task.ok_or_else(no_task)?;
        let goal = read_goal(tx, turn.session.id).await?.ok_or_else(no_task)?;
        let no = goal.task_no(task).ok_or_else(no_task)?.0;
        let role = read_task(tx, turn.run).await?.ok_or_else(no_task)?.role;
        Ok(Self {
            turn,
            goal,
            task,
            no,
            role,
        })
    }

    fn row(&self) -> &Task {
        &self.goal.graph.tasks()[self.no]
    }

    fn session(&self) -> SessionId {
        self.turn.session.id
    }

    /// Refuses a call that the turn may not make.
    fn refuse(&self, event: &str) -> Error {
        let object = self.row().key.clone();
        Error::Refused(InvalidTransition {
            what: "task",
            object: Some(object),
            state: format!("the task of this turn, whose agent is its {}", self.role),
            event: event.to_owned(),
        })
    }

    /// Checks a verdict, and returns the IDs of the findings that count.
    ///
    /// # Errors
    ///
    /// Refuses a verdict that would count as none at the end of the turn, and one about an acceptance line that does not exist.
    fn check_verdict(&self, report: &TaskReport) -> Result<Vec<String>, Error> {
        if let Some(fault) = report.body.criterion_fault(self.row().acceptance) {
            return Err(Error::Goal(fault.into()));
        }
        match report.body.verdict(report.status) {
            Some(Verdict::Accept { evidence: given }) => {
                let needed = needed_evidence(self.row());
                if given < needed {
                    return Err(Error::Goal(Refusal::Evidence { given, needed }));
                }
                Ok(Vec::new())
            }
            Some(Verdict::SendBack(findings)) if findings.is_empty() => {
                Err(Error::Goal(Refusal::NoFindings))
            }
            Some(Verdict::SendBack(findings)) => Ok(self.counted(&findings)),
            None => Ok(Vec::new()),
        }
    }

    fn counted(&self, findings: &[Finding]) -> Vec<String> {
        let counted = counted_findings(&self.row().progress, findings);
        counted.into_iter().collect()
    }
}

/// Reads the task whose turn a run is. Returns `None` if it is the turn of none.
pub(super) async fn read_task(tx: &mut Tx, run: RunId) -> Result<Option<TurnTask>, Error> {
    let found = tx
        .fetch_optional(sql!("tool_calls/task"), params![run])
        .await?;
    let Some(row) = found else { return Ok(None) };
    let kind: TaskKind = row.parse("kind")?;
    Ok(Some(TurnTask {
        key: row.get("key")?,
        role: TaskRole::of_turn(kind, row.get("task_review")?),
    }))
}

fn not_in_task(turn: &CallingTurn) -> Error {
    Error::Refused(InvalidTransition {
        what: "run",
        object: Some(turn.run.to_string()),
        state: "no turn of a task".to_owned(),
        event: "use the tools of tasks".to_owned(),
    })
}

impl Store {
    /// Returns the task of a goal whose turn it is. Returns `None` for a turn of another input, such as a message.
    #[boxed]
    pub async fn task_of_turn(&self, turn: &CallingTurn) -> Result<Option<TurnTask>, Error> {
        let mut tx = self.db.begin_read(Scope::Tenant(turn.tenant)).await?;
        read_task(&mut tx, turn.run).await
    }

    /// Stages a task of a planner. A repeated call with the same key replaces the staged task.
    ///
    /// # Errors
    ///
    /// Returns [`Error::RunOver`] as [`Store::calling_turn`], [`Error::Refused`] if the turn is none of a planner or the session
    /// is closed, and [`Error::Goal`] with the faults of the task. Cycles are found when the plan is published.
    #[boxed]
    pub async fn create_task(
        &self,
        caller: &ToolCaller,
        new: &NewTask,
        now: Timestamp,
    ) -> Result<StagedTask, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                // 1. Lock.
                let turn = TaskTurn::lock_planner(tx, caller, now).await?;
                // 2. Decide.
                let mut plan = read_staged(tx, turn.session()).await?;
                plan.tasks.retain(|task| task.key != new.key);
                plan.drops.retain(|key| *key != new.key);
                plan.tasks.push(new.clone());
                let unresolved = check_new_task(&turn.goal.graph, &plan, new)?;
                // 3. Write.
                let target = (turn.turn.tenant, turn.session());
                stage(tx, target, new, true, now).await?;
                Ok(StagedTask {
                    staged: plan.tasks.len() + plan.drops.len(),
                    unresolved,
                })
            })
        })
        .await
    }

    /// Stages the cancellation of the task with a key by a planner. If the planner has staged the task itself, withdraws it.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Store::create_task`].
    #[boxed]
    pub async fn stage_cancellation(
        &self,
        caller: &ToolCaller,
        key: &str,
        now: Timestamp,
    ) -> Result<StagedCancellation, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                // 1. Lock.
                let turn = TaskTurn::lock_planner(tx, caller, now).await?;
                // 2. Decide.
                let plan = read_staged(tx, turn.session()).await?;
                let staged = plan.tasks.len() + plan.drops.len();
                let is_new = plan.tasks.iter().any(|task| task.key == key);
                let is_cancelled = plan.drops.iter().any(|it| it == key);
                let faults = validate(&turn.goal.graph, &cancellation(key)).err();
                match faults {
                    // Without this, a cancelled task that has ended meanwhile would refuse each publication of the plan.
                    Some(_) if is_new || is_cancelled => {
                        let params = params![turn.session(), key];
                        tx.execute(sql!("staged_tasks/delete_one"), params).await?;
                        return Ok(StagedCancellation::Withdrawn(staged - 1));
                    }
                    Some(faults) => return Err(Error::Goal(Refusal::Plan(faults))),
                    None => {}
                }
                // 3. Write.
                let target = (turn.turn.tenant, turn.session());
                stage(tx, target, &NewTask::new(key, ""), false, now).await?;
                Ok(StagedCancellation::Staged(
                    staged + usize::from(!is_cancelled),
                ))
            })
        })
        .await
    }

    /// Stores the report of an agent about the task of its turn, or replaces it. It counts once the turn ends with success.
    ///
    /// # Errors
    ///
    /// Returns [`Error::RunOver`] as [`Store::calling_turn`], [`Error::Refused`] if the turn gives no such report, and
    /// [`Error::Goal`] if the verdict would count as none, or names an acceptance line that the task does not have.
    #[boxed]
    pub async fn report_task(
        &self,
        caller: &ToolCaller,
        report: &TaskReport,
        now: Timestamp,
    ) -> Result<StoredTaskReport, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let turn = TaskTurn::lock(tx, caller, now).await?;
                let (expected, kind, event) = if report.status.is_verdict() {
                    (TaskRole::Judge, "verdict", "take a verdict")
                } else {
                    (TaskRole::Worker, "result", "take a result")
                };
                if turn.role != expected {
                    return Err(turn.refuse(event));
                }
                let counted = turn.check_verdict(report)?;
                let body = stored::write::<StoredReport>(&report.body);
                tx.execute(
                    sql!("task_reports/put"),
                    params! { "task_reports/put";
                        input: turn.turn.input,
                        tenant: turn.turn.tenant,
                        session: turn.session(),
                        task: turn.task,
                        run: turn.turn.run,
                        kind: kind,
                        status: report.status.as_str(),
                        body: body.value,
                        format: DOCUMENT_FORMAT,
                        needs_format: body.needs_format,
                        now: now,
                    },
                )
                .await?;
                let task = turn.row();
                Ok(StoredTaskReport {
                    key: task.key.clone(),
                    round: task.round(),
                    counted,
                })
            })
        })
        .await
    }
}

/// Checks a new task of a plan. Returns the faults of keys that name no task yet, because the planner may stage these tasks
/// later.
///
/// # Errors
///
/// Returns the faults of the task by itself, and of the size of the plan. The planner mends the faults of other tasks apart.
fn check_new_task(graph: &Graph, plan: &Plan, new: &NewTask) -> Result<Vec<PlanError>, Error> {
    // 1. The task alone, because the faults of other tasks can hide its own.
    let mut alone = new.clone();
    alone.depends_on.retain(|key| !graph.named(key).is_empty());
    let alone = Plan {
        tasks: vec![alone],
        drops: Vec::new(),
    };
    let mut faults = validate(graph, &alone).err().unwrap_or_default();
    // The size of the plan is that of the whole one.
    faults.retain(|fault| !is_size(fault));
    // 2. The whole plan.
    let mut unresolved = Vec::new();
    for fault in validate(graph, plan).err().unwrap_or_default() {
        let is_own = fault.key().is_some_and(|key| names_task(&new.key, key));
        match fault {
            PlanError::UnknownKey {
                field: "depends_on",
                ..
            } if is_own => unresolved.push(fault),
            PlanError::UnknownKey { .. } | PlanError::Cycle(_) | PlanError::Status { .. } => {}
            fault if (is_own || is_size(&fault)) && !faults.contains(&fault) => {
                faults.push(fault);
            }
            _ => {}
        }
    }
    if faults.is_empty() {
        Ok(unresolved)
    } else {
        Err(Error::Goal(Refusal::Plan(faults)))
    }
}

const fn is_size(fault: &PlanError) -> bool {
    matches!(
        fault,
        PlanError::TooManyTasks { .. } | PlanError::TooManyDependencies(..)
    )
}
