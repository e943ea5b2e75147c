//! The reads of goals.

use model::{
    SessionId, TaskId, Timestamp,
    goal::{GoalBudget, GoalState, Limits, Step, Task, TaskKind, TaskNo, TaskStatus, WaitsFor},
    team::TeamDefinition,
};

use crate::{
    Error, Scope, boxed,
    database::Tx,
    goals::{Goal, read_goal},
    store::Store,
};

/// A task of a goal, as lists show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoalTask {
    /// The ID.
    pub id: TaskId,
    /// The key.
    pub key: String,
    /// The title.
    pub title: String,
    /// The kind.
    pub kind: TaskKind,
    /// The status.
    pub status: TaskStatus,
    /// The step of a running task.
    pub step: Option<Step>,
    /// The name of the seat that has the turn, or gets it.
    pub seat: Option<String>,
    /// The number of rounds in which checks or the judge sent the task back.
    pub round: u32,
    /// The version of the plan that published the task.
    pub plan_version: u32,
    /// The thing for which the task waits.
    pub waits_for: WaitsFor,
    /// The result that the agent reported.
    pub result: Option<String>,
}

/// A goal, as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoalView {
    /// The session.
    pub session: SessionId,
    /// The text.
    pub text: String,
    /// The state.
    pub state: GoalState,
    /// The team, as it was at the creation.
    pub team: TeamDefinition,
    /// The present limits of the graph.
    pub limits: Limits,
    /// The budget of all turns.
    pub budget: GoalBudget,
    /// The instant from which no further turn starts.
    pub until: Option<Timestamp>,
    /// The version of the plan.
    pub plan_version: u32,
    /// The number of turns that have started.
    pub turns: u32,
    /// The deadline at which the goal moves by itself.
    pub check_at: Option<Timestamp>,
    /// The tasks, in the order of their numbers.
    pub tasks: Vec<GoalTask>,
}

impl Store {
    /// Returns the goal of a session with its tasks.
    ///
    /// # Errors
    ///
    /// Returns a not-found error if the session has no goal in `scope`.
    #[boxed]
    pub async fn goal(&self, scope: Scope, session: SessionId) -> Result<GoalView, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let row = tx
            .fetch_optional(sql!("sessions/by_id"), params![scope.tenant(), session])
            .await?;
        row.ok_or_else(|| Error::not_found("goal", session))?;
        let goal = read_goal(&mut tx, session).await?;
        let goal = goal.ok_or_else(|| Error::not_found("goal", session))?;
        Ok(GoalView {
            session,
            state: goal.graph.goal(),
            plan_version: goal.graph.plan_version(),
            turns: goal.graph.turns(),
            check_at: goal.deadline.map(|(_, at)| at),
            tasks: views(&mut tx, &goal, scope).await?,
            limits: goal.graph.limits().clone(),
            team: goal.definition,
            budget: goal.budget,
            until: goal.until,
            text: goal.text,
        })
    }
}

/// Returns the tasks of the goal of a session.
pub(crate) async fn task_views(
    tx: &mut Tx,
    scope: Scope,
    session: SessionId,
) -> Result<Vec<GoalTask>, Error> {
    let goal = read_goal(tx, session).await?;
    let goal = goal.ok_or_else(|| Error::not_found("goal", session))?;
    views(tx, &goal, scope).await
}

async fn views(tx: &mut Tx, goal: &Goal, scope: Scope) -> Result<Vec<GoalTask>, Error> {
    let rows = tx
        .fetch_all(
            sql!("tasks/page"),
            params![scope.tenant(), goal.session, -1_i64],
        )
        .await?;
    let mut found = Vec::with_capacity(rows.len());
    let tasks = goal.graph.tasks().iter().zip(&goal.tasks);
    for (no, (row, (task, id))) in rows.iter().zip(tasks).enumerate() {
        found.push(GoalTask {
            id: *id,
            key: task.key.clone(),
            title: row.get("title")?,
            kind: task.kind,
            status: task.status(),
            step: task.activity().map(model::goal::Activity::step),
            seat: seat_name(goal, task),
            round: task.progress.rounds,
            plan_version: task.plan_version,
            waits_for: goal.graph.waits_for(TaskNo(no)),
            result: row.optional("result")?,
        });
    }
    Ok(found)
}

fn seat_name(goal: &Goal, task: &Task) -> Option<String> {
    let seat = task.activity()?.seat()?;
    let seat = goal.graph.seats().get(seat.0)?;
    Some(seat.name.clone())
}
