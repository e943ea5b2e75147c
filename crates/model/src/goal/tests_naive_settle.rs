//! The choice of the next turns and the end of each event in the naive model.

use std::collections::BTreeSet;

use super::{
    tests_naive::{Naive, NaiveTask},
    tests_naive_plan::NaivePlan,
    *,
};

impl Naive {
    /// Returns the number of message turns at the end of a talk that two seats took alternately.
    pub(super) fn alternating(talk: &[usize]) -> usize {
        let talk: Vec<_> = talk.iter().rev().collect();
        let mut count = talk.len().min(1);
        while count < talk.len()
            && talk[count] != talk[count - 1]
            && (count < 2 || talk[count] == talk[count - 2])
        {
            count += 1;
        }
        count
    }

    /// Returns the candidates for the next turn of a task, sorted: rank, priority, task, seat. `with_others` is `false` for those
    /// without the turns that no task has caused.
    fn candidates(&self, with_others: bool) -> Vec<(u8, u8, usize, usize, Input)> {
        let mut all = Vec::new();
        let counted = if with_others {
            self.turns_at_a_time()
        } else {
            (0..self.seats.len())
                .filter(|no| self.has_task(*no))
                .count()
        };
        if self.stop.is_some() || counted >= self.limits.parallel as usize {
            return all;
        }
        for (no, seat) in self.seats.iter().enumerate() {
            let taken = self.has_task(no) || with_others && seat.turn.is_some();
            if taken || seat.presence != Presence::Online {
                continue;
            }
            let started = seat
                .queue
                .iter()
                .find(|(task, _)| self.occupants(*task, no).is_empty());
            if let Some((task, prompt)) = started {
                let (task, prompt) = (*task, *prompt);
                let input = Input::Task {
                    task: TaskNo(task),
                    prompt,
                };
                all.push((0, 0, task, no, input));
            }
            for (task, row) in self.tasks.iter().enumerate() {
                let suits = row.state == TaskState::Ready && row.role == seat.spec.role;
                let home = row
                    .home
                    .filter(|it| self.seats[*it].presence == Presence::Online);
                if !suits || home.is_some_and(|it| it != no) || !self.occupants(task, no).is_empty()
                {
                    continue;
                }
                let prompt = match row.kind {
                    TaskKind::Plan if self.version == 0 => Prompt::Plan,
                    TaskKind::Plan => Prompt::Replan,
                    _ => Prompt::Work,
                };
                let priority = row.new.as_ref().map_or(0, |new| new.priority);
                let input = Input::Task {
                    task: TaskNo(task),
                    prompt,
                };
                all.push((1, priority, task, no, input));
            }
        }
        all.sort_by_key(|(rank, priority, task, seat, _)| (*rank, *priority, *task, *seat));
        all
    }

    fn start(&mut self, no: usize, input: Input) {
        self.end_wait(no);
        let task = input.task().unwrap();
        let seat = &mut self.seats[no];
        seat.turn = Some(input);
        seat.queue.retain(|(it, _)| *it != task.0);
        self.turns += 1;
        self.talk.clear();
        let directory = self.directory(no);
        let row = &mut self.tasks[task.0];
        self.reported = row.kind == TaskKind::Report;
        if row.state == TaskState::Ready {
            row.state = TaskState::Running(Activity::Work { seat: SeatNo(no) });
        }
        if matches!(row.state, TaskState::Running(Activity::Review { .. })) {
            row.judge = Some(no);
        } else {
            row.home = Some(no);
            row.occupies = Some(directory);
        }
    }

    /// Returns the seat of each turn of a task and of each check under way. Checks whose seat was removed have none.
    fn places(&self) -> Vec<Option<usize>> {
        let seats = (0..self.seats.len()).filter(|no| self.has_task(*no));
        let checks = self.tasks.iter();
        let checks = checks.filter(|task| task.checks.last().is_some_and(|it| it == "running"));
        let homes = checks.map(|task| task.home);
        seats.map(Some).chain(homes).collect()
    }

    /// Returns `true` if something waits for a seat or is under way there.
    fn needs(&self, seat: usize) -> bool {
        let row = &self.seats[seat];
        let ready = |task: &NaiveTask| {
            task.state == TaskState::Ready
                && task.role == row.spec.role
                && row.presence == Presence::Offline
        };
        self.places().contains(&Some(seat)) || !row.queue.is_empty() || self.tasks.iter().any(ready)
    }

    /// Returns the seats that are offline, and for which something waits.
    fn lost(&self) -> BTreeSet<usize> {
        let seats = 0..self.seats.len();
        let offline = seats.filter(|no| self.seats[*no].presence == Presence::Offline);
        offline.filter(|no| self.needs(*no)).collect()
    }

    fn may_wait(&mut self) -> bool {
        if self.seat_deadline.is_none() {
            self.seat_deadline = Some(false);
            self.waited_for = self.lost();
        }
        self.seat_deadline == Some(false)
    }

    /// Notes that something has got on on a seat. The first loss after the last of them is awaited anew.
    pub(super) fn end_wait(&mut self, seat: usize) {
        if self.waited_for.remove(&seat) && self.waited_for.is_empty() {
            self.seat_deadline = None;
        }
    }

