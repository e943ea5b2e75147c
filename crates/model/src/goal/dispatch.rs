//! The choice of the next turns.
//!
//! A free seat takes up, in this order: an input without a task, such as a message of a person, messages of other seats, a turn
//! of a started task, and the READY task with the lowest priority number, the oldest of these first. Across seats the order is
//! the same.

use crate::goal::{
    event::{BudgetLevel, Effect, GoalState},
    graph::{Alternation, Graph, Stop},
    mover::Mover,
    seat::{Input, Memory, Presence, Prompt, Seat, SeatNo},
    task::{Activity, TaskKind, TaskNo, TaskState},
};

impl Graph {
    /// Returns the next turn of a task that starts, with its seat. Returns `None` if none can start.
    fn next_start(&self) -> Option<(SeatNo, TaskNo, Prompt)> {
        if self.stop.is_some() || self.is_full() {
            return None;
        }
        self.next_on(Seat::is_free)
    }

    /// Returns `true` if a turn of a task starts as soon as turns without a task end. Only online seats count.
    pub(super) fn waits_for_other_turn(&self) -> bool {
        let turns = self.seats.iter().filter(|seat| seat.has_task()).count();
        let is_online = |seat: &Seat| seat.presence == Presence::Online && !seat.has_task();
        self.stop.is_none()
            && turns < self.limits.parallel as usize
            && self.next_on(is_online).is_some()
    }

    /// Returns the next turn of a task that can start on a seat for which `is_free` returns `true`, with that seat.
    fn next_on(&self, is_free: impl Fn(&Seat) -> bool) -> Option<(SeatNo, TaskNo, Prompt)> {
        let is_free = &is_free;
        let seats = || (0..self.seats.len()).map(SeatNo);
        let free = || seats().filter(move |no| is_free(&self.seats[no.0]));
        // 1. Turns of started tasks.
        let started = free().filter_map(|seat| {
            let mut queue = self.seats[seat.0].queue.iter();
            let (task, prompt) = queue.find(|(task, _)| self.occupant(*task, seat).is_none())?;
            Some((*task, *prompt, seat))
        });
        if let Some((task, prompt, seat)) = started.min_by_key(|(task, ..)| *task) {
            return Some((seat, task, prompt));
        }
        // 2. READY tasks.
        let roles = self.ready.iter().enumerate();
        let ready = roles.filter_map(|(role, tasks)| {
            let seats: Vec<_> = free().filter(|no| self.seats[no.0].role == role).collect();
            if seats.is_empty() {
                return None;
            }
            tasks.iter().find_map(|(priority, no)| {
                let seat = self.free_seat(*no, &seats)?;
                Some((*priority, *no, seat))
            })
        });
        let (_, task, seat) = ready.min()?;
        Some((seat, task, self.first_prompt(task)))
    }

    /// Returns the place of the first message turn that has waited for the end of another turn and can start.
    fn next_message(&self) -> Option<usize> {
        let mut waiting = self.waiting_messages.iter();
        waiting.position(|(seat, _)| {
            self.message_delay(*seat).is_none() && !self.must_messages_wait(*seat)
        })
    }

    /// Returns the first of `seats`, which are free, on which a READY task can start.
    fn free_seat(&self, no: TaskNo, seats: &[SeatNo]) -> Option<SeatNo> {
        let task = &self.tasks[no.0];
        let mut seats = seats.iter().copied();
        seats.find(|seat| self.may_take(task, *seat) && self.occupant(no, *seat).is_none())
    }

    /// Returns the prompt of the first turn of a READY task.
    fn first_prompt(&self, task: TaskNo) -> Prompt {
        match self.kind(task) {
            TaskKind::Plan if self.plan_version == 0 => Prompt::Plan,
            TaskKind::Plan => Prompt::Replan,
            _ => Prompt::Work,
        }
    }
}

impl Mover<'_> {
    /// Starts turns until none can start.
    pub(super) fn dispatch(&mut self) {
        while self.graph.goal == GoalState::Active {
            self.graph.let_other_inputs_begin();
            // A turn that has just started can use up the number of turns.
            self.note_budget();
            if let Some(at) = self.graph.next_message() {
                let (seat, input) = self.graph.waiting_messages.remove(at);
                self.graph.add_message_input(seat, input);
                self.effects
                    .push(Effect::MessageTurnStarted { seat, input });
                continue;
            }
            let Some((seat, task, prompt)) = self.graph.next_start() else {
                break;
            };
            self.start(seat, task, prompt);
        }
    }

    /// Stops further work from 90 percent of a budget on.
    fn note_budget(&mut self) {
        if self.graph.stop.is_none() && self.graph.budget_level() != BudgetLevel::Enough {
            self.graph.stop = Some(Stop::Budget);
        }
    }

    /// Starts a turn of a task on a seat.
    pub(super) fn start(&mut self, seat: SeatNo, task: TaskNo, prompt: Prompt) {
        let input = Input::Task { task, prompt };
        self.end_wait(seat);
        let row = &mut self.graph.seats[seat.0];
        row.turn = Some(input);
        row.queue.retain(|(it, _)| *it != task);
        self.graph.turns += 1;
        self.graph.alternation = Alternation::default();
        let memory = self.start_task(seat, task);
        self.effects.push(Effect::Started {
            seat,
            input,
            memory,
        });
    }

    /// Moves a task to its turn. Returns the memory of the turn.
    fn start_task(&mut self, seat: SeatNo, no: TaskNo) -> Memory {
        let kind = self.graph.kind(no);
        // At its start, because a change during the report is not in it and needs another one.
        self.graph.reported = kind == TaskKind::Report;
        if self.task(no).state == TaskState::Ready {
            self.set_state(no, TaskState::Running(Activity::Work { seat }));
        }
        let is_review = matches!(self.task(no).activity(), Some(Activity::Review { .. }));
        let directory = self.graph.directory(seat);
        if !is_review && self.graph.writes.directory(no) != Some(directory) {
            self.release_writes(no);
            let task = &self.graph.tasks[no.0];
            self.graph.writes.occupy(no, directory, &task.writes);
        }
        let progress = &mut self.task_mut(no).progress;
        let home = if is_review {
            &mut progress.judge
        } else {
            &mut progress.home
        };
        if home.replace(seat) == Some(seat) {
            Memory::Resumed
        } else {
            Memory::New
        }
    }
}
