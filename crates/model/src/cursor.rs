//! The cursor of a trigger under changed zone rules.
//!
//! A trigger stores its next instant. Governments change the rules of their zones, and a new version of the program
//! brings a new edition of them, by which that instant may lie elsewhere. The origin of a stored instant tells which
//! edition computed it, and from where.
//!
//! **Invariants:** a recomputed cursor lies after everything that is decided, so that no instant is decided twice. An
//! older edition never recomputes the cursor of a newer one, so that servers of two editions converge.

use std::time::Duration;

use crate::{
    ids::TriggerId,
    occurrence::{self, ScheduledFire},
    policy::Policies,
    schedule::{Schedule, zone_rules_edition},
    time::Timestamp,
};

/// The computation of the next instant of a schedule in a zone with rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CursorOrigin {
    /// The edition of the zone rules.
    pub zone_rules: String,
    /// The last decided instant: the next instant is the first one after it.
    pub decided_until: Timestamp,
    /// The offset of the zone at `decided_until` from UTC, in seconds, by the rules that decided that instant.
    pub offset_seconds: i32,
}

impl CursorOrigin {
    /// Returns the origin of the first instant after `decided_until`, computed by the rules of this program. Returns
    /// `None` if no zone rules decide when the schedule fires.
    pub fn of(schedule: &Schedule, decided_until: Timestamp) -> Option<Self> {
        schedule
            .zone_offset_seconds(decided_until)
            .map(|offset_seconds| Self {
                zone_rules: zone_rules_edition().to_owned(),
                decided_until,
                offset_seconds,
            })
    }

    /// Returns the origin of the same place, computed by the rules of this program.
    #[must_use]
    pub fn recomputed(self) -> Self {
        Self {
            zone_rules: zone_rules_edition().to_owned(),
            ..self
        }
    }

    /// Returns `true` if an older edition than that of this program computed the instant.
    pub fn is_outdated(&self) -> bool {
        self.zone_rules.as_str() < zone_rules_edition()
    }
}

/// Returns the next instant of a trigger by the rules of this program. Returns `None` if its schedule has ended.
pub fn recompute(
    trigger: TriggerId,
    schedule: &Schedule,
    policies: &Policies,
    origin: &CursorOrigin,
) -> Option<ScheduledFire> {
    let after = schedule.continue_after(origin.decided_until, origin.offset_seconds);
    occurrence::next_due(trigger, schedule, policies, after)
}

