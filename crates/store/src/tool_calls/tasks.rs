//! The tasks that planners stage, and the reports of workers and judges.
//!
//! **Invariant:** a call changes no task. The end of the successful turn does, so that a turn which fails has no effect.

use model::{
    SessionId, TaskId, Timestamp,
    entity::Run,
    goal::{
        NewTask, PlanError, Prompt, Refusal, ReportBody, ReportStatus, Task, TaskKind, validate,
    },
    lifecycle::InvalidTransition,
};

use super::{CallingTurn, ToolCaller, check_session, lock_turn};
use crate::{
    Error, Scope, boxed,
    database::Tx,
    goals::{Goal, read_goal, read_staged, stage},
    rows,
    runs::{GoalTask, task_views},
    store::Store,
    stored::{self, DOCUMENT_FORMAT, goals::StoredReport},
};

/// The report of an agent about the task of its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskReport {
    /// The status.
    pub status: ReportStatus,
    /// The content.
    pub body: ReportBody,
}

/// The turn of a task whose agent calls a tool.
struct TaskTurn {
    turn: CallingTurn,
    goal: Goal,
    task: TaskId,
    no: usize,
    is_review: bool,
}

impl TaskTurn {
    /// Locks the seats of the session, and reads the turn and the goal.
    async fn lock(tx: &mut Tx, caller: &ToolCaller, now: Timestamp) -> Result<Self, Error> {
        let turn = lock_turn(tx, caller, now).await?;
        check_session(&turn.session, "change its tasks")?;
        Self::read(tx, turn).await
    }

    async fn read(tx: &mut Tx, turn: CallingTurn) -> Result<Self, Error> {
        let no_task = || not_in_task(&turn, "use the tools of tasks");
        let task = turn.task.ok_or_else(no_task)?;
        let goal = read_goal(tx, turn.session.id).await?.ok_or_else(no_task)?;
        let no = goal.task_no(task).ok_or_else(no_task)?.0;
        let run = vec![params![turn.run]];
        let run = tx
            .fetch_rows(sql!("runs/by_ids", rows::OPEN_RUN_COLUMNS), run, params![])
            .await?;
        let run: Option<Run> = match run.first() {
            Some(row) => rows::open_run(row)?,
            None => None,
        };
        let prompt = run.and_then(|run| run.task).and_then(|task| task.prompt);
        let is_review = is_review(&goal.graph.tasks()[no], prompt);
        Ok(Self {
            turn,
            goal,
            task,
            no,
            is_review,
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
            state: format!("the {} of this turn", self.row().kind),
            event: event.to_owned(),
        })
    }
}

/// Returns `true` if a turn with this prompt judges a task.
fn is_review(task: &Task, prompt: Option<Prompt>) -> bool {
    match prompt {
        Some(Prompt::Review | Prompt::Check) => true,
        Some(Prompt::Reminder | Prompt::Answer) => {
            matches!(task.activity(), Some(model::goal::Activity::Review { .. }))
        }
        _ => false,
    }
}

fn not_in_task(turn: &CallingTurn, event: &str) -> Error {
    Error::Refused(InvalidTransition {
        what: "run",
        object: Some(turn.run.to_string()),
        state: "no turn of a task".to_owned(),
        event: event.to_owned(),
    })
}

impl Store {
    /// Stages a task of a planner. A repeated call with the same key replaces the staged task. Returns the number of staged
    /// tasks.
    ///
    /// # Errors
    ///
    /// Returns [`Error::RunOver`] as [`Store::calling_turn`], [`Error::Refused`] if the turn is none of a planner, and
    /// [`Error::Goal`] with the faults of the task. Keys of other tasks are checked when the plan is published.
    #[boxed]
    pub async fn create_task(
        &self,
        caller: &ToolCaller,
        new: &NewTask,
        now: Timestamp,
    ) -> Result<usize, Error> {
        self.stage_change(caller, new, true, now).await
    }

