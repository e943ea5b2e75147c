//! The refusal of a turn whose budget is used up.

use std::collections::BTreeSet;

use model::{
    Timestamp,
    budget::{self, ReachedLimit},
    entity::{Automation, Run},
    event::{DeferCause, RunChange},
    outcome::{FailureKind, Outcome, RunFailure},
    turn::{StartReply, TurnResult},
};

use crate::{
    database::Tx,
    error::Error,
    runs::{admit::promote_after, end::end_run, run_usage::pause_over_budget},
    session_log::SessionLogWriter,
    store::Store,
};

/// Refuses to begin a turn whose budget is used up. The run of an automation is deferred until the budget allows it
/// again, and the automation pauses. Any other run fails, because a person waits for the answer. A run that no later
/// period allows fails too.
pub(super) async fn refuse_over_budget(
    store: &Store,
    tx: &mut Tx,
    run: &Run,
    automation: Option<&mut Automation>,
    reached: &ReachedLimit,
    now: Timestamp,
) -> Result<StartReply, Error> {
    let text = reached.to_string();
    let (Some(automation), Some(until)) = (automation, reached.until) else {
        let failure = RunFailure {
            kind: FailureKind::Budget,
            prompted: false,
            message: text,
        };
        let finished = TurnResult::with_outcome(Outcome::Failed(failure.clone()));
        let _ = end_run(store, tx, run, &finished, now).await?;
        return Ok(StartReply::Refused(failure));
    };
    pause_over_budget(store, tx, automation, &text, now).await?;
    let held = tx
        .execute(
            sql!("runs/hold_until"),
            params![run.id, until, budget::BUDGET_REASON, text.as_str()],
        )
        .await?;
    if let (1.., Some(session), Some(seat)) = (held, run.session_id, run.seat_id) {
        tx.execute(sql!("heartbeats/delete"), params![run.id])
            .await?;
        let mut journal = SessionLogWriter::default();
        let cause = DeferCause::Budget {
            reason: budget::BUDGET_REASON.to_owned(),
            not_before: until,
        };
        journal.add_run_change(session, run.id, RunChange::Deferred { cause });
        // The seat is free again, and other exclusive runs of the automation need not wait for this one.
        let own = BTreeSet::from([automation.id]);
        promote_after(tx, &mut journal, BTreeSet::from([seat]), own, now).await?;
        journal.write(tx, now).await?;
    }
    Ok(StartReply::Deferred)
}
