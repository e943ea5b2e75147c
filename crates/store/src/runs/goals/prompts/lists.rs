//! The lists of tasks in prompts.

use std::cmp::Reverse;

use model::{
    goal::{Graph, Prompt, TaskKind, TaskNo, TaskStatus},
    prompt::goal::MAX_LISTED,
};

/// A list of tasks of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskList {
    /// The tasks that are over.
    Ended,
    /// The other tasks.
    Open,
    /// All tasks.
    All,
}

/// The tasks that a list shows.
pub(super) struct Listed {
    /// The tasks, in the order of their numbers.
    pub(super) tasks: Vec<TaskNo>,
    /// The number of the tasks that the list lacks.
    pub(super) more: usize,
}

impl TaskList {
    /// Returns the lists of a prompt.
    pub(super) const fn of_prompt(prompt: Prompt) -> &'static [Self] {
        match prompt {
            Prompt::Replan => &[Self::Ended, Self::Open],
            Prompt::Check | Prompt::Report => &[Self::All],
            _ => &[],
        }
    }

    /// Chooses the tasks of the list: those that have failed first, then the newest, because the next decision is about them.
    pub(super) fn of(self, graph: &Graph) -> Listed {
        let tasks = graph.tasks().iter().enumerate();
        let listed = tasks.filter(|(_, task)| {
            let is_over = matches!(
                task.status(),
                TaskStatus::Done | TaskStatus::Failed | TaskStatus::Cancelled
            );
            task.kind == TaskKind::Work
                && match self {
                    Self::Ended => is_over,
                    Self::Open => !is_over,
                    Self::All => true,
                }
        });
        let ranked = listed.map(|(no, task)| (task.status() != TaskStatus::Failed, Reverse(no)));
        let mut ranked: Vec<_> = ranked.collect();
        ranked.sort_unstable();
        let more = ranked.len().saturating_sub(MAX_LISTED);
        let chosen = ranked.into_iter().take(MAX_LISTED);
        let mut tasks: Vec<TaskNo> = chosen.map(|(_, Reverse(no))| TaskNo(no)).collect();
        tasks.sort_unstable();
        Listed { tasks, more }
    }
}
