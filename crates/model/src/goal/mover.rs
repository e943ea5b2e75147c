//! The moves of single tasks, with their consequences for the tasks behind them.

use crate::goal::{
    event::Effect,
    graph::Graph,
    seat::{Input, Presence, Prompt, SeatNo},
    task::{
        Activity, CancelReason, DoneBy, FailReason, Task, TaskKind, TaskNo, TaskState, TaskStatus,
    },
};

/// A graph under way from one state to the next, with the effects so far.
pub(super) struct Mover<'a> {
    pub(super) graph: &'a mut Graph,
    pub(super) effects: Vec<Effect>,
}

impl Mover<'_> {
    pub(super) fn task(&self, task: TaskNo) -> &Task {
        &self.graph.tasks[task.0]
    }

    pub(super) fn task_mut(&mut self, task: TaskNo) -> &mut Task {
        &mut self.graph.tasks[task.0]
    }

    /// Adds a task in its first state.
    pub(super) fn add_task(&mut self, task: Task) -> TaskNo {
        let no = TaskNo(self.graph.tasks.len());
        self.effects.push(Effect::Moved {
            task: no,
            from: None,
            to: task.status(),
        });
        self.graph.work_count += u32::from(task.kind == TaskKind::Work);
        self.graph.required_open += usize::from(task.is_required_and_open());
        self.graph.tasks.push(task);
        self.index(no);
        no
    }

    /// Adds a task to the index of its state.
    fn index(&mut self, no: TaskNo) {
        let task = &self.graph.tasks[no.0];
        match task.state {
            TaskState::Ready => {
                self.graph.ready[task.role].insert((task.priority, no));
            }
            TaskState::Running(_) => {
                self.graph.running.insert(no);
            }
            _ => {}
        }
    }

    /// Moves a task. If that satisfies the tasks behind it, or no longer does, counts their open dependencies anew, and makes
    /// those without an open one READY.
    ///
    /// Only PENDING tasks are counted. A task that has become READY was released for good, even if a person retries an
    /// optional task in front of it, because READY tasks never become PENDING again.
    pub(super) fn set_state(&mut self, no: TaskNo, state: TaskState) {
        let task = &mut self.graph.tasks[no.0];
        let (from, was_satisfied, was_open) = (
            task.status(),
            task.is_satisfied(),
            task.is_required_and_open(),
        );
        match task.state {
            TaskState::Ready => {
                self.graph.ready[task.role].remove(&(task.priority, no));
            }
            TaskState::Running(_) => {
                self.graph.running.remove(&no);
            }
            _ => {}
        }
        task.state = state;
        let (to, is_satisfied) = (task.status(), task.is_satisfied());
        self.graph.required_open += usize::from(task.is_required_and_open());
        self.graph.required_open -= usize::from(was_open);
        if to == TaskStatus::Done && task.kind == TaskKind::Work {
            self.graph.finished.insert(task.digest, no);
            self.graph.idle_turns = 0;
        }
        if from != to {
            self.effects.push(Effect::Moved {
                task: no,
                from: Some(from),
                to,
            });
        }
        self.index(no);
        if was_satisfied != is_satisfied {
            let dependents = std::mem::take(&mut self.graph.tasks[no.0].dependents);
            for dependent in &dependents {
                self.count_dependency(*dependent, is_satisfied);
            }
            self.graph.tasks[no.0].dependents = dependents;
        }
    }

    /// Counts a dependency of a PENDING task that has become satisfied, or is no longer satisfied.
    fn count_dependency(&mut self, no: TaskNo, is_satisfied: bool) {
        let TaskState::Pending { unmet } = &mut self.graph.tasks[no.0].state else {
            return;
        };
        if is_satisfied {
            *unmet -= 1;
        } else {
            *unmet += 1;
        }
        let unmet = *unmet;
        self.effects.push(Effect::Unmet { task: no, unmet });
        if unmet == 0 {
            self.set_state(no, TaskState::Ready);
        }
    }

    /// Cancels a task, and all PENDING tasks behind it. Tasks behind it that have been released are kept: they no longer wait
    /// for it.
    pub(super) fn cancel(&mut self, no: TaskNo, reason: CancelReason) {
        let mut waiting = vec![(no, reason)];
        while let Some((no, reason)) = waiting.pop() {
            if matches!(
                self.task(no).status(),
                TaskStatus::Done | TaskStatus::Cancelled
            ) {
                continue;
            }
            let behind = match reason {
                CancelReason::GoalOver => CancelReason::GoalOver,
                _ => CancelReason::Dependency,
            };
            self.vacate(no);
            self.set_state(no, TaskState::Cancelled(reason));
            self.note_end(no);
            let dependents = self.graph.tasks[no.0].dependents.iter().rev().copied();
            let pending =
                dependents.filter(|it| self.graph.tasks[it.0].status() == TaskStatus::Pending);
            waiting.extend(pending.map(|it| (it, behind)));
        }
    }

    /// Completes a task.
    pub(super) fn complete(&mut self, no: TaskNo, by: DoneBy) {
        self.vacate(no);
        self.set_state(no, TaskState::Done(by));
        self.note_end(no);
    }

    /// Ends a task as failed.
    ///
    /// A failed task of the plan requests another plan, because a planner may replace it. An optional one does not: nothing waits
    /// for it, and a turn of the planner has its price. A task with a turn that a person cancelled requests none either, because
    /// the person decides.
    pub(super) fn fail(&mut self, no: TaskNo, reason: FailReason, about: Vec<String>) {
        self.vacate(no);
        self.set_state(no, TaskState::Failed { reason, about });
        self.note_end(no);
        let task = self.task(no);
        let is_needed = task.kind == TaskKind::Work && !task.optional;
        if is_needed && reason != FailReason::TurnCancelled {
            self.request_plan();
        }
    }

    /// Notes the end of a plan, which the goal has once at a time.
    fn note_end(&mut self, no: TaskNo) {
        if self.graph.kind(no) == TaskKind::Plan {
            self.graph.plan_task = None;
            if self.task(no).status() != TaskStatus::Done {
                self.effects.push(Effect::DropStaged);
            }
        }
    }

    /// Takes a task off its seat: withdraws its waiting turn, and cancels the one that is under way. Releases the paths of
    /// the task unless a process may still write to them.
    fn vacate(&mut self, no: TaskNo) {
        let mut may_write = false;
        match self.task(no).activity().cloned() {
            Some(Activity::Work { seat }) => may_write = self.leave_seat(no, seat),
            Some(Activity::Review { seat }) => {
                self.leave_seat(no, seat);
            }
            Some(Activity::Checks) => {
                may_write = self.graph.checking.contains(&no);
                if may_write {
                    self.effects.push(Effect::StopChecks(no));
                }
            }
            _ => {}
        }
        if !may_write {
            self.release_writes(no);
        }
    }

    /// Withdraws the waiting turn of a task, or cancels the one that is under way. Returns `true` if one is under way.
    fn leave_seat(&mut self, no: TaskNo, seat: SeatNo) -> bool {
        let row = &mut self.graph.seats[seat.0];
        if row.turn.and_then(Input::task) == Some(no) {
            self.effects.push(Effect::StopTurn(seat));
            return true;
        }
        let before = row.queue.len();
        row.queue.retain(|(task, _)| *task != no);
        if row.queue.len() < before {
            self.effects.push(Effect::Withdrawn { seat, task: no });
        }
        false
    }

    /// Releases the paths that a task occupies.
    pub(super) fn release_writes(&mut self, no: TaskNo) {
        self.graph
            .writes
            .release(no, &self.graph.tasks[no.0].writes);
    }

    /// Lets a turn of a started task wait for its seat.
    pub(super) fn queue(&mut self, seat: SeatNo, task: TaskNo, prompt: Prompt) {
        self.graph.seats[seat.0].queue.push_back((task, prompt));
        self.effects.push(Effect::Queued { seat, task, prompt });
    }

    /// Requests a plan. Requests that come before the start of a waiting plan task are one.
    pub(super) fn request_plan(&mut self) {
        let waits = self
            .graph
            .plan_task
            .is_some_and(|plan| self.task(plan).status() == TaskStatus::Ready);
        if !waits {
            self.graph.plan_requested = true;
        }
    }

    /// Returns the seat of a role with the least work, online ones first. Returns `None` if all are removed.
    pub(super) fn least_loaded(&self, role: usize) -> Option<SeatNo> {
        let seats = self.graph.seats_of(role);
        let present = seats.filter(|no| self.graph.seats[no.0].presence != Presence::Removed);
        present.min_by_key(|no| {
            let seat = &self.graph.seats[no.0];
            (seat.presence, seat.load())
        })
    }
}
