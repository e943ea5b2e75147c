//! The one function that moves a goal.

use crate::goal::{
    event::{BudgetLevel, Deadline, Effect, Event, GoalState, PauseReason, Refusal},
    goal_status::GoalEvent,
    graph::{Graph, SeatsWait, Stop, check_limits},
    mover::Mover,
    task::{Activity, TaskNo, TaskState},
};

/// Moves a goal by one event, and returns the effects in the order in which the caller carries them out.
///
/// The result depends on the graph and on the event alone.
///
/// # Errors
///
/// [`Refusal`] for an event that the graph does not accept. The graph then stays as it was.
pub fn advance(graph: &mut Graph, event: Event) -> Result<Vec<Effect>, Refusal> {
    let before = graph.goal;
    let mut mover = Mover {
        graph,
        effects: Vec::new(),
    };
    mover.follow(event)?;
    mover.settle();
    let Mover { graph, mut effects } = mover;
    if graph.goal != before {
        effects.push(Effect::Goal(graph.goal));
    }
    Ok(effects)
}

impl Mover<'_> {
    /// Follows one event, without its consequences for the next turns.
    fn follow(&mut self, event: Event) -> Result<(), Refusal> {
        let goal = self.graph.goal;
        // Turns and checks end after the goal too, because their processes must stop first.
        let is_end = matches!(
            event,
            Event::TurnEnded { .. }
                | Event::ChecksPassed(_)
                | Event::CheckFailed { .. }
                | Event::CheckBroken { .. }
                | Event::OtherTurns(_)
                | Event::MessageTurnBegan(_)
                | Event::MessageTurnDropped(_)
                | Event::SeatPresence(..)
                | Event::DeadlinePassed(_)
                | Event::Budget(_)
        );
        if goal.is_over() && !is_end {
            return Err(Refusal::Closed(goal.status()));
        }
        match event {
            Event::TurnEnded {
                seat,
                end,
                follow_up,
                new_artifact,
            } => self.end_turn(seat, end, (follow_up, new_artifact)),
            Event::ChecksPassed(task) => {
                if self.end_checks(task)? {
                    self.pass_checks(task);
                }
                Ok(())
            }
            Event::CheckFailed {
                task,
                check,
                last_lines,
            } => {
                if self.end_checks(task)? {
                    self.fail_check(task, check, last_lines);
                }
                Ok(())
            }
            Event::CheckBroken { task, check } => {
                if self.end_checks(task)? {
                    let broken = Activity::BrokenCheck { check };
                    self.set_state(task, TaskState::Running(broken));
                }
                Ok(())
            }
            Event::Answered(task) => self.on_task(task, Self::answer),
            Event::OtherTurns(seats) => {
                self.graph.note_other_turns(&seats);
                Ok(())
            }
            Event::MessageSent(seat) => self.add_message(seat),
            Event::MessageTurn { seat, input } => self.request_message_turn(seat, input),
            Event::MessageTurnBegan(input) => {
                self.begin_message_turn(input);
                Ok(())
            }
            Event::MessageTurnDropped(input) => {
                self.drop_message_turn(input);
                Ok(())
            }
            Event::SeatPresence(changes) => self.set_presence(&changes),
            Event::Budget(level) => {
                self.graph.budget = level;
                self.leave_budget();
                Ok(())
            }
            Event::DeadlinePassed(Deadline::GiveUp) => {
                self.give_up();
                Ok(())
            }
            Event::DeadlinePassed(Deadline::Seats) => {
                if self.graph.seats_wait == SeatsWait::UntilDeadline {
                    self.graph.seats_wait = SeatsWait::Expired;
                }
                Ok(())
            }
            Event::Start => self.enable(),
            Event::Limits(limits) => {
                check_limits(&limits)?;
                self.graph.limits = limits;
                self.leave_budget();
                self.leave_stuck();
                Ok(())
            }
            Event::Publish { version, plan } => self.publish_for_person(version, &plan),
            Event::EditTask(edit) => self.edit_task(&edit),
            Event::Replan => self.replan(),
            Event::Retry(task) => self.on_task(task, Self::retry),
            Event::Accept(task) => self.on_task(task, Self::accept),
            Event::CancelTask(task) => self.on_task(task, Self::cancel_task),
            Event::Pause => self.pause(),
            Event::Resume => self.resume(),
            Event::Cancel => {
                self.check_goal(GoalEvent::Fail)?;
                self.end_as_failed(GoalState::Cancelled);
                Ok(())
            }
        }
    }

    fn on_task(
        &mut self,
        task: TaskNo,
        follow: fn(&mut Self, TaskNo) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        self.check_task(task)?;
        follow(self, task)
    }

    /// Refuses a task that the goal does not have.
    pub(super) fn check_task(&self, task: TaskNo) -> Result<(), Refusal> {
        let count = self.graph.tasks.len();
        if task.0 < count {
            Ok(())
        } else {
            Err(Refusal::UnknownTask(task, count.saturating_sub(1)))
        }
    }

    /// Ends the checks of a task. Returns `false` if the task no longer needs their result.
    fn end_checks(&mut self, no: TaskNo) -> Result<bool, Refusal> {
        self.check_task(no)?;
        if !self.graph.checking.remove(&no) {
            let task = self.task(no);
            return Err(Refusal::Task {
                task: task.key.clone(),
                status: task.status(),
                accepted: "RUNNING tasks whose checks are under way are accepted",
            });
        }
        if let Some(home) = self.task(no).progress.home {
            self.end_wait(home);
        }
        let is_current = self.task(no).activity() == Some(&Activity::Checks);
        if is_current {
            // Checks that waited for a lost server may end during the report or after it.
            self.graph.reported = false;
        } else {
            self.release_writes(no);
        }
        Ok(is_current)
    }

    /// Lets a goal go on that stopped for its budget. If the budget is still low, it stops again.
    pub(super) fn leave_budget(&mut self) {
        if self.graph.stop == Some(Stop::Budget) {
            self.graph.stop = None;
        }
        let is_enough = self.graph.budget_level() == BudgetLevel::Enough;
        if is_enough && self.graph.goal == GoalState::Paused(PauseReason::Budget) {
            self.set_goal(GoalState::Active);
        }
    }
}
