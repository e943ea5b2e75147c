//! Changes of seats: their presence and their messages.

use crate::{
    InputId,
    goal::{
        event::{Effect, Refusal, StuckCause},
        mover::Mover,
        seat::{Input, Presence, Prompt, SeatNo},
        task::{Activity, TaskKind, TaskNo, TaskState},
    },
};

impl Mover<'_> {
    /// Refuses a seat that is unknown or removed.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownSeat`] and [`Refusal::SeatRemoved`].
    pub(super) fn check_seat(&self, seat: SeatNo) -> Result<(), Refusal> {
        match self.graph.seats.get(seat.0) {
            None => Err(Refusal::UnknownSeat(seat, self.graph.seats.len() - 1)),
            Some(row) if row.presence == Presence::Removed => {
                Err(Refusal::SeatRemoved(row.name.clone()))
            }
            Some(_) => Ok(()),
        }
    }

    /// Notes the presence of seats. Tasks of a removed seat go on elsewhere, with a new memory. That is no failed attempt.
    ///
    /// A seat that comes back or is removed ends the pause of a goal that was stuck without it. Only a turn or a check that
    /// gets on ends the wait for the seat.
    ///
    /// # Errors
    ///
    /// Refuses seats that are unknown or removed.
    pub(super) fn set_presence(&mut self, changes: &[(SeatNo, Presence)]) -> Result<(), Refusal> {
        for (seat, _) in changes {
            self.check_seat(*seat)?;
        }
        // Note all of them first, so that no task moves to another seat of the same instance.
        for (seat, presence) in changes {
            self.graph.seats[seat.0].presence = *presence;
        }
        let mut presences = changes.iter().map(|(_, presence)| *presence);
        if presences.any(|it| it != Presence::Offline) && self.is_stuck_idle() {
            self.leave_stuck();
        }
        let removed = changes.iter().filter(|(_, it)| *it == Presence::Removed);
        for (seat, _) in removed {
            self.remove_seat(*seat);
        }
        Ok(())
    }

    fn remove_seat(&mut self, seat: SeatNo) {
        // 1. Take everything off the seat. A retry of its turn on another server would do the task a second time.
        self.end_wait(seat);
        let row = &mut self.graph.seats[seat.0];
        let turn = row.turn.take();
        let queue = std::mem::take(&mut row.queue);
        row.other_inputs = 0;
        self.graph.waiting_messages.retain(|(it, _)| *it != seat);
        let inputs = &mut self.graph.message_inputs;
        let requested = inputs.len();
        inputs.retain(|(it, _)| *it != seat);
        if inputs.len() < requested {
            // The message turns of the seat never begin, so that they leave room for others.
            self.leave_budget();
        }
        let lost = turn.and_then(Input::task);
        self.effects.extend(lost.map(|_| Effect::LoseTurn(seat)));
        // 2. A task that is over may still have occupied its paths for this turn.
        if let Some(no) = lost.filter(|no| self.task(*no).activity().is_none()) {
            self.release_writes(no);
        }
        // 3. Forget the memories.
        for task in &mut self.graph.tasks {
            let progress = &mut task.progress;
            progress.home = progress.home.filter(|it| *it != seat);
            progress.judge = progress.judge.filter(|it| *it != seat);
        }
        // 4. Move the tasks.
        let under_way = match turn {
            Some(Input::Task { task, prompt }) => Some((task, prompt)),
            _ => None,
        };
        let prompt_of = |no: TaskNo| {
            let mut turns = queue.iter().copied().chain(under_way);
            let turn = turns.find(|(task, _)| *task == no);
            turn.map(|(_, prompt)| prompt)
        };
        let running: Vec<_> = self.graph.running.iter().copied().collect();
        for no in running {
            match self.task(no).activity() {
                Some(Activity::Work { seat: it }) if *it == seat => {
                    // Its own directory is lost with the seat.
                    self.release_writes(no);
                    self.return_to_seat(no, prompt_of(no).unwrap_or(Prompt::Work));
                }
                Some(Activity::Review { seat: it }) if *it == seat => {
                    self.start_review(no, prompt_of(no).unwrap_or(Prompt::Review));
                }
                Some(Activity::Question {
                    seat: it,
                    open,
                    of_judge,
                }) if *it == seat => {
                    let (open, of_judge) = (*open, *of_judge);
                    self.move_question(no, open, of_judge);
                }
                _ => {}
            }
        }
    }

    /// Lets another seat get the answer to a question. If there is none, the task ends as it would without a question.
    fn move_question(&mut self, no: TaskNo, open: u32, of_judge: bool) {
        let role = if of_judge {
            self.graph.judge_role()
        } else {
            Some(self.task(no).role)
        };
        let seat = role.and_then(|role| self.least_loaded(role));
        if !of_judge {
            self.release_writes(no);
        }
        match seat {
            Some(seat) => {
                let question = Activity::Question {
                    seat,
                    open,
                    of_judge,
                };
                self.set_state(no, TaskState::Running(question));
            }
            None if of_judge => self.break_judge(no),
            None => self.return_to_seat(no, Prompt::Answer),
        }
    }

    /// Counts an answer. The last one starts a turn on the seat that asked.
    ///
    /// # Errors
    ///
    /// Refuses a task without an open question.
    pub(super) fn answer(&mut self, no: TaskNo) -> Result<(), Refusal> {
        let Some(Activity::Question {
            seat,
            open,
            of_judge,
        }) = self.task(no).activity().cloned()
        else {
            let task = self.task(no);
            return Err(Refusal::Task {
                task: task.key.clone(),
                status: task.status(),
                accepted: "RUNNING tasks with an open question are accepted",
            });
        };
        let activity = match open - 1 {
            0 if of_judge => Activity::Review { seat },
            0 => Activity::Work { seat },
            open => Activity::Question {
                seat,
                open,
                of_judge,
            },
        };
        self.set_state(no, TaskState::Running(activity));
        if open == 1 {
            self.queue(seat, no, Prompt::Answer);
        }
        Ok(())
    }

    /// Counts a message of another seat.
    ///
    /// # Errors
    ///
    /// Refuses a seat that is unknown or removed, and more messages than the limit allows.
    pub(super) fn add_message(&mut self, seat: SeatNo) -> Result<(), Refusal> {
        self.check_seat(seat)?;
        let limit = self.graph.limits.messages;
        if self.graph.messages >= limit {
            return Err(Refusal::Limit {
                what: "messages",
                limit: "messages",
                count: limit,
            });
        }
        self.graph.messages += 1;
        Ok(())
    }

    /// Decides whether messages of other seats start a turn of their own, which has this input.
    ///
    /// # Errors
    ///
    /// Refuses a seat that is unknown or removed.
    pub(super) fn request_message_turn(
        &mut self,
        seat: SeatNo,
        input: InputId,
    ) -> Result<(), Refusal> {
        self.check_seat(seat)?;
        let delayed_by = self.graph.message_delay(seat);
        if delayed_by.is_none() && self.graph.must_messages_wait(seat) {
            let mut waiting = self.graph.waiting_messages.iter();
            if waiting.all(|(it, _)| *it != seat) {
                self.graph.waiting_messages.push((seat, input));
            }
            self.effects.push(Effect::MessageTurnWaits(seat));
            return Ok(());
        }
        if delayed_by.is_none() {
            // The turn brings all messages of the seat.
            self.graph.waiting_messages.retain(|(it, _)| *it != seat);
            self.graph.add_message_input(seat, input);
        }
        self.effects.push(Effect::MessageTurn { seat, delayed_by });
        Ok(())
    }

    /// Counts a requested message turn that began.
    pub(super) fn begin_message_turn(&mut self, input: InputId) {
        let Some(seat) = self.remove_message_input(input) else {
            return;
        };
        self.graph.turns += 1;
        self.graph.message_turns += 1;
        self.graph.idle_turns += 1;
        self.graph.alternation = self.graph.alternation.after(seat);
        if self.graph.idle_turns >= self.graph.limits.idle_turns {
            self.stick(StuckCause::NoProgress);
        }
    }

    /// Forgets a requested message turn that never begins. It leaves room for another turn.
    pub(super) fn drop_message_turn(&mut self, input: InputId) {
        if self.remove_message_input(input).is_some() {
            self.leave_budget();
        } else {
            self.graph.waiting_messages.retain(|(_, it)| *it != input);
        }
    }

    /// Removes an input from the requested message turns. Returns its seat, or `None` if the input is not among them.
    fn remove_message_input(&mut self, input: InputId) -> Option<SeatNo> {
        let inputs = &mut self.graph.message_inputs;
        let at = inputs.iter().position(|(_, it)| *it == input)?;
        Some(inputs.remove(at).0)
    }

    /// Makes the task of a plan if one is requested, and none is open.
    ///
    /// Beyond the limit, the request is dropped: the tasks that are there go on, and the goal is stuck when none can.
    pub(super) fn open_plan(&mut self) {
        let graph = &mut *self.graph;
        if !graph.plan_requested || graph.plan_task.is_some() || graph.stop.is_some() {
            return;
        }
        graph.plan_requested = false;
        let is_first = graph.tasks.iter().all(|task| task.kind != TaskKind::Plan);
        if graph.plan_version > 0 && !is_first {
            if graph.replans >= graph.limits.replans {
                return;
            }
            graph.replans += 1;
        }
        let plan = self.add_internal_task(TaskKind::Plan, TaskState::Ready);
        self.graph.plan_task = Some(plan);
    }
}
