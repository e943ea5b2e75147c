//! The moves of goals by people.

use model::{
    SessionId, TenantId, Timestamp,
    goal::{
        Event, GoalBudget, GoalState, Limits, Plan, Presence, Refusal, TaskEdit, TaskFields, TaskNo,
    },
};

use super::{
    step::{goal_step, lock_goal},
    view::GoalView,
};
use crate::{
    Error, Scope, boxed,
    database::Tx,
    goals::{Goal, write_budget, write_until},
    runs::{
        message::send_to_entry_seat,
        seat_input::{WakeCause, wake_seats},
    },
    session_log::SessionLogWriter,
    session_title::rename_session,
    store::Store,
};

/// A move of a goal by a person. Tasks are named by their keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GoalChange {
    /// Start a draft.
    Start,
    /// Start no further turn.
    Pause,
    /// Go on after a pause, or approve the first plan.
    Resume,
    /// Cancel the goal.
    Cancel,
    /// Request another plan.
    Replan,
    /// Change the text of the goal, and request another plan.
    Edit(String),
    /// Give the session a title, unless it has another one than `from`.
    Title {
        /// The title that follows from the present text.
        from: Option<String>,
        /// The title that follows from the new text.
        to: Option<String>,
    },
    /// Change the limits.
    Limits(Limits),
    /// Change the budget. A goal that paused for its budget goes on if the new one is enough.
    Budget(GoalBudget),
    /// Change the instant from which no further turn starts. A goal that paused for its budget goes on if time is left.
    Until(Timestamp),
    /// Add, replace or drop tasks.
    Publish {
        /// The version of the plan that the person has read.
        version: u32,
        /// The changes.
        plan: Plan,
    },
    /// Edit a task that has not begun, or has failed.
    EditTask {
        /// The key.
        key: String,
        /// The version of the plan with which the person has read the task.
        version: u32,
        /// The content that the person has read.
        before: TaskFields,
        /// The new content.
        after: TaskFields,
    },
    /// Retry a failed task.
    Retry(String),
    /// Accept a task.
    Accept(String),
    /// Cancel an open task, or drop a failed one.
    CancelTask(String),
}

impl Store {
    /// Moves a goal for a person. Returns the state of the goal afterwards.
    ///
    /// # Errors
    ///
    /// Returns a not-found error if the tenant has no such goal or the goal no such task, [`Error::StaleVersion`] for an edit of
    /// a task with another version of the plan, and [`Error::Goal`] if the goal does not accept the move.
    #[boxed]
    pub async fn change_goal(
        &self,
        tenant: TenantId,
        session: SessionId,
        change: &GoalChange,
        now: Timestamp,
    ) -> Result<GoalState, Error> {
        let changes = std::slice::from_ref(change);
        self.apply_changes(tenant, session, None, changes, None, now)
            .await
    }

    /// Moves a goal for a person, and sends the person's comment to the entry seat, both or none. A goal that is over by the
    /// move gets no comment. Returns the state of the goal afterwards.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Store::change_goal`].
    #[boxed]
    pub async fn change_goal_with_comment(
        &self,
        tenant: TenantId,
        session: SessionId,
        change: &GoalChange,
        comment: Option<&str>,
        now: Timestamp,
    ) -> Result<GoalState, Error> {
        let changes = std::slice::from_ref(change);
        self.apply_changes(tenant, session, None, changes, comment, now)
            .await
    }

    /// Changes the text, the limits, the budget and the time of a goal, all of them or none. Returns the state of the goal
    /// afterwards.
    ///
    /// # Errors
    ///
    /// Returns [`Error::StaleVersion`] if one of these fields is no longer as in `seen`, and otherwise the errors of
    /// [`Store::change_goal`] for any of the changes.
    #[boxed]
    pub async fn edit_goal(
        &self,
        tenant: TenantId,
        seen: &GoalView,
        changes: &[GoalChange],
        now: Timestamp,
    ) -> Result<GoalState, Error> {
        self.apply_changes(tenant, seen.session, Some(seen), changes, None, now)
            .await
    }

    async fn apply_changes(
        &self,
        tenant: TenantId,
        session: SessionId,
        seen: Option<&GoalView>,
        changes: &[GoalChange],
        comment: Option<&str>,
        now: Timestamp,
    ) -> Result<GoalState, Error> {
        let scope = Scope::Tenant(tenant);
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                // Check the tenant before the locks, so that a request of another tenant locks nothing.
                let row = tx
                    .fetch_optional(sql!("sessions/by_id"), params![scope.tenant(), session])
                    .await?;
                row.ok_or_else(|| Error::not_found("goal", session))?;
                if let Some(seen) = seen {
                    check_unchanged(&locked(tx, session).await?, seen)?;
                }
                let mut events = Vec::new();
                for change in changes {
                    events.extend(events_of(tx, session, change, now).await?);
                }
                let moved = goal_step(self, tx, session, events, now).await;
                let goal = moved.map_err(|error| stale_edit(error, changes))?;
                let state = goal.graph.goal();
                // Nearly each change may let the goal go on, or raise a limit that delayed a turn.
                if state == GoalState::Active {
                    start_message_turns(self, tx, &goal, now).await?;
                }
                if let Some(comment) = comment.filter(|_| !state.is_over()) {
                    send_to_entry_seat(self, tx, tenant, session, comment, now).await?;
                }
                Ok(state)
            })
        })
        .await
    }
}

