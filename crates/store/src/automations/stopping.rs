//! The ways in which automations stop: paused by a person or by a rule, deleted, or paused because their rows are
//! corrupt.
//!
//! **Invariant:** instants that were due before the stop are recorded as missed, so that no due instant disappears
//! without a row. The exception is an automation whose schedule cannot be computed.

use model::{
    AutomationId, Timestamp,
    automation::AutomationState,
    entity::{Automation, Trigger},
    event::AutomationChange,
    occurrence,
    outcome::consecutive_failures,
    run::RunStatus,
    tools::EXPIRED,
};

use super::{
    attention::request_attention,
    log,
    read::live_triggers,
    schedule::{current_cursor, parse_schedule},
    skipped::{MissedInstants, insert_missed},
};
use crate::{
    Error,
    database::Tx,
    locks::{lock_automation_row, lock_triggers},
    store::Store,
    stored,
};

/// Pauses an automation and stops its triggers. Records the instants that are due by now as missed. The caller must
/// hold the locks of its triggers and of the automation.
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
    log::write_change(tx, automation.id, change, now).await?;
    stop_triggers_and_record_missed(store, tx, automation, now).await
}

/// Pauses an automation whose lifetime has ended, and asks people whether to keep it. The caller must hold the lock of the
/// automation.
pub(crate) async fn expire(
    store: &Store,
    tx: &mut Tx,
    automation: &Automation,
    now: Timestamp,
) -> Result<(), Error> {
    pause(store, tx, automation, EXPIRED, now).await?;
    let text = "an agent made this automation, and its lifetime has ended: resume it to keep it, or delete it";
    request_attention(tx, automation.id, text, now).await
}

/// Pauses an automation whose rows cannot be read, so that it does not block the others, and stores the error as the
/// notice for people.
pub(crate) async fn pause_corrupt(
    tx: &mut Tx,
    id: AutomationId,
    error: &Error,
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
    log::write_change(tx, id, change, now).await?;
    let text = format!("paused itself: {}", error.chain());
    request_attention(tx, id, &text, now).await
}

/// Marks an automation as deleted and stops its triggers. Records the instants that are due by now as missed.
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
    tx.execute(sql!("memory/delete_of_automation"), params![automation.id])
        .await?;
    log::write_change(tx, automation.id, AutomationChange::Deleted, now).await?;
    disable_endpoints(tx, automation.id, now).await?;
    stop_triggers_and_record_missed(store, tx, automation, now).await
}

/// Marks an automation with a corrupt row as deleted and stops its triggers. The caller must have found the row in
/// the scope of the request.
pub(crate) async fn delete_corrupt(
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
    tx.execute(sql!("memory/delete_of_automation"), params![id])
        .await?;
    disable_endpoints(tx, id, now).await?;
    stop_triggers(tx, id, now).await
}

/// Disables the notification endpoints that exist for a deleted automation alone, and stores the reason. Deliveries
/// in progress continue.
async fn disable_endpoints(tx: &mut Tx, id: AutomationId, now: Timestamp) -> Result<(), Error> {
    tx.execute(
        sql!("endpoints/disable_of_automation"),
        params![id, "its automation was deleted", now],
    )
    .await?;
    Ok(())
}

/// Stops the triggers of an automation and records their due instants as missed. There are due instants if no server
/// has polled since they became due, for example because all servers were down.
async fn stop_triggers_and_record_missed(
    store: &Store,
    tx: &mut Tx,
    automation: &Automation,
    now: Timestamp,
) -> Result<(), Error> {
    if !stored::supports_format(automation.needs_format) {
        // This server cannot compute which instants are due. Keep the cursors: a server that supports the automation
        // finds them later and creates the rows.
        return Ok(());
    }
    match record_missed_until_stop(store, tx, automation, now).await {
        Err(error) if error.is_newer_format() => Ok(()),
        recorded => recorded,
    }
}

/// Stops the triggers of an automation that is paused or deleted, and records the instants that were due until the
/// stop as missed. A server that did not support the automation has left their cursors in place.
pub(crate) async fn record_missed_until_stop(
    store: &Store,
    tx: &mut Tx,
    automation: &Automation,
    now: Timestamp,
) -> Result<(), Error> {
    let Some(until) = stopped_at(tx, automation.id).await? else {
        return Ok(());
    };
    for trigger in live_triggers(tx, automation.id).await? {
        record_missed(store, tx, automation, &trigger, until, now).await?;
    }
    stop_triggers(tx, automation.id, now).await
}

/// Returns the instant at which an automation was paused or deleted. Returns `None` if it is enabled.
pub(super) async fn stopped_at(tx: &mut Tx, id: AutomationId) -> Result<Option<Timestamp>, Error> {
    let row = tx
        .fetch_one(sql!("automations/stopped_at"), params![id])
        .await?;
    Ok(row.optional("stopped_at")?)
}

/// Records the instants of a trigger that were due `until` it stopped, and that no server has handled, as missed.
pub(super) async fn record_missed(
    store: &Store,
    tx: &mut Tx,
    automation: &Automation,
    trigger: &Trigger,
    until: Timestamp,
    now: Timestamp,
) -> Result<(), Error> {
    // Record nothing for a corrupt schedule, because its due instants cannot be computed.
    let Ok(schedule) = parse_schedule(trigger.id, &trigger.spec) else {
        return Ok(());
    };
    let policies = &automation.policies;
    let Some(cursor) = current_cursor(trigger, &schedule, policies) else {
        return Ok(());
    };
    let backlog = occurrence::backlog(trigger.id, &schedule, policies, cursor.due, until);
    match backlog {
        None => Ok(()),
        Some(range) => {
            let missed = MissedInstants {
                automation,
                trigger: trigger.id,
                schedule: &schedule,
                range,
                reason: "the trigger was stopped before it fired",
            };
            insert_missed(store, tx, vec![missed], now).await
        }
    }
}

/// Stops all triggers of an automation, without a record of their due instants.
pub(crate) async fn stop_triggers(
    tx: &mut Tx,
    id: AutomationId,
    now: Timestamp,
) -> Result<(), Error> {
    tx.execute(sql!("triggers/stop_all"), params![id, now])
        .await?;
    Ok(())
}

/// Updates the count of consecutive failures of an automation, and pauses the automation at its limit.
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
    // If this server does not support the automation, it only counts. A later server pauses the automation at the
    // next failure.
    let enabled = automation.state == AutomationState::Enabled
        && stored::supports_format(automation.needs_format);
    if limit > 0 && count >= limit && enabled {
        // Lock order: this locks the triggers after the automation, against the order of `locks`. The database reports
        // a deadlock with a poll, and the transaction runs again.
        pause(store, tx, automation, "failures", now).await?;
        automation.state = AutomationState::Paused;
        let text = format!("paused itself after {count} consecutive failures");
        request_attention(tx, automation.id, &text, now).await?;
        automation.attention = Some(text);
    }
    Ok(())
}
