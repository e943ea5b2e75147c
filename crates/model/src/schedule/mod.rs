//! Schedules: the instants at which triggers fire.
//!
//! **Invariants:**
//!
//! - Instants here are nominal: jitter is applied elsewhere ([`jitter()`]) and never moves a schedule.
//! - [`Schedule::next_after`] returns an instant strictly after its argument.
//! - Every search and every count takes bounded work, because people and agents write schedules.
//! - Time zones come from the database inside the binary, so that all servers of one version agree. Stored instants of
//!   another edition of the rules are recomputed ([`crate::cursor`]).

mod at;
mod clock_changes;
mod cron;
mod display;
mod due_instants;
mod error;
mod every;
mod field;
mod jitter;
mod offset_period;
mod quiet_hours;
#[cfg(test)]
mod search_cost;
mod spec;
mod times;
mod zone;

use crate::time::Timestamp;

pub use self::{
    at::parse_at,
    clock_changes::{ClockChange, ClockChangeKind},
    cron::{Cron, MAX_EXPRESSION_BYTES},
    display::format_instant,
    due_instants::{DueInstants, MissedRange, due_instants},
    error::{Error, MAX_QUIET_WINDOWS},
    every::{Every, MAX_PERIOD, MIN_PERIOD, Period},
    jitter::jitter,
    quiet_hours::{QuietHours, QuietWindow},
    spec::Spec,
    zone::{Zone, zone_rules_edition},
};

/// A schedule, parsed from a [`Spec`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Schedule {
    /// Fires at the times of a cron expression in a time zone.
    Cron(Cron),
    /// Fires at equal intervals from an anchor.
    Every(Every),
    /// Fires once.
    At(Timestamp),
    /// Never fires by time: a person or a webhook fires it.
    Manual,
}

impl Schedule {
    /// Parses a specification, new or stored. Accepts an `at` in the past, because a trigger that has fired keeps its
    /// `at`.
    ///
    /// # Errors
    ///
    /// [`Error`] if the zone or the cron expression is invalid.
    pub fn parse(spec: &Spec) -> Result<Self, Error> {
        let zone = spec.zone()?;
        Ok(match spec {
            Spec::Cron { expression, .. } => Self::Cron(Cron::parse(expression, zone)?),
            Spec::Every { period, anchor, .. } => Self::Every(Every {
                period: *period,
                anchor: *anchor,
            }),
            Spec::At { at, .. } => Self::At(*at),
            Spec::Manual {} | Spec::Webhook {} => Self::Manual,
        })
    }

    /// Parses a specification that a person or an agent has just written.
    ///
    /// # Errors
    ///
    /// [`Error`] as for [`Self::parse`], and [`Error::Past`] if the only instant is not after `now`.
    pub fn parse_new(spec: &Spec, now: Timestamp) -> Result<Self, Error> {
        let schedule = Self::parse(spec)?;
        if let Self::At(at) = schedule
            && at <= now
        {
            return Err(Error::Past { at, now });
        }
        Ok(schedule)
    }

    /// Returns the first nominal instant strictly after `after`. Returns `None` if there is none up to
    /// [`Timestamp::MAX`], in the year 9999.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Cron(cron) => cron.next_after(after),
            Self::Every(every) => every.next_after(after),
            Self::At(at) => Some(*at).filter(|at| *at > after),
            Self::Manual => None,
        }
    }

    /// Returns the nominal instants strictly after `after`, in order. The iterator computes them lazily.
    pub fn fires_after(&self, after: Timestamp) -> impl Iterator<Item = Timestamp> {
        std::iter::successors(self.next_after(after), |at| self.next_after(*at))
    }

    /// Returns the first `n` nominal instants strictly after `after`.
    pub fn upcoming(&self, after: Timestamp, n: usize) -> Vec<Timestamp> {
        self.fires_after(after).take(n).collect()
    }

    /// Returns the first change of clocks in `(after, until)` that concerns a fixed time of the schedule, because the time
    /// never shows or shows twice.
    pub fn clock_change(&self, after: Timestamp, until: Timestamp) -> Option<ClockChange> {
        match self {
            Self::Cron(cron) => cron.clock_change(after, until),
            Self::Every(_) | Self::At(_) | Self::Manual => None,
        }
    }

    /// Returns the offset from UTC at an instant, in seconds. Returns `None` if no zone rules decide when the schedule
    /// fires: it has no zone, or its zone is UTC.
    pub fn zone_offset_seconds(&self, at: Timestamp) -> Option<i32> {
        match self {
            Self::Cron(cron) => cron.zone_offset_seconds(at),
            Self::Every(_) | Self::At(_) | Self::Manual => None,
        }
    }

    /// Returns the instant after which the schedule continues, if it is decided up to `decided_until`, at which other
    /// zone rules gave its zone the offset `offset_seconds`.
    ///
    /// A change of the rules acts like a change of the clocks at `decided_until`. A schedule that follows the wall
    /// clock continues at that instant. A fixed schedule continues at the wall time that clocks showed, so that a
    /// daily time that has fired does not fire again an hour later. Never returns an earlier instant than
    /// `decided_until`, so that no instant is decided twice.
    pub fn continue_after(&self, decided_until: Timestamp, offset_seconds: i32) -> Timestamp {
        match self {
            Self::Cron(cron) => cron.continue_after(decided_until, offset_seconds),
            Self::Every(_) | Self::At(_) | Self::Manual => decided_until,
        }
    }

    /// Returns the number of nominal instants in `(after, until]`. Computes it without visiting each instant.
    pub fn count(&self, after: Timestamp, until: Timestamp) -> u64 {
        match self {
            Self::Cron(cron) => cron.count(after, until),
            Self::Every(every) => every.count(after, until),
            Self::At(at) => u64::from(after < *at && *at <= until),
            Self::Manual => 0,
        }
    }
}
