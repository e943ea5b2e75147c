//! The changes of clocks that move a fixed time of a schedule.

use jiff::civil::DateTime;

use super::Zone;
use crate::time::Timestamp;

/// What the clocks of a zone do at a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockChangeKind {
    /// Clocks go forward: some times never show.
    Gap,
    /// Clocks go back: some times show twice.
    Repeat,
}

/// A change of clocks that concerns a fixed time of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockChange {
    /// What the clocks do.
    pub kind: ClockChangeKind,
    /// The first time of the schedule that never shows or shows twice.
    pub wall: DateTime,
    /// The instant at which the schedule fires for it.
    pub at: Timestamp,
}

/// Returns the first change of clocks in `(after, until)` between whose old and new time a schedule has a time.
/// `first_from` returns the first time of the schedule at or after a given one.
pub(super) fn first_change(
    zone: &Zone,
    (after, until): (Timestamp, Timestamp),
    first_from: impl Fn(DateTime) -> Option<DateTime>,
) -> Option<ClockChange> {
    let rules = zone.jiff();
    let mut earlier = rules.to_offset(after.jiff());
    for change in rules.following(after.jiff()) {
        let instant = change.timestamp();
        if instant >= until.jiff() {
            return None;
        }
        let later = rules.to_offset(instant);
        let (before, now) = (earlier.to_datetime(instant), later.to_datetime(instant));
        earlier = later;
        let (kind, from, to) = if before < now {
            (ClockChangeKind::Gap, before, now)
        } else {
            (ClockChangeKind::Repeat, now, before)
        };
        let Some(wall) = first_from(from).filter(|wall| *wall < to) else {
            continue;
        };
        let at = match kind {
            ClockChangeKind::Gap => instant,
            // The first of both passes: it has the former offset.
            ClockChangeKind::Repeat => rules.to_ambiguous_timestamp(wall).earlier().ok()?,
        };
        return Some(ClockChange {
            kind,
            wall,
            at: Timestamp::from_jiff(at),
        });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Schedule, Spec};

    fn change(
        expression: &str,
        zone: &str,
        after: &str,
    ) -> Option<(ClockChangeKind, String, String)> {
        let spec = Spec::Cron {
            expression: expression.into(),
            zone: zone.into(),
        };
        let after: Timestamp = after.parse().unwrap();
        let until = after + std::time::Duration::from_hours(366 * 24);
        let found = Schedule::parse(&spec).unwrap().clock_change(after, until)?;
        // The instant is one at which the schedule fires.
        let before = found.at.saturating_sub(std::time::Duration::from_millis(1));
        let next = Schedule::parse(&spec).unwrap().next_after(before);
        assert_eq!(next, Some(found.at));
        Some((found.kind, found.wall.to_string(), found.at.to_string()))
    }

    #[test]
    fn change_is_found_only_if_schedule_has_a_time_in_it() {
        use ClockChangeKind::{Gap, Repeat};
        let prague = "Europe/Prague";
        let autumn = "2026-09-01T00:00:00Z";
        let found = |kind, wall: &str, at: &str| Some((kind, wall.to_owned(), at.to_owned()));
        assert_eq!(
            change("30 2 * * *", prague, autumn),
            found(Repeat, "2026-10-25T02:30:00", "2026-10-25T00:30:00Z")
        );
        assert_eq!(
            change("30 2 * * *", prague, "2026-11-01T00:00:00Z"),
            found(Gap, "2027-03-28T02:30:00", "2027-03-28T01:00:00Z")
        );
        // Clocks change on Sundays there, and never at nine.
        assert_eq!(change("30 2 * * 1-5", prague, autumn), None);
        assert_eq!(change("0 9 * * *", prague, autumn), None);
        // What follows the wall clock is moved by no change, and UTC has none.
        assert_eq!(change("*/15 * * * *", prague, autumn), None);
        assert_eq!(change("30 2 * * *", "UTC", autumn), None);
    }

    /// Returns the next instants of a schedule in New York.
    fn fires(expression: &str, after: &str, count: usize) -> Vec<String> {
        let spec = Spec::Cron {
            expression: expression.into(),
            zone: "America/New_York".into(),
        };
        let instants = Schedule::parse(&spec)
            .unwrap()
            .upcoming(after.parse().unwrap(), count);
        instants.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn fixed_time_fires_in_first_pass_only() {
        // Clocks went back at 06:00Z, and 01:30 shows a second time at 06:30Z.
        let expected = ["2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"];
        assert_eq!(fires("30 1 * * *", "2026-11-01T04:00:00Z", 2), expected);
        assert_eq!(
            fires("30 1 * * *", "2026-11-01T06:10:00Z", 1),
            expected[1..]
        );
        // A schedule that follows the wall clock fires in both passes.
        let both = [
            "2026-11-01T05:30:00Z",
            "2026-11-01T06:00:00Z",
            "2026-11-01T06:30:00Z",
        ];
        assert_eq!(fires("*/30 1 * * *", "2026-11-01T05:00:00Z", 3), both);
    }

    #[test]
    fn times_at_both_ends_of_a_change_are_told_apart() {
        let prague = "Europe/Prague";
        // 03:00 shows after the gap, and 02:00 does not.
        assert_eq!(change("0 3 * * *", prague, "2026-11-01T00:00:00Z"), None);
        let two = change("0 2 * * *", prague, "2026-11-01T00:00:00Z").unwrap();
        assert_eq!(two.1, "2027-03-28T02:00:00");
    }
}
