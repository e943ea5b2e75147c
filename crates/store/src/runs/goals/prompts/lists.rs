//! The lists of tasks in prompts.

use std::cmp::Reverse;

use model::{
    goal::{Graph, Prompt, TaskKind, TaskNo, TaskStatus},
    prompt::goal::MAX_LISTED,
};

/// The number of failed and cancelled tasks in a full list, unless it has fewer others. Without it, failed tasks that are optional
/// hide all results.
const MAX_STOPPED: usize = MAX_LISTED / 2;

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

    /// Chooses the tasks of the list: the newest that have failed or, after those, were cancelled, and the newest others, because
    /// the next decision is about them. Each of the two gets the places that the other one leaves free.
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
        let (mut stopped, mut others) = (Vec::new(), Vec::new());
        for (no, task) in listed {
            match task.status() {
                TaskStatus::Failed => stopped.push((false, Reverse(no))),
                TaskStatus::Cancelled => stopped.push((true, Reverse(no))),
                _ => others.push(no),
            }
        }
        stopped.sort_unstable();
        let more = (stopped.len() + others.len()).saturating_sub(MAX_LISTED);
        let free = MAX_LISTED.saturating_sub(others.len());
        stopped.truncate(free.max(MAX_STOPPED));
        let newest = others.into_iter().rev();
        let newest = newest.take(MAX_LISTED - stopped.len());
        let stopped = stopped.into_iter().map(|(_, Reverse(no))| no);
        let mut tasks: Vec<TaskNo> = newest.chain(stopped).map(TaskNo).collect();
        tasks.sort_unstable();
        Listed { tasks, more }
    }
}
