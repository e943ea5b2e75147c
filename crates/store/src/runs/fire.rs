//! The firing of triggers: the due ones at each poll, and the manual one on demand.
//!
//! **Invariants:** one transaction moves the cursor of a trigger and creates the rows of its occurrences, so that no
//! due instant is lost or fires twice. The unique index of first attempts refuses a second run for an instant in any
//! case.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use model::{
    AutomationId, InputId, TenantId, Timestamp, TriggerId,
    automation::{AutomationEvent, AutomationState},
    cursor::CursorOrigin,
    entity::{Automation, Trigger},
    lifecycle::Lifecycle,
    limits, occurrence,
    schedule::{Schedule, Spec},
    turn::SubmittedRun,
};

use crate::{
    Error, Scope,
    automations::{
        self,
        skipped::{MissedInstants, existing_occurrences, insert_missed},
    },
    boxed,
    database::{Param, Row, Tx},
    generic_plan::fetch_with_generic_plan,
    locks, rows,
    runs::{
        create::{Occurrence, create_runs},
        message::existing_inputs,
    },
    store::Store,
    stored,
};

/// The result of one poll for due triggers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FireReport {
    /// The number of triggers that fired.
    pub triggers: u32,
    /// The earliest instant at which one of them was due.
    pub earliest_due: Option<Timestamp>,
    /// The number of occurrences that became runs or skips.
    pub occurrences: u32,
    /// The number of instants that have passed and are not caught up.
    pub missed: u64,
    /// `true` if more triggers may be due already.
    pub has_more: bool,
}

