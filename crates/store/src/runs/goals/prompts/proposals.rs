//! The proposals of workers for further work.

use model::{SessionId, TaskId, goal::ReportBody, prompt::goal::ProposalEntry};

use super::planned::PlannedPrompts;
use crate::{
    Error,
    database::Tx,
    goals::Goal,
    stored::{self, goals::StoredReport},
};

/// A proposal of further work, which a worker reported with a result.
pub(super) struct StoredProposal {
    task: String,
    /// The number of the result among the results of the task.
    result: i64,
    text: String,
}

impl StoredProposal {
    pub(super) fn entry(&self) -> ProposalEntry<'_> {
        ProposalEntry {
            task: &self.task,
            result: self.result,
            text: &self.text,
        }
    }
}

/// Returns the proposals of workers that no complete plan has had in its prompt, the oldest first. The whole line decides, with
/// the task and the number of its result, because two workers can propose the same in the same words.
pub(super) async fn read_unplanned(
    tx: &mut Tx,
    session: SessionId,
    planned: &PlannedPrompts,
) -> Result<Vec<StoredProposal>, Error> {
    let mut proposals = read_proposals(tx, session).await?;
    proposals.retain(|proposal| !planned.has_line(&proposal.entry().line()));
    Ok(proposals)
}

/// Returns `true` if proposals are left once a plan is complete, such as those for which its prompt had no room: another plan has
/// to follow.
pub(in crate::runs::goals) async fn has_unplanned(
    tx: &mut Tx,
    goal: &Goal,
    plan: TaskId,
) -> Result<bool, Error> {
    let proposals = read_proposals(tx, goal.session).await?;
    if proposals.is_empty() {
        return Ok(false);
    }
    let planned = PlannedPrompts::read(tx, goal, Some(plan)).await?;
    let mut proposals = proposals.iter();
    Ok(proposals.any(|proposal| !planned.has_line(&proposal.entry().line())))
}

async fn read_proposals(tx: &mut Tx, session: SessionId) -> Result<Vec<StoredProposal>, Error> {
    let rows = tx
        .fetch_all(sql!("task_reports/proposals"), params![session])
        .await?;
    let mut proposals = Vec::with_capacity(rows.len());
    for row in &rows {
        let body: ReportBody = stored::read::<StoredReport>(row, "body")?;
        if let Some(text) = body.follow_up {
            proposals.push(StoredProposal {
                task: row.get("key")?,
                result: row.get("result_number")?,
                text,
            });
        }
    }
    Ok(proposals)
}