/// Returns the last decided instant of a cursor without an origin, as servers of earlier versions write it: from its
/// next instant, the last instant that became a row, and the instant at which the row was written.
///
/// A server computes the next instant from the present (a new or resumed trigger) or after a fire. In both cases
/// everything before that instant was decided when the row was written.
pub fn decided_until_of_unknown(
    next: Timestamp,
    last: Option<Timestamp>,
    written_at: Timestamp,
) -> Timestamp {
    let before_next = next.saturating_sub(Duration::from_micros(1));
    let written = written_at.min(before_next);
    last.filter(|last| *last < next)
        .map_or(written, |last| last.max(written))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::schedule::{Cron, Zone};

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn cron(expression: &str, rules: &str) -> Schedule {
        Schedule::Cron(Cron::parse(expression, Zone::made_up(rules)).unwrap())
    }

    /// Returns the next instant after `decided_until` by the rules `before`, and that by the rules `now`.
    fn moved(expression: &str, [before, now]: [&str; 2], decided_until: &str) -> [String; 2] {
        let trigger = TriggerId::from_uuid(Uuid::nil());
        let policies = Policies::default();
        let (old, new) = (cron(expression, before), cron(expression, now));
        let decided_until = at(decided_until);
        let origin = CursorOrigin::of(&old, decided_until).unwrap();
        let first = occurrence::next_due(trigger, &old, &policies, decided_until).unwrap();
        let then = recompute(trigger, &new, &policies, &origin).unwrap();
        [first, then].map(|due| due.scheduled_for.to_string())
    }

    #[test]
    fn schedule_without_zone_rules_has_no_origin() {
        let now = at("2026-03-01T00:00:00Z");
        let utc = Cron::parse("0 9 * * *", Zone::utc()).unwrap();
        for schedule in [Schedule::Cron(utc), Schedule::At(now), Schedule::Manual] {
            assert_eq!(CursorOrigin::of(&schedule, now), None);
        }
    }

    #[test]
    fn fixed_time_that_has_fired_does_not_fire_again_under_new_rules() {
        // An hour further west: nine o'clock comes an hour later.
        let west = ["<+02>-2", "<+01>-1"];
        assert_eq!(
            moved("0 9 * * *", west, "2026-03-02T07:00:00Z"),
            ["2026-03-03T07:00:00Z", "2026-03-03T08:00:00Z"]
        );
        // The last decided instant is no instant of the schedule: the trigger was added then.
        assert_eq!(
            moved("0 9 * * *", west, "2026-03-02T06:10:00Z"),
            ["2026-03-02T07:00:00Z", "2026-03-02T08:00:00Z"]
        );
    }

    #[test]
    fn fixed_time_that_comes_earlier_under_new_rules_is_not_lost() {
        let east = ["<+01>-1", "<+02>-2"];
        assert_eq!(
            moved("0 9 * * *", east, "2026-03-02T08:00:00Z"),
            ["2026-03-03T08:00:00Z", "2026-03-03T07:00:00Z"]
        );
        // A trigger that was added at half past eight was added at half past nine by the new rules.
        assert_eq!(
            moved("0 9,18 * * *", east, "2026-03-02T07:30:00Z"),
            ["2026-03-02T08:00:00Z", "2026-03-02T16:00:00Z"]
        );
    }

    #[test]
    fn wall_clock_schedule_continues_at_the_same_instant() {
        for (rules, next) in [
            (["<+02>-2", "<+01>-1"], "2026-03-02T07:15:00Z"),
            (["<+01>-1", "<+02>-2"], "2026-03-02T07:15:00Z"),
            (["<+01>-1", "<+0110>-1:10"], "2026-03-02T07:05:00Z"),
        ] {
            let [before, now] = moved("*/15 * * * *", rules, "2026-03-02T07:00:00Z");
            assert_eq!(
                (before.as_str(), now.as_str()),
                ("2026-03-02T07:15:00Z", next)
            );
        }
    }

    #[test]
    fn abolished_daylight_saving_time_moves_only_instants_after_the_change() {
        let abolished = ["CET-1CEST,M3.5.0,M10.5.0/3", "CET-1"];
        assert_eq!(
            moved("30 2 * * *", abolished, "2027-03-27T01:30:00Z"),
            ["2027-03-28T01:00:00Z", "2027-03-28T01:30:00Z"]
        );
        assert_eq!(
            moved("0 9 * * *", abolished, "2027-02-01T08:00:00Z"),
            ["2027-02-02T08:00:00Z", "2027-02-02T08:00:00Z"]
        );
        let introduced = ["CET-1", "CET-1CEST,M3.5.0,M10.5.0/3"];
        // 02:30 has fired before the new rules, which skip that time: it fires once.
        assert_eq!(
            moved("30 2 * * *", introduced, "2027-03-28T01:30:00Z"),
            ["2027-03-29T01:30:00Z", "2027-03-29T00:30:00Z"]
        );
    }

    #[test]
    fn same_rules_recompute_the_same_instant() {
        let rules = "CET-1CEST,M3.5.0,M10.5.0/3";
        for expression in ["30 2 * * *", "0,30 2 * * *", "*/20 * * * *", "15 3 * * 0"] {
            let mut instant = at("2027-03-27T00:10:00Z");
            // Both changes of a year, in steps that hit gaps and repeats.
            for start in ["2027-03-27T00:10:00Z", "2027-10-30T00:10:00Z"] {
                instant = instant.max(at(start));
                for _ in 0..200 {
                    let [before, now] = moved(expression, [rules, rules], &instant.to_string());
                    assert_eq!(before, now, "{expression} after {instant}");
                    instant = instant + Duration::from_mins(10);
                }
            }
        }
    }

    #[test]
    fn cursor_of_earlier_version_continues_after_its_last_write() {
        let next = at("2026-03-02T09:00:00Z");
        for (last, written_at, expected) in [
            // A new trigger, and one that was resumed long after its last instant.
            (None, "2026-03-02T08:10:00Z", "2026-03-02T08:10:00Z"),
            (
                Some("2026-02-01T09:00:00Z"),
                "2026-03-02T08:10:00Z",
                "2026-03-02T08:10:00Z",
            ),
            // The next instant was past already when the row was written, and waits for its jitter.
            (
                Some("2026-03-02T08:00:00Z"),
                "2026-03-02T11:00:00Z",
                "2026-03-02T08:59:59.999999Z",
            ),
            (None, "2026-03-02T11:00:00Z", "2026-03-02T08:59:59.999999Z"),
            // The clock was set back after a fire.
            (
                Some("2026-03-02T10:00:00Z"),
                "2026-03-02T08:30:00Z",
                "2026-03-02T08:30:00Z",
            ),
        ] {
            let decided = decided_until_of_unknown(next, last.map(at), at(written_at));
            assert_eq!(decided, at(expected), "{last:?} {written_at}");
        }
    }

    #[test]
    fn only_older_editions_are_outdated() {
        let origin = |edition: &str| CursorOrigin {
            zone_rules: edition.to_owned(),
            decided_until: at("2026-03-02T09:00:00Z"),
            offset_seconds: 3600,
        };
        assert!(origin("").is_outdated());
        assert!(origin("2020a").is_outdated());
        assert!(!origin(zone_rules_edition()).is_outdated());
        assert!(!origin("2099z").is_outdated());
        assert!(!origin("2020a").recomputed().is_outdated());
    }
}
