//! Cron expressions, read on the wall clocks of a time zone.
//!
//! The `croner` crate parses the expression and decides which days match. This module computes the instants, because
//! clock changes make some wall times occur never or twice. The rules are those of Vixie cron:
//!
//! - A *wall-clock* schedule, whose minute or hour field begins with `*`, fires whenever clocks show a matching time:
//!   never in a gap, and in both passes of a repeat.
//! - Any other schedule is *fixed*. Times in a gap fire once, together, at the first instant after the gap. Times
//!   that repeat fire in the first pass only.
//!
//! Debian's cron(8) applies these rules only to changes of less than three hours. Matins applies them to all.

use std::fmt;

use croner::{
    Weekday,
    parser::{CronParser, Seconds, Year},
};
use jiff::{
    SignedDuration, ToSpan,
    civil::{Date, DateTime},
    tz::{AmbiguousOffset, Offset},
};

use super::{
    Zone,
    clock_changes::{ClockChange, first_change},
    error::{Error, shortened},
    field::FIELDS,
    offset_period::OffsetPeriod,
    times::Times,
};
use crate::time::Timestamp;

/// The longest accepted expression, in bytes.
pub const MAX_EXPRESSION_BYTES: usize = 512;

/// The calendar repeats after 400 years, so a date that does not match within that time never matches.
const CALENDAR_CYCLE_DAYS: i32 = 146_097;

/// The maximum number of clock changes that one search passes: two in each year of the calendar's cycle, with a
/// reserve.
const MAX_OFFSET_PERIODS_SEARCHED: usize = 1024;

/// The instant from which [`Cron::parse`] checks that an expression ever fires: 2100-01-01. Irregular clock changes
/// of the past, and those that are already decreed, are over by then.
const NEVER_REFERENCE_SECONDS: i64 = 4_102_444_800;

/// Nicknames of whole expressions.
const NICKNAMES: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// A cron expression in a time zone, which fires at least once in 400 years.
#[derive(Clone, PartialEq, Eq)]
pub struct Cron {
    days: Box<croner::CronPattern>,
    times: Times,
    follows_wall_clock: bool,
    zone: Zone,
}

impl Cron {
    /// Parses five fields, six with the seconds first, or a nickname such as `@daily`.
    ///
    /// # Errors
    ///
    /// [`Error::Expression`] or [`Error::Field`] if the expression is malformed, and [`Error::NeverFires`] if no
    /// instant in `zone` matches.
    pub fn parse(expression: &str, zone: Zone) -> Result<Self, Error> {
        let refuse = |problem: String| Error::Expression {
            expression: shortened(expression),
            problem,
        };
        // 1. Split the expression and check each field.
        if expression.len() > MAX_EXPRESSION_BYTES {
            let length = expression.len();
            return Err(refuse(format!(
                "it has {length} bytes; expected at most {MAX_EXPRESSION_BYTES}"
            )));
        }
        let fields = fields(expression).map_err(refuse)?;
        // Vixie cron requires both day fields to match if one of them begins with `*`, even `*/2`. Otherwise one
        // match suffices.
        let both_days = fields[3].starts_with('*') || fields[5].starts_with('*');
        let canonical = fields
            .iter()
            .zip(&FIELDS)
            .map(|(text, field)| field.canonical(text))
            .collect::<Result<Vec<_>, _>>()?;
        // 2. Parse the canonical fields.
        let pattern = CronParser::builder()
            .seconds(Seconds::Required)
            .year(Year::Disallowed)
            .dom_and_dow(both_days)
            .build()
            .parse(&canonical.join(" "))
            .map_err(|error| refuse(error.to_string()))?
            .pattern;
        let cron = Self {
            times: Times::new(
                &pattern.hours.values(),
                &pattern.minutes.values(),
                &pattern.seconds.values(),
            ),
            days: Box::new(pattern),
            follows_wall_clock: fields[1].starts_with('*') || fields[2].starts_with('*'),
            zone,
        };
        // 3. Refuse an expression that never fires, such as 30 February.
        match cron.never_fires_reason() {
            None => Ok(cron),
            Some(problem) => Err(Error::NeverFires {
                expression: shortened(expression),
                zone: cron.zone.name().into(),
                problem,
            }),
        }
    }

