//! The goal of a session, read from its rows.

use std::collections::{BTreeSet, HashMap};

use model::{
    SeatId, SessionId, TaskId, TenantId, Timestamp,
    goal::{
        Deadline, GoalBudget, GoalProgress, GoalState, Graph, PauseReason, SeatNo, Task, TaskNo,
        Team,
    },
    session::SessionStatus,
    team::{MemoryScope, TeamDefinition},
};

use super::task_row;
use crate::{
    Error,
    database::{Row, Tx},
    stored::{
        self,
        goals::{StoredGoalBudget, StoredGoalProgress, StoredLimits, StoredTeam},
    },
};

/// A goal, with the rows from which its graph was read.
pub(crate) struct Goal {
    pub(crate) session: SessionId,
    pub(crate) tenant: TenantId,
    pub(crate) text: String,
    pub(crate) graph: Graph,
    /// The team, as it was at the creation.
    pub(crate) definition: TeamDefinition,
    pub(crate) budget: GoalBudget,
    /// The instant from which no further turn starts. `None` for a draft, unless a person has set it: the hours of the team
    /// count from the start.
    pub(crate) until: Option<Timestamp>,
    /// `true` if the goal has moved since that instant.
    until_passed: bool,
    /// The tasks, in the order of their numbers.
    pub(crate) tasks: Vec<TaskId>,
    /// The seats, in the order of the team.
    pub(crate) seats: Vec<SeatId>,
    pub(crate) session_status: SessionStatus,
    /// `true` if an agent had asked a question that had no answer when the goal was read.
    pub(crate) has_question: bool,
    /// The deadline that is set.
    pub(crate) deadline: Option<(Deadline, Timestamp)>,
    /// The reasons for which the last reports of tasks were refused, such as their plans.
    pub(crate) refusals: HashMap<TaskNo, Vec<String>>,
    /// The row, whose documents keep the keys that this program does not know.
    pub(super) row: Row,
    /// The rows of the tasks that were there when the goal was read.
    pub(super) task_rows: Vec<Row>,
}

impl Goal {
    /// Returns the number of a seat in the team.
    pub(crate) fn seat_no(&self, seat: SeatId) -> Option<SeatNo> {
        self.seats.iter().position(|it| *it == seat).map(SeatNo)
    }

    /// Returns the number of a task.
    pub(crate) fn task_no(&self, task: TaskId) -> Option<TaskNo> {
        self.tasks.iter().position(|it| *it == task).map(TaskNo)
    }

    /// Returns the memory with which a seat takes the turns of tasks.
    pub(crate) fn memory_scope(&self, no: SeatNo) -> Option<MemoryScope> {
        let seats = self.definition.seats();
        seats.get(no.0).map(|seat| seat.definition.memory)
    }

    /// Returns `true` if the time of the goal is over, and it has not moved since.
    pub(crate) fn must_note_until(&self, now: Timestamp) -> bool {
        !self.until_passed && self.until.is_some_and(|until| until <= now)
    }

    /// Returns the seat with a number.
    pub(crate) fn seat(&self, no: SeatNo) -> Option<SeatId> {
        self.seats.get(no.0).copied()
    }
}

/// Reads the goal of a session. Returns `None` if the session has none. A transition that moves the goal must hold the
/// locks of all seats of the session.
///
/// # Errors
///
/// Returns [`Error::NewerFormat`] for a goal of a later version.
pub(crate) async fn read_goal(tx: &mut Tx, session: SessionId) -> Result<Option<Goal>, Error> {
    // 1. The goal and its seats.
    let Some(row) = read_row(tx, session).await? else {
        return Ok(None);
    };
    let (definition, team) = team_of(&row)?;
    let seats = read_seats(tx, session, &team).await?;
    // 2. The tasks with their dependencies.
    let GoalTasks {
        ids,
        tasks,
        refusals,
        rows: task_rows,
    } = read_tasks(tx, session, &team).await?;
    // 3. The graph.
    let progress = stored::read::<StoredGoalProgress>(&row, "progress")?;
    let graph = build(&row, team, tasks, progress)?;
    let deadline = row
        .parse_optional("check_for")?
        .zip(row.optional("check_at")?);
    Ok(Some(Goal {
        session,
        tenant: row.get("tenant_id")?,
        text: row.get("text")?,
        graph,
        definition,
        budget: stored::read_optional::<StoredGoalBudget>(&row, "budget")?.unwrap_or_default(),
        until: row.optional("until_at")?,
        until_passed: row.get("until_passed")?,
        tasks: ids,
        seats,
        session_status: row.parse("session_state")?,
        has_question: row.get("has_question")?,
        deadline,
        refusals,
        row,
        task_rows,
    }))
}