impl Store {
    /// Fires the triggers that are due at `now`. One transaction moves their cursors and creates their runs. Skips a
    /// trigger that another process has moved in the meantime.
    #[boxed]
    pub async fn fire_due(&self, scope: Scope, now: Timestamp) -> Result<FireReport, Error> {
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                // 1. Find and lock the due triggers.
                let limit = limits::TRIGGERS_PER_FIRE;
                let params = params![scope.tenant(), now, limit, stored::DOCUMENT_FORMAT];
                let due =
                    fetch_with_generic_plan(tx, sql_by_dialect!("triggers/due"), params).await?;
                let mut report = FireReport {
                    has_more: may_have_more(&due, limit as usize)?,
                    ..FireReport::default()
                };
                // 2. Lock their automations, in the order of their IDs. A corrupt row is no error of the poll:
                // otherwise it would block the triggers of all other automations, because each poll finds it first.
                let mut owners = BTreeMap::new();
                for row in &due {
                    let owner: AutomationId = row.get("automation_id")?;
                    owners.entry(owner).or_insert_with(Vec::new).push(row);
                }
                let ids = owners.keys().copied().collect();
                let mut locked = locks::lock_automations(tx, &ids).await?;
                // 3. Choose the automations that fire, and stop the others.
                let mut automations = HashMap::with_capacity(owners.len());
                let mut triggers = Vec::with_capacity(due.len());
                for (owner, rows) in owners {
                    let automation = locked.remove(&owner);
                    let automation =
                        automation.unwrap_or_else(|| Err(Error::not_found("automation", owner)));
                    let read: Result<Vec<Trigger>, Error> =
                        rows.into_iter().map(rows::trigger).collect();
                    match automation.and_then(|automation| Ok((automation, read?))) {
                        // An edit between the search and the lock made the automation need a later format. Leave the
                        // cursor for a server that supports it.
                        Ok((automation, _))
                            if !stored::supports_format(automation.needs_format) => {}
                        Err(error) if error.is_newer_format() => {}
                        Ok((automation, _)) if automation.state != AutomationState::Enabled => {
                            match automations::record_missed_until_stop(self, tx, &automation, now)
                                .await
                            {
                                // Stop the triggers of a schedule that cannot be computed: they would be due at every
                                // poll.
                                Err(error) if error.is_corrupt() => {
                                    automations::stop_triggers(tx, owner, now).await?;
                                }
                                Err(error) if error.is_newer_format() => {}
                                recorded => recorded?,
                            }
                        }
                        Ok((automation, _)) if automation.has_expired(now) => {
                            match automations::expire(self, tx, &automation, now).await {
                                Err(error) if error.is_corrupt() => {
                                    automations::pause_corrupt(tx, owner, &error, now).await?;
                                }
                                expired => expired?,
                            }
                        }
                        Ok((automation, read)) => {
                            automations.insert(owner, automation);
                            triggers.extend(read);
                        }
                        Err(error) if error.is_corrupt() => {
                            automations::pause_corrupt(tx, owner, &error, now).await?;
                        }
                        Err(error) => return Err(error),
                    }
                }
                // 4. Fire, the earliest instant first.
                triggers.sort_by_key(|trigger| (trigger.next_fire_at, trigger.id));
                self.fire_triggers(tx, &triggers, &mut automations, now, &mut report)
                    .await?;
                Ok(report)
            })
        })
        .await
    }

    /// Fires due triggers, in their order. The caller must hold the locks of their automations, which must be
    /// enabled.
    async fn fire_triggers(
        &self,
        tx: &mut Tx,
        triggers: &[Trigger],
        automations: &mut HashMap<AutomationId, Automation>,
        now: Timestamp,
        report: &mut FireReport,
    ) -> Result<(), Error> {
        // 1. Plan: compute the due instants of each trigger.
        let mut due = Vec::with_capacity(triggers.len());
        // Many triggers have equal schedules, and parsing one costs more than finding it in the map.
        let mut schedules: HashMap<&Spec, Arc<Schedule>> = HashMap::new();
        for trigger in triggers {
            let owner = trigger.automation_id;
            let Some(before) = trigger.next_scheduled_for else {
                continue;
            };
            let Some(automation) = automations.get(&owner) else {
                continue;
            };
            let schedule = match schedules.get(&trigger.spec) {
                Some(schedule) => Ok(Arc::clone(schedule)),
                None => automations::parse_schedule(trigger.id, &trigger.spec).map(Arc::new),
            };
            match schedule {
                Ok(schedule) => {
                    schedules.insert(&trigger.spec, Arc::clone(&schedule));
                    let policies = &automation.policies;
                    let Some(cursor) = automations::current_cursor(trigger, &schedule, policies)
                    else {
                        continue;
                    };
                    let plan = occurrence::plan(trigger.id, &schedule, policies, cursor.due, now);
                    // A recomputed cursor may not be due yet. Then nothing is decided, and its origin stays.
                    let origin = match plan.decided_until() {
                        Some(decided) => CursorOrigin::of(&schedule, decided),
                        None => cursor.origin,
                    };
                    due.push(DueTrigger {
                        trigger,
                        before,
                        schedule,
                        plan,
                        origin,
                    });
                }
                // Pause only this automation: an error would roll back the triggers of all others at each poll.
                Err(error) => {
                    automations::pause_corrupt(tx, owner, &error, now).await?;
                    automations.remove(&owner);
                    due.retain(|due_trigger| due_trigger.trigger.automation_id != owner);
                }
            }
        }

        // 2. Move the cursors. Each update compares the instant that was read, so that a trigger that was edited,
        // paused or fired in the meantime creates nothing.
        let moves = due
            .iter()
            .map(|trigger| trigger.advance_params(now))
            .collect();
        let moved = tx
            .fetch_rows(sql!("triggers/advance"), moves, params![now])
            .await?;
        let moved: HashSet<TriggerId> = moved
            .iter()
            .map(|row| row.get("id"))
            .collect::<Result<_, _>>()?;
        due.retain(|due_trigger| moved.contains(&due_trigger.trigger.id));

        // 3. Collect the missed instants and the occurrences.
        let mut missed = Vec::new();
        let mut occurrences = Vec::with_capacity(due.len());
        for due_trigger in &due {
            report.triggers += 1;
            if let Some(instant) = due_trigger.plan.off_schedule {
                let trigger = due_trigger.trigger.id;
                tracing::warn!(
                    %trigger,
                    "the schedule of {trigger} does not have its stored instant {instant}: the instant counts as \
                     an occurrence, and the schedule continues after it"
                );
            }
            // The triggers are sorted by the instant at which they are due, so that the first one is the earliest.
            report.earliest_due = report.earliest_due.or(due_trigger.trigger.next_fire_at);
            report.has_more |= due_trigger.plan.next.is_some_and(|due| due.fire_at <= now);
            let automation = automations.get(&due_trigger.trigger.automation_id);
            if let (Some(range), Some(automation)) = (due_trigger.plan.missed, automation) {
                report.missed += range.count;
                missed.push(MissedInstants {
                    automation,
                    trigger: due_trigger.trigger.id,
                    schedule: &due_trigger.schedule,
                    range,
                    reason: "the system was down",
                });
            }
            let instants = due_trigger.plan.occurrences.iter();
            occurrences.extend(instants.map(|at| Occurrence {
                trigger: due_trigger.trigger,
                scheduled_for: *at,
                input: None,
            }));
        }
        // 4. Write. Drop instants that already have a row: after the clock was set back, an instant comes again, and a
        // second row would violate the unique index.
        insert_missed(self, tx, missed, now).await?;
        let instants = occurrences
            .iter()
            .map(|due_trigger| (due_trigger.trigger.id, due_trigger.scheduled_for));
        let existing = existing_occurrences(tx, instants).await?;
        occurrences.retain(|due_trigger| {
            !existing.contains(&(due_trigger.trigger.id, due_trigger.scheduled_for))
        });
        let submitted = create_runs(self, tx, automations, occurrences, now).await?;
        report.occurrences += u32::try_from(submitted.len()).unwrap_or(u32::MAX);
        Ok(())
    }

    /// Creates an occurrence of an automation now, on the same path as a scheduled one. Does not move the cursors of
    /// its triggers. The caller may reserve the ID of the input, so that a repeated request creates nothing.
    ///
    /// # Errors
    ///
    /// Returns [`Error::AlreadyCreated`] if an input with the reserved ID exists.
    #[boxed]
    pub async fn fire_automation(
        &self,
        tenant: TenantId,
        id: AutomationId,
        input: Option<InputId>,
        now: Timestamp,
    ) -> Result<SubmittedRun, Error> {
        let scope = Scope::Tenant(tenant);
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                refuse_used_input(tx, input).await?;
                let automation = automations::lock_with_triggers(tx, scope, id).await?;
                automation
                    .state
                    .apply(AutomationEvent::Fire)
                    .map_err(|refused| refused.of(&automation.name))?;
                self.fire_manual_trigger(tx, automation, input, now).await
            })
        })
        .await
    }

    /// Creates an occurrence of the manual trigger of an automation. The caller must hold the locks of the automation
    /// and its triggers.
    pub(super) async fn fire_manual_trigger(
        &self,
        tx: &mut Tx,
        automation: Automation,
        input: Option<InputId>,
        now: Timestamp,
    ) -> Result<SubmittedRun, Error> {
        let id = automation.id;
        let triggers = automations::all_triggers(tx, id).await?;
        let manual = triggers
            .iter()
            .find(|trigger| trigger.spec == Spec::Manual {});
        let manual = manual.ok_or_else(|| Error::not_found("manual trigger of automation", id))?;
        let occurrence = Occurrence {
            trigger: manual,
            scheduled_for: next_instant(tx, manual, now).await?,
            input,
        };
        let mut automations = HashMap::from([(id, automation)]);
        let submitted = create_runs(self, tx, &mut automations, vec![occurrence], now).await?;
        let submitted = submitted.into_iter().next();
        submitted.ok_or_else(|| Error::not_found("automation", id))
    }
}

