//! The reads of goals.

mod causes;
mod details;
mod edits;
mod list;
mod usage;
mod waiting_turns;

use std::collections::HashMap;

use model::{
    SeatId, SessionId, TaskId, Timestamp,
    goal::{
        GoalBudget, GoalState, Graph, Limits, Presence, Step, Task, TaskKind, TaskNo, TaskState,
        TaskStatus, WaitsFor,
    },
    team::TeamDefinition,
};

use self::{causes::LastTurns, list::read_count, usage::SeatUsage, waiting_turns::WaitingTurns};
pub(crate) use self::{details::read_last_findings, list::read_task_counts};
pub use self::{
    details::{
        GoalReportRows, ReportedArtifact, ReportedTask, RunVerdict, TaskDetails, TaskFinding,
        TaskRunRow,
    },
    list::{GoalFilter, GoalItem, TaskCount},
    usage::GoalUsage,
};
use crate::{
    Error, Scope, boxed,
    database::{Row, Tx},
    goals::{Goal, note_other_turns, read_goal},
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
    /// The role whose seats take the task.
    pub role: String,
    /// The status.
    pub status: TaskStatus,
    /// The step of a running task.
    pub step: Option<Step>,
    /// The name of the seat that has the turn, or gets it. Otherwise that of the seat which has worked on the task.
    pub seat: Option<String>,
    /// The number of rounds in which checks or the judge sent the task back.
    pub round: u32,
    /// The number of failed attempts.
    pub attempts: u32,
    /// `true` if the goal can be done without the task.
    pub optional: bool,
    /// `true` if the planner marked the task for review.
    pub review: bool,
    /// The rank among READY tasks, from 0, which starts first, to 9.
    pub priority: u8,
    /// The version of the plan that published the task, or with which a person last edited it.
    pub plan_version: u32,
    /// The keys of tasks that must be satisfied first.
    pub depends_on: Vec<String>,
    /// The thing for which the task waits.
    pub waits_for: WaitsFor,
    /// The reason of a task that is over.
    pub reason: Option<&'static str>,
    /// The names of the check or of the findings behind the reason.
    pub about: Vec<String>,
    /// The text behind the reason of a failed task: the faults of a plan, the error of the last run, or the last words of the
    /// agent. `None` for other tasks, and if the findings tell the cause.
    pub cause: Option<String>,
    /// The result that the agent reported.
    pub result: Option<String>,
    /// The instant at which the task was published.
    pub created_at: Timestamp,
    /// The instant at which the task first got a seat.
    pub started_at: Option<Timestamp>,
    /// The instant at which the task was over.
    pub ended_at: Option<Timestamp>,
}

/// A seat of a goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoalSeat {
    /// The ID.
    pub id: SeatId,
    /// The name.
    pub name: String,
    /// The role.
    pub role: String,
    /// Whether the instance of the seat can take its turns.
    pub presence: Presence,
    /// `true` if a turn is under way.
    pub is_busy: bool,
    /// The key of the task of that turn.
    pub task: Option<String>,
    /// The number of turns that have begun.
    pub turns: u32,
    /// The usage of these turns.
    pub usage: GoalUsage,
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
    /// The version of the plan.
    pub plan_version: u32,
    /// The number of plans after the first that were requested.
    pub replans: u32,
    /// The number of turns that have started.
    pub turns: u32,
    /// The number of turns that count towards the limit, with the message turns that were requested and have not started.
    pub counted_turns: u32,
    /// The number of messages between seats.
    pub messages: u32,
    /// The number of turns for messages between seats.
    pub message_turns: u32,
    /// The number of such turns that two seats have taken alternately since the last turn of a task.
    pub alternating_turns: u32,
    /// The team, as it was at the creation.
    pub team: TeamDefinition,
    /// The present limits of the graph.
    pub limits: Limits,
    /// The budget.
    pub budget: GoalBudget,
    /// The instant from which no further turn starts.
    pub until: Option<Timestamp>,
    /// The usage of all runs.
    pub usage: GoalUsage,
    /// The number of open questions of its agents.
    pub open_questions: u32,
    /// The number of permission requests of its agents that wait for a decision.
    pub open_approvals: u32,
    /// The deadline at which the goal moves by itself.
    pub check_at: Option<Timestamp>,
    /// The seats, in the order of the team.
    pub seats: Vec<GoalSeat>,
    /// The tasks, in the order of their numbers.
    pub tasks: Vec<GoalTask>,
    /// The instant at which the goal was created.
    pub created_at: Timestamp,
    /// The instant of the last change.
    pub updated_at: Timestamp,
    /// The instant at which the goal was done or failed.
    pub ended_at: Option<Timestamp>,
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
        read_view(&mut tx, scope, session).await
    }
}

