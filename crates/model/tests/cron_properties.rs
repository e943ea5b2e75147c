//! Compares cron schedules with a walk, minute by minute, that shares no code with them.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use jiff::{SignedDuration, civil::DateTime, tz::TimeZoneDatabase};
use model::{
    Timestamp,
    schedule::{Schedule, Spec, due_instants},
};
use proptest::{collection::vec, prelude::*, sample::select};

/// Zones and instants (in seconds) near which their clocks change.
const CHANGES: [(&str, i64); 11] = [
    ("America/New_York", 1_793_512_800), // 2026-11-01, an hour repeats
    ("America/New_York", 1_805_007_600), // 2027-03-14, an hour is skipped
    ("Europe/Prague", 1_792_890_000),    // 2026-10-25, an hour repeats
    ("Europe/Prague", 1_806_195_600),    // 2027-03-28, an hour is skipped
    ("Australia/Lord_Howe", 1_806_764_400), // 2027-04-03, half an hour repeats
    ("Australia/Lord_Howe", 1_822_491_000), // 2027-10-02, half an hour is skipped
    ("America/Santiago", 1_806_807_600), // 2027-04-04, the hour before midnight repeats
    ("America/Santiago", 1_820_116_800), // 2027-09-05, the hour after midnight is skipped
    ("Africa/Casablanca", 1_771_120_800), // 2026-02-15, an hour repeats
    ("Pacific/Apia", 1_325_239_200),     // 2011-12-30, a day is skipped
    ("UTC", 1_793_512_800),
];

/// A field of an expression, with its text and the values that it matches.
#[derive(Debug, Clone)]
enum Field {
    Star,
    StarStep(i8),
    /// Items with first value, last value and step, written as a value, a range, or a range with a step.
    List(Vec<(i8, i8, i8)>),
}

impl Field {
    fn matches(&self, value: i8, min: i8) -> bool {
        match self {
            Self::Star => true,
            Self::StarStep(step) => (value - min) % step == 0,
            Self::List(items) => items.iter().any(|(from, to, step)| {
                (*from..=*to).contains(&value) && (value - from) % step == 0
            }),
        }
    }

    fn begins_with_star(&self) -> bool {
        !matches!(self, Self::List(_))
    }

    fn text(&self) -> String {
        let item = |(from, to, step): &(i8, i8, i8)| match (from == to, *step) {
            (true, _) => from.to_string(),
            (false, 1) => format!("{from}-{to}"),
            (false, step) => format!("{from}-{to}/{step}"),
        };
        match self {
            Self::Star => "*".into(),
            Self::StarStep(step) => format!("*/{step}"),
            Self::List(items) => items.iter().map(item).collect::<Vec<_>>().join(","),
        }
    }
}

fn field(min: i8, max: i8) -> impl Strategy<Value = Field> {
    let value = (min..=max).prop_map(|value| (value, value, 1));
    let range =
        (min..=max, min..=max, 1..=max / 2 + 1).prop_map(|(a, b, step)| (a.min(b), a.max(b), step));
    prop_oneof![
        Just(Field::Star),
        (1..=max).prop_map(Field::StarStep),
        vec(prop_oneof![3 => value, 1 => range], 1..4).prop_map(Field::List),
    ]
}

/// Returns hours around midnight and around three, because clocks change then.
fn hour() -> impl Strategy<Value = Field> {
    let near = vec(select(vec![0, 1, 2, 3, 23]), 1..3);
    let near = near.prop_map(|hours| hours.into_iter().map(|hour| (hour, hour, 1)).collect());
    prop_oneof![field(0, 23), near.prop_map(Field::List)]
}

#[derive(Debug, Clone)]
struct Expression {
    minute: Field,
    hour: Field,
    day: Field,
    month: Field,
    weekday: Field,
}

fn expression(month: impl Strategy<Value = Field>) -> impl Strategy<Value = Expression> {
    let day = prop_oneof![2 => Just(Field::Star), 1 => field(1, 31)];
    let weekday = prop_oneof![2 => Just(Field::Star), 1 => field(0, 7)];
    (field(0, 59), hour(), day, month, weekday).prop_map(|(minute, hour, day, month, weekday)| {
        Expression {
            minute,
            hour,
            day,
            month,
            weekday,
        }
    })
}

impl Expression {
    fn text(&self) -> String {
        [
            &self.minute,
            &self.hour,
            &self.day,
            &self.month,
            &self.weekday,
        ]
        .map(Field::text)
        .join(" ")
    }

