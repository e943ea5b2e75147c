//! The search for a cycle in a plan.

use std::collections::BTreeMap;

use crate::goal::{
    graph::Graph,
    task::{Task, TaskNo, TaskStatus},
};

/// Returns the keys of a cycle, the first one again at the end.
///
/// Each cycle has a new task, because publications alone add dependencies, and a changed one leads to a new task. The
/// search therefore begins at the new tasks, and visits each task and each dependency once.
///
/// Of the tasks of the graph, only PENDING ones wait for their dependencies. A cancelled task keeps the dependencies that it
/// had, so they can lead to a task that moves behind a new one, although neither waits for the other.
pub(super) fn find_cycle(
    graph: &Graph,
    tasks: &[Task],
    rewired: &BTreeMap<TaskNo, Vec<TaskNo>>,
) -> Option<Vec<String>> {
    let first = graph.tasks.len();
    let get = |no: TaskNo| {
        let old = graph.tasks.get(no.0);
        old.unwrap_or_else(|| &tasks[no.0 - first])
    };
    let dependencies = |no: TaskNo| match graph.tasks.get(no.0) {
        Some(task) if task.status() != TaskStatus::Pending => &[],
        _ => rewired.get(&no).unwrap_or(&get(no).depends_on).as_slice(),
    };
    let mut is_finished = vec![false; first + tasks.len()];
    let mut is_on_path = is_finished.clone();
    for start in first..first + tasks.len() {
        let mut path = vec![(TaskNo(start), 0)];
        is_on_path[start] = !is_finished[start];
        while let Some((no, next)) = path.last_mut() {
            let no = *no;
            if is_finished[no.0] {
                path.pop();
                continue;
            }
            let Some(dependency) = dependencies(no).get(*next).copied() else {
                is_finished[no.0] = true;
                is_on_path[no.0] = false;
                path.pop();
                continue;
            };
            *next += 1;
            if is_on_path[dependency.0] {
                let keys = path.iter().map(|(no, _)| *no);
                let cycle = keys.skip_while(|no| *no != dependency);
                let cycle = cycle.chain([dependency]);
                return Some(cycle.map(|no| get(no).key.clone()).collect());
            }
            if !is_finished[dependency.0] {
                is_on_path[dependency.0] = true;
                path.push((dependency, 0));
            }
        }
    }
    None
}