    /// Returns the first instant strictly after `after`.
    pub(super) fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        // Each round searches one period. A match beyond its end is searched again in the next period.
        let mut period = OffsetPeriod::containing(&self.zone, after.jiff());
        let mut from = self.wall_after(&period, after.jiff())?;
        let mut found = self.first_from(from)?;
        for _ in 0..MAX_OFFSET_PERIODS_SEARCHED {
            // In a gap, a fixed time precedes the first wall time of the period, so that it fires at the start of the
            // period.
            let instant = period.instant(found)?.max(period.start());
            if period.reaches(instant) {
                return Some(Timestamp::from_jiff(instant));
            }
            period = period.next(&self.zone)?;
            let start = self.wall_start(&period);
            // Search again only if the start lies outside of `from..=found`. Otherwise `found` is still the first
            // match, because nothing between `from` and `found` matches.
            if start < from || start > found {
                found = self.first_from(start)?;
            }
            from = start;
        }
        None
    }

    /// Returns the number of instants in `(after, until]`. Visits each day once, and computes the number of times
    /// within a day by multiplication.
    pub(super) fn count(&self, after: Timestamp, until: Timestamp) -> u64 {
        let until = until.jiff();
        let mut period = OffsetPeriod::containing(&self.zone, after.jiff());
        let Some(mut from) = self.wall_after(&period, after.jiff()) else {
            return 0;
        };
        let mut total = 0;
        loop {
            let over = period.reaches(until);
            let end = period.wall(period.end_or(until));
            // The instant at the end of a period belongs to the next period. `until` itself counts.
            let end = if over { next_second(end) } else { Some(end) };
            let start = period.wall_start();
            // The wall times in `from..start` lie in a gap. All fixed times in it fire once, at the start. The check
            // of `matches_start` keeps a schedule that also matches at the start itself from counting twice.
            if from < start {
                let skipped = self.first_from(from).is_some_and(|found| found < start);
                let matches_start = self.first_from(start) == Some(start);
                total += u64::from(skipped && !matches_start);
                from = start;
            }
            total += end.map_or(0, |end| self.count_walls(from, end));
            match period.next(&self.zone) {
                Some(next) if !over => period = next,
                _ => return total,
            }
            from = self.wall_start(&period);
        }
    }

    /// Returns the offset of the zone at an instant, in seconds. Returns `None` if the zone is UTC.
    pub(super) fn zone_offset_seconds(&self, at: Timestamp) -> Option<i32> {
        let zone = &self.zone;
        (!zone.is_utc()).then(|| zone.jiff().to_offset(at.jiff()).seconds())
    }

    /// Returns the instant after which the schedule continues under these rules, if other rules showed an offset at
    /// the last decided instant. See [`super::Schedule::continue_after`].
    pub(super) fn continue_after(
        &self,
        decided_until: Timestamp,
        offset_seconds: i32,
    ) -> Timestamp {
        if self.follows_wall_clock {
            return decided_until;
        }
        let Ok(offset) = Offset::from_seconds(offset_seconds) else {
            return decided_until;
        };
        let zone = self.zone.jiff();
        let shown = zone.to_ambiguous_timestamp(offset.to_datetime(decided_until.jiff()));
        let in_gap = matches!(shown.offset(), AmbiguousOffset::Gap { .. });
        // Of two passes take the first, because fixed times fire in that pass.
        let Ok(mut instant) = shown.earlier() else {
            return decided_until;
        };
        // The fixed times of a gap fire at its end, as one.
        if in_gap && let Some(change) = zone.following(instant).next() {
            instant = change.timestamp();
        }
        decided_until.max(Timestamp::from_jiff(instant))
    }

    /// Returns the first change of clocks that concerns a fixed time. See [`super::Schedule::clock_change`].
    pub(super) fn clock_change(&self, after: Timestamp, until: Timestamp) -> Option<ClockChange> {
        if self.follows_wall_clock || self.zone.is_utc() {
            return None;
        }
        first_change(&self.zone, (after, until), |from| self.first_from(from))
    }

    /// Returns the wall time from which a search for instants after `after` begins.
    fn wall_after(&self, period: &OffsetPeriod, after: jiff::Timestamp) -> Option<DateTime> {
        let from = next_second(period.wall(after))?;
        Some(if self.follows_wall_clock {
            from
        } else {
            from.max(period.wall_start_unchanged())
        })
    }

    /// Returns the first wall time that a period covers. For fixed schedules, it is the successor of the last wall
    /// time of the previous period: earlier than the period's start after a gap, and later after a repeat.
    fn wall_start(&self, period: &OffsetPeriod) -> DateTime {
        if self.follows_wall_clock {
            period.wall_start()
        } else {
            period.wall_start_unchanged()
        }
    }

    /// Returns the first matching wall time at or after `from`.
    fn first_from(&self, from: DateTime) -> Option<DateTime> {
        let mut date = from.date();
        if self.matches(date)
            && let Some(time) = self.times.first_from(from.time())
        {
            return Some(date.to_datetime(time));
        }
        // 400 years bound the search for expressions such as 30 February.
        let last = date.saturating_add(CALENDAR_CYCLE_DAYS.days());
        while date < last {
            date = if self.matches_month(date) {
                date.tomorrow().ok()?
            } else {
                date.last_of_month().tomorrow().ok()?
            };
            if self.matches(date) {
                return Some(date.to_datetime(self.times.first()?));
            }
        }
        None
    }

    /// Returns the number of matching wall times in `[from, end)`.
    fn count_walls(&self, from: DateTime, end: DateTime) -> u64 {
        if from >= end {
            return 0;
        }
        let before = |wall: DateTime| {
            if self.matches(wall.date()) {
                self.times.count_before(wall.time())
            } else {
                0
            }
        };
        let days = std::iter::successors(Some(from.date()), |date| date.tomorrow().ok())
            .take_while(|date| *date < end.date())
            .filter(|date| self.matches(*date))
            .map(|_| self.times.count_per_day())
            .sum::<u64>();
        days + before(end) - before(from)
    }

    fn matches_month(&self, date: Date) -> bool {
        #[cfg(test)]
        super::search_cost::count_day();
        self.days
            .month_match(u32::from(date.month().unsigned_abs()))
            .unwrap_or(false)
    }

    /// Returns `true` if a day matches. `croner` returns an error only for dates that do not exist, which a [`Date`]
    /// never is.
    fn matches(&self, date: Date) -> bool {
        let weekday = date.weekday().to_sunday_zero_offset().unsigned_abs();
        self.matches_month(date)
            && self
                .days
                .day_match(
                    i32::from(date.year()),
                    u32::from(date.month().unsigned_abs()),
                    u32::from(date.day().unsigned_abs()),
                    Weekday::from_days_from_sunday(u32::from(weekday)),
                )
                .unwrap_or(false)
    }

    /// Returns the reason for which the expression never fires. Returns `None` if it fires.
    fn never_fires_reason(&self) -> Option<&'static str> {
        let reference = jiff::Timestamp::constant(NEVER_REFERENCE_SECONDS, 0);
        let wall = self.zone.jiff().to_datetime(reference);
        if self.first_from(wall).is_none() {
            Some("no date has that day, month and weekday")
        } else if self.next_after(Timestamp::from_jiff(reference)).is_none() {
            Some("its times are always skipped when clocks go forward")
        } else {
            None
        }
    }
}

