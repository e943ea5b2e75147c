//! Automations that stop: paused, removed, given up on. What was due until then gets its row.

use model::{
    AutomationId, Timestamp,
    automation::AutomationState,
    entity::{Automation, Trigger},
    event::AutomationChange,
    occurrence,
    outcome::consecutive_failures,
    run::RunStatus,
};

use super::{attention::ask_for_attention, log, read::live_triggers, schedule::schedule};
use crate::{
    Error,
    database::Tx,
    locks::{lock_automation_row, lock_triggers},
    runs::not_run::{Missed, miss_all},
    store::Store,
    stored,
};

/// Pauses an automation and stops its triggers. What was due by now and not looked at is recorded.
pub(crate) async fn pause(
    store: &Store,
    tx: &mut Tx,
    automation: &Automation,
    reason: &str,
    now: Timestamp,
) -> Result<(), Error> {
    tx.execute(
        sql!("automations/set_paused"),
        params![automation.id, now, reason, now],
    )
    .await?;
    let change = AutomationChange::Paused {
        reason: reason.to_owned(),
    };
    log::change(tx, automation.id, change, now).await?;
    settle_triggers(store, tx, automation, now).await
}

/// Pauses an automation whose rows cannot be read, so that it holds up no other, and says why.
pub(crate) async fn give_up_on(
    tx: &mut Tx,
    id: AutomationId,
    why: &Error,
    now: Timestamp,
) -> Result<(), Error> {
    tx.execute(
        sql!("automations/set_paused"),
        params![id, now, "schedule", now],
    )
    .await?;
    stop_triggers(tx, id, now).await?;
    let change = AutomationChange::Paused {
        reason: "schedule".to_owned(),
    };
    log::change(tx, id, change, now).await?;
    let text = format!("paused itself: {}", why.chain());
    ask_for_attention(tx, id, &text, now).await
}

/// Marks an automation as removed and stops its triggers. What was due by now and not looked at is
/// recorded.
pub(crate) async fn delete(
    store: &Store,
    tx: &mut Tx,
    automation: &Automation,
    now: Timestamp,
) -> Result<(), Error> {
    tx.execute(sql!("automations/delete"), params![automation.id, now])
        .await?;
    tx.execute(sql!("webhooks/forget_secrets_of"), params![automation.id])
        .await?;
    log::change(tx, automation.id, AutomationChange::Deleted, now).await?;
    disable_endpoints(tx, automation.id, now).await?;
    settle_triggers(store, tx, automation, now).await
}

/// Marks an automation as removed whose row makes no sense, and stops its triggers. That it is the scope's
/// is known: its row was found there.
pub(super) async fn delete_unreadable(
    tx: &mut Tx,
    id: AutomationId,
    now: Timestamp,
) -> Result<(), Error> {
    lock_triggers(tx, id).await?;
    let row = lock_automation_row(tx, id).await?;
    if row.optional::<Timestamp>("deleted_at")?.is_some() {
        return Err(Error::not_found("automation", id));
    }
    tx.execute(sql!("automations/delete"), params![id, now])
        .await?;
    disable_endpoints(tx, id, now).await?;
    stop_triggers(tx, id, now).await
}

/// Disables the endpoints that are told of a removed automation alone, and says why. What is on its way
/// to them still goes.
async fn disable_endpoints(tx: &mut Tx, id: AutomationId, now: Timestamp) -> Result<(), Error> {
    tx.execute(
        sql!("endpoints/disable_of_automation"),
        params![id, "its automation was deleted", now],
    )
    .await?;
    Ok(())
}

/// Stops an automation's triggers, with a row for what they owe: a server that was down has not
/// looked at it, and nothing due disappears.
async fn settle_triggers(
    store: &Store,
    tx: &mut Tx,
    automation: &Automation,
    now: Timestamp,
) -> Result<(), Error> {
    if !stored::honours(automation.needs_format) {
        // This server cannot tell which instants are due, so that the cursors stay. A server that honours the
        // automation finds them later, and makes the rows.
        return Ok(());
    }
    match settle_stopped(store, tx, automation, now).await {
        Err(error) if error.is_newer_format() => Ok(()),
        settled => settled,
    }
}

/// Stops the triggers of an automation that is paused or removed. A server that did not honour the automation left
/// their cursors where they were: what was due until the automation stopped gets its row.
pub(crate) async fn settle_stopped(
    store: &Store,
    tx: &mut Tx,
    automation: &Automation,
    now: Timestamp,
) -> Result<(), Error> {
    let Some(until) = stopped_at(tx, automation.id).await? else {
        return Ok(());
    };
    for trigger in live_triggers(tx, automation.id).await? {
        settle(store, tx, automation, &trigger, until, now).await?;
    }
    stop_triggers(tx, automation.id, now).await
}

/// Returns when an automation was paused or removed.
pub(super) async fn stopped_at(tx: &mut Tx, id: AutomationId) -> Result<Option<Timestamp>, Error> {
    let row = tx
        .fetch_one(sql!("automations/stopped_at"), params![id])
        .await?;
    Ok(row.optional("stopped_at")?)
}

/// Makes the row of the instants that were due `until` a trigger stopped and that no server has looked at.
pub(super) async fn settle(
    store: &Store,
    tx: &mut Tx,
    automation: &Automation,
    trigger: &Trigger,
    until: Timestamp,
    now: Timestamp,
) -> Result<(), Error> {
    let (Some(scheduled_for), Some(fire_at)) = (trigger.next_scheduled_for, trigger.next_fire_at)
    else {
        return Ok(());
    };
    // One that cannot be worked out owes nothing that could be named.
    let Ok(schedule) = schedule(trigger.id, &trigger.spec) else {
        return Ok(());
    };
    let cursor = occurrence::Due {
        scheduled_for,
        fire_at,
    };
    let owed = occurrence::owed(trigger.id, &schedule, &automation.policies, cursor, until);
    match owed {
        None => Ok(()),
        Some(stretch) => {
            let missed = Missed {
                automation,
                trigger: trigger.id,
                schedule: &schedule,
                stretch,
                reason: "stopped before it was looked at",
            };
            miss_all(store, tx, vec![missed], now).await
        }
    }
}

/// Makes an automation's triggers due no more.
pub(crate) async fn stop_triggers(
    tx: &mut Tx,
    id: AutomationId,
    now: Timestamp,
) -> Result<(), Error> {
    tx.execute(sql!("triggers/stop_all"), params![id, now])
        .await?;
    Ok(())
}

/// Keeps the automation's count of consecutive failures, and pauses it at its limit.
pub(crate) async fn count_failures(
    store: &Store,
    tx: &mut Tx,
    automation: &mut Automation,
    status: RunStatus,
    now: Timestamp,
) -> Result<(), Error> {
    let before = u32::try_from(automation.consecutive_failures).unwrap_or(u32::MAX);
    let count = consecutive_failures(before, status);
    if count == before {
        return Ok(());
    }
    tx.execute(
        sql!("automations/set_failures"),
        params![automation.id, count, now],
    )
    .await?;
    automation.consecutive_failures = i64::from(count);
    let limit = automation.policies.pause_after_failures;
    // Where this server does not honour the automation, a later one counts on and pauses it.
    let enabled =
        automation.state == AutomationState::Enabled && stored::honours(automation.needs_format);
    if limit > 0 && count >= limit && enabled {
        pause(store, tx, automation, "failures", now).await?;
        automation.state = AutomationState::Paused;
        let text = format!("paused itself after {count} consecutive failures");
        ask_for_attention(tx, automation.id, &text, now).await?;
        automation.attention = Some(text);
    }
    Ok(())
}
