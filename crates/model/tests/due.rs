//! Tests of the instants that became due during a long sleep.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::time::Duration;

use model::{
    Timestamp,
    schedule::{DueInstants, MissedRange, Schedule, Spec, due_instants},
};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn cron(expression: &str, zone: &str) -> Schedule {
    let spec = Spec::Cron {
        expression: expression.into(),
        zone: zone.into(),
    };
    Schedule::parse(&spec).unwrap()
}

fn every(period: &str, anchor: Timestamp) -> Schedule {
    let spec = Spec::Every {
        period: period.parse().unwrap(),
        anchor,
        zone: "UTC".into(),
    };
    Schedule::parse(&spec).unwrap()
}

#[test]
fn nothing_is_due_before_first_instant() {
    let nothing = DueInstants {
        earlier: None,
        instants: Vec::new(),
    };
    let (early, late) = (at("2026-11-21T08:00:00Z"), at("2026-11-21T09:00:00Z"));
    assert_eq!(
        due_instants(&cron("0 9 * * *", "UTC"), late, early, 10),
        nothing
    );
    assert_eq!(due_instants(&Schedule::Manual, early, late, 10), nothing);
    assert_eq!(due_instants(&Schedule::At(late), early, early, 10), nothing);
}

#[test]
fn due_range_includes_first_instant_and_now() {
    let hourly = every("1h", at("2026-11-21T08:00:00Z"));
    let (first, now) = (at("2026-11-21T08:00:00Z"), at("2026-11-21T10:00:00Z"));
    let expected = [first, at("2026-11-21T09:00:00Z"), now];
    assert_eq!(due_instants(&hourly, first, now, 3).instants, expected);
    let two = due_instants(&hourly, first, now, 2);
    assert_eq!(two.instants, expected[1..]);
    let earlier = MissedRange {
        first,
        last: first,
        count: 1,
    };
    assert_eq!(two.earlier, Some(earlier));
    assert_eq!(
        due_instants(&Schedule::At(now), now, now, 1).instants,
        [now]
    );
}

/// The time limit of the test runner is the assertion: a walk over these 34 million instants would take minutes.
#[test]
fn backlog_of_400_days_of_seconds_is_counted_fast() {
    const DAYS: u64 = 400;
    let first = at("2026-01-01T00:00:00Z");
    let now = first + Duration::from_hours(24 * DAYS) + Duration::from_micros(500);
    for schedule in [
        every("1s", first),
        cron("* * * * * *", "UTC"),
        cron("* * * * * *", "America/New_York"),
    ] {
        let slept = due_instants(&schedule, first, now, 2);
        let newest = now.saturating_sub(Duration::from_micros(500));
        let second = Duration::from_secs(1);
        assert_eq!(slept.instants, [newest.saturating_sub(second), newest]);
        let earlier = MissedRange {
            first,
            last: newest.saturating_sub(2 * second),
            count: DAYS * 86_400 + 1 - 2,
        };
        assert_eq!(slept.earlier, Some(earlier));
    }
}

#[test]
fn missed_range_counts_skipped_and_repeated_times_as_fired() {
    let (first, now) = (at("2026-03-01T00:00:00Z"), at("2027-03-01T00:00:00Z"));
    // Daily at 02:30: the day of the gap has one fire as well.
    let daily = cron("30 2 * * *", "America/New_York");
    assert_eq!(daily.count(first, now), 365);
    // 02:00 and 02:30 are skipped together: one fire instead of two.
    let twice = cron("0,30 2 * * *", "America/New_York");
    assert_eq!(twice.count(first, now), 2 * 365 - 1);
    // 02:00 is skipped, and fires at the end of the gap, which is 03:00: both share one fire.
    let meeting = cron("0 2,3 * * *", "America/New_York");
    assert_eq!(meeting.count(first, now), 2 * 365 - 1);
    // Hourly: the skipped hour and the repeated one cancel out.
    let hourly = cron("0 * * * *", "America/New_York");
    assert_eq!(hourly.count(first, now), 24 * 365);
}
