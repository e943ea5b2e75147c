//! The events of the naive model.

use std::collections::BTreeSet;

use super::{
    tests_naive::{Naive, NaiveTask},
    *,
};

impl Naive {
    /// Follows an event. Returns `false` if the event is refused.
    pub(super) fn follow(&mut self, event: &Event) -> bool {
        let accepted = self.accepts(event) && self.apply(event);
        if accepted {
            self.release();
            self.settle();
        }
        accepted
    }

    pub(super) fn activity(&self, no: usize) -> Option<Activity> {
        match &self.tasks.get(no)?.state {
            TaskState::Running(activity) => Some(activity.clone()),
            _ => None,
        }
    }

    fn present(&self, seat: SeatNo) -> bool {
        self.seats
            .get(seat.0)
            .is_some_and(|it| it.presence != Presence::Removed)
    }

    /// Returns `true` if the event fits the state, apart from the faults of a plan.
    fn accepts(&self, event: &Event) -> bool {
        let over = self.goal.is_over();
        let kind = |no: &TaskNo| self.tasks.get(no.0).map(|task| task.kind);
        let status = |no: &TaskNo| self.tasks.get(no.0).map(|task| task.state.status());
        let judged = |no: &TaskNo| match self.activity(no.0) {
            Some(Activity::Question { of_judge, .. }) => of_judge,
            Some(Activity::Work { .. } | Activity::Checks) | None => false,
            Some(_) => true,
        };
        let broken = |no: &TaskNo| {
            let activity = self.activity(no.0);
            matches!(
                activity,
                Some(Activity::BrokenJudge | Activity::BrokenCheck { .. })
            )
        };
        let checking = |no: &TaskNo| {
            let task = self.tasks.get(no.0);
            task.is_some_and(|task| task.checks.last().is_some_and(|it| it == "running"))
        };
        match event {
            Event::Start => self.goal == GoalState::Draft,
            Event::TurnEnded { seat, end, .. } => {
                self.present(*seat) && self.has_task(seat.0) && self.end_fits(seat.0, end)
            }
            Event::ChecksPassed(no)
            | Event::CheckFailed { task: no, .. }
            | Event::CheckBroken { task: no, .. } => checking(no),
            Event::Answered(no) => {
                !over && matches!(self.activity(no.0), Some(Activity::Question { .. }))
            }
            Event::MessageTurn { seat, .. } => !over && self.present(*seat),
            Event::MessageSent(seat) => {
                !over && self.present(*seat) && self.mails < self.limits.messages
            }
            Event::SeatPresence(changes) => changes.iter().all(|(seat, _)| self.present(*seat)),
            Event::OtherTurns(_)
            | Event::MessageTurnBegan(_)
            | Event::MessageTurnDropped(_)
            | Event::Budget(_)
            | Event::DeadlinePassed(_) => true,
            Event::Publish { version, .. } => !over && *version == self.version,
            Event::EditTask(edit) => !over && self.can_edit(edit),
            Event::Replan => !over && (self.version == 0 || self.replans < self.limits.replans),
            Event::Retry(no) => {
                let failed = status(no) == Some(TaskStatus::Failed);
                !over && (broken(no) || failed && kind(no) == Some(TaskKind::Work))
            }
            Event::Accept(no) => {
                let fits = matches!(kind(no), Some(TaskKind::Work | TaskKind::Check));
                !over && fits && (judged(no) || status(no) == Some(TaskStatus::Failed))
            }
            Event::CancelTask(no) => {
                let Some(task) = self.tasks.get(no.0) else {
                    return false;
                };
                let fits = match task.kind {
                    TaskKind::Work => !task.satisfied(),
                    TaskKind::Plan => task.state.status() != TaskStatus::Failed,
                    TaskKind::Check | TaskKind::Report => false,
                };
                !over && fits && !task.over()
            }
            Event::Pause => self.goal == GoalState::Active,
            Event::Resume => self.goal.status() == GoalStatus::Paused,
            Event::Limits(_) | Event::Cancel => !over,
        }
    }

    pub(super) fn current(&self, seat: usize) -> Option<usize> {
        let no = self.seats[seat].turn.and_then(Input::task)?.0;
        let activity = self.activity(no)?;
        (activity.seat() == Some(SeatNo(seat))).then_some(no)
    }