/// One task in a graph of the few tasks that decide for what it waits. The numbers in the graph are not those of the rows.
pub(crate) struct TaskGraph {
    pub(crate) graph: Graph,
    pub(crate) no: TaskNo,
    /// The reasons for which the last report of the task was refused.
    pub(crate) faults: Vec<String>,
}

/// Reads one task of the goal of a session, whose row has its number, and no other tasks than those on which it depends and those
/// that have turns, checks or paths, because a goal may have thousands. Returns `None` if the session has no such task.
///
/// # Errors
///
/// Returns [`Error::NewerFormat`] for a goal of a later version.
pub(crate) async fn read_task_graph(
    tx: &mut Tx,
    session: SessionId,
    id: TaskId,
    of_task: &Row,
) -> Result<Option<TaskGraph>, Error> {
    // 1. The goal.
    let Some(row) = read_row(tx, session).await? else {
        return Ok(None);
    };
    let (_, team) = team_of(&row)?;
    let mut progress = stored::read::<StoredGoalProgress>(&row, "progress")?;
    // 2. The tasks.
    let rows = tx
        .fetch_all(sql!("tasks/dependencies_of"), params![id])
        .await?;
    let mut depends_on = BTreeSet::new();
    for row in &rows {
        depends_on.insert(TaskNo(task_row::number(row, "depends_on")?));
    }
    let number = TaskNo(task_row::number(of_task, "number")?);
    let mut numbers = progress.tasks();
    numbers.extend(&depends_on);
    numbers.insert(number);
    let items = numbers
        .iter()
        .map(|no| params![i64::try_from(no.0).unwrap_or(i64::MAX)]);
    let rows = tx
        .fetch_rows(sql!("tasks/by_numbers"), items.collect(), params![session])
        .await?;
    let mut tasks = Vec::with_capacity(rows.len());
    let mut renumbered = HashMap::with_capacity(rows.len());
    let mut faults = Vec::new();
    for row in &rows {
        let before = TaskNo(task_row::number(row, "number")?);
        renumbered.insert(before, TaskNo(tasks.len()));
        let (task, of_task) = task_row::read(row, &team)?;
        tasks.push(task);
        if before == number {
            faults = of_task;
        }
    }
    let Some(no) = renumbered.get(&number).copied() else {
        return Ok(None);
    };
    // 3. The graph. It refuses the highest number, which a task without a row gets.
    let new_number = |no: TaskNo| renumbered.get(&no).copied().unwrap_or(TaskNo(usize::MAX));
    tasks[no.0].depends_on = depends_on.into_iter().map(new_number).collect();
    progress.renumber(new_number);
    let mut graph = build(&row, team, tasks, progress)?;
    note_other_turns(tx, session, &mut graph, None).await?;
    Ok(Some(TaskGraph { graph, no, faults }))
}

/// Notes in the graph of a session the turns that no task has caused, and returns the seats that they hold or take next. Without
/// `now`, a run that had to wait for its backoff takes none until it is queued.
pub(crate) async fn note_other_turns(
    tx: &mut Tx,
    session: SessionId,
    graph: &mut Graph,
    now: Option<Timestamp>,
) -> Result<BTreeSet<SeatNo>, Error> {
    let rows = tx
        .fetch_all(sql!("goals/other_turns"), params![session, now])
        .await?;
    let mut occupied = BTreeSet::new();
    for row in &rows {
        let name: String = row.get("name")?;
        let no = graph.seats().iter().position(|seat| seat.name == name);
        occupied.extend(no.map(SeatNo));
    }
    graph.note_other_turns(&occupied);
    Ok(occupied)
}