    pub(super) fn settle(&mut self) {
        for seat in self.waited_for.clone() {
            if !self.needs(seat) {
                self.end_wait(seat);
            }
        }
        while self.goal == GoalState::Active {
            self.release();
            if self.wants_plan && self.open_plan().is_none() && self.stop.is_none() {
                self.wants_plan = false;
                let first =
                    self.version == 0 || self.tasks.iter().all(|it| it.kind != TaskKind::Plan);
                if first || self.replans < self.limits.replans {
                    self.replans += u32::from(!first);
                    self.add(TaskKind::Plan, PLANNER, TaskState::Ready);
                }
            }
            loop {
                self.begin_others();
                if self.stop.is_none() && self.level() != BudgetLevel::Enough {
                    self.stop = Some(GoalState::Paused(PauseReason::Budget));
                }
                if self.begin_waiting() {
                    continue;
                }
                let Some((.., seat, input)) = self.candidates(true).first().copied() else {
                    break;
                };
                self.start(seat, input);
            }
            let places = self.places();
            let here = |seat: usize| self.seats[seat].presence != Presence::Offline;
            if places.iter().any(|seat| seat.is_none_or(here)) {
                return;
            }
            // A task starts as soon as turns without a task end.
            if !self.candidates(false).is_empty() {
                return;
            }
            if !places.is_empty() && self.may_wait() {
                return;
            }
            let question = self
                .tasks
                .iter()
                .any(|task| matches!(task.state, TaskState::Running(Activity::Question { .. })));
            let required = self.tasks.iter().filter(|task| task.kind == TaskKind::Work);
            let mut required = required.filter(|task| !task.optional() && !task.over());
            let complete =
                self.version > 0 && self.open_plan().is_none() && required.next().is_none();
            let done = complete && (self.accepted || !self.has_judge());
            if self.stop.is_none() && question {
                return;
            }
            if self.stop.is_none() && !done {
                if !self.lost().is_empty() && self.may_wait() {
                    return;
                }
                let is_open = |task: &NaiveTask| {
                    task.kind == TaskKind::Check && matches!(task.state, TaskState::Running(_))
                };
                if complete && !self.tasks.iter().any(is_open) {
                    let check = self.add(TaskKind::Check, JUDGE, TaskState::Ready);
                    self.tasks[check].rounds = self.goal_rounds.clone();
                    self.tasks[check].judge = self.goal_judge;
                    self.review(check, Prompt::Check);
                } else {
                    self.stop = Some(GoalState::Stuck(StuckCause::Idle));
                }
                continue;
            }
            let planner = self
                .seats
                .iter()
                .position(|seat| seat.spec.role == PLANNER)
                .unwrap();
            let may_report = self.seats[planner].presence == Presence::Online;
            if may_report && !self.reported && self.level() != BudgetLevel::UsedUp {
                let seat = SeatNo(planner);
                let state = TaskState::Running(Activity::Work { seat });
                let task = TaskNo(self.add(TaskKind::Report, PLANNER, state));
                self.start(
                    planner,
                    Input::Task {
                        task,
                        prompt: Prompt::Report,
                    },
                );
                return;
            }
            if done {
                self.end(GoalState::Done);
            } else if let Some(stop) = self.stop {
                self.goal = stop;
                let gives_up = matches!(stop, GoalState::Stuck(_));
                if gives_up && self.seat_deadline == Some(false) {
                    self.waited_for.clear();
                    self.seat_deadline = None;
                }
            }
        }
    }

    pub(super) fn end(&mut self, goal: GoalState) {
        for no in 0..self.tasks.len() {
            let failed = matches!(self.tasks[no].state, TaskState::Failed { .. });
            if failed || self.tasks[no].over() {
                continue;
            }
            self.leave(no);
            self.tasks[no].state = TaskState::Cancelled(CancelReason::GoalOver);
        }
        self.goal = goal;
    }

    pub(super) fn publish(&mut self, plan: NaivePlan) {
        self.version += 1;
        self.idle = 0;
        self.accepted &= plan.tasks.is_empty();
        let first = self.tasks.len();
        for mut task in plan.tasks {
            task.version = self.version;
            self.tasks.push(task);
        }
        for (no, deps) in plan.rewired {
            self.tasks[no].deps = deps;
        }
        for no in &plan.replaced {
            self.tasks[*no].deps.clear();
        }
        for no in plan.replaced {
            self.cancel(no, CancelReason::Replaced);
        }
        // Before a drop, tasks without an open dependency are released, so that they are not cancelled with others.
        self.release();
        for no in plan.drops {
            let failed = self.tasks[no].state.status() == TaskStatus::Failed;
            let reason = if failed {
                CancelReason::Dropped
            } else {
                CancelReason::Requested
            };
            self.cancel(no, reason);
        }
        for no in first..self.tasks.len() {
            let cancelled = |dep: &usize| self.tasks[*dep].state.status() == TaskStatus::Cancelled;
            if !self.tasks[no].over() && self.tasks[no].deps.iter().any(cancelled) {
                self.cancel(no, CancelReason::Dependency);
            }
        }
    }
}
