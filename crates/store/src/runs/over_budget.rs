//! The refusal of a turn whose budget is used up.

use std::collections::BTreeSet;

use model::{
    Timestamp,
    budget::{self, ReachedLimit},
    entity::{Automation, Run},
    event::{DeferCause, RunChange},
    goal::Prompt,
    outcome::{FailureKind, Outcome, RunFailure},
    owner::RunOwner,
    run::Origin,
    turn::{StartReply, TurnResult},
};

use crate::{
    database::Tx,
    error::Error,
    runs::{
        admit::promote_after,
        end::end_run,
        goals::{EndedTurn, end_turns},
        run_usage::pause_over_budget,
    },
    session_log::SessionLogWriter,
    store::Store,
};

/// Refuses to begin a turn whose budget is used up. Defers the run of an automation until the budget allows it again,
/// and pauses the automation. Defers the messages of other seats and the turns of tasks, too. Fails the message of a person,
/// who waits for the answer, and a run that no later period allows.
pub(super) async fn refuse_over_budget(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    run: &Run,
    (automation, reached): (Option<&mut Automation>, &ReachedLimit),
    now: Timestamp,
) -> Result<StartReply, Error> {
    // 1. Fail a run that no later period allows or for whose answer a person waits.
    let text = reached.to_string();
    let owner = RunOwner::new(run.origin, automation.as_deref());
    let until = reached.until.filter(|_| owner.waits_for_budget());
    let until = match until {
        Some(until) => end_of_wait(tx, run, until, now).await?,
        None => None,
    };
    let Some(until) = until else {
        let failure = RunFailure {
            kind: FailureKind::Budget,
            prompted: false,
            message: text,
        };
        let finished = TurnResult::with_outcome(Outcome::Failed(failure.clone()));
        let _ = end_run(store, tx, run, log, &finished, now).await?;
        return Ok(StartReply::Refused(failure));
    };
    // 2. Pause the automation, so that its triggers create no further runs.
    if let Some(automation) = automation {
        pause_over_budget(store, tx, automation, &text, now).await?;
    }
    // 3. Defer the run. The statement changes no row if the run has begun or ended.
    let deferred = tx
        .execute(
            sql!("runs/defer_until"),
            params![
                run.id,
                until,
                budget::BUDGET_REASON,
                text.as_str(),
                Origin::Message.priority()
            ],
        )
        .await?;
    if let (1.., Some(session), Some(seat)) = (deferred, run.session_id, run.seat_id) {
        // Without this, later claims would count the heartbeat as a run in progress of the tenant.
        tx.execute(sql!("heartbeats/delete"), params![run.id])
            .await?;
        // 4. Log the deferral, and promote.
        let cause = DeferCause::Budget {
            reason: budget::BUDGET_REASON.to_owned(),
            not_before: until,
        };
        log.add_run_change(session, run.id, RunChange::Deferred { cause });
        if run.task.is_none() {
            end_turns(store, tx, log, &[EndedTurn::Other(session)], now).await?;
        }
        // Promote: the deferred run has left its seat, and other exclusive runs of the automation may start instead.
        let automations = run.automation_id.into_iter().collect();
        promote_after(tx, log, BTreeSet::from([seat]), automations, now).await?;
    }
    Ok(StartReply::Deferred)
}

/// Returns the end of the wait for a budget. The turn of a task waits at most until the time of its goal is over, because the
/// goal would not end before. Returns `None` if the run does not wait: the time is over, or the turn is that of the report,
/// which Matins writes without the agent, too.
async fn end_of_wait(
    tx: &mut Tx,
    run: &Run,
    until: Timestamp,
    now: Timestamp,
) -> Result<Option<Timestamp>, Error> {
    let Some(task) = run.task else {
        return Ok(Some(until));
    };
    if task.prompt == Some(Prompt::Report) {
        return Ok(None);
    }
    let row = tx
        .fetch_optional(sql!("goals/until"), params![run.session_id])
        .await?;
    let end = row.map(|row| row.optional::<Timestamp>("until_at"));
    let end = end
        .transpose()?
        .flatten()
        .map_or(until, |end| end.min(until));
    Ok((end > now).then_some(end))
}
