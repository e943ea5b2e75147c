//! When triggers fire next.
//!
//! **Invariants:** instants here are nominal, never moved by jitter; [`Schedule::next_after`] is
//! strictly after what it is given; every search and every count is bounded, whatever a person or
//! an agent wrote. Zones come from the database inside the binary, so that all replicas of one
//! version agree.

mod at;
mod cron;
mod due;
mod error;
mod every;
mod field;
mod jitter;
mod quiet;
mod regime;
mod show;
mod spec;
#[cfg(test)]
mod steps;
mod times;
mod zone;

use crate::time::Timestamp;

pub use self::{
    at::parse_at,
    cron::{Cron, MAX_EXPRESSION_BYTES},
    due::{Due, Stretch, due},
    error::{Error, MAX_QUIET_WINDOWS},
    every::{Every, MAX_PERIOD, MIN_PERIOD, Period},
    jitter::jitter,
    quiet::{QuietHours, QuietWindow},
    show::describe_fire,
    spec::Spec,
    zone::Zone,
};

/// When a trigger fires, read from a [`Spec`] and ready to be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Schedule {
    /// At the times of a cron expression in a zone.
    Cron(Cron),
    /// At equal distances from an anchor.
    Every(Every),
    /// Once.
    At(Timestamp),
    /// Never by time: on demand, or when a webhook arrives.
    Manual,
}

impl Schedule {
    /// Reads a specification, new or stored: an `at` that lies in the past is taken, since that is
    /// what a trigger looks like when it is done.
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

    /// Reads a specification that someone just wrote: what would never fire again is refused.
    pub fn parse_new(spec: &Spec, now: Timestamp) -> Result<Self, Error> {
        let schedule = Self::parse(spec)?;
        if let Self::At(at) = schedule
            && at <= now
        {
            return Err(Error::Past { at, now });
        }
        Ok(schedule)
    }

    /// The first nominal instant strictly after `after`; `None` if there is none, or none that can
    /// be written (the year 9999 is the last).
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Cron(cron) => cron.next_after(after),
            Self::Every(every) => every.next_after(after),
            Self::At(at) => Some(*at).filter(|at| *at > after),
            Self::Manual => None,
        }
    }

    /// The nominal instants strictly after `after`, in order, worked out as they are asked for.
    pub fn fires_after(&self, after: Timestamp) -> impl Iterator<Item = Timestamp> {
        std::iter::successors(self.next_after(after), |at| self.next_after(*at))
    }

    /// The first `n` nominal instants strictly after `after`.
    pub fn upcoming(&self, after: Timestamp, n: usize) -> Vec<Timestamp> {
        self.fires_after(after).take(n).collect()
    }

    /// How many nominal instants lie in `(after, until]`, found by arithmetic and not by a walk.
    pub fn count(&self, after: Timestamp, until: Timestamp) -> u64 {
        match self {
            Self::Cron(cron) => cron.count(after, until),
            Self::Every(every) => every.count(after, until),
            Self::At(at) => u64::from(after < *at && *at <= until),
            Self::Manual => 0,
        }
    }
}