    fn end_fits(&self, seat: usize, end: &TurnEnd) -> bool {
        let Some(no) = self.current(seat) else {
            return true;
        };
        let review = matches!(self.activity(no), Some(Activity::Review { .. }));
        let kind = self.tasks[no].kind;
        match end {
            TurnEnd::Failed | TurnEnd::Cancelled | TurnEnd::WithoutReport { .. } => true,
            TurnEnd::Questions(_) | TurnEnd::RefusedReport(_) => kind != TaskKind::Report,
            TurnEnd::Planned(_) => kind == TaskKind::Plan,
            TurnEnd::Reported | TurnEnd::ReportedFailure => kind == TaskKind::Work && !review,
            TurnEnd::Verdict(_) => review,
        }
    }

    pub(super) fn leave_stuck(&mut self) {
        self.answer_rejection();
        if let Some(GoalState::Stuck(_)) = self.stop {
            self.stop = None;
            self.idle = 0;
        }
        if let GoalState::Stuck(_) = self.goal {
            self.goal = GoalState::Active;
        }
    }

    pub(super) fn stick(&mut self, cause: StuckCause) {
        self.stop.get_or_insert(GoalState::Stuck(cause));
    }

    fn apply(&mut self, event: &Event) -> bool {
        match event {
            Event::Start => self.goal = GoalState::Active,
            Event::TurnEnded {
                seat,
                end,
                follow_up,
                new_artifact,
            } => self.end_turn(seat.0, end, *follow_up, *new_artifact),
            Event::ChecksPassed(no)
            | Event::CheckFailed { task: no, .. }
            | Event::CheckBroken { task: no, .. } => self.leave_checks(no.0, event),
            Event::Answered(no) => self.answer(no.0),
            Event::OtherTurns(seats) => self.note_others(seats),
            Event::MessageSent(_) => self.mails += 1,
            Event::MessageTurn { seat, input } => self.request_message_turn(seat.0, *input),
            Event::MessageTurnBegan(input) => self.begin_message_turn(*input),
            Event::MessageTurnDropped(input) => {
                if self.take_ahead(*input).is_some() {
                    self.leave_budget();
                } else {
                    self.waiting_messages.retain(|(_, it)| it != input);
                }
            }
            Event::SeatPresence(changes) => self.presence(changes),
            Event::Budget(level) => {
                self.budget = *level;
                self.leave_budget();
            }
            Event::DeadlinePassed(Deadline::GiveUp) => {
                if let GoalState::Stuck(_) = self.goal {
                    self.end(GoalState::GivenUp);
                }
            }
            Event::DeadlinePassed(Deadline::Seats) => {
                self.seat_deadline = self.seat_deadline.map(|_| true);
            }
            Event::Limits(limits) => {
                self.limits = limits.clone();
                self.leave_budget();
                self.leave_stuck();
            }
            Event::Publish { plan, .. } => {
                let Some(prepared) = self.prepare(plan) else {
                    return false;
                };
                self.leave_stuck();
                self.reported &= plan.is_empty();
                if !plan.is_empty() {
                    self.publish(prepared);
                }
            }
            Event::EditTask(edit) => self.edit(edit),
            Event::Replan => {
                self.leave_stuck();
                self.accepted = false;
                self.request_plan();
            }
            Event::Retry(no) => {
                self.leave_stuck();
                self.retry(no.0);
            }
            Event::Accept(no) => {
                let wanted = self.wants_plan && !self.rejected();
                self.leave_stuck();
                self.reported = false;
                self.complete(no.0, DoneBy::Person);
                self.note_check(no.0);
                if self.tasks[no.0].kind == TaskKind::Check {
                    self.wants_plan = wanted;
                }
            }
            Event::CancelTask(no) => {
                self.leave_stuck();
                self.reported = false;
                let failed = self.tasks[no.0].state.status() == TaskStatus::Failed;
                let reason = if failed {
                    CancelReason::Dropped
                } else {
                    CancelReason::Requested
                };
                self.cancel(no.0, reason);
            }
            Event::Pause => self.goal = GoalState::Paused(PauseReason::Person),
            Event::Resume => {
                self.answer_rejection();
                self.goal = GoalState::Active;
                self.stop = None;
                self.idle = 0;
                for no in 0..self.tasks.len() {
                    self.repeat_broken(no);
                }
                self.wants_plan |= self.version == 0 && self.open_plan().is_none();
            }
            Event::Cancel => self.end(GoalState::Cancelled),
        }
        true
    }

