//! The turns of tasks that hold no seat yet: a budget is used up, or a person has paused the goal.

use std::collections::HashMap;

use model::{
    SessionId, TaskId,
    goal::{GoalState, Graph, TaskNo, WaitsFor},
};

use crate::{Error, database::Tx};

/// The turns of a goal's tasks that have not begun and hold no seat, each with the text about the budget for which it waits.
pub(super) struct WaitingTurns(HashMap<TaskId, Option<String>>);

impl WaitingTurns {
    pub(super) async fn read(tx: &mut Tx, session: SessionId) -> Result<Self, Error> {
        let rows = tx
            .fetch_all(sql!("goals/waiting_turns"), params![session])
            .await?;
        let turns = rows
            .iter()
            .map(|row| Ok((row.get("task_id")?, row.optional("budget")?)));
        Ok(Self(turns.collect::<Result<_, Error>>()?))
    }

    /// Returns the thing for which a task waits. The graph takes a turn that has not begun for one that is under way.
    pub(super) fn waits_for(&self, graph: &Graph, (no, id): (TaskNo, TaskId)) -> WaitsFor {
        let found = graph.waits_for(no);
        match self.0.get(&id) {
            Some(Some(budget)) if found == WaitsFor::Nothing => WaitsFor::Budget(budget.clone()),
            Some(None)
                if found == WaitsFor::Nothing && matches!(graph.goal(), GoalState::Paused(_)) =>
            {
                WaitsFor::Goal(graph.goal())
            }
            _ => found,
        }
    }
}
