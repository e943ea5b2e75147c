//! What became due while nobody looked.

use std::time::Duration;

use super::Schedule;
use crate::time::Timestamp;

/// A run of instants that is counted and not held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// The first instant of it.
    pub first: Timestamp,
    /// The last instant of it.
    pub last: Timestamp,
    /// How many there are, the first and the last included.
    pub count: u64,
}

impl Stretch {
    /// One instant.
    pub const fn of(instant: Timestamp) -> Self {
        Self {
            first: instant,
            last: instant,
            count: 1,
        }
    }
}

/// The instants that are due, the newest ones by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// All that came before `instants`.
    pub earlier: Option<Stretch>,
    /// The newest, the oldest of them first.
    pub instants: Vec<Timestamp>,
}

/// The nominal instants in `[first_due, now]`: the newest `limit` of them one by one, all before
/// them as a stretch.
///
/// Memory is bounded by `limit`. Instants of the stretch are never walked: they are counted by
/// arithmetic, for cron in proportion to the days passed (400 days of a schedule that fires each
/// second take about a millisecond), and where the newest begin is found by halving.
pub fn due(schedule: &Schedule, first_due: Timestamp, now: Timestamp, limit: usize) -> Due {
    let before = first_due.saturating_sub(Duration::from_micros(1));
    let total = schedule.count(before, now);
    let limit = u64::try_from(limit).unwrap_or(u64::MAX);
    let (from, earlier) = if total <= limit {
        (before, None)
    } else {
        let last = last_before_newest(schedule, before, now, limit);
        let earlier = schedule.next_after(before).map(|first| Stretch {
            first,
            last,
            count: total - limit,
        });
        (last, earlier)
    };
    let due = |at: &Timestamp| *at <= now;
    let instants = schedule.fires_after(from).take_while(due).collect();
    Due { earlier, instants }
}

/// The instant before the newest `limit` in `(before, now]`, where there are more than that.
fn last_before_newest(
    schedule: &Schedule,
    before: Timestamp,
    now: Timestamp,
    limit: u64,
) -> Timestamp {
    // After `high` there are at most `limit`, after `low` more. Doubling first keeps the counts
    // short where the newest are close.
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
