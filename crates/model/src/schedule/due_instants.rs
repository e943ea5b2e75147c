//! The backlog of a schedule: the instants that became due since the last poll.

use std::time::Duration;

use super::Schedule;
use crate::time::Timestamp;

/// A range of instants, with a count instead of a list, so that a long outage needs little memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissedRange {
    /// The first instant.
    pub first: Timestamp,
    /// The last instant.
    pub last: Timestamp,
    /// The number of instants, including the first and the last.
    pub count: u64,
}

impl MissedRange {
    /// Returns a range of one instant.
    pub const fn of(instant: Timestamp) -> Self {
        Self {
            first: instant,
            last: instant,
            count: 1,
        }
    }
}

/// The due instants of a schedule. Only the newest are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueInstants {
    /// The range of all due instants before `instants`. `None` if `instants` has all.
    pub earlier: Option<MissedRange>,
    /// The newest due instants, oldest first.
    pub instants: Vec<Timestamp>,
}

/// Returns the nominal instants in `[first_due, now]`: the newest `limit` of them as a list, and all earlier ones as
/// a range.
///
/// `limit` bounds the memory. Earlier instants are counted and never visited one by one. For cron, counting takes
/// time proportional to the number of days (400 days of a schedule that fires every second take about a millisecond).
/// A binary search finds the first of the newest instants.
pub fn due_instants(
    schedule: &Schedule,
    first_due: Timestamp,
    now: Timestamp,
    limit: usize,
) -> DueInstants {
    let before = first_due.saturating_sub(Duration::from_micros(1));
    let total = schedule.count(before, now);
    let limit = u64::try_from(limit).unwrap_or(u64::MAX);
    let (from, earlier) = if total <= limit {
        (before, None)
    } else {
        let last = last_before_newest(schedule, before, now, limit);
        let earlier = schedule.next_after(before).map(|first| MissedRange {
            first,
            last,
            count: total - limit,
        });
        (last, earlier)
    };
    let due = |at: &Timestamp| *at <= now;
    let instants = schedule.fires_after(from).take_while(due).collect();
    DueInstants { earlier, instants }
}

/// Returns the last instant before the newest `limit` instants in `(before, now]`. The caller must know that
/// `(before, now]` has more than `limit` instants.
fn last_before_newest(
    schedule: &Schedule,
    before: Timestamp,
    now: Timestamp,
    limit: u64,
) -> Timestamp {
    // Invariant: `(high, now]` has at most `limit` instants, and `(low, now]` has more. The first loop doubles its
    // distance from `now`, so that the counts cover few days if the newest instants are close.
    let (mut low, mut high) = (before, now);
    let mut back = Duration::from_secs(1);
    while now.saturating_sub(back) > before {
        let at = now.saturating_sub(back);
        if schedule.count(at, now) > limit {
            low = at;
            break;
        }
        high = at;
        back *= 2;
    }
    // Binary search down to the resolution of instants. Then `high` itself is the searched instant.
    while high.since(low) > Duration::from_micros(1) {
        let middle = low + high.since(low) / 2;
        if schedule.count(middle, now) > limit {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}
