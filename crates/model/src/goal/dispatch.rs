//! The choice of the next turns.
//!
//! A free seat takes up, in this order: a message of a person, a turn of a started task, and the READY task with the lowest
//! priority number, the oldest of these first. Across seats the order is the same.

use crate::goal::{
    event::{BudgetLevel, Effect, GoalState},
    graph::{Alternation, Graph, Stop},
    mover::Mover,
    seat::{Input, Memory, Prompt, SeatNo},
    task::{Activity, TaskKind, TaskNo, TaskState},
};

impl Graph {
    /// Returns the next turn that starts, with its seat. Returns `None` if none can start.
    fn next_start(&self) -> Option<(SeatNo, Input)> {
        let seats = || (0..self.seats.len()).map(SeatNo);
        let free = || seats().filter(|no| self.seats[no.0].is_free());
        // 1. Messages of people, which no limit of the goal delays.
        if let Some(seat) = free().find(|no| self.seats[no.0].person_inputs > 0) {
            return Some((seat, Input::Person));
        }
        if self.stop.is_some() || self.parallel_turns() >= self.limits.parallel as usize {
            return None;
        }
        // 2. Turns of started tasks.
        let started = free().filter_map(|seat| {
            let mut queue = self.seats[seat.0].queue.iter();
            let (task, prompt) = queue.find(|(task, _)| self.occupant(*task, seat).is_none())?;
            Some((*task, *prompt, seat))
        });
        if let Some((task, prompt, seat)) = started.min_by_key(|(task, ..)| *task) {
            return Some((seat, Input::Task { task, prompt }));
        }
        // 3. READY tasks.
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
        let prompt = self.first_prompt(task);
        Some((seat, Input::Task { task, prompt }))
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
            // A turn that has just started can use up the number of turns.
            self.note_budget();
            let Some((seat, input)) = self.graph.next_start() else {
                break;
            };
            self.start(seat, input);
        }
    }

    /// Stops further work from 90 percent of a budget on.
    fn note_budget(&mut self) {
        if self.graph.stop.is_none() && self.graph.budget_level() != BudgetLevel::Enough {
            self.graph.stop = Some(Stop::Budget);
        }
    }

    /// Starts a turn on a free seat.
    pub(super) fn start(&mut self, seat: SeatNo, input: Input) {
        self.end_wait(seat);
        let row = &mut self.graph.seats[seat.0];
        row.turn = Some(input);
        let mut memory = Memory::Resumed;
        match input {
            Input::Person => row.person_inputs -= 1,
            Input::Task { task, .. } => {
                row.queue.retain(|(it, _)| *it != task);
                self.graph.turns += 1;
                self.graph.alternation = Alternation::default();
                memory = self.start_task(seat, task);
            }
        }
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
