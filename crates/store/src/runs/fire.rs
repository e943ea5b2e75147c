//! Firing triggers: what is due, and on demand.

use std::collections::BTreeMap;

use model::{
    AutomationId, TenantId, Timestamp,
    automation::{AutomationEvent, AutomationState},
    entity::Trigger,
    lifecycle::Lifecycle,
    limits, occurrence,
    schedule::Spec,
    turn::Submitted,
};

use crate::{
    Error, Scope, automations,
    database::Tx,
    rows,
    runs::occur::{miss, occur, occurred},
    store::{Store, transact},
};

/// What a look at the due triggers did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fired {
    /// Triggers that were due.
    pub triggers: u32,
    /// Occurrences that became runs or skips.
    pub occurrences: u32,
    /// Instants that are over and not made up for.
    pub missed: u64,
    /// Whether more may be due at once.
    pub more: bool,
}

impl Store {
    /// Fires the triggers that are due at `now`: their runs and the moves of their next instants are
    /// one transaction. A trigger that another process moved meanwhile is left alone.
    pub async fn fire_due(&self, scope: Scope, now: Timestamp) -> Result<Fired, Error> {
        transact!(self, scope, |tx| {
            let limit = limits::TRIGGERS_PER_FIRE;
            let due = tx
                .fetch_all(
                    sql_by_dialect!("triggers/due"),
                    params![scope.tenant(), now, limit],
                )
                .await?;
            let mut fired = Fired {
                more: due.len() >= limit as usize,
                ..Fired::default()
            };
            // In the order of their ids. What cannot be read must not hold up the others.
            let mut owners = BTreeMap::new();
            for row in &due {
                let owner: AutomationId = row.get("automation_id")?;
                owners.entry(owner).or_insert_with(Vec::new).push(row);
            }
            let mut readable = Vec::new();
            for (owner, rows) in owners {
                let triggers: Result<Vec<Trigger>, Error> =
                    rows.into_iter().map(rows::trigger).collect();
                match automations::lock_any(tx, owner).await.and(triggers) {
                    Ok(triggers) => readable.extend(triggers),
                    Err(error) if error.is_nonsense() => {
                        automations::give_up_on(tx, owner, &error, now).await?;
                    }
                    Err(error) => return Err(error),
                }
            }
            readable.sort_by_key(|trigger| (trigger.next_fire_at, trigger.id));
            for trigger in &readable {
                self.fire_trigger(tx, trigger, now, &mut fired).await?;
            }
            Ok(fired)
        })
    }

    async fn fire_trigger(
        &self,
        tx: &mut Tx,
        trigger: &Trigger,
        now: Timestamp,
        fired: &mut Fired,
    ) -> Result<(), Error> {
        let (Some(scheduled_for), Some(fire_at)) =
            (trigger.next_scheduled_for, trigger.next_fire_at)
        else {
            return Ok(());
        };
        let automation = automations::lock_any(tx, trigger.automation_id).await?;
        if automation.state != AutomationState::Enabled {
            return automations::stop_triggers(tx, automation.id, now).await;
        }
        let schedule = match automations::schedule(trigger.id, &trigger.spec) {
            Ok(schedule) => schedule,
            // One that cannot be worked out must not hold up the others.
            Err(error) => return automations::give_up_on(tx, automation.id, &error, now).await,
        };
        let cursor = occurrence::Due {
            scheduled_for,
            fire_at,
        };
        let plan = occurrence::plan(trigger.id, &schedule, &automation.policies, cursor, now);
        let last = plan
            .occurrences
            .last()
            .copied()
            .max(plan.missed.map(|stretch| stretch.last));
        let done = plan.next.is_none().then_some(now);
        let moved = tx
            .execute(
                sql!("triggers/advance"),
                params![
                    trigger.id,
                    scheduled_for,
                    plan.next.map(|due| due.scheduled_for),
                    plan.next.map(|due| due.fire_at),
                    last,
                    done,
                    now
                ],
            )
            .await?;
        if moved == 0 {
            return Ok(());
        }
        fired.triggers += 1;
        fired.more |= plan.next.is_some_and(|due| due.fire_at <= now);
        if let Some(stretch) = plan.missed {
            fired.missed += stretch.count;
            let (id, reason) = (trigger.id, "the system was down");
            miss(self, tx, &automation, id, &schedule, stretch, reason, now).await?;
        }
        for scheduled_for in plan.occurrences {
            if occurred(tx, trigger.id, scheduled_for).await? {
                continue;
            }
            // A continuous automation's first occurrence makes the session of the second.
            let automation = automations::lock_any(tx, automation.id).await?;
            occur(self, tx, &automation, trigger.id, scheduled_for, now).await?;
            fired.occurrences += 1;
        }
        Ok(())
    }

    /// Makes an occurrence of an automation now, on the path of a scheduled one. The cadence of its
    /// triggers is untouched.
    pub async fn fire(
        &self,
        tenant: TenantId,
        id: AutomationId,
        now: Timestamp,
    ) -> Result<Submitted, Error> {
        let scope = Scope::Tenant(tenant);
        transact!(self, scope, |tx| {
            let automation = automations::lock_with_triggers(tx, scope, id).await?;
            automation.state.apply(AutomationEvent::Fire)?;
            let triggers = automations::triggers(tx, id).await?;
            let manual = triggers
                .iter()
                .find(|trigger| trigger.spec == Spec::Manual {});
            let manual = manual.ok_or_else(|| Error::not_found("manual trigger of", id))?;
            // Two fires in one microsecond are two occurrences.
            let tick = std::time::Duration::from_micros(1);
            let instant = manual
                .last_scheduled_for
                .map_or(now, |last| now.max(last + tick));
            tx.execute(sql!("triggers/set_last"), params![manual.id, instant, now])
                .await?;
            occur(self, tx, &automation, manual.id, instant, now).await
        })
    }

    /// When the scheduler has something to do next: when a trigger is due, which may be past, or when
    /// a backoff that is under way at `now` is over.
    pub async fn next_due(&self, now: Timestamp) -> Result<Option<Timestamp>, Error> {
        let mut tx = self.db.read(Scope::System).await?;
        let trigger: Option<Timestamp> = tx
            .fetch_one(sql!("triggers/next_due"), params![])
            .await?
            .optional("at")?;
        let backoff: Option<Timestamp> = tx
            .fetch_one(sql!("runs/next_backoff"), params![now])
            .await?
            .optional("at")?;
        Ok([trigger, backoff].into_iter().flatten().min())
    }
}