    fn note_others(&mut self, seats: &BTreeSet<SeatNo>) {
        for no in 0..self.seats.len() {
            let held = seats.contains(&SeatNo(no)) && self.present(SeatNo(no));
            let (has_task, seat) = (self.has_task(no), &mut self.seats[no]);
            seat.others = u32::from(held);
            if !has_task {
                seat.turn = None;
            }
        }
        self.begin_others();
    }

    fn leave_checks(&mut self, no: usize, event: &Event) {
        self.tasks[no].checks.pop();
        if let Some(home) = self.tasks[no].home {
            self.end_wait(home);
        }
        if self.activity(no) == Some(Activity::Checks) {
            self.reported = false;
            self.end_checks(no, event);
        } else {
            self.tasks[no].occupies = None;
        }
    }

    pub(super) fn planned(&self) -> bool {
        let mut plans = self.tasks.iter().filter(|it| it.kind == TaskKind::Plan);
        plans.any(|it| it.state.status() == TaskStatus::Done)
    }

    fn rejected(&self) -> bool {
        let rejected = GoalState::Stuck(StuckCause::CheckRejected);
        self.goal == rejected || self.stop == Some(rejected)
    }

    fn answer_rejection(&mut self) {
        if self.rejected() {
            self.request_plan();
        }
    }

    fn leave_budget(&mut self) {
        let budget = GoalState::Paused(PauseReason::Budget);
        if self.stop == Some(budget) {
            self.stop = None;
        }
        let turns = self.used_turns() * 10 < self.limits.turns * 9;
        if turns && self.budget == BudgetLevel::Enough && self.goal == budget {
            self.goal = GoalState::Active;
        }
    }

    fn retry(&mut self, no: usize) {
        let task = &mut self.tasks[no];
        if task.state.status() == TaskStatus::Failed {
            task.state = TaskState::Ready;
            task.attempts = 0;
            task.rounds.clear();
            task.passed_after = 0;
            task.reminded = false;
            task.judge_reminded = false;
            task.misses = 0;
        } else {
            self.repeat_broken(no);
        }
    }

    fn repeat_broken(&mut self, no: usize) {
        match self.activity(no) {
            Some(Activity::BrokenCheck { .. }) if self.tasks[no].home.is_none() => {
                self.tasks[no].occupies = None;
                self.tasks[no].reminded = false;
                self.back(no, Prompt::Work);
            }
            Some(Activity::BrokenCheck { .. }) => self.run_checks(no),
            Some(Activity::BrokenJudge) => {
                self.tasks[no].misses = 0;
                self.tasks[no].judge_reminded = false;
                self.review(no, self.review_prompt(no));
            }
            _ => {}
        }
    }

    pub(super) fn review_prompt(&self, no: usize) -> Prompt {
        match self.tasks[no].kind {
            TaskKind::Check => Prompt::Check,
            _ => Prompt::Review,
        }
    }

    pub(super) fn run_checks(&mut self, no: usize) {
        self.tasks[no].state = TaskState::Running(Activity::Checks);
        self.tasks[no].checks.push("running".to_owned());
    }

    pub(super) fn queue(&mut self, seat: usize, no: usize, prompt: Prompt) {
        self.seats[seat].queue.push((no, prompt));
    }

    /// Starts a review on the judge that knows the task, or on the one with the least work.
    pub(super) fn review(&mut self, no: usize, prompt: Prompt) {
        let usual = self.tasks[no].judge.filter(|it| self.present(SeatNo(*it)));
        match usual.or_else(|| self.least_loaded(JUDGE)) {
            Some(judge) => {
                let seat = SeatNo(judge);
                self.tasks[no].state = TaskState::Running(Activity::Review { seat });
                self.queue(judge, no, prompt);
            }
            None => self.break_judge(no),
        }
    }

    pub(super) fn break_judge(&mut self, no: usize) {
        self.tasks[no].state = TaskState::Running(Activity::BrokenJudge);
        self.stick(StuckCause::JudgeBroken);
    }

