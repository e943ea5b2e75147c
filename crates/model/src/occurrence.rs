//! What a trigger owes when it is looked at: which due instants run, which are missed, and when it
//! is due next.

use std::time::Duration;

use crate::{
    ids::TriggerId,
    limits,
    policy::{CatchUp, Policies},
    schedule::{self, Schedule},
    time::Timestamp,
};

/// A stretch of instants that are not made up for: one row with a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// The first instant.
    pub first: Timestamp,
    /// The last instant.
    pub last: Timestamp,
    /// How many there are.
    pub count: u64,
}

/// A nominal instant and the moment, spread by jitter, at which it fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// The instant that the schedule names; it identifies the occurrence.
    pub scheduled_for: Timestamp,
    /// When it fires.
    pub fire_at: Timestamp,
}

/// What a trigger owes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Instants that are to become runs or skips, oldest first.
    pub occurrences: Vec<Timestamp>,
    /// Instants that are over and not made up for.
    pub missed: Option<Stretch>,
    /// When the trigger is due next; `None` if never again.
    pub next: Option<Due>,
}

/// The next instant of `schedule` after `after`, with the moment at which it fires.
pub fn next_due(
    trigger: TriggerId,
    schedule: &Schedule,
    policies: &Policies,
    after: Timestamp,
) -> Result<Option<Due>, schedule::Error> {
    let Some(scheduled_for) = schedule.next_after(after)? else { return Ok(None) };
    let spread = Duration::from_secs(policies.jitter_seconds.into());
    let fire_at = if spread.is_zero() {
        scheduled_for
    } else {
        let following = schedule.next_after(scheduled_for)?;
        schedule::jitter(trigger, scheduled_for, spread, following)
    };
    Ok(Some(Due { scheduled_for, fire_at }))
}

/// Works out what a trigger owes whose earliest instant not yet dealt with is `cursor`.
///
/// The latest due instant is on time if it is at most [`limits::FIRE_GRACE`] late, and then runs
/// whatever the policy; all others are subject to `catch_up` and its window. At most
/// [`limits::OCCURRENCES_PER_FIRE`] occurrences are given at once: the plan then ends at an instant
/// that is still due, and the next look goes on from there.
pub fn plan(
    trigger: TriggerId,
    schedule: &Schedule,
    policies: &Policies,
    cursor: Due,
    now: Timestamp,
) -> Result<Plan, schedule::Error> {
    if cursor.fire_at > now {
        return Ok(Plan { occurrences: Vec::new(), missed: None, next: Some(cursor) });
    }
    let window = Duration::from_secs(policies.catch_up_window_seconds);
    let oldest_kept = match policies.catch_up {
        CatchUp::All => now.saturating_sub(window),
        CatchUp::None | CatchUp::Latest => Timestamp::MAX,
    };

    let mut missed: Option<Stretch> = None;
    let mut occurrences = Vec::new();
    let mut miss = |first, last, count| {
        let stretch = missed.get_or_insert(Stretch { first, last, count: 0 });
        stretch.last = last;
        stretch.count += count;
    };

    // What lies before both the window and the last look is only counted, never held.
    let mut at = cursor;
    if oldest_kept > at.scheduled_for {
        let until = oldest_kept.min(now);
        let passed = schedule::due(schedule, at.scheduled_for, until)?;
        if passed.count > 1 {
            miss(at.scheduled_for, passed.before_last, passed.count - 1);
            let before = passed.last.saturating_sub(Duration::from_micros(1));
            match next_due(trigger, schedule, policies, before)? {
                Some(last) => at = last,
                None => return Ok(Plan { occurrences, missed, next: None }),
            }
        }
    }

    loop {
        let following = next_due(trigger, schedule, policies, at.scheduled_for)?;
        if at.fire_at > now {
            return Ok(Plan { occurrences, missed, next: Some(at) });
        }
        let is_latest = following.is_none_or(|next| next.fire_at > now);
        let late = now.since(at.fire_at);
        let runs = match policies.catch_up {
            _ if is_latest && late <= limits::FIRE_GRACE => true,
            CatchUp::None => false,
            CatchUp::Latest => is_latest && late <= window,
            CatchUp::All => late <= window,
        };
        if runs {
            if occurrences.len() == limits::OCCURRENCES_PER_FIRE {
                return Ok(Plan { occurrences, missed, next: Some(at) });
            }
            occurrences.push(at.scheduled_for);
        } else {
            miss(at.scheduled_for, at.scheduled_for, 1);
        }
        match following {
            Some(next) => at = next,
            None => return Ok(Plan { occurrences, missed, next: None }),
        }
    }
}
