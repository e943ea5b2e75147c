//! The requests of people.

use crate::{
    goal::{
        event::{Deadline, Effect, GoalState, PauseReason, Refusal, StuckCause},
        goal_status::GoalEvent,
        graph::{SeatsWait, Stop},
        mover::Mover,
        new_task::Plan,
        plan::prepare,
        seat::Prompt,
        task::{Activity, CancelReason, DoneBy, Progress, TaskKind, TaskNo, TaskState, TaskStatus},
    },
    lifecycle::Lifecycle,
};

impl Mover<'_> {
    /// Refuses a move that the status of the goal does not allow.
    ///
    /// # Errors
    ///
    /// [`Refusal::Goal`].
    pub(super) fn check_goal(&self, event: GoalEvent) -> Result<(), Refusal> {
        let status = self.graph.goal.status();
        match status.next_state(event) {
            Some(_) => Ok(()),
            None => Err(Refusal::Goal { status, event }),
        }
    }

    /// Starts a draft.
    ///
    /// # Errors
    ///
    /// Refuses a goal that is no draft.
    pub(super) fn enable(&mut self) -> Result<(), Refusal> {
        self.check_goal(GoalEvent::Enable)?;
        self.set_goal(GoalState::Active);
        Ok(())
    }

    /// Pauses the goal for a person. Turns under way may end.
    ///
    /// # Errors
    ///
    /// Refuses a goal that is not active.
    pub(super) fn pause(&mut self) -> Result<(), Refusal> {
        self.check_goal(GoalEvent::Pause)?;
        self.set_goal(GoalState::Paused(PauseReason::Person));
        Ok(())
    }

    /// Moves the goal.
    pub(super) fn set_goal(&mut self, goal: GoalState) {
        self.graph.goal = goal;
    }

    /// Publishes a plan of a person, who must have read the present version.
    ///
    /// # Errors
    ///
    /// Refuses another version, and a plan with faults.
    pub(super) fn publish_for_person(&mut self, version: u32, plan: &Plan) -> Result<(), Refusal> {
        self.check_version(version)?;
        let prepared = prepare(self.graph, plan).map_err(Refusal::Plan)?;
        self.leave_stuck();
        if !plan.is_empty() {
            self.graph.reported = false;
            self.publish(prepared);
        }
        Ok(())
    }

    /// Refuses another version of the plan than the present one.
    pub(super) const fn check_version(&self, given: u32) -> Result<(), Refusal> {
        let present = self.graph.plan_version;
        if given == present {
            Ok(())
        } else {
            Err(Refusal::Version { given, present })
        }
    }

    /// Returns `true` if the goal is stuck because a check has sent it back.
    fn is_rejected(&self) -> bool {
        let cause = StuckCause::CheckRejected;
        self.graph.goal == GoalState::Stuck(cause) || self.graph.stop == Some(Stop::Stuck(cause))
    }

    /// Requests a plan about the findings of the check for which the goal is stuck, if it is.
    fn answer_rejection(&mut self) {
        if self.is_rejected() {
            self.request_plan();
        }
    }

    /// Lets a stuck goal go on, because a person has changed something. If still nothing can run, it becomes stuck again.
    pub(super) fn leave_stuck(&mut self) {
        self.answer_rejection();
        if matches!(self.graph.stop, Some(Stop::Stuck(_))) {
            self.graph.stop = None;
            self.graph.idle_turns = 0;
        }
        if matches!(self.graph.goal, GoalState::Stuck(_)) {
            self.set_goal(GoalState::Active);
        }
    }

    /// Requests a plan for a person.
    ///
    /// # Errors
    ///
    /// Refuses more plans than the limit allows.
    pub(super) fn replan(&mut self) -> Result<(), Refusal> {
        let limit = self.graph.limits.replans;
        if self.graph.plan_version > 0 && self.graph.replans >= limit {
            return Err(Refusal::Limit {
                what: "plans after the first",
                limit: "replans",
                count: limit,
            });
        }
        self.leave_stuck();
        self.graph.accepted = false;
        self.request_plan();
        Ok(())
    }

    pub(super) fn refuse_task(&self, no: TaskNo, accepted: &'static str) -> Refusal {
        let task = self.task(no);
        Refusal::Task {
            task: task.key.clone(),
            status: task.status(),
            accepted,
        }
    }

    /// Retries a failed task from the beginning, or a broken check or review once more.
    ///
    /// # Errors
    ///
    /// Refuses other tasks.
    pub(super) fn retry(&mut self, no: TaskNo) -> Result<(), Refusal> {
        let task = self.task(no);
        let is_failed_work = task.status() == TaskStatus::Failed && task.kind == TaskKind::Work;
        let is_broken = matches!(
            task.activity(),
            Some(Activity::BrokenCheck { .. } | Activity::BrokenJudge)
        );
        if !is_failed_work && !is_broken {
            let accepted =
                "FAILED tasks of the plan, and tasks with a broken check or judge, are accepted";
            return Err(self.refuse_task(no, accepted));
        }
        self.leave_stuck();
        if is_broken {
            self.repeat_broken(no);
        } else {
            // The findings stay, because the seat has to mend them. They no longer bound those of the judge.
            let progress = &mut self.task_mut(no).progress;
            let earlier = std::mem::take(progress);
            *progress = Progress {
                home: earlier.home,
                judge: earlier.judge,
                findings: earlier.findings,
                failed_check: earlier.failed_check,
                ..Progress::default()
            };
            self.set_state(no, TaskState::Ready);
        }
        Ok(())
    }

    /// Repeats a broken check or review.
    fn repeat_broken(&mut self, no: TaskNo) {
        let is_check_of_goal = self.graph.kind(no) == TaskKind::Check;
        match self.task(no).activity() {
            // The directory with the work is lost with the seat.
            Some(Activity::BrokenCheck { .. }) if self.task(no).progress.home.is_none() => {
                self.release_writes(no);
                self.task_mut(no).progress.reminded = false;
                self.return_to_seat(no, Prompt::Work);
            }
            Some(Activity::BrokenCheck { .. }) => self.run_checks(no),
            Some(Activity::BrokenJudge) => {
                let progress = &mut self.task_mut(no).progress;
                progress.judge_misses = 0;
                progress.judge_reminded = false;
                let prompt = if is_check_of_goal {
                    Prompt::Check
                } else {
                    Prompt::Review
                };
                self.start_review(no, prompt);
            }
            _ => {}
        }
    }

    /// Accepts a task for a person: a failed one, or one whose result is being judged.
    ///
    /// # Errors
    ///
    /// Refuses other tasks.
    pub(super) fn accept(&mut self, no: TaskNo) -> Result<(), Refusal> {
        let task = self.task(no);
        let is_judged = match task.activity() {
            Some(
                Activity::Review { .. } | Activity::BrokenJudge | Activity::BrokenCheck { .. },
            ) => true,
            Some(Activity::Question { of_judge, .. }) => *of_judge,
            _ => false,
        };
        let has_kind = matches!(task.kind, TaskKind::Work | TaskKind::Check);
        if !has_kind || !(task.status() == TaskStatus::Failed || is_judged) {
            let accepted = "FAILED tasks, and RUNNING ones that are under review, are accepted";
            return Err(self.refuse_task(no, accepted));
        }
        // Earlier versions have requested a plan for the findings of a goal that is rejected.
        let was_requested = self.graph.plan_requested && !self.is_rejected();
        self.leave_stuck();
        // The report of a stuck goal does not know of it. Nor does it of a cancellation.
        self.graph.reported = false;
        self.complete(no, DoneBy::Person);
        self.note_check(no);
        if self.graph.kind(no) == TaskKind::Check {
            // Its findings need no plan any more.
            self.graph.plan_requested = was_requested;
        }
        Ok(())
    }

    /// Cancels an open task or drops a failed one for a person, with all tasks that wait for it.
    ///
    /// # Errors
    ///
    /// Refuses tasks that are over, and those that the graph would make again at once.
    pub(super) fn cancel_task(&mut self, no: TaskNo) -> Result<(), Refusal> {
        let task = self.task(no);
        let can_cancel = match task.status() {
            TaskStatus::Pending | TaskStatus::Ready | TaskStatus::Running => {
                matches!(task.kind, TaskKind::Work | TaskKind::Plan)
            }
            TaskStatus::Failed => task.kind == TaskKind::Work && !task.optional,
            TaskStatus::Done | TaskStatus::Cancelled => false,
        };
        if !can_cancel {
            let accepted = "open tasks of the plan, the open plan, and FAILED tasks that are not optional are accepted";
            return Err(self.refuse_task(no, accepted));
        }
        self.leave_stuck();
        self.graph.reported = false;
        self.cancel_or_drop(no);
        Ok(())
    }

    /// Cancels an open task, or drops a failed one.
    pub(super) fn cancel_or_drop(&mut self, no: TaskNo) {
        let reason = match self.task(no).status() {
            TaskStatus::Failed => CancelReason::Dropped,
            _ => CancelReason::Requested,
        };
        self.cancel(no, reason);
    }

    /// Lets a paused goal go on.
    ///
    /// Broken checks and judges get another attempt, and a failed first plan is made again, because a person resumes such a
    /// goal after a repair.
    ///
    /// # Errors
    ///
    /// Refuses a goal that is not paused.
    pub(super) fn resume(&mut self) -> Result<(), Refusal> {
        self.check_goal(GoalEvent::Resume)?;
        self.answer_rejection();
        self.graph.stop = None;
        self.graph.idle_turns = 0;
        self.set_goal(GoalState::Active);
        let broken: Vec<_> = self.graph.running.iter().copied().collect();
        for no in broken {
            self.repeat_broken(no);
        }
        if self.graph.plan_version == 0 && self.graph.plan_task.is_none() {
            self.graph.plan_requested = true;
        }
        Ok(())
    }

    /// Ends the goal as failed, with all tasks that are not over.
    pub(super) fn end_as_failed(&mut self, goal: GoalState) {
        self.cancel_open_tasks();
        self.set_goal(goal);
    }

    /// Cancels all PENDING, READY and RUNNING tasks. FAILED ones keep their reason.
    pub(super) fn cancel_open_tasks(&mut self) {
        for no in (0..self.graph.tasks.len()).map(TaskNo) {
            let status = self.task(no).status();
            if matches!(
                status,
                TaskStatus::Pending | TaskStatus::Ready | TaskStatus::Running
            ) {
                self.cancel(no, CancelReason::GoalOver);
            }
        }
    }

    /// Gives up a stuck goal. A deadline that has become stale does nothing.
    pub(super) fn give_up(&mut self) {
        if matches!(self.graph.goal, GoalState::Stuck(_)) {
            self.end_as_failed(GoalState::GivenUp);
        }
    }

    /// Pauses the goal with this state, and sets the deadline of a stuck one.
    pub(super) fn pause_as(&mut self, stop: Stop) {
        match stop {
            Stop::Budget => self.set_goal(GoalState::Paused(PauseReason::Budget)),
            Stop::Stuck(cause) => {
                self.set_goal(GoalState::Stuck(cause));
                if self.graph.seats_wait == SeatsWait::UntilDeadline {
                    self.end_all_waits();
                }
                self.effects.push(Effect::SetDeadline(Deadline::GiveUp));
            }
        }
    }

    /// Returns `true` if a goal that is stuck because nothing could run can go on by itself.
    pub(super) fn is_stuck_idle(&self) -> bool {
        self.graph.goal == GoalState::Stuck(StuckCause::Idle)
            || self.graph.stop == Some(Stop::Stuck(StuckCause::Idle))
    }
}
