//! The prompts that earlier plans have had.

use std::collections::BTreeSet;

use model::{TaskId, prompt::goal::PlanPrompt};

use crate::{Error, database::Tx, goals::Goal};

/// The prompts of the plans that are complete.
///
/// They decide which facts are new to a plan, and not the times of the plans: a worker can report while a plan is under way,
/// and turns that end together have no order of their clocks, so that times would lose a fact.
#[derive(Default)]
pub(super) struct PlannedPrompts {
    lines: BTreeSet<String>,
    /// `true` if the newest of them has another text of the goal than the present one.
    pub(super) lack_goal: bool,
}

impl PlannedPrompts {
    /// Reads the prompts of a goal, with those of a plan that is about to be complete.
    pub(super) async fn read(
        tx: &mut Tx,
        goal: &Goal,
        ending: Option<TaskId>,
    ) -> Result<Self, Error> {
        let rows = tx
            .fetch_all(sql!("tasks/plan_prompts"), params![goal.session, ending])
            .await?;
        let mut lines = BTreeSet::new();
        let mut lack_goal = false;
        for row in &rows {
            let input: String = row.get("content")?;
            let prompt = PlanPrompt::in_input(&input);
            lack_goal = !prompt.has_goal(&goal.text);
            lines.extend(prompt.lines().map(str::to_owned));
        }
        Ok(Self { lines, lack_goal })
    }

    /// Returns `true` if one of the prompts has a line.
    pub(super) fn has_line(&self, line: &str) -> bool {
        self.lines.contains(line)
    }
}