    fn matches(&self, wall: DateTime) -> bool {
        let sunday = wall.weekday().to_sunday_zero_offset();
        let day = self.day.matches(wall.day(), 1);
        let weekday =
            self.weekday.matches(sunday, 0) || (sunday == 0 && self.weekday.matches(7, 0));
        let both = self.day.begins_with_star() || self.weekday.begins_with_star();
        self.minute.matches(wall.minute(), 0)
            && self.hour.matches(wall.hour(), 0)
            && self.month.matches(wall.month(), 1)
            && if both { day && weekday } else { day || weekday }
    }

    fn schedule(&self, zone: &str) -> Option<Schedule> {
        let spec = Spec::Cron {
            expression: self.text(),
            zone: zone.into(),
        };
        Schedule::parse(&spec).ok()
    }

    /// Returns all instants in `(after, until]`, found by reading a clock each minute. The walk begins two days before
    /// `after`, so that it knows the wall times that the clock has shown before.
    fn walk(&self, zone: &str, after: Timestamp, until: Timestamp) -> Vec<Timestamp> {
        const MINUTE: SignedDuration = SignedDuration::from_mins(1);
        let zone = TimeZoneDatabase::bundled().get(zone).unwrap();
        let follows = self.minute.begins_with_star() || self.hour.begins_with_star();
        let mut now = jiff::Timestamp::from_second(after.jiff().as_second() / 60 * 60).unwrap()
            - SignedDuration::from_hours(48);
        let mut latest_shown = zone.to_datetime(now);
        let mut fires = Vec::new();
        while now <= until.jiff() {
            let wall = zone.to_datetime(now);
            let due = if follows {
                self.matches(wall)
            } else {
                let mut new = wall;
                let mut due = false;
                while new > latest_shown {
                    due |= self.matches(new);
                    new -= MINUTE;
                }
                due
            };
            latest_shown = latest_shown.max(wall);
            if due && now > after.jiff() {
                fires.push(Timestamp::from_jiff(now));
            }
            now += MINUTE;
        }
        fires
    }
}

fn seconds(seconds: i64) -> Timestamp {
    Timestamp::from_microsecond(seconds * 1_000_000).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn cron_fires_match_a_walk_by_the_minute(
        expression in expression(Just(Field::Star)),
        (zone, change) in select(&CHANGES[..]),
        before in prop_oneof![-7200..7200_i64, 0..130_000_i64],
        length in 0..200_000_i64,
        limit in 0..20_usize,
    ) {
        let (after, until) = (seconds(change - before), seconds(change - before + length));
        let Some(schedule) = expression.schedule(zone) else {
            return Err(TestCaseError::reject("never fires"));
        };
        let walked = expression.walk(zone, after, until);
        let found: Vec<_> = schedule.fires_after(after).take_while(|at| *at <= until).collect();
        prop_assert_eq!(&found, &walked);
        prop_assert!(found.is_sorted_by(|earlier, later| earlier < later));
        prop_assert_eq!(schedule.count(after, until), u64::try_from(walked.len()).unwrap());

        let Some(first) = walked.first() else { return Ok(()) };
        let due = due_instants(&schedule, *first, until, limit);
        let (earlier, newest) = walked.split_at(walked.len().saturating_sub(limit));
        prop_assert_eq!(due.instants, newest);
        prop_assert_eq!(due.earlier.map_or(0, |earlier| earlier.count), u64::try_from(earlier.len()).unwrap());
        prop_assert_eq!(due.earlier.map(|earlier| earlier.first), earlier.first().copied());
        prop_assert_eq!(due.earlier.map(|earlier| earlier.last), earlier.last().copied());
    }

    #[test]
    fn next_cron_fire_matches_first_fire_of_walk(
        expression in expression(field(1, 12)),
        (zone, change) in select(&CHANGES[..]),
        before in prop_oneof![-7200..7200_i64, 0..8_000_000_i64],
        micros in 0..1_000_000_i64,
    ) {
        let after = Timestamp::from_microsecond((change - before) * 1_000_000 + micros).unwrap();
        let Some(schedule) = expression.schedule(zone) else {
            return Err(TestCaseError::reject("never fires"));
        };
        let until = after + std::time::Duration::from_hours(72);
        let next = schedule.next_after(after).unwrap();
        prop_assert!(next > after);
        let walked = expression.walk(zone, after, until).first().copied();
        prop_assert_eq!(Some(next).filter(|next| *next <= until), walked);
    }
}
