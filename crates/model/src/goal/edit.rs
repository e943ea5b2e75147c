//! The edits of tasks by people.

use crate::goal::{
    event::Refusal,
    mover::Mover,
    new_task::NewTask,
    plan_fields::content_faults,
    task::{TaskKind, TaskState, TaskStatus},
    task_fields::{TaskEdit, TaskFields},
};

impl Mover<'_> {
    /// Edits a task for a person, which makes a new version of the plan. An edit without a difference changes nothing.
    ///
    /// The report stays, because no task has ended or was dropped.
    ///
    /// # Errors
    ///
    /// Refuses another version than the present one, tasks that have begun or are over, and content with faults.
    pub(super) fn edit_task(&mut self, edit: &TaskEdit) -> Result<(), Refusal> {
        // 1. Check.
        let (no, content) = (edit.task, &edit.after);
        self.check_version(edit.version)?;
        self.check_task(no)?;
        let task = self.task(no);
        let is_waiting_or_failed = matches!(
            task.status(),
            TaskStatus::Pending | TaskStatus::Ready | TaskStatus::Failed
        );
        if task.kind != TaskKind::Work || !is_waiting_or_failed {
            let accepted = "PENDING, READY and FAILED tasks of the plan are accepted";
            return Err(self.refuse_task(no, accepted));
        }
        let role = &self.graph.team.roles[task.role].name;
        let edited = with_content(NewTask::new(&task.key, role), content);
        let mut faults = content_faults(&edited);
        // Earlier programs accepted titles with line breaks.
        faults.retain(|fault| fault.field() != Some("title") || edit.before.title != content.title);
        if !faults.is_empty() {
            return Err(Refusal::Plan(faults));
        }
        if edit.before == *content {
            return Ok(());
        }
        // 2. Change the plan.
        let digest = edited.digest(&task.checks);
        self.leave_stuck();
        let graph = &mut *self.graph;
        graph.plan_version += 1;
        graph.idle_turns = 0;
        graph.accepted = false;
        // 3. Change the task, and its place among the READY ones.
        let task = &mut graph.tasks[no.0];
        if task.state == TaskState::Ready {
            let ready = &mut graph.ready[task.role];
            ready.remove(&(task.priority, no));
            ready.insert((content.priority, no));
        }
        task.priority = content.priority;
        task.acceptance = content.acceptance.len();
        task.digest = digest;
        task.plan_version = graph.plan_version;
        Ok(())
    }
}

fn with_content(task: NewTask, content: &TaskFields) -> NewTask {
    NewTask {
        title: content.title.clone(),
        description: content.description.clone(),
        acceptance: content.acceptance.clone(),
        priority: content.priority,
        ..task
    }
}
