//! Writing of a goal that has moved, in one statement for each table.

use std::collections::HashMap;

use model::{
    TaskId, Timestamp,
    event::{Change, TaskChange},
    goal::{
        Activity, Deadline, GoalState, NewTask, PauseReason, Task, TaskFields, TaskNo, TaskStatus,
    },
};
use serde_json::json;

use super::{graph::Goal, task_row};
use crate::{
    Error,
    database::{Param, Tx},
    session_log::SessionLogWriter,
    store::Store,
    stored::{
        self,
        goals::{StoredGoalProgress, StoredLimits, StoredTaskState},
    },
};

/// The texts of a new or of an edited task.
#[derive(Debug, Clone, Default)]
pub(crate) struct TaskText {
    title: String,
    description: String,
    acceptance: Vec<String>,
}

impl TaskText {
    /// Returns the texts of a task of a plan.
    pub(crate) fn of(task: NewTask) -> Self {
        Self {
            title: task.title,
            description: task.description,
            acceptance: task.acceptance,
        }
    }

    /// Returns the texts of a task that a person has edited.
    pub(crate) fn edited(fields: &TaskFields) -> Self {
        let fields = fields.clone();
        Self {
            title: fields.title,
            description: fields.description,
            acceptance: fields.acceptance,
        }
    }
}

/// Writes what has changed in a goal since `before`, the tasks as they were read, and logs the moves and the
/// edits of tasks. `texts` has the texts of the new and of the edited tasks by their keys.
///
/// # Errors
///
/// Returns [`Error::LostRace`] if a task or the goal has moved since it was read.
pub(crate) async fn write_goal(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    goal: &mut Goal,
    before: &[Task],
    texts: &HashMap<String, TaskText>,
    now: Timestamp,
) -> Result<(), Error> {
    // 1. Write the goal first. Of two moves that read the same graph, the later one then changes nothing.
    write_state(tx, goal, now).await?;
    // 2. Give the new tasks their IDs.
    let new = goal.graph.tasks().len() - before.len();
    for _ in 0..new {
        goal.tasks.push(TaskId::generate(now, store.ids()));
    }
    // 3. Collect the rows.
    let (mut inserts, mut updates, mut edits) = (Vec::new(), Vec::new(), Vec::new());
    let (mut dependencies, mut rewired) = (Vec::new(), Vec::new());
    for (no, (task, id)) in goal.graph.tasks().iter().zip(&goal.tasks).enumerate() {
        let old = before.get(no);
        let is_rewired = old.is_none_or(|old| old.depends_on != task.depends_on);
        if is_rewired {
            rewired.extend(old.map(|_| params![*id]));
            dependencies.extend(task.depends_on.iter().map(|on| {
                let on = goal.tasks[on.0];
                params![goal.tenant, goal.session, *id, on]
            }));
        }
        match old {
            None => {
                let text = texts.get(&task.key).cloned().unwrap_or_default();
                inserts.push(insert_params(goal, no, task, text, now));
            }
            Some(old) if old.state != task.state || old.progress != task.progress => {
                updates.push(update_params(goal, no, old.status(), task)?);
            }
            Some(_) => {}
        }
        // Only an edit gives a task another version of the plan.
        if old.is_some_and(|old| old.plan_version != task.plan_version) {
            let text = texts.get(&task.key);
            edits.extend(text.map(|text| edit_params(*id, task, text.clone(), now)));
        }
        let is_shown = |it: &Task| {
            let activity = it.activity().cloned();
            (it.status(), activity, it.progress.rounds, it.plan_version)
        };
        if old.is_none_or(|old| is_shown(old) != is_shown(task)) {
            log.add_change(goal.session, change(goal, *id, task));
        }
    }
    // 4. Write the tasks before their dependencies.
    let expected = updates.len() as u64;
    let moved = tx
        .execute_rows(sql!("tasks/update"), updates, params![now])
        .await?;
    if moved != expected {
        return Err(Error::LostRace {
            what: "the tasks of the goal",
        });
    }
    for edit in edits {
        tx.execute(sql!("tasks/edit"), edit).await?;
    }
    tx.execute_rows(sql!("tasks/insert"), inserts, params![])
        .await?;
    tx.execute_rows(sql!("tasks/delete_dependencies"), rewired, params![])
        .await?;
    tx.execute_rows(sql!("tasks/insert_dependencies"), dependencies, params![])
        .await?;
    Ok(())
}

