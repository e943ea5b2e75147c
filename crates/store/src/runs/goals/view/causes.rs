//! The causes of failed tasks: the texts behind their reasons.

use std::collections::HashMap;

use model::{
    TaskId,
    goal::{FailReason, Task, TaskState, TaskStatus},
    run::RunStatus,
};

use crate::{Error, database::Tx};

/// The longest text, in characters.
const MAX_CAUSE_CHARS: u32 = 4096;

/// The end of the last turn that worked on a failed task.
struct LastTurn {
    status: RunStatus,
    /// The notice at the end, such as the error of the run.
    notice: Option<String>,
    answer: Option<String>,
}

/// The ends of the last turns of the failed tasks of a goal.
pub(super) struct LastTurns(HashMap<TaskId, LastTurn>);

impl LastTurns {
    /// Reads the ends of the last turns of those of `tasks` that have failed. `ids` are the IDs of the tasks, in their order.
    pub(super) async fn read(tx: &mut Tx, ids: &[TaskId], tasks: &[Task]) -> Result<Self, Error> {
        let failed = ids.iter().zip(tasks);
        let failed = failed.filter(|(_, task)| task.status() == TaskStatus::Failed);
        let failed = failed.map(|(id, _)| params![*id]).collect();
        let rows = tx
            .fetch_rows(sql!("tasks/causes"), failed, params![MAX_CAUSE_CHARS])
            .await?;
        let mut turns = HashMap::with_capacity(rows.len());
        for row in &rows {
            let turn = LastTurn {
                status: row.parse("status")?,
                notice: row.optional("notice")?,
                answer: row.optional("answer")?,
            };
            turns.insert(row.get("id")?, turn);
        }
        Ok(Self(turns))
    }

    /// Returns the text behind the reason of a failed task: the faults of its last report, the error of its last run, or the
    /// last words of its agent. Returns `None` if the findings tell the cause, or nothing does.
    pub(super) fn cause(
        &self,
        (id, task): (TaskId, &Task),
        faults: &[String],
        result: Option<&str>,
    ) -> Option<String> {
        let TaskState::Failed { reason, .. } = &task.state else {
            return None;
        };
        let faults = (!faults.is_empty()).then(|| faults.join("\n"));
        let result = result.map(str::to_owned);
        let last = self.0.get(&id);
        let notice = || last.and_then(|turn| turn.notice.clone());
        let last_words = || last.and_then(|turn| turn.answer.clone()).or_else(notice);
        let text = match reason {
            FailReason::PlanRefused => faults.or_else(last_words),
            FailReason::NoPlan => last_words(),
            FailReason::NoResult => faults.or(result),
            // An agent that reports a failure ends its turn with success.
            FailReason::Attempts => match last.map(|turn| turn.status) {
                Some(RunStatus::Succeeded) => result.or_else(last_words),
                _ => notice(),
            },
            FailReason::ToolsUnavailable => result,
            FailReason::TurnCancelled => notice(),
            FailReason::NotAccepted
            | FailReason::NoProgress
            | FailReason::NoSeat
            | FailReason::SentBack => None,
        };
        text.map(|text| text.chars().take(MAX_CAUSE_CHARS as usize).collect())
    }
}