    pub(super) fn back(&mut self, no: usize, prompt: Prompt) {
        let home = self.tasks[no].home.filter(|it| self.present(SeatNo(*it)));
        let role = self.tasks[no].role.clone();
        match home.or_else(|| self.least_loaded(&role)) {
            Some(home) => {
                let seat = SeatNo(home);
                self.tasks[no].state = TaskState::Running(Activity::Work { seat });
                self.queue(home, no, prompt);
            }
            None => self.fail(no, FailReason::NoSeat, Vec::new()),
        }
    }

    pub(super) fn note_check(&mut self, no: usize) {
        if self.tasks[no].kind != TaskKind::Check {
            return;
        }
        self.goal_rounds.clear();
        if self.tasks[no].version == self.version {
            let open =
                |task: &NaiveTask| task.kind == TaskKind::Work && !task.optional() && !task.over();
            self.accepted = !self.tasks.iter().any(open);
        }
    }

    fn answer(&mut self, no: usize) {
        let Some(Activity::Question {
            seat,
            open,
            of_judge,
        }) = self.activity(no)
        else {
            return;
        };
        let open = open - 1;
        self.tasks[no].state = TaskState::Running(match (open, of_judge) {
            (0, true) => Activity::Review { seat },
            (0, false) => Activity::Work { seat },
            _ => Activity::Question {
                seat,
                open,
                of_judge,
            },
        });
        if open == 0 {
            self.queue(seat.0, no, Prompt::Answer);
        }
    }

    fn presence(&mut self, changes: &[(SeatNo, Presence)]) {
        for (seat, presence) in changes {
            self.seats[seat.0].presence = *presence;
            let idle = GoalState::Stuck(StuckCause::Idle);
            let is_stuck = self.goal == idle || self.stop == Some(idle);
            if is_stuck && *presence != Presence::Offline {
                self.leave_stuck();
            }
        }
        for (seat, presence) in changes {
            if *presence == Presence::Removed {
                self.remove(seat.0);
            }
        }
    }

    fn remove(&mut self, no: usize) {
        self.end_wait(no);
        let seat = &mut self.seats[no];
        let mut inputs = std::mem::take(&mut seat.queue);
        if let Some(Input::Task { task, prompt }) = seat.turn.take() {
            inputs.push((task.0, prompt));
            if self.activity(task.0).is_none() {
                self.tasks[task.0].occupies = None;
            }
        }
        self.seats[no].others = 0;
        self.waiting_messages.retain(|(seat, _)| *seat != no);
        if self.ahead.iter().any(|(seat, _)| *seat == no) {
            self.ahead.retain(|(seat, _)| *seat != no);
            self.leave_budget();
        }
        for task in &mut self.tasks {
            task.home = task.home.filter(|it| *it != no);
            task.judge = task.judge.filter(|it| *it != no);
        }
        for task in 0..self.tasks.len() {
            let Some(activity) = self
                .activity(task)
                .filter(|it| it.seat() == Some(SeatNo(no)))
            else {
                continue;
            };
            let prompt = inputs
                .iter()
                .find(|(it, _)| *it == task)
                .map(|(_, prompt)| *prompt);
            match (activity, prompt) {
                (Activity::Work { .. }, Some(prompt)) => {
                    self.tasks[task].occupies = None;
                    self.back(task, prompt);
                }
                (Activity::Review { .. }, Some(prompt)) => self.review(task, prompt),
                (Activity::Question { open, of_judge, .. }, _) => {
                    let role = if of_judge {
                        JUDGE
                    } else {
                        self.tasks[task].role.as_str()
                    };
                    let other = self.least_loaded(role).map(SeatNo);
                    if !of_judge {
                        self.tasks[task].occupies = None;
                    }
                    match other {
                        Some(seat) => {
                            let question = Activity::Question {
                                seat,
                                open,
                                of_judge,
                            };
                            self.tasks[task].state = TaskState::Running(question);
                        }
                        None if of_judge => self.break_judge(task),
                        None => self.fail(task, FailReason::NoSeat, Vec::new()),
                    }
                }
                other => panic!("{other:?}"),
            }
        }
    }
}
