//! The repeated start of a turn whose first reply the worker did not get.
//!
//! **Invariant:** only the process that made the run's secret gets the assignment again, because the secret's hash is a
//! part of the row. The prompt is the one that the first start stored, whatever has been edited since.

use std::collections::HashMap;

use model::{
    AutomationId, RunId, Timestamp, WorkerId, entity::Automation, owner::RunOwner,
    prompt::RenderedPrompt, turn::Assignment,
};

use crate::{
    Error,
    database::Tx,
    rows,
    runs::{heartbeat, start_candidate::StartCandidate, turn_context::TurnContext},
    store::Store,
};

/// Returns the assignments of turns that this worker has begun with the same secrets, and renews their heartbeats, so
/// that their agents get a full lease. Omits the other turns. The caller must hold the locks of the runs' seats.
pub(super) async fn begin_again(
    store: &Store,
    tx: &mut Tx,
    begun: Vec<StartCandidate>,
    (context, automations): (&TurnContext, &HashMap<AutomationId, Automation>),
    worker: &WorkerId,
    now: Timestamp,
) -> Result<Vec<Assignment>, Error> {
    let known = begun.iter().filter_map(|turn| {
        let hash = turn.secret?;
        Some(params![turn.run.id, hash.to_vec()])
    });
    let known: Vec<_> = known.collect();
    if known.is_empty() {
        return Ok(Vec::new());
    }
    // 1. Read the stored prompts of those runs whose row has the same secret.
    let found = tx.fetch_rows(sql!("runs/begun"), known, params![worker.as_str()]);
    let mut prompts: HashMap<RunId, RenderedPrompt> = HashMap::new();
    for row in &found.await? {
        let record = rows::run_record(row)?;
        if let (Some(prompt_ref), Some(text)) = (record.prompt_ref, record.rendered_prompt) {
            let prompt = RenderedPrompt {
                prompt_ref,
                text,
                variables: record.variables,
                run_report: record.run_report,
            };
            prompts.insert(row.get("id")?, prompt);
        }
    }
    // 2. Renew the heartbeats. The watchdog may have given a run up meanwhile.
    let runs: Vec<RunId> = prompts.keys().copied().collect();
    let renewed = heartbeat::renew(tx, runs.into_iter(), worker, now).await?;
    // 3. Build the assignments.
    let mut assignments = Vec::with_capacity(renewed.len());
    for turn in begun {
        let run = turn.run.id;
        let Some(prompt) = prompts.remove(&run).filter(|_| renewed.contains(&run)) else {
            continue;
        };
        let owner = RunOwner::of(&turn.run, automations);
        assignments.push(turn.assign(store, context, owner, prompt)?);
    }
    Ok(assignments)
}
