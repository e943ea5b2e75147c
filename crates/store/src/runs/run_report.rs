//! The reports of runs that precede prompts: which runs no prompt has reported to the agent of a seat.
//!
//! **Invariant:** the cost of a report does not grow with the history of its seat. Each source of runs is read from the
//! newest by an index, up to a fixed number. A seat moves `runs_reported_until` when a turn with a report succeeds.

use std::collections::HashMap;

use model::{
    AutomationId, RunId,
    entity::Automation,
    owner::RunOwner,
    policy::RunReports,
    prompt::{RenderedPrompt, ReportedRun, UnreportedRuns, render_run_report},
    schedule::Zone,
};

use crate::{
    Error,
    database::{Row, Tx},
    runs::start_candidate::StartCandidate,
    stored::{self, StoredSpec},
};

/// Adds reports to the prompts of turns that begin, except where a policy turns them off, and to commands of the agent.
/// The caller must hold the locks of the runs' seats.
pub(super) async fn add_run_reports(
    tx: &mut Tx,
    ready: &[StartCandidate],
    automations: &HashMap<AutomationId, Automation>,
    prompts: &mut HashMap<RunId, RenderedPrompt>,
) -> Result<(), Error> {
    // 1. Choose the turns whose prompts have reports.
    let has_report = |turn: &&StartCandidate| {
        let policy = RunOwner::of(&turn.run, automations).policies().run_reports;
        let prompt = prompts.get(&turn.run.id);
        policy == RunReports::On && prompt.is_some_and(|prompt| !prompt.is_command())
    };
    let mut unreported: HashMap<RunId, UnreportedRuns> = HashMap::new();
    let mut items = Vec::with_capacity(ready.len());
    for turn in ready.iter().filter(has_report) {
        items.push(params![turn.run.id, turn.seat.id]);
        unreported.insert(turn.run.id, UnreportedRuns::default());
    }
    // 2. Read the runs.
    let found = tx.fetch_rows(sql_of_each!("runs/unreported"), items, params![]);
    for row in &found.await? {
        let Some(unreported) = unreported.get_mut(&row.get("for_run")?) else {
            continue;
        };
        unreported.quiet_hours += row.get::<u32>("quiet_hours")? as usize;
        unreported.declined += row.get::<u32>("declined")? as usize;
        unreported.runs.extend(reported_run(row)?);
    }
    // 3. Render the reports.
    for (run, unreported) in unreported {
        let report = render_run_report(unreported);
        let report = report.map_err(|source| Error::Prompt { run, source })?;
        if let Some(prompt) = prompts.get_mut(&run) {
            prompt.run_report = Some(report);
        }
    }
    Ok(())
}

/// Returns the run of a row. Returns `None` if the row has only counts.
fn reported_run(row: &Row) -> Result<Option<ReportedRun>, Error> {
    let Some(run) = row.optional("id")? else {
        return Ok(None);
    };
    // A report with instants in UTC is better than a turn that cannot begin, because a later version has written the
    // trigger of an earlier run.
    let spec = stored::read_optional::<StoredSpec>(row, "spec")
        .ok()
        .flatten();
    let zone = spec.and_then(|spec| spec.zone().ok());
    Ok(Some(ReportedRun {
        run,
        status: row.parse("status")?,
        reason: row.optional("reason")?,
        automation: row.optional("automation_name")?,
        at: row.get("input_at")?,
        until: row.optional("missed_until")?,
        occurrences: row.get("occurrences")?,
        zone: zone.unwrap_or_else(Zone::utc),
        ended_at: row.get("ended_at")?,
    }))
}