async fn write_state(tx: &mut Tx, goal: &Goal, now: Timestamp) -> Result<(), Error> {
    let state = goal.graph.goal();
    let (reason, cause) = match state {
        GoalState::Paused(reason) => (Some(reason.as_str()), None),
        GoalState::Stuck(cause) => (Some(PauseReason::Stuck.as_str()), Some(cause.as_str())),
        GoalState::Cancelled => (Some("cancelled"), None),
        GoalState::GivenUp => (Some("stuck for too long"), None),
        GoalState::Draft | GoalState::Active | GoalState::Done => (None, None),
    };
    let progress =
        stored::rewrite::<StoredGoalProgress>(&goal.graph.progress(), &goal.row, "progress")?;
    let limits = stored::rewrite::<StoredLimits>(goal.graph.limits(), &goal.row, "limits")?;
    let format: i64 = goal.row.get("format")?;
    let deadline = goal.deadline.filter(|_| !state.is_over());
    let written = tx
        .execute(
            sql!("goals/update"),
            params! { "goals/update";
                session: goal.session,
                revision: goal.row.get::<i64>("revision")?,
                state: state.status().as_str(),
                reason: reason,
                cause: cause,
                plan_version: goal.graph.plan_version(),
                progress: progress.value,
                limits: limits.value,
                format: stored::format_after_rewrite(format),
                check_at: deadline.map(|(_, at)| at),
                check_for: deadline.map(|(deadline, _)| Deadline::as_str(deadline)),
                until: goal.until,
                until_passed: goal.until.is_some_and(|until| until <= now),
                ended: state.is_over().then_some(now),
                now: now,
            },
        )
        .await?;
    if written == 0 {
        return Err(Error::LostRace { what: "the goal" });
    }
    Ok(())
}

fn change(goal: &Goal, id: TaskId, task: &Task) -> Change {
    let seat = task.activity().and_then(Activity::seat);
    Change::Task {
        task_id: id,
        change: TaskChange {
            key: task.key.clone(),
            status: task.status(),
            step: task_row::step(task),
            round: task.progress.rounds,
            seat: seat.and_then(|seat| goal.seat(seat)),
            plan_version: task.plan_version,
        },
    }
}

/// Returns the seat of a running task: the one of its turn, or the one that has its memory.
fn seat_of(goal: &Goal, task: &Task) -> Option<model::SeatId> {
    let activity = task.activity()?;
    let seat = activity.seat().or(task.progress.home)?;
    goal.seat(seat)
}

fn insert_params(
    goal: &Goal,
    no: usize,
    task: &Task,
    text: TaskText,
    now: Timestamp,
) -> Vec<Param> {
    let status = task.status();
    let is_over = matches!(
        status,
        TaskStatus::Done | TaskStatus::Failed | TaskStatus::Cancelled
    );
    let role = goal.graph.team().roles.get(task.role);
    let document = stored::write::<StoredTaskState>(&task_row::document(task, &[]));
    params! { "tasks/insert";
        id: goal.tasks[no],
        tenant: goal.tenant,
        session: goal.session,
        role: role.map_or("", |role| role.name.as_str()),
        title: text.title,
        description: text.description,
        status: status.as_str(),
        started: (status == TaskStatus::Running).then_some(now),
        ended: is_over.then_some(now),
        number: i64::try_from(no).unwrap_or(i64::MAX),
        key: task.key.as_str(),
        kind: task.kind.as_str(),
        plan_version: task.plan_version,
        unmet: task_row::unmet(task),
        priority: u32::from(task.priority),
        optional: task.optional,
        review: task.review,
        step: task_row::step(task).map(model::goal::Step::as_str),
        seat: seat_of(goal, task),
        reason: task_row::reason(task),
        acceptance: json!(text.acceptance),
        checks: json!(task.checks),
        writes: json!(task.writes),
        digest: task.digest.to_vec(),
        attempts: task.progress.attempts,
        rounds: task.progress.rounds,
        progress: document.value,
        now: now,
    }
}

fn edit_params(id: TaskId, task: &Task, text: TaskText, now: Timestamp) -> Vec<Param> {
    params! { "tasks/edit";
        id: id,
        title: text.title,
        description: text.description,
        acceptance: json!(text.acceptance),
        priority: u32::from(task.priority),
        plan_version: task.plan_version,
        digest: task.digest.to_vec(),
        now: now,
    }
}

fn update_params(
    goal: &Goal,
    no: usize,
    before: TaskStatus,
    task: &Task,
) -> Result<Vec<Param>, Error> {
    let refusals = goal.refusals.get(&TaskNo(no));
    let state = task_row::document(task, refusals.map_or(&[], Vec::as_slice));
    let document = match goal.task_rows.get(no) {
        Some(row) => stored::rewrite::<StoredTaskState>(&state, row, "progress")?,
        None => stored::write::<StoredTaskState>(&state),
    };
    Ok(params! { "tasks/update";
        id: goal.tasks[no],
        before: before.as_str(),
        status: task.status().as_str(),
        unmet: task_row::unmet(task),
        step: task_row::step(task).map(model::goal::Step::as_str),
        seat: seat_of(goal, task),
        reason: task_row::reason(task),
        attempts: task.progress.attempts,
        rounds: task.progress.rounds,
        progress: document.value,
    })
}
