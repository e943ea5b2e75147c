//! The usage of runs, and the effects of a budget that is used up.
//!
//! **Invariant:** each report of a run's usage is cumulative. Only the difference to the last counted report is
//! added, so that a repeated or late report counts nothing twice.

use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

use model::{
    AutomationId, RunId, SeatId, Timestamp, WorkerId,
    automation::AutomationState,
    budget::{self, Accounts, RunUsage},
    entity::{Automation, Run},
    outcome::{FailureKind, Outcome},
    owner::RunOwner,
    policy::Policies,
    run::{Origin, RunState, RunStatus},
    turn::TurnResult,
};
use serde_json::{Value, json};

use crate::{
    Error, Scope, automations, boxed,
    database::{Param, Tx},
    locks::lock_runs,
    runs::seat_policies::read_seat_policies,
    store::Store,
    stored,
    usage::{self, Budgets, TurnUsage},
};

impl Store {
    /// Counts the usage of a running turn so far, less the usage that is counted already. Returns the limits that
    /// apply from now on, with the usage of other runs. Returns `None` if `worker` no longer executes the run.
    #[boxed]
    pub async fn record_usage(
        &self,
        run: RunId,
        worker: &WorkerId,
        usage: &Value,
        now: Timestamp,
    ) -> Result<Option<Accounts>, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                // 1. Lock the run.
                let mut locked = lock_runs(tx, &[run]).await?;
                // Fence: a stale worker must not count usage for a run that another worker executes.
                let found = locked.runs.remove(&run).filter(|run| {
                    run.status() == RunStatus::Running && run.state.worker_id() == Some(worker)
                });
                let Some(run) = found else {
                    return Ok(None);
                };
                // 2. Count the usage that is not counted yet.
                let (reported, counted) = (RunUsage::of(usage), counted_usage(&run));
                let uncounted = reported.saturating_sub(&counted);
                let has_uncounted = !uncounted.is_none();
                if has_uncounted {
                    tx.execute(sql!("runs/set_usage"), params![run.id, usage])
                        .await?;
                    let reading = run.seat_id.and_then(|seat| usage_params(seat, Some(usage)));
                    let readings = reading.into_iter().collect();
                    tx.execute_rows(sql!("seats/set_usage"), readings, params![])
                        .await?;
                    usage::add_usage(tx, vec![TurnUsage::consumed(&run, uncounted)], now).await?;
                }
                // 3. Read the limits that apply from now on.
                let owner = RunOwner::of(&run, &locked.automations);
                let automation = owner.automation().into_iter();
                let tenants = usage::tenant_budgets(tx, BTreeSet::from([run.tenant_id])).await?;
                let budgets = Budgets::read(tx, tenants, automation, &[run.id], now).await?;
                Ok(Some(Accounts {
                    // Reports are cumulative. A late report that a later one has overtaken must not reduce the
                    // counted usage.
                    counted: if has_uncounted { reported } else { counted },
                    ..budgets.accounts(run.tenant_id, owner)
                }))
            })
        })
        .await
    }
}

/// Returns the usage of a run that is counted already.
fn counted_usage(run: &Run) -> RunUsage {
    run.usage.as_ref().map(RunUsage::of).unwrap_or_default()
}

/// Returns the time since the turn of a run has begun. Zero if it has not.
fn elapsed_time(run: &Run, now: Timestamp) -> Duration {
    match &run.state {
        RunState::Running { started_at, .. } => now.since(*started_at),
        _ => Duration::ZERO,
    }
}

/// Returns the time limits of those turns that may have been taken by seats of goals.
async fn limits_of_seats(
    tx: &mut Tx,
    ends: &[(&Run, &TurnResult)],
    now: Timestamp,
) -> Result<HashMap<SeatId, Duration>, Error> {
    // Few turns for people belong to a goal, so that they run no query within the default limit.
    let default = Policies::default().timeout();
    let may_differ = |run: &&Run| match run.origin {
        Origin::Task | Origin::Message => true,
        Origin::Person => elapsed_time(run, now) > default,
        Origin::Occurrence => false,
    };
    let runs = ends.iter().map(|(run, _)| *run).filter(may_differ);
    let seats = runs.filter_map(|run| run.seat_id).collect();
    let policies = read_seat_policies(tx, seats).await?.into_iter();
    Ok(policies
        .map(|(seat, policies)| (seat, policies.of_turn().timeout()))
        .collect())
}

