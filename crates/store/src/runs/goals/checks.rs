//! The checks of tasks that a move of a goal starts and stops.
//!
//! **Invariant:** a task of the graph whose checks are under way has an open row in `task_checks`, which the same transaction
//! has written. The end of the row and the event of the graph share a transaction, too.

use model::{
    InstanceId, SeatId, Timestamp,
    goal::{Event, TaskNo},
};
use serde_json::json;

use crate::{
    Error,
    changes::{note_change, note_scheduler_work},
    database::Tx,
    goals::Goal,
};

/// Lets the checks of a task wait for the server on which its seat has worked. Returns the event of a broken check if no
/// server can run them.
pub(super) async fn start_checks(
    tx: &mut Tx,
    goal: &Goal,
    no: TaskNo,
    now: Timestamp,
) -> Result<Option<Event>, Error> {
    let (Some(task), Some(id)) = (goal.graph.tasks().get(no.0), goal.tasks.get(no.0)) else {
        return Ok(None);
    };
    // 1. Find the directory: that of the seat which has the memory of the task.
    let seat: Option<SeatId> = task.progress.home.and_then(|seat| goal.seat(seat));
    let location = match seat {
        Some(seat) => {
            tx.fetch_optional(sql!("task_checks/location"), params![*id, seat])
                .await?
        }
        None => None,
    };
    let (Some(seat), Some(location)) = (seat, location) else {
        return Ok(Some(broken(goal, no)));
    };
    // 2. Insert the row.
    let instance: InstanceId = location.get("id")?;
    tx.execute(
        sql!("task_checks/start"),
        params! { "task_checks/start";
            task: *id,
            tenant: goal.tenant,
            session: goal.session,
            seat: seat,
            instance: instance,
            now: now,
        },
    )
    .await?;
    // 3. Only a server runs commands. The runtime of a folder takes turns and nothing else.
    let (kind, state): (String, String) = (location.get("kind")?, location.get("state")?);
    if kind != "host" || state == "gone" {
        let name: String = location.get("name")?;
        let reason = if state == "gone" {
            format!("the instance `{name}` was removed")
        } else {
            format!("a runtime serves the instance `{name}`; checks run on instances of servers")
        };
        let evidence = json!([reason]);
        tx.execute(sql!("task_checks/break"), params![*id, evidence, now])
            .await?;
        return Ok(Some(broken(goal, no)));
    }
    note_scheduler_work(tx, goal.tenant).await?;
    Ok(None)
}

/// Cancels the checks of a task. Returns their end if no worker has them. Otherwise they end when their processes have
/// stopped.
pub(super) async fn stop_checks(
    tx: &mut Tx,
    goal: &Goal,
    no: TaskNo,
    now: Timestamp,
) -> Result<Option<Event>, Error> {
    let Some(id) = goal.tasks.get(no.0) else {
        return Ok(None);
    };
    let row = tx
        .fetch_optional(sql!("task_checks/cancel"), params![*id, now])
        .await?;
    let status: Option<String> = row.map(|row| row.get("status")).transpose()?;
    if status.as_deref() == Some("running") {
        note_change(tx, goal.session.uuid()).await?;
        return Ok(None);
    }
    Ok(Some(broken(goal, no)))
}

/// Returns the event of a check that cannot run: the first one of the task. A task that no longer needs its checks ignores
/// the name.
pub(super) fn broken(goal: &Goal, no: TaskNo) -> Event {
    let task = goal.graph.tasks().get(no.0);
    let check = task.and_then(|task| task.checks.first()).cloned();
    Event::CheckBroken {
        task: no,
        check: check.unwrap_or_default(),
    }
}