/// Reads the row of the goal of a session. Returns `None` if the session has none.
async fn read_row(tx: &mut Tx, session: SessionId) -> Result<Option<Row>, Error> {
    let found = tx
        .fetch_optional(sql!("goals/by_session"), params![session])
        .await?;
    if let Some(row) = &found {
        let needed = stored::needs_format(row)?;
        stored::require_supported("goal", &session.to_string(), needed)?;
    }
    Ok(found)
}

/// Returns the team of a goal, as it was at the creation.
fn team_of(row: &Row) -> Result<(TeamDefinition, Team), Error> {
    let stored_team = stored::read::<StoredTeam>(row, "team")?;
    let definition = stored_team.definition;
    let team = definition.graph_team(stored_team.approve_plan);
    Ok((definition, team))
}

fn build(row: &Row, team: Team, tasks: Vec<Task>, progress: GoalProgress) -> Result<Graph, Error> {
    let state = goal_state(row)?;
    let limits = stored::read::<StoredLimits>(row, "limits")?;
    let built = Graph::from_parts(team, limits, state, tasks, progress);
    built.map_err(|error| row.corrupt_value("progress", error.into()).into())
}

/// Returns the state of a goal.
pub(crate) fn goal_state(row: &Row) -> Result<GoalState, Error> {
    let reason: Option<String> = row.optional("reason")?;
    let state: String = row.get("state")?;
    Ok(match (state.as_str(), reason.as_deref()) {
        ("draft", _) => GoalState::Draft,
        ("active", _) => GoalState::Active,
        ("done", _) => GoalState::Done,
        ("failed", Some("cancelled")) => GoalState::Cancelled,
        ("failed", _) => GoalState::GivenUp,
        _ => match row.parse::<PauseReason>("reason")? {
            PauseReason::Stuck => GoalState::Stuck(row.parse("cause")?),
            reason => GoalState::Paused(reason),
        },
    })
}

async fn read_seats(tx: &mut Tx, session: SessionId, team: &Team) -> Result<Vec<SeatId>, Error> {
    let rows = tx.fetch_all(sql!("goals/seats"), params![session]).await?;
    let mut by_name: HashMap<String, SeatId> = HashMap::new();
    for row in &rows {
        by_name.insert(row.get("name")?, row.get("id")?);
    }
    let seats = team.seats.iter().map(|seat| {
        let found = by_name.get(&seat.name).copied();
        found.ok_or_else(|| Error::not_found("seat", &seat.name))
    });
    seats.collect()
}

/// The tasks of a goal, in the order of their numbers.
struct GoalTasks {
    ids: Vec<TaskId>,
    tasks: Vec<Task>,
    refusals: HashMap<TaskNo, Vec<String>>,
    rows: Vec<Row>,
}

async fn read_tasks(tx: &mut Tx, session: SessionId, team: &Team) -> Result<GoalTasks, Error> {
    let rows = tx
        .fetch_all(sql!("tasks/of_session"), params![session])
        .await?;
    let mut ids = Vec::with_capacity(rows.len());
    let mut tasks: Vec<Task> = Vec::with_capacity(rows.len());
    let mut refusals = HashMap::new();
    for (no, row) in rows.iter().enumerate() {
        ids.push(row.get("id")?);
        let (task, of_task) = task_row::read(row, team)?;
        tasks.push(task);
        if !of_task.is_empty() {
            refusals.insert(TaskNo(no), of_task);
        }
    }
    let dependencies = tx
        .fetch_all(sql!("tasks/dependencies"), params![session])
        .await?;
    for row in &dependencies {
        let depends_on = task_row::number(row, "depends_on")?;
        if let Some(task) = tasks.get_mut(task_row::number(row, "task")?) {
            task.depends_on.push(TaskNo(depends_on));
        }
    }
    Ok(GoalTasks {
        ids,
        tasks,
        refusals,
        rows,
    })
}
