//! Next instants that another edition of the zone rules computed.
//!
//! **Invariant:** a server recomputes only the instants of older editions and those of an unknown one, so that servers
//! of several editions converge on the latest: an older one leaves its instants alone until they are due.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use model::{
    AutomationId, Timestamp, TriggerId,
    cursor::{self, CursorOrigin},
    entity::{Automation, Trigger},
    limits,
    occurrence::ScheduledFire,
    schedule::zone_rules_edition,
};

use super::schedule::parse_schedule;
use crate::{
    Error, boxed,
    database::{Param, Row, Scope},
    locks, rows,
    store::Store,
    stored,
};

/// The result of one batch of recomputed triggers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecomputeReport {
    /// The number of triggers whose next instant was computed again.
    pub triggers: u32,
    /// The number of those whose next instant has moved.
    pub moved: u32,
    /// `true` if more triggers may have an instant of another edition.
    pub has_more: bool,
}

/// The next instant of a trigger before and after.
struct Recomputed {
    before: Timestamp,
    due: Option<ScheduledFire>,
    origin: Option<CursorOrigin>,
}

impl Store {
    /// Recomputes the next instants that an older edition of the zone rules computed, or an unknown one, and that are
    /// not due at `now`. Due ones belong to [`Store::fire_due`]. Skips triggers that another transaction has locked.
    #[boxed]
    pub async fn recompute_outdated_triggers(
        &self,
        now: Timestamp,
    ) -> Result<RecomputeReport, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                // 1. Find and lock the triggers, then their automations.
                let limit = limits::TRIGGERS_PER_RECOMPUTATION;
                let params = params![now, zone_rules_edition(), limit, stored::DOCUMENT_FORMAT];
                let found = tx
                    .fetch_all(sql_by_dialect!("triggers/outdated"), params)
                    .await?;
                let owners = found.iter().map(|row| row.get("automation_id"));
                let owners: BTreeSet<AutomationId> = owners.collect::<Result<_, _>>()?;
                let automations = locks::lock_automations(tx, &owners).await?;
                // 2. Compute.
                let mut moves = Vec::with_capacity(found.len());
                let mut moved_to = HashMap::new();
                for row in &found {
                    let Some((trigger, recomputed)) = recompute(row, &automations)? else {
                        continue;
                    };
                    let next = recomputed.due.map(|due| due.scheduled_for);
                    if next != Some(recomputed.before) {
                        moved_to.insert(trigger, (recomputed.before, next));
                    }
                    moves.push(recomputed.params(trigger, now));
                }
                // 3. Write. The statement compares the instant that was read.
                let written = tx
                    .fetch_rows(
                        sql!("triggers/recompute"),
                        moves,
                        params![zone_rules_edition()],
                    )
                    .await?;
                let mut report = RecomputeReport {
                    triggers: u32::try_from(written.len()).unwrap_or(u32::MAX),
                    moved: 0,
                    has_more: found.len() >= limit as usize,
                };
                for row in &written {
                    let trigger: TriggerId = row.get("id")?;
                    if let Some((before, next)) = moved_to.get(&trigger) {
                        report.moved += 1;
                        let next = next.map_or_else(|| "never".to_owned(), |at| at.to_string());
                        tracing::debug!(%trigger, %before, %next, "the zone rules move {trigger}");
                    }
                }
                Ok(report)
            })
        })
        .await
    }
}

/// Returns the next instant of a trigger by the rules of this program. Returns `None` if this server does not support
/// the trigger. If the trigger or its automation is corrupt, returns the stored instant: the poll that finds it due
/// pauses the automation.
fn recompute(
    row: &Row,
    automations: &BTreeMap<AutomationId, Result<Automation, Error>>,
) -> Result<Option<(TriggerId, Recomputed)>, Error> {
    let id = row.get("id")?;
    let stored = ScheduledFire {
        scheduled_for: row.get("next_scheduled_for")?,
        fire_at: row.get("next_fire_at")?,
    };
    let trigger = match rows::trigger(row) {
        Err(error) if error.is_newer_format() => return Ok(None),
        read => read.ok(),
    };
    let owner: AutomationId = row.get("automation_id")?;
    let automation = automations.get(&owner);
    let automation = automation.and_then(|automation| automation.as_ref().ok());
    if automation.is_some_and(|it| !stored::supports_format(it.needs_format)) {
        return Ok(None);
    }
    let written_at = row.get("updated_at")?;
    let computed = trigger
        .zip(automation)
        .and_then(|(trigger, automation)| compute(&trigger, automation, stored, written_at));
    let (due, origin) = computed.unwrap_or((Some(stored), None));
    let before = stored.scheduled_for;
    let recomputed = Recomputed {
        before,
        due,
        origin,
    };
    Ok(Some((id, recomputed)))
}

/// Returns the next instant and its origin. Returns `None` if the schedule is corrupt or has no zone rules.
fn compute(
    trigger: &Trigger,
    automation: &Automation,
    stored: ScheduledFire,
    written_at: Timestamp,
) -> Option<(Option<ScheduledFire>, Option<CursorOrigin>)> {
    let schedule = parse_schedule(trigger.id, &trigger.spec).ok()?;
    let origin = if let Some(origin) = &trigger.origin {
        origin.clone().recomputed()
    } else {
        let last = trigger.last_scheduled_for;
        let decided = cursor::decided_until_of_unknown(stored.scheduled_for, last, written_at);
        CursorOrigin::of(&schedule, decided)?
    };
    let due = cursor::recompute(trigger.id, &schedule, &automation.policies, &origin);
    Some((due, Some(origin)))
}

impl Recomputed {
    /// Returns the parameters of `triggers/recompute`.
    fn params(&self, trigger: TriggerId, now: Timestamp) -> Vec<Param> {
        let origin = self.origin.as_ref();
        params! { "triggers/recompute";
            id: trigger,
            before: self.before,
            next: self.due.map(|due| due.scheduled_for),
            fires: self.due.map(|due| due.fire_at),
            done: self.due.is_none().then_some(now),
            decided: origin.map(|origin| origin.decided_until),
            offset: origin.map(|origin| i64::from(origin.offset_seconds)),
        }
    }
}