async fn read_view(tx: &mut Tx, scope: Scope, session: SessionId) -> Result<GoalView, Error> {
    let not_found = || Error::not_found("goal", session);
    let times = tx
        .fetch_optional(sql!("goals/list_times"), params![scope.tenant(), session])
        .await?;
    let times = times.ok_or_else(not_found)?;
    let mut goal = read_goal(tx, session).await?.ok_or_else(not_found)?;
    note_other_turns(tx, session, &mut goal.graph, None).await?;
    let (usage, seat_usage) = usage::of_goal_and_seats(tx, session).await?;
    let progress = goal.graph.progress();
    Ok(GoalView {
        session,
        state: goal.graph.goal(),
        plan_version: goal.graph.plan_version(),
        replans: progress.replans,
        turns: goal.graph.turns(),
        counted_turns: goal.graph.counted_turns(),
        messages: progress.messages,
        message_turns: progress.message_turns,
        alternating_turns: progress.alternation.turns,
        limits: goal.graph.limits().clone(),
        usage,
        check_at: goal.deadline.map(|(_, at)| at),
        seats: seat_views(&goal, seat_usage),
        tasks: views(tx, &goal, scope).await?,
        open_questions: read_count(&times, "open_questions")?,
        open_approvals: read_count(&times, "open_approvals")?,
        created_at: times.get("created_at")?,
        updated_at: times.get("updated_at")?,
        ended_at: times.optional("ended_at")?,
        team: goal.definition,
        budget: goal.budget,
        until: goal.until,
        text: goal.text,
    })
}

/// Returns the tasks of the goal of a session.
pub(crate) async fn task_views(
    tx: &mut Tx,
    scope: Scope,
    session: SessionId,
) -> Result<Vec<GoalTask>, Error> {
    let goal = read_goal(tx, session).await?;
    let mut goal = goal.ok_or_else(|| Error::not_found("goal", session))?;
    note_other_turns(tx, session, &mut goal.graph, None).await?;
    views(tx, &goal, scope).await
}

async fn views(tx: &mut Tx, goal: &Goal, scope: Scope) -> Result<Vec<GoalTask>, Error> {
    let rows = tx
        .fetch_all(
            sql!("tasks/page"),
            params![scope.tenant(), goal.session, -1_i64, u32::MAX],
        )
        .await?;
    let last_turns = LastTurns::read(tx, &goal.tasks, goal.graph.tasks()).await?;
    let waiting = WaitingTurns::read(tx, goal.session).await?;
    let mut views = Vec::with_capacity(rows.len());
    for (no, (id, row)) in goal.tasks.iter().zip(&rows).enumerate() {
        let no = TaskNo(no);
        let faults = goal.refusals.get(&no).map_or(&[][..], Vec::as_slice);
        let turns = (&last_turns, &waiting);
        views.push(task_view(&goal.graph, (no, *id), row, faults, turns)?);
    }
    Ok(views)
}

fn task_view(
    graph: &Graph,
    (no, id): (TaskNo, TaskId),
    row: &Row,
    faults: &[String],
    (last_turns, waiting): (&LastTurns, &WaitingTurns),
) -> Result<GoalTask, Error> {
    let tasks = graph.tasks();
    let task = &tasks[no.0];
    let (reason, about) = match &task.state {
        TaskState::Done(by) => (Some(by.as_str()), Vec::new()),
        TaskState::Failed { reason, about } => (Some(reason.as_str()), about.clone()),
        TaskState::Cancelled(reason) => (Some(reason.as_str()), Vec::new()),
        _ => (None, Vec::new()),
    };
    let depends_on = task.depends_on.iter();
    let result: Option<String> = row.optional("result")?;
    Ok(GoalTask {
        id,
        key: task.key.clone(),
        title: row.get("title")?,
        kind: task.kind,
        role: row.get("role")?,
        status: task.status(),
        step: task.activity().map(model::goal::Activity::step),
        seat: seat_name(graph, task),
        round: task.progress.rounds,
        attempts: task.progress.attempts,
        optional: task.optional,
        review: task.review,
        priority: task.priority,
        plan_version: task.plan_version,
        depends_on: depends_on.map(|on| tasks[on.0].key.clone()).collect(),
        waits_for: waiting.waits_for(graph, (no, id)),
        reason,
        about,
        cause: last_turns.cause((id, task), faults, result.as_deref()),
        result,
        created_at: row.get("created_at")?,
        started_at: row.optional("started_at")?,
        ended_at: row.optional("ended_at")?,
    })
}

fn seat_name(graph: &Graph, task: &Task) -> Option<String> {
    let present = task.activity().and_then(model::goal::Activity::seat);
    let seat = present.or(task.progress.home)?;
    let seat = graph.seats().get(seat.0)?;
    Some(seat.name.clone())
}

fn seat_views(goal: &Goal, mut usage: HashMap<SeatId, SeatUsage>) -> Vec<GoalSeat> {
    let roles = &goal.graph.team().roles;
    let seats = goal.seats.iter().zip(goal.graph.seats());
    let view = |(id, seat): (&SeatId, &model::goal::Seat)| {
        let task = seat.turn.and_then(model::goal::Input::task);
        let task = task.and_then(|no| goal.graph.tasks().get(no.0));
        let SeatUsage { turns, usage } = usage.remove(id).unwrap_or_default();
        GoalSeat {
            id: *id,
            name: seat.name.clone(),
            role: roles
                .get(seat.role)
                .map_or_else(String::new, |role| role.name.clone()),
            presence: seat.presence,
            is_busy: seat.turn.is_some(),
            task: task.map(|task| task.key.clone()),
            turns,
            usage,
        }
    };
    seats.map(view).collect()
}
