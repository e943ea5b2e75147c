//! The prechecks of automations: the programs that decide before a turn whether it is needed.

use std::collections::HashSet;

use model::{
    RunId,
    entity::{Automation, Run},
    owner::RunOwner,
    precheck::PrecheckJob,
};

use crate::{
    Error,
    database::Tx,
    locks::LockedRuns,
    runs::{start_candidate::StartCandidate, turn_context::inputs_in_transcript},
    store::Store,
};

/// Returns the runs whose precheck must run before their turn: occurrences whose input the transcript does not show
/// yet. A later attempt at such an input has no precheck. Runs no query if no automation of the runs has a precheck.
pub(super) async fn runs_needing_precheck(
    tx: &mut Tx,
    locked: &LockedRuns,
    prechecked: &HashSet<RunId>,
) -> Result<HashSet<RunId>, Error> {
    let has_precheck = |run: &&Run| {
        let RunOwner::Occurrence(automation) = RunOwner::of(run, &locked.automations) else {
            return false;
        };
        automation.policies.precheck.is_some() && !prechecked.contains(&run.id)
    };
    let runs: Vec<&Run> = locked.runs.values().filter(has_precheck).collect();
    let again = runs.iter().filter(|run| run.attempt > 1);
    let shown = inputs_in_transcript(tx, again.map(|run| run.input_id).collect()).await?;
    let needing = runs.iter().filter(|run| !shown.contains(&run.input_id));
    Ok(needing.map(|run| run.id).collect())
}

/// Builds the precheck of a run for its worker. Returns `None` if the automation has no precheck.
pub(super) fn build_precheck(
    store: &Store,
    candidate: &StartCandidate,
    automation: &Automation,
) -> Option<PrecheckJob> {
    let StartCandidate {
        run, session, seat, ..
    } = candidate;
    Some(PrecheckJob {
        run: run.id,
        session: session.id,
        directory: seat.working_directory(session, || store.seat_directory(session, seat)),
        automation: automation.id,
        name: automation.name.clone(),
        scheduled_for: run.scheduled_for,
        precheck: automation.policies.precheck.clone()?,
    })
}
