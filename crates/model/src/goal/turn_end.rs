//! The ends of turns.

use crate::goal::{
    event::{Effect, GoalState, PauseReason, Refusal, StuckCause, TurnEnd},
    mover::Mover,
    new_task::Plan,
    plan::prepare,
    seat::{Input, Presence, Prompt, SeatNo},
    task::{Activity, DoneBy, FailReason, TaskKind, TaskNo, TaskState, TaskStatus},
};

/// The kind of a turn, which decides the ends that it can have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TurnKind {
    Plan,
    Work,
    Judge,
    Other,
}

impl Mover<'_> {
    /// Follows the end of a turn. Checks everything before the first change.
    ///
    /// # Errors
    ///
    /// Refuses the end of a turn that is not under way, and an end that the turn cannot have.
    pub(super) fn end_turn(
        &mut self,
        seat: SeatNo,
        end: TurnEnd,
        (follow_up, new_artifact): (bool, bool),
    ) -> Result<(), Refusal> {
        self.check_seat(seat)?;
        let row = &self.graph.seats[seat.0];
        let name = || row.name.clone();
        let Some(task) = row.turn.and_then(Input::task) else {
            return Err(Refusal::NoTurn(name()));
        };
        // A task that was cancelled, accepted or moved to another seat meanwhile no longer has this turn.
        let current = Some(task).filter(|no| {
            let activity = self.task(*no).activity();
            activity.and_then(Activity::seat) == Some(seat)
        });
        let kind = current.map_or(TurnKind::Other, |no| self.turn_kind(no));
        if let Some(accepted) = accepted_ends(kind, &end).filter(|_| current.is_some()) {
            let (seat, end) = (name(), end_name(&end));
            return Err(Refusal::OtherEnd {
                seat,
                end,
                accepted,
            });
        }
        self.graph.seats[seat.0].turn = None;
        self.end_wait(seat);
        self.graph.idle_turns += 1;
        if new_artifact {
            self.graph.idle_turns = 0;
        }
        if follow_up {
            self.request_plan();
        }
        // A turn that waited for a lost server may end during the report or after it.
        if current.is_some_and(|no| self.graph.kind(no) != TaskKind::Report) {
            self.graph.reported = false;
        }
        match (current, kind, end) {
            (Some(no), _, TurnEnd::Questions(open)) if open > 0 => {
                let of_judge = kind == TurnKind::Judge;
                let question = Activity::Question {
                    seat,
                    open,
                    of_judge,
                };
                self.set_state(no, TaskState::Running(question));
            }
            (Some(no), TurnKind::Judge, TurnEnd::Cancelled) => self.break_judge(no),
            (Some(no), _, TurnEnd::Cancelled) => {
                self.fail(no, FailReason::TurnCancelled, Vec::new());
                self.note_failed_plan(no);
            }
            (Some(no), TurnKind::Plan, end) => self.end_plan(no, seat, end),
            (Some(no), TurnKind::Work, end) => self.end_work(no, seat, &end),
            (Some(no), TurnKind::Judge, TurnEnd::Verdict(verdict)) => {
                self.judge(no, seat, &verdict);
            }
            (Some(no), TurnKind::Judge, end) => {
                self.miss_verdict(no, seat, may_remind(&end));
            }
            (Some(no), TurnKind::Other, TurnEnd::Failed) => {
                self.fail(no, FailReason::Attempts, Vec::new());
            }
            (Some(no), TurnKind::Other, _) => self.complete(no, DoneBy::Result),
            // A task leaves its turn under way only when it is over.
            (None, ..) => self.release_writes(task),
        }
        if self.graph.idle_turns >= self.graph.limits.idle_turns {
            self.stick(StuckCause::NoProgress);
        }
        Ok(())
    }

    fn turn_kind(&self, no: TaskNo) -> TurnKind {
        let is_review = matches!(self.task(no).activity(), Some(Activity::Review { .. }));
        match self.graph.kind(no) {
            _ if is_review => TurnKind::Judge,
            TaskKind::Plan => TurnKind::Plan,
            TaskKind::Report => TurnKind::Other,
            TaskKind::Work | TaskKind::Check => TurnKind::Work,
        }
    }

    /// Publishes the plan of a turn, or reminds the planner.
    ///
    /// A plan without a change is complete if there are tasks: the planner found nothing to change. A first plan without a task
    /// is none, unless a person has made tasks before it.
    fn end_plan(&mut self, no: TaskNo, seat: SeatNo, end: TurnEnd) {
        let has_no_tasks = self.graph.plan_version == 0;
        let (reason, may_remind) = match end {
            TurnEnd::Planned(plan) if !(has_no_tasks && plan.tasks.is_empty()) => {
                if plan.is_empty() {
                    self.complete(no, DoneBy::Result);
                    return;
                }
                match self.try_publish(no, &plan) {
                    Ok(()) => return,
                    Err(reason) => (reason, true),
                }
            }
            TurnEnd::Failed => {
                self.fail_attempt(no);
                self.note_failed_plan(no);
                return;
            }
            TurnEnd::WithoutReport {
                listed_tools: false,
            } => (FailReason::ToolsUnavailable, false),
            TurnEnd::RefusedReport(_) => (FailReason::PlanRefused, true),
            _ if !has_no_tasks => {
                self.complete(no, DoneBy::Result);
                return;
            }
            _ => (FailReason::NoPlan, true),
        };
        self.remind_or_fail(no, seat, reason, may_remind);
        self.note_failed_plan(no);
    }

    /// Publishes a plan of the planner. The first one waits for a person's approval if the team says so.
    fn try_publish(&mut self, no: TaskNo, plan: &Plan) -> Result<(), FailReason> {
        match prepare(self.graph, plan) {
            Ok(prepared) => {
                let needs_approval = self.graph.team.approve_plan && !self.graph.has_planned();
                self.complete(no, DoneBy::Result);
                self.publish(prepared);
                if needs_approval && self.graph.goal == GoalState::Active {
                    self.set_goal(GoalState::Paused(PauseReason::ApprovePlan));
                }
                Ok(())
            }
            Err(faults) => {
                self.effects.push(Effect::PlanRefused(faults));
                Err(FailReason::PlanRefused)
            }
        }
    }

    /// Lets the goal become stuck if its first plan has failed. After a later one, the tasks that are there go on.
    fn note_failed_plan(&mut self, no: TaskNo) {
        let task = self.task(no);
        let has_failed = task.kind == TaskKind::Plan && task.status() == TaskStatus::Failed;
        if has_failed && self.graph.plan_version == 0 {
            self.stick(StuckCause::NoPlan);
        }
    }

    /// Follows the end of a turn of a task's own seat.
    fn end_work(&mut self, no: TaskNo, seat: SeatNo, end: &TurnEnd) {
        let task = self.task(no);
        let accepts_answers = self.graph.team.roles[task.role].accept_answers;
        match end {
            TurnEnd::Reported => self.after_work(no, false),
            TurnEnd::ReportedFailure | TurnEnd::Failed => self.fail_attempt(no),
            TurnEnd::WithoutReport {
                listed_tools: false,
            } if !accepts_answers => {
                self.fail(no, FailReason::ToolsUnavailable, Vec::new());
            }
            _ if task.progress.reminded && accepts_answers => self.after_work(no, true),
            _ => self.remind_or_fail(no, seat, FailReason::NoResult, true),
        }
    }

    /// Reminds the agent once since its last complete prompt, and fails the task afterwards. Such a failure has no second
    /// attempt, because the agent had two turns.
    fn remind_or_fail(&mut self, no: TaskNo, seat: SeatNo, reason: FailReason, may_remind: bool) {
        let progress = &mut self.task_mut(no).progress;
        if may_remind && !progress.reminded {
            progress.reminded = true;
            self.queue(seat, no, Prompt::Reminder);
        } else {
            self.fail(no, reason, Vec::new());
        }
    }

    /// Counts a failed attempt, and starts the next one or fails the task.
    fn fail_attempt(&mut self, no: TaskNo) {
        let attempts = self.graph.team.roles[self.task(no).role].attempts;
        let is_plan = self.graph.kind(no) == TaskKind::Plan;
        let is_first = self.graph.plan_version == 0;
        let progress = &mut self.task_mut(no).progress;
        progress.attempts += 1;
        progress.reminded = false;
        if progress.attempts >= attempts {
            self.fail(no, FailReason::Attempts, Vec::new());
            return;
        }
        let prompt = match is_plan {
            true if is_first => Prompt::Plan,
            true => Prompt::Replan,
            false => Prompt::Work,
        };
        self.return_to_seat(no, prompt);
    }

    /// Queues a turn on the seat that has the task's memory, or on another one of the role if that seat is removed.
    pub(super) fn return_to_seat(&mut self, no: TaskNo, prompt: Prompt) {
        let task = self.task(no);
        let home = task.progress.home.filter(|seat| self.is_present(*seat));
        let seat = home.or_else(|| self.least_loaded(task.role));
        match seat {
            Some(seat) => {
                self.set_state(no, TaskState::Running(Activity::Work { seat }));
                self.queue(seat, no, prompt);
            }
            None => self.fail(no, FailReason::NoSeat, Vec::new()),
        }
    }

    pub(super) fn is_present(&self, seat: SeatNo) -> bool {
        self.graph.seats[seat.0].presence != Presence::Removed
    }
}

