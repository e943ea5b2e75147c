//! Conversions between tasks of a graph and their rows.

use model::goal::{
    Activity, CancelReason, DoneBy, FailReason, Step, Task, TaskState, TaskStatus, Team,
};

use crate::{
    Error,
    database::Row,
    stored::{
        self,
        goals::{StoredTaskState, TaskDocument},
    },
};

/// Returns a number of a row as an index.
pub(super) fn number(row: &Row, column: &'static str) -> Result<usize, Error> {
    let number: i64 = row.get(column)?;
    usize::try_from(number).map_err(|error| row.corrupt_value(column, error.into()).into())
}

fn small<T: TryFrom<i64>>(row: &Row, column: &'static str) -> Result<T, Error>
where
    T::Error: std::error::Error + Send + Sync + 'static,
{
    let number: i64 = row.get(column)?;
    T::try_from(number).map_err(|error| row.corrupt_value(column, error.into()).into())
}

/// Returns a task, without its dependencies, and the reasons for which its last report was refused.
pub(super) fn read(row: &Row, team: &Team) -> Result<(Task, Vec<String>), Error> {
    let document = stored::read::<StoredTaskState>(row, "progress")?;
    let role: String = row.get("role")?;
    let digest: Vec<u8> = row.get("digest")?;
    let acceptance: Vec<String> = row.json("acceptance")?;
    let task = Task {
        key: row.get("key")?,
        kind: row.parse("kind")?,
        // A role that the team does not have is refused with the other references.
        role: team.role(&role).unwrap_or(team.roles.len()),
        state: state(row, &document)?,
        depends_on: Vec::new(),
        dependents: Vec::new(),
        priority: small(row, "priority")?,
        optional: row.get("optional")?,
        review: row.get("review")?,
        acceptance: acceptance.len(),
        checks: row.json("checks")?,
        writes: row.json("writes")?,
        plan_version: small(row, "plan_version")?,
        digest: digest.try_into().unwrap_or_default(),
        progress: document.progress,
    };
    Ok((task, document.refusals))
}

fn state(row: &Row, document: &TaskDocument) -> Result<TaskState, Error> {
    Ok(match row.parse::<TaskStatus>("status")? {
        TaskStatus::Pending => TaskState::Pending {
            unmet: number(row, "unmet")?,
        },
        TaskStatus::Ready => TaskState::Ready,
        TaskStatus::Running => TaskState::Running(activity(row, document)?),
        TaskStatus::Done => TaskState::Done(row.parse::<DoneBy>("reason")?),
        TaskStatus::Failed => TaskState::Failed {
            reason: row.parse::<FailReason>("reason")?,
            about: document.about.clone(),
        },
        TaskStatus::Cancelled => TaskState::Cancelled(row.parse::<CancelReason>("reason")?),
    })
}

fn activity(row: &Row, document: &TaskDocument) -> Result<Activity, Error> {
    let seat = || {
        let missing = "a turn needs a seat".into();
        let found = document.seat;
        found.ok_or_else(|| Error::from(row.corrupt_value("progress", missing)))
    };
    Ok(match (row.parse::<Step>("step")?, &document.broken_check) {
        (Step::Work, _) => Activity::Work { seat: seat()? },
        (Step::Checks, None) => Activity::Checks,
        (Step::Checks, Some(check)) => Activity::BrokenCheck {
            check: check.clone(),
        },
        (Step::Review, _) => match document.seat {
            Some(seat) => Activity::Review { seat },
            None => Activity::BrokenJudge,
        },
        (Step::Question, _) => Activity::Question {
            seat: seat()?,
            open: document.questions,
            of_judge: document.of_judge,
        },
    })
}

/// Returns the facts about the state of a task that have no columns. `refusals` are the reasons for which its last report was
/// refused; only a reminder, which may start later, needs them.
pub(super) fn document(task: &Task, refusals: &[String]) -> TaskDocument {
    let is_reminded = task.progress.reminded || task.progress.judge_reminded;
    let mut document = TaskDocument {
        progress: task.progress.clone(),
        seat: task.activity().and_then(Activity::seat),
        refusals: if is_reminded {
            refusals.to_vec()
        } else {
            Vec::new()
        },
        ..TaskDocument::default()
    };
    match &task.state {
        TaskState::Running(Activity::BrokenCheck { check }) => {
            document.broken_check = Some(check.clone());
        }
        TaskState::Running(Activity::Question { open, of_judge, .. }) => {
            document.questions = *open;
            document.of_judge = *of_judge;
        }
        TaskState::Failed { about, .. } => document.about.clone_from(about),
        _ => {}
    }
    document
}

/// Returns the number of dependencies that are not satisfied.
pub(super) fn unmet(task: &Task) -> i64 {
    match task.state {
        TaskState::Pending { unmet } => i64::try_from(unmet).unwrap_or(i64::MAX),
        _ => 0,
    }
}

/// Returns the reason of a task that is over.
pub(super) const fn reason(task: &Task) -> Option<&'static str> {
    match &task.state {
        TaskState::Done(by) => Some(by.as_str()),
        TaskState::Failed { reason, .. } => Some(reason.as_str()),
        TaskState::Cancelled(reason) => Some(reason.as_str()),
        _ => None,
    }
}

/// Returns the step of a running task.
pub(super) fn step(task: &Task) -> Option<Step> {
    task.activity().map(Activity::step)
}
