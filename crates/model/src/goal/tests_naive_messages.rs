//! Turns without a task in the naive model: those of people, and those for messages between seats.

use super::{tests_naive::Naive, *};
use crate::InputId;

impl Naive {
    pub(super) fn has_task(&self, seat: usize) -> bool {
        self.seats[seat].turn.and_then(Input::task).is_some()
    }

    /// Lets inputs without a task have the seats without a turn.
    pub(super) fn begin_others(&mut self) {
        for seat in &mut self.seats {
            if seat.turn.is_none() && seat.others > 0 {
                seat.turn = Some(Input::Other);
                seat.others -= 1;
            }
        }
    }

    fn is_busy(&self, seat: usize) -> bool {
        self.seats[seat].turn.is_some() || self.seats[seat].others > 0
    }

    /// Returns the number of seats with a turn of a task, and with another turn unless they are offline.
    pub(super) fn turns_at_a_time(&self) -> usize {
        let seats = 0..self.seats.len();
        let here = |no: &usize| self.seats[*no].presence != Presence::Offline;
        seats
            .filter(|no| self.has_task(*no) || self.is_busy(*no) && here(no))
            .count()
    }

    /// Returns `true` if a message turn adds no turn to those at a time, or if one more is allowed.
    pub(super) fn may_begin_messages(&self, seat: usize) -> bool {
        self.is_busy(seat) || self.turns_at_a_time() < self.limits.parallel as usize
    }

    /// Begins the first message turn that waited and may begin now. Returns `false` if there is none.
    pub(super) fn begin_waiting(&mut self) -> bool {
        let may_begin = |seat: usize| !self.delays_messages(seat) && self.may_begin_messages(seat);
        let Some(at) = self
            .waiting_messages
            .iter()
            .position(|(seat, _)| may_begin(*seat))
        else {
            return false;
        };
        let (seat, input) = self.waiting_messages.remove(at);
        self.begin_messages(seat, input);
        true
    }

    /// Notes a turn for messages of other seats, unless it is delayed. It waits while it would be one turn at a time too many.
    pub(super) fn request_message_turn(&mut self, seat: usize, input: InputId) {
        if self.delays_messages(seat) {
            return;
        }
        let waits = self.waiting_messages.iter().any(|(it, _)| *it == seat);
        if self.may_begin_messages(seat) {
            self.waiting_messages.retain(|(it, _)| *it != seat);
            self.begin_messages(seat, input);
        } else if !waits {
            self.waiting_messages.push((seat, input));
        }
    }

    /// Lets a turn for messages take its seat before the next turn of a task.
    pub(super) fn begin_messages(&mut self, seat: usize, input: InputId) {
        self.ahead.push((seat, input));
        self.seats[seat].others += 1;
    }

    /// Returns `true` if the goal starts no message turn, or the two last seats of a long talk or too many such turns delay it.
    /// Turns ahead count as if they had begun.
    pub(super) fn delays_messages(&self, seat: usize) -> bool {
        if self.goal != GoalState::Active || self.stop.is_some() {
            return true;
        }
        let mut talk = self.talk.clone();
        for (seat, _) in &self.ahead {
            talk = Self::talk_with(&talk, *seat);
        }
        let last_two = &talk[talk.len().saturating_sub(2)..];
        let alternates = Self::alternating(&talk) >= self.limits.alternating_turns as usize
            && last_two.contains(&seat);
        let turns = self.mail_turns as usize + self.ahead.len();
        alternates || turns >= self.limits.message_turns as usize
    }

    pub(super) fn begin_message_turn(&mut self, input: InputId) {
        if let Some(seat) = self.take_ahead(input) {
            self.talk = Self::talk_with(&self.talk, seat);
            self.turns += 1;
            self.mail_turns += 1;
            self.idle += 1;
            self.note_idle();
        }
    }

    /// Returns a talk after a turn of a seat. Two turns of one seat in a row are one.
    fn talk_with(talk: &[usize], seat: usize) -> Vec<usize> {
        let mut talk = talk.to_vec();
        talk.push(seat);
        talk.dedup();
        talk
    }

    pub(super) fn take_ahead(&mut self, input: InputId) -> Option<usize> {
        let at = self.ahead.iter().position(|(_, it)| *it == input)?;
        Some(self.ahead.remove(at).0)
    }
}