/// Returns `true` if a reminder can help: the agent has listed the tools, and ended its turn by itself.
fn may_remind(end: &TurnEnd) -> bool {
    !matches!(
        end,
        TurnEnd::Failed
            | TurnEnd::WithoutReport {
                listed_tools: false
            }
    )
}

/// Returns the accepted ends if a turn of this kind cannot end so.
fn accepted_ends(kind: TurnKind, end: &TurnEnd) -> Option<&'static str> {
    let is_accepted = match end {
        TurnEnd::Failed | TurnEnd::Cancelled | TurnEnd::WithoutReport { .. } => true,
        TurnEnd::Questions(_) | TurnEnd::RefusedReport(_) => kind != TurnKind::Other,
        TurnEnd::Planned(_) => kind == TurnKind::Plan,
        TurnEnd::Reported | TurnEnd::ReportedFailure => kind == TurnKind::Work,
        TurnEnd::Verdict(_) => kind == TurnKind::Judge,
    };
    (!is_accepted).then_some(match kind {
        TurnKind::Plan => "a plan, questions, no report, a failure or a cancellation are accepted",
        TurnKind::Work => {
            "a report, questions, no report, a failure or a cancellation are accepted"
        }
        TurnKind::Judge => {
            "a verdict, questions, no report, a failure or a cancellation are accepted"
        }
        TurnKind::Other => "no report, a failure or a cancellation are accepted",
    })
}

const fn end_name(end: &TurnEnd) -> &'static str {
    match end {
        TurnEnd::Planned(_) => "a plan",
        TurnEnd::Reported => "done",
        TurnEnd::ReportedFailure => "failed",
        TurnEnd::Questions(_) => "questions",
        TurnEnd::Verdict(_) => "a verdict",
        TurnEnd::WithoutReport { .. } => "without a report",
        TurnEnd::RefusedReport(_) => "a refused report",
        TurnEnd::Failed => "a failure",
        TurnEnd::Cancelled => "a cancellation",
    }
}
