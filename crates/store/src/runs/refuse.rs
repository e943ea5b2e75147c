//! The refusal of a turn whose budget is used up.

use std::collections::BTreeSet;

use model::{
    Timestamp,
    budget::{self, Reached},
    entity::{Automation, Run},
    event::{DeferCause, RunChange},
    outcome::{Failure, FailureKind, Outcome},
    turn::{Begin, Finished},
};

use crate::{
    database::Tx,
    error::Error,
    journal::Journal,
    runs::{end::end, place::promote_after, spend::pause},
    store::Store,
};

/// Refuses to begin a turn whose budget is used up. The run of an automation is deferred until the budget allows it
/// again, and the automation pauses. Any other run fails, because a person waits for the answer. A run that no later
/// period allows fails too.
pub(super) async fn refuse(
    store: &Store,
    tx: &mut Tx,
    run: &Run,
    automation: Option<&mut Automation>,
    reached: &Reached,
    now: Timestamp,
) -> Result<Begin, Error> {
    let text = reached.to_string();
    let (Some(automation), Some(until)) = (automation, reached.until) else {
        let failure = Failure {
            kind: FailureKind::Budget,
            prompted: false,
            message: text,
        };
        let finished = Finished::bare(Outcome::Failed(failure.clone()));
        let _ = end(store, tx, run, &finished, now).await?;
        return Ok(Begin::Refused(failure));
    };
    pause(store, tx, automation, &text, now).await?;
    let held = tx
        .execute(
            sql!("runs/hold_until"),
            params![run.id, until, budget::REASON, text.as_str()],
        )
        .await?;
    if let (1.., Some(session), Some(seat)) = (held, run.session_id, run.seat_id) {
        tx.execute(sql!("heartbeats/delete"), params![run.id])
            .await?;
        let mut journal = Journal::default();
        let cause = DeferCause::Budget {
            reason: budget::REASON.to_owned(),
            not_before: until,
        };
        journal.run(session, run.id, RunChange::Deferred { cause });
        // The seat is free again, and other exclusive runs of the automation need not wait for this one.
        let own = BTreeSet::from([automation.id]);
        promote_after(tx, &mut journal, BTreeSet::from([seat]), own, now).await?;
        journal.write(tx, now).await?;
    }
    Ok(Begin::Held)
}