impl fmt::Debug for Cron {
    /// Writes the fields and the zone. The derived form would print large tables.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cron")
            .field("fields", &self.days.as_str())
            .field("zone", &self.zone.name())
            .finish_non_exhaustive()
    }
}

/// Splits an expression into six fields.
fn fields(expression: &str) -> Result<Vec<&str>, String> {
    let mut text = expression.trim();
    if text.starts_with('@') {
        let nickname = NICKNAMES
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(text));
        text = nickname.map(|(_, fields)| *fields).ok_or_else(|| {
            "it is an unknown name; expected @yearly, @annually, @monthly, @weekly, @daily, \
             @midnight or @hourly"
                .to_owned()
        })?;
    }
    let mut fields: Vec<&str> = text.split_whitespace().collect();
    match fields.len() {
        5 => fields.insert(0, "0"),
        6 => {}
        count => {
            return Err(format!(
                "it has {count} fields; expected five (minute, hour, day of month, month, day of \
                 week), or six with the seconds first"
            ));
        }
    }
    Ok(fields)
}

/// Returns the next whole second of the wall clock.
fn next_second(wall: DateTime) -> Option<DateTime> {
    let whole = wall.with().subsec_nanosecond(0).build().ok()?;
    whole.checked_add(SignedDuration::from_secs(1)).ok()
}