/// Returns the error of an object that has changed since it was read, if an edit of a task was refused for its version.
fn stale_edit(error: Error, changes: &[GoalChange]) -> Error {
    let edited = changes.iter().find_map(|change| match change {
        GoalChange::EditTask { key, .. } => Some(key.clone()),
        _ => None,
    });
    match (error, edited) {
        (Error::Goal(Refusal::Version { .. }), Some(name)) => {
            Error::StaleVersion { what: "task", name }
        }
        (error, _) => error,
    }
}

/// Writes the facts that a change sets, and returns the events that follow from it.
async fn events_of(
    tx: &mut Tx,
    session: SessionId,
    change: &GoalChange,
    now: Timestamp,
) -> Result<Vec<Event>, Error> {
    let event = match change {
        GoalChange::Start => Event::Start,
        GoalChange::Pause => Event::Pause,
        GoalChange::Resume => Event::Resume,
        GoalChange::Cancel => Event::Cancel,
        GoalChange::Replan => {
            // The start of a draft requests its first plan by itself.
            if locked(tx, session).await?.graph.goal() == GoalState::Draft {
                return Err(Error::Goal(Refusal::Draft));
            }
            Event::Replan
        }
        GoalChange::Edit(text) => {
            lock_goal(tx, session).await?;
            let text = text.as_str();
            tx.execute(sql!("goals/set_text"), params![session, text, now])
                .await?;
            Event::Replan
        }
        GoalChange::Title { from, to } => {
            lock_goal(tx, session).await?;
            let titles = [from.as_deref(), to.as_deref()];
            rename_session(tx, Scope::System, session, titles, now).await?;
            return Ok(Vec::new());
        }
        GoalChange::Limits(limits) => Event::Limits(limits.clone()),
        // The move finds the level of the new budget by itself.
        GoalChange::Budget(budget) => {
            let goal = locked(tx, session).await?;
            check_open(&goal)?;
            write_budget(tx, &goal, budget, now).await?;
            return Ok(Vec::new());
        }
        GoalChange::Until(until) => {
            let goal = locked(tx, session).await?;
            check_open(&goal)?;
            write_until(tx, &goal, *until, now).await?;
            return Ok(Vec::new());
        }
        GoalChange::Publish { version, plan } => Event::Publish {
            version: *version,
            plan: plan.clone(),
        },
        GoalChange::EditTask {
            key,
            version,
            before,
            after,
        } => {
            let goal = locked(tx, session).await?;
            let task = task_no(&goal, key)?;
            // Each change of the content makes a version, so that the present one has the content `before`.
            Event::EditTask(TaskEdit {
                version: *version,
                task,
                before: before.clone(),
                after: after.clone(),
            })
        }
        GoalChange::Retry(key) => Event::Retry(task(tx, session, key).await?),
        GoalChange::Accept(key) => Event::Accept(task(tx, session, key).await?),
        GoalChange::CancelTask(key) => Event::CancelTask(task(tx, session, key).await?),
    };
    Ok(vec![event])
}

/// Starts the turns for messages that waited, as far as the limits of the goal allow. The caller must hold the locks of all seats
/// of the session, and of the session.
pub(super) async fn start_message_turns(
    store: &Store,
    tx: &mut Tx,
    goal: &Goal,
    now: Timestamp,
) -> Result<(), Error> {
    let seats = goal.seats.iter().zip(goal.graph.seats());
    let seats = seats.filter(|(_, seat)| seat.presence != Presence::Removed);
    let seats = seats.map(|(id, _)| (*id, WakeCause::Task)).collect();
    let mut log = SessionLogWriter::default();
    wake_seats(store, tx, &mut log, &seats, now).await?;
    log.write(tx, now).await
}

async fn locked(tx: &mut Tx, session: SessionId) -> Result<Goal, Error> {
    let goal = lock_goal(tx, session).await?;
    goal.ok_or_else(|| Error::not_found("goal", session))
}

/// Refuses to edit a goal whose text, limits, budget or time is no longer the one that the caller has read.
fn check_unchanged(goal: &Goal, seen: &GoalView) -> Result<(), Error> {
    if goal.text == seen.text
        && *goal.graph.limits() == seen.limits
        && goal.budget == seen.budget
        && goal.until == seen.until
    {
        return Ok(());
    }
    Err(Error::StaleVersion {
        what: "goal",
        name: seen.session.to_string(),
    })
}

fn check_open(goal: &Goal) -> Result<(), Error> {
    let state = goal.graph.goal();
    if state.is_over() {
        return Err(Error::Goal(Refusal::Closed(state.status())));
    }
    Ok(())
}

/// Returns the number of the task with a key. Numbers and keys never change.
async fn task(tx: &mut Tx, session: SessionId, key: &str) -> Result<TaskNo, Error> {
    task_no(&locked(tx, session).await?, key)
}

fn task_no(goal: &Goal, key: &str) -> Result<TaskNo, Error> {
    let found = goal.graph.tasks().iter().position(|task| task.key == key);
    found
        .map(TaskNo)
        .ok_or_else(|| Error::not_found("task", key))
}