/// Returns the parameters of `seats/set_usage`. Returns `None` if the agent reported no usage.
pub(super) fn usage_params(seat: SeatId, usage: Option<&Value>) -> Option<Vec<Param>> {
    Some(params![seat, usage_reading(usage?)])
}

/// Returns the part of a turn's usage that the next turn of its memory needs.
pub(super) fn usage_reading(usage: &Value) -> Value {
    json!({
        "used": usage["used"], "size": usage["size"], "cost": usage["cost"], "costs": usage["costs"],
    })
}

/// Pauses an enabled automation because of its budget, and requests attention with the reason. Changes nothing if the
/// automation is not enabled or this server does not support its format.
pub(super) async fn pause_over_budget(
    store: &Store,
    tx: &mut Tx,
    automation: &mut Automation,
    text: &str,
    now: Timestamp,
) -> Result<(), Error> {
    if automation.state != AutomationState::Enabled
        || !stored::supports_format(automation.needs_format)
    {
        return Ok(());
    }
    // Lock order: this locks the triggers after the automation, against the order of `locks`. If a poll holds the
    // triggers and waits for the automation, the database reports a deadlock and the transaction runs again.
    automations::pause(store, tx, automation, budget::BUDGET_REASON, now).await?;
    automation.state = AutomationState::Paused;
    let text = format!("paused itself: {text}");
    automations::request_attention(tx, automation.id, &text, now).await?;
    automation.attention = Some(text);
    Ok(())
}

/// Counts the usage of runs that have ended, and pauses the automations that have reached a limit.
pub(super) async fn count_final_usage(
    store: &Store,
    tx: &mut Tx,
    ends: &[(&Run, &TurnResult)],
    automations: &mut HashMap<AutomationId, Automation>,
    now: Timestamp,
) -> Result<(), Error> {
    // 1. Collect the usage that is not counted yet, and the automations that may have reached a limit.
    let limits = limits_of_seats(tx, ends, now).await?;
    let mut uses = Vec::new();
    let mut candidates = Vec::new();
    for (run, result) in ends {
        let usage = result.usage.as_ref();
        let reported = usage.map(RunUsage::of).unwrap_or_default();
        // Reports are cumulative. Counting one whole would count the usage of `record_usage` a second time.
        let uncounted = reported.saturating_sub(&counted_usage(run));
        let policies = RunOwner::of(run, automations).policies();
        let limit = run.seat_id.and_then(|seat| limits.get(&seat).copied());
        // The machine may have been off or asleep: the worker is found lost, or goes on, long after the time limit.
        let time = elapsed_time(run, now).min(limit.unwrap_or_else(|| policies.timeout()));
        if !uncounted.is_none() || !time.is_zero() {
            uses.push(TurnUsage::consumed(run, uncounted).with_time(time));
        }
        let cut_off = match &result.outcome {
            Outcome::Failed(failure) if failure.kind == FailureKind::Budget => Some(failure),
            _ => None,
        };
        let is_timed = policies.budget.has_minutes() && !time.is_zero();
        if let Some(id) = run.automation_id
            && (cut_off.is_some() || is_timed || !reported.is_none())
        {
            candidates.push((id, run.tenant_id, reported, cut_off));
        }
    }
    // 2. Write before reading the budgets, so that their periods include this usage.
    usage::add_usage(tx, uses, now).await?;
    if candidates.is_empty() {
        return Ok(());
    }
    // 3. Pause the automations that have reached a limit.
    let tenants = candidates.iter().map(|(_, tenant, ..)| *tenant).collect();
    let tenants = usage::tenant_budgets(tx, tenants).await?;
    let budgets = Budgets::read(tx, tenants, automations.values(), &[], now).await?;
    for (id, tenant, reported, cut_off) in candidates {
        let Some(automation) = automations.get_mut(&id) else {
            continue;
        };
        let accounts = Accounts {
            counted: reported.clone(),
            ..budgets.accounts(tenant, RunOwner::Occurrence(automation))
        };
        let reached = accounts
            .limit_reached_during_turn(&reported, Duration::ZERO)
            .map(|reached| reached.to_string());
        // The usage of a run that was cut off before midnight counts towards the day that has ended, so that no limit
        // of today is reached. Pause its automation nevertheless.
        if let Some(text) = reached.or_else(|| cut_off.map(|failure| failure.message.clone())) {
            pause_over_budget(store, tx, automation, &text, now).await?;
        }
    }
    Ok(())
}