    /// Stages the cancellation of the task with a key by a planner. Returns the number of staged changes.
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
    ) -> Result<usize, Error> {
        self.stage_change(caller, &NewTask::new(key, ""), false, now)
            .await
    }

    async fn stage_change(
        &self,
        caller: &ToolCaller,
        new: &NewTask,
        is_new: bool,
        now: Timestamp,
    ) -> Result<usize, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                // 1. Lock.
                let turn = TaskTurn::lock(tx, caller, now).await?;
                if turn.row().kind != TaskKind::Plan {
                    return Err(turn.refuse("change the plan"));
                }
                // 2. Decide.
                let mut plan = read_staged(tx, turn.session()).await?;
                plan.tasks.retain(|task| task.key != new.key);
                plan.drops.retain(|key| *key != new.key);
                if is_new {
                    plan.tasks.push(new.clone());
                } else {
                    plan.drops.push(new.key.clone());
                }
                if let Err(mut faults) = validate(&turn.goal.graph, &plan) {
                    // The planner may stage the other tasks later, and mend their faults.
                    faults.retain(|fault| is_of_this_task(fault, &new.key));
                    if !faults.is_empty() {
                        return Err(Error::Goal(Refusal::Plan(faults)));
                    }
                }
                // 3. Write.
                let target = (turn.turn.tenant, turn.session());
                stage(tx, target, new, is_new, now).await?;
                Ok(plan.tasks.len() + plan.drops.len())
            })
        })
        .await
    }

    /// Stores the report of an agent about the task of its turn, or replaces it. It counts once the turn ends with success.
    /// Returns the key of the task.
    ///
    /// # Errors
    ///
    /// Returns [`Error::RunOver`] as [`Store::calling_turn`], and [`Error::Refused`] if the turn gives no such report.
    #[boxed]
    pub async fn report_task(
        &self,
        caller: &ToolCaller,
        report: &TaskReport,
        now: Timestamp,
    ) -> Result<String, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let turn = TaskTurn::lock(tx, caller, now).await?;
                let is_verdict = report.status.is_verdict();
                let may_report = turn.row().kind == TaskKind::Work || turn.is_review;
                if !may_report || is_verdict != turn.is_review {
                    let event = if is_verdict {
                        "take a verdict"
                    } else {
                        "take a result"
                    };
                    return Err(turn.refuse(event));
                }
                let body = stored::write::<StoredReport>(&report.body);
                tx.execute(
                    sql!("task_reports/put"),
                    params! { "task_reports/put";
                        input: turn.turn.input,
                        tenant: turn.turn.tenant,
                        session: turn.session(),
                        task: turn.task,
                        run: turn.turn.run,
                        kind: if is_verdict { "verdict" } else { "result" },
                        status: report.status.as_str(),
                        body: body.value,
                        format: DOCUMENT_FORMAT,
                        needs_format: body.needs_format,
                        now: now,
                    },
                )
                .await?;
                Ok(turn.row().key.clone())
            })
        })
        .await
    }

    /// Lists the tasks of the goal of a turn.
    ///
    /// # Errors
    ///
    /// Returns [`Error::RunOver`] as [`Store::calling_turn`], and [`Error::Refused`] if the turn is none of a task.
    #[boxed]
    pub async fn list_tasks(
        &self,
        caller: &ToolCaller,
        now: Timestamp,
    ) -> Result<Vec<GoalTask>, Error> {
        let mut tx = self.db.begin_read(Scope::System).await?;
        let turn = super::read_turn(&mut tx, caller, now).await?;
        if turn.task.is_none() {
            return Err(not_in_task(&turn, "list tasks"));
        }
        task_views(&mut tx, Scope::Tenant(turn.tenant), turn.session.id).await
    }
}

/// Returns `true` if a fault of a plan is one of the task with this key by itself, or of the size of the plan.
fn is_of_this_task(fault: &PlanError, key: &str) -> bool {
    match fault {
        PlanError::UnknownKey { .. } | PlanError::Cycle(_) => false,
        PlanError::TooManyTasks { .. } | PlanError::Key(_) => true,
        fault => fault.key().is_none_or(|of| of == key),
    }
}
