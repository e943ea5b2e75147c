//! The states that interrupted attempts at turns of tasks have left: staged changes of a plan, and reports.

use std::collections::HashMap;

use model::{
    InputId, RunId,
    entity::Run,
    goal::{Plan, ReportBody, ReportStatus, TaskKind},
    prompt::goal::{InterruptedState, StagedEntry},
};

use crate::{
    Error,
    database::Tx,
    document_format::supports_format,
    goals::read_staged,
    stored::{self, goals::StoredReport},
};

/// Returns the states that the earlier attempts at the inputs of runs have left, as the prompts of the runs have them. Omits the
/// runs that follow no interrupted attempt at the turn of a task, and those whose earlier attempts have left nothing.
///
/// The input of a run has the state at the beginning of its first attempt. The memory of a lost attempt may be lost, too, and an
/// agent without both would do the same under other keys.
pub(super) async fn read_interrupted_states(
    tx: &mut Tx,
    runs: impl Iterator<Item = &Run>,
) -> Result<HashMap<RunId, String>, Error> {
    let again = runs.filter(|run| run.task.is_some() && run.interrupted_run_id.is_some());
    let again: Vec<&Run> = again.collect();
    let reports = read_reports(tx, &again).await?;
    let mut states = HashMap::new();
    for run in again {
        let rendered = if let Some((status, body)) = reports.get(&run.input_id) {
            let status = *status;
            InterruptedState::Report { status, body }.render()
        } else {
            let plan = read_plan(tx, run).await?;
            if plan.is_empty() {
                continue;
            }
            let staged = plan.tasks.iter().map(|task| StagedEntry {
                key: &task.key,
                title: &task.title,
            });
            let staged: Vec<_> = staged.collect();
            let cancelled: Vec<&str> = plan.drops.iter().map(String::as_str).collect();
            InterruptedState::Plan {
                staged: &staged,
                cancelled: &cancelled,
            }
            .render()
        };
        let rendered = rendered.map_err(|source| Error::Prompt {
            run: run.id,
            source,
        });
        states.insert(run.id, rendered?.text);
    }
    Ok(states)
}

/// Reads the reports of the earlier attempts at the inputs of runs.
async fn read_reports(
    tx: &mut Tx,
    runs: &[&Run],
) -> Result<HashMap<InputId, (ReportStatus, ReportBody)>, Error> {
    let inputs = runs.iter().map(|run| params![run.input_id]).collect();
    let rows = tx
        .fetch_rows(sql!("task_reports/of_inputs"), inputs, params![])
        .await?;
    let mut reports = HashMap::with_capacity(rows.len());
    for row in &rows {
        // The turn begins although a server of a later version has stored the report, as with staged tasks.
        if !supports_format(row.get("needs_format")?) {
            continue;
        }
        let body = stored::read::<StoredReport>(row, "body")?;
        reports.insert(row.get("input_id")?, (row.parse("status")?, body));
    }
    Ok(reports)
}

/// Reads the plan that the turn of a planner has staged. The plan of another turn is empty.
async fn read_plan(tx: &mut Tx, run: &Run) -> Result<Plan, Error> {
    let row = tx
        .fetch_optional(sql!("tool_calls/task"), params![run.id])
        .await?;
    let kind: Option<TaskKind> = row.map(|row| row.parse("kind")).transpose()?;
    let Some(session) = run.session_id.filter(|_| kind == Some(TaskKind::Plan)) else {
        return Ok(Plan::default());
    };
    match read_staged(tx, session).await {
        // The turn begins although a server of a later version has staged a task. Otherwise this server would claim its run
        // without end.
        Err(error) if error.is_newer_format() => Ok(Plan::default()),
        plan => plan,
    }
}