/// Returns an error if an input with the reserved ID exists.
pub(super) async fn refuse_used_input(tx: &mut Tx, input: Option<InputId>) -> Result<(), Error> {
    let used = existing_inputs(tx, input.into_iter()).await?;
    match used.into_iter().next() {
        Some(used) => Err(Error::already_created("input", used)),
        None => Ok(()),
    }
}

/// Returns the instant of the next occurrence of a manual trigger or a webhook, and stores it as the last one. The
/// instant is at least one microsecond after the last one, because a trigger and an instant identify an occurrence.
/// The caller must hold the lock of the trigger.
pub(super) async fn next_instant(
    tx: &mut Tx,
    trigger: &Trigger,
    now: Timestamp,
) -> Result<Timestamp, Error> {
    let microsecond = std::time::Duration::from_micros(1);
    let last = trigger.last_scheduled_for;
    let instant = last.map_or(now, |last| now.max(last + microsecond));
    tx.execute(sql!("triggers/set_last"), params![trigger.id, instant, now])
        .await?;
    Ok(instant)
}

/// Returns `true` if a poll may have left due triggers behind: it returned as many triggers as the limit, or as many
/// of one tenant as that tenant's equal share of the limit.
fn may_have_more(due: &[Row], limit: usize) -> Result<bool, Error> {
    let mut shares: HashMap<TenantId, usize> = HashMap::new();
    for row in due {
        *shares.entry(row.get("tenant_id")?).or_default() += 1;
    }
    let share = limit.div_ceil(shares.len().max(1));
    Ok(due.len() >= limit || shares.values().any(|found| *found >= share))
}

/// A due trigger, with its plan.
struct DueTrigger<'a> {
    trigger: &'a Trigger,
    /// The next instant that the row has.
    before: Timestamp,
    schedule: Arc<Schedule>,
    plan: occurrence::Plan,
    /// The origin of the next instant of the plan.
    origin: Option<CursorOrigin>,
}

impl DueTrigger<'_> {
    /// Returns the parameters of `triggers/advance`.
    fn advance_params(&self, now: Timestamp) -> Vec<Param> {
        let plan = &self.plan;
        let origin = self.origin.as_ref();
        params! { "triggers/advance";
            id: self.trigger.id,
            before: self.before,
            next: plan.next.map(|due| due.scheduled_for),
            fires: plan.next.map(|due| due.fire_at),
            last: plan.decided_until(),
            done: plan.next.is_none().then_some(now),
            zone_rules: origin.map(|origin| origin.zone_rules.as_str()),
            decided: origin.map(|origin| origin.decided_until),
            offset: origin.map(|origin| i64::from(origin.offset_seconds)),
        }
    }
}
