//! The end of each event: starts the next turns, and decides if the goal is done, stuck or out of budget.

use crate::goal::{
    event::{BudgetLevel, Deadline, Effect, GoalState, StuckCause},
    graph::{SeatsWait, Stop},
    mover::Mover,
    seat::{Presence, Prompt, SeatNo},
    task::{Activity, Progress, Task, TaskKind, TaskNo, TaskState},
    team::PLANNER,
};

impl Mover<'_> {
    /// Lets the goal go on after an event.
    ///
    /// The loop repeats at most twice: it makes a check of the whole goal, or finds that the goal is stuck, each of which it
    /// does once.
    pub(super) fn settle(&mut self) {
        self.end_needless_waits();
        while self.graph.goal == GoalState::Active {
            // 1. Start turns.
            self.open_plan();
            self.dispatch();
            if self.graph.is_under_way() || self.graph.waits_for_other_turn() {
                return;
            }
            // 2. No turn of a task and no check is under way, apart from what waits for servers that are away. Find out why.
            if self.graph.has_turn_or_check() && self.may_wait_for_seats() {
                return;
            }
            let is_done = self.graph.is_complete() && self.is_accepted();
            if !is_done && self.graph.stop.is_none() {
                if self.graph.has_question() || self.waits_for_seats() {
                    return;
                }
                // A check that is open already waits for a judge that stays away.
                if self.graph.is_complete() && !self.graph.has_open_check() {
                    self.open_check();
                } else {
                    self.graph.stop = Some(Stop::Stuck(StuckCause::Idle));
                }
                continue;
            }
            if is_done && self.graph.stop.is_none() && self.graph.has_question() {
                return;
            }
            // 3. Report, and end or pause.
            if self.open_report() {
                return;
            }
            match self.graph.stop {
                _ if is_done => {
                    self.cancel_open_tasks();
                    self.set_goal(GoalState::Done);
                }
                Some(stop) => self.pause_as(stop),
                None => return,
            }
        }
    }

    /// Returns `true` if nothing has to judge the whole goal any more.
    fn is_accepted(&self) -> bool {
        self.graph.accepted || self.graph.judge_role().is_none()
    }

    /// Returns `true` if a task can run on a seat that is offline, and the deadline for such seats has not passed. Sets the
    /// deadline.
    fn waits_for_seats(&mut self) -> bool {
        !self.graph.lost_seats().is_empty() && self.may_wait_for_seats()
    }

    /// Returns `true` if the deadline for seats that are offline has not passed. Sets the deadline.
    ///
    /// A server that restarts must not stop a goal and notify a person. A server that stays away must. The turns and checks
    /// that wait for it outlive the pause, so that they go on when it is back.
    fn may_wait_for_seats(&mut self) -> bool {
        match self.graph.seats_wait {
            SeatsWait::Expired => false,
            SeatsWait::UntilDeadline => true,
            SeatsWait::None => {
                self.graph.seats_wait = SeatsWait::UntilDeadline;
                self.effects.push(Effect::SetDeadline(Deadline::Seats));
                for seat in self.graph.lost_seats() {
                    self.graph.seats[seat.0].waited_for = true;
                }
                true
            }
        }
    }

    /// Ends the wait for a seat on which something has got on, or which was removed. A seat that only comes and goes is awaited
    /// until one deadline, because its turn would otherwise hold the goal forever.
    pub(super) fn end_wait(&mut self, seat: SeatNo) {
        self.graph.seats[seat.0].waited_for = false;
        if self.graph.seats.iter().all(|it| !it.waited_for) {
            self.graph.seats_wait = SeatsWait::None;
        }
    }

    /// Ends the wait for seats for which nothing waits any more, so that the next loss is awaited again.
    fn end_needless_waits(&mut self) {
        for seat in (0..self.graph.seats.len()).map(SeatNo) {
            if self.graph.seats[seat.0].waited_for && !self.graph.is_needed(seat) {
                self.end_wait(seat);
            }
        }
    }

    /// Ends the wait for all seats, because another deadline replaces theirs.
    pub(super) fn end_all_waits(&mut self) {
        for seat in (0..self.graph.seats.len()).map(SeatNo) {
            self.end_wait(seat);
        }
    }

    /// Adds a task that the graph makes by itself.
    pub(super) fn add_internal_task(&mut self, kind: TaskKind, state: TaskState) -> TaskNo {
        let graph = &*self.graph;
        let role = match kind {
            TaskKind::Check => graph.judge_role(),
            _ => graph.team.role(PLANNER),
        };
        let number = graph.tasks.iter().filter(|task| task.kind == kind).count() + 1;
        self.add_task(Task {
            key: format!("{kind}#{number}"),
            kind,
            role: role.unwrap_or_default(),
            state,
            depends_on: Vec::new(),
            dependents: Vec::new(),
            priority: 0,
            optional: false,
            review: false,
            acceptance: 0,
            checks: Vec::new(),
            writes: Vec::new(),
            plan_version: graph.plan_version,
            digest: [0; 32],
            progress: Progress::default(),
        })
    }

    /// Makes the check of the whole goal, which continues the rounds of the checks before it.
    fn open_check(&mut self) {
        let no = self.add_internal_task(TaskKind::Check, TaskState::Running(Activity::BrokenJudge));
        self.task_mut(no).progress = self.graph.check_progress.clone();
        self.start_review(no, Prompt::Check);
    }

    /// Starts the turn of the report. Returns `false` if a report that knows of the last change is over, or if none can be
    /// written: then the tables from rows are the whole report.
    fn open_report(&mut self) -> bool {
        let planner = self.graph.team.role(PLANNER);
        let seat = planner.and_then(|role| self.graph.seats_of(role).next());
        // A turn without a task does not prevent the report, which follows it on the seat.
        let is_online = |seat: &SeatNo| self.graph.seats[seat.0].presence == Presence::Online;
        let Some(seat) = seat.filter(is_online) else {
            return false;
        };
        if self.graph.reported || self.graph.budget_level() == BudgetLevel::UsedUp {
            return false;
        }
        let no = self.add_internal_task(
            TaskKind::Report,
            TaskState::Running(Activity::Work { seat }),
        );
        let prompt = Prompt::Report;
        self.effects.push(Effect::Queued {
            seat,
            task: no,
            prompt,
        });
        self.start(seat, no, prompt);
        true
    }
}
