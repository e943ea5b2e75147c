//! The publication of plans: all changes of a plan, or none.

use std::collections::BTreeSet;

use crate::goal::{
    event::Effect,
    mover::Mover,
    plan::PreparedPlan,
    task::{CancelReason, TaskNo, TaskState, TaskStatus},
};

impl Mover<'_> {
    /// Publishes a plan.
    pub(super) fn publish(&mut self, plan: PreparedPlan) {
        self.graph.plan_version += 1;
        self.graph.idle_turns = 0;
        if !plan.tasks.is_empty() {
            self.graph.accepted = false;
        }
        self.effects.push(Effect::Published {
            version: self.graph.plan_version,
        });
        // 1. Add the tasks. Dependencies that are cancelled count as open until the last step.
        let first = self.graph.tasks.len();
        self.graph.keys.extend(plan.keys);
        for mut task in plan.tasks {
            task.state = self.first_state(&task.depends_on);
            self.add_task(task);
        }
        let new = (first..self.graph.tasks.len()).map(TaskNo);
        for no in new.clone() {
            self.link(no);
        }
        // 2. Move the tasks behind replaced ones to the new ones.
        for old in plan.replaced.keys() {
            self.graph.tasks[old.0]
                .dependents
                .retain(|it| !plan.rewired.contains_key(it) && !plan.replaced.contains_key(it));
        }
        for (no, depends_on) in plan.rewired {
            self.rewire(no, depends_on);
        }
        // 3. Cancel the replaced tasks, behind which no PENDING task is left.
        for no in plan.replaced.into_keys() {
            self.cancel(no, CancelReason::Replaced);
        }
        // 4. Drop tasks, with all tasks behind them.
        for no in plan.drops {
            self.cancel_or_drop(no);
        }
        // 5. Cancel the new tasks behind tasks that are cancelled, since when does not matter.
        for no in new {
            let is_cancelled = |it: &TaskNo| self.task(*it).status() == TaskStatus::Cancelled;
            let is_pending = self.task(no).status() == TaskStatus::Pending;
            if is_pending && self.task(no).depends_on.iter().any(is_cancelled) {
                self.cancel(no, CancelReason::Dependency);
            }
        }
    }

    /// Returns the state of a task with these dependencies before it starts. Tasks that are not added yet count as open.
    fn first_state(&self, depends_on: &[TaskNo]) -> TaskState {
        let is_open = |no: &&TaskNo| {
            self.graph
                .tasks
                .get(no.0)
                .is_none_or(|it| !it.is_satisfied())
        };
        match depends_on.iter().filter(is_open).count() {
            0 => TaskState::Ready,
            unmet => TaskState::Pending { unmet },
        }
    }

    /// Notes a task at its dependencies.
    fn link(&mut self, no: TaskNo) {
        let depends_on = std::mem::take(&mut self.graph.tasks[no.0].depends_on);
        for dependency in &depends_on {
            self.graph.tasks[dependency.0].dependents.push(no);
        }
        self.graph.dependency_count += depends_on.len();
        self.graph.tasks[no.0].depends_on = depends_on;
    }

    /// Gives a PENDING task other dependencies, at least one of which is new and open. The replaced ones forget the task
    /// apart from this, because a search in the others would cost more than linear time.
    fn rewire(&mut self, no: TaskNo, depends_on: Vec<TaskNo>) {
        let state = self.first_state(&depends_on);
        let before: BTreeSet<_> = self.task(no).depends_on.iter().copied().collect();
        for new in depends_on.iter().filter(|it| !before.contains(it)) {
            self.graph.tasks[new.0].dependents.push(no);
        }
        self.graph.dependency_count += depends_on.len();
        self.graph.dependency_count -= before.len();
        self.graph.tasks[no.0].depends_on = depends_on;
        self.effects.push(Effect::Rewired(no));
        if let TaskState::Pending { unmet } = state {
            self.effects.push(Effect::Unmet { task: no, unmet });
        }
        self.set_state(no, state);
    }
}
