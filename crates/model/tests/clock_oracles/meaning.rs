//! The meaning of the fields of an expression, parsed without the code under test.
//!
//! The parser accepts only well-formed expressions, because `cases` generates no others.

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// One item of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Item {
    /// Each `step`th value from the first to the last. `range` is `true` if they were written as a range.
    Values {
        first: i64,
        last: i64,
        step: i64,
        range: bool,
    },
    /// The last day of the month.
    Last,
    /// The last day from Monday to Friday of the month.
    LastWorkday,
    /// The day from Monday to Friday that is nearest to this day, in the same month.
    NearestWorkday(i64),
    /// The same, but in a month without that day, the workday nearest to the last day.
    NearestWorkdayInEveryMonth(i64),
    /// The nth of a weekday in its month.
    Nth { weekday: i64, nth: i64 },
    /// The last of a weekday in its month.
    LastOf { weekday: i64 },
}

/// One field: its text in lower case, its bounds and its items.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    text: String,
    min: i64,
    max: i64,
    pub(crate) items: Vec<Item>,
}

/// A whole expression.
#[derive(Debug, Clone)]
pub(crate) struct Meaning {
    pub(crate) second: Field,
    pub(crate) minute: Field,
    pub(crate) hour: Field,
    pub(crate) day: Field,
    pub(crate) month: Field,
    pub(crate) weekday: Field,
}

/// A day of the calendar, counted from 1970-01-01.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Day {
    of_month: i64,
    month: i64,
    year: i64,
    /// 0 is Sunday.
    weekday: i64,
}

impl Day {
    /// Computes the date as in "chrono-Compatible Low-Level Date Algorithms" by Howard Hinnant (`civil_from_days`).
    pub(crate) fn of(number: i64) -> Self {
        let shifted = number + 719_468;
        let (era, in_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year_of_era = (in_era - in_era / 1460 + in_era / 36_524 - in_era / 146_096) / 365;
        let in_year = in_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * in_year + 2) / 153;
        let month = (from_march + 2) % 12 + 1;
        Self {
            of_month: in_year - (153 * from_march + 2) / 5 + 1,
            month,
            year: era * 400 + year_of_era + i64::from(month <= 2),
            weekday: (number + 4).rem_euclid(7),
        }
    }

    /// Returns the number of days of the month.
    fn month_length(self) -> i64 {
        let leap = self.year % 4 == 0 && (self.year % 100 != 0 || self.year % 400 == 0);
        match self.month {
            2 => 28 + i64::from(leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }

    /// Returns the weekday of another day of the same month.
    fn weekday_of(self, day: i64) -> i64 {
        (self.weekday + day - self.of_month).rem_euclid(7)
    }

    fn is_workday(self, day: i64) -> bool {
        (1..=5).contains(&self.weekday_of(day))
    }

    /// Returns the day from Monday to Friday that is nearest to `day`, in the same month.
    fn nearest_workday(self, day: i64) -> Option<i64> {
        [0, -1, 1, -2, 2]
            .map(|distance| day + distance)
            .into_iter()
            .find(|near| (1..=self.month_length()).contains(near) && self.is_workday(*near))
            .filter(|_| day <= self.month_length())
    }
}

impl Item {
    fn has(self, value: i64) -> bool {
        match self {
            Self::Values {
                first, last, step, ..
            } => (first..=last).contains(&value) && (value - first) % step == 0,
            _ => false,
        }
    }

    fn has_day(self, date: Day) -> bool {
        match self {
            Self::Values { .. } => self.has(date.of_month),
            Self::Last => date.of_month == date.month_length(),
            Self::LastWorkday => {
                let last = (1..=date.month_length()).rev();
                last.into_iter().find(|day| date.is_workday(*day)) == Some(date.of_month)
            }
            Self::NearestWorkday(day) => date.nearest_workday(day) == Some(date.of_month),
            Self::NearestWorkdayInEveryMonth(day) => {
                date.nearest_workday(day.min(date.month_length())) == Some(date.of_month)
            }
            Self::Nth { .. } | Self::LastOf { .. } => false,
        }
    }

    fn has_weekday(self, date: Day) -> bool {
        match self {
            Self::Values { .. } => self.has(date.weekday) || (date.weekday == 0 && self.has(7)),
            Self::Nth { weekday, nth } => {
                date.weekday == weekday % 7 && (date.of_month - 1) / 7 + 1 == nth
            }
            Self::LastOf { weekday } => {
                date.weekday == weekday % 7 && date.of_month + 7 > date.month_length()
            }
            _ => false,
        }
    }
}

impl Field {
    fn read(text: &str, min: i64, max: i64, names: &[&str]) -> Self {
        let text = text.to_ascii_lowercase();
        let value = |text: &str| {
            let named = names.iter().position(|name| *name == text);
            named.map_or_else(
                || text.parse().unwrap(),
                |index| min + i64::try_from(index).unwrap(),
            )
        };
        let range = |text: &str| match text.split_once('-') {
            None => (value(text), value(text)),
            // In a range that ends on Sunday, Sunday is the seventh day.
            Some((first, last)) if names == WEEKDAYS && value(last) == 0 && value(first) > 0 => {
                (value(first), 7)
            }
            Some((first, last)) => (value(first), value(last)),
        };
        let item = |item: &str| {
            let (of, step) = item.split_once('/').unwrap_or((item, "1"));
            if of == "*" || of == "?" {
                return Item::Values {
                    first: min,
                    last: max,
                    step: step.parse().unwrap(),
                    range: false,
                };
            }
            if of == "l" {
                return Item::Last;
            }
            if of == "lw" {
                return Item::LastWorkday;
            }
            if let Some((weekday, nth)) = of.split_once('#') {
                let weekday = value(weekday);
                return match nth.parse() {
                    Ok(nth) => Item::Nth { weekday, nth },
                    Err(_) => Item::LastOf { weekday },
                };
            }
            match (of.strip_suffix('w'), of.strip_suffix('l')) {
                (Some(day), _) => Item::NearestWorkday(value(day)),
                (_, Some(weekday)) if names == WEEKDAYS => Item::LastOf {
                    weekday: value(weekday),
                },
                _ => {
                    let (first, last) = range(of);
                    Item::Values {
                        first,
                        last,
                        step: step.parse().unwrap(),
                        range: of.contains('-'),
                    }
                }
            }
        };
        let items = text.split(',').map(item).collect();
        Self {
            text,
            min,
            max,
            items,
        }
    }

    /// Returns `true` if the field is written as a wildcard.
    pub(crate) fn is_any(&self) -> bool {
        matches!(self.text.as_str(), "*" | "?")
    }

    /// Returns `true` if the field matches all values.
    pub(crate) fn is_all(&self) -> bool {
        self.values().eq(self.min..=self.max)
    }

    pub(crate) fn begins_with_star(&self) -> bool {
        self.text.starts_with('*')
    }

    /// Returns the values that the field matches.
    pub(crate) fn values(&self) -> impl Iterator<Item = i64> {
        (self.min..=self.max).filter(|value| self.items.iter().any(|item| item.has(*value)))
    }
}

impl Field {
    /// Returns the same meaning, but with ranges such as `5-5` read as the whole field.
    fn widened(&self) -> Self {
        let widened = |item: &Item| match *item {
            Item::Values {
                first,
                last,
                step,
                range: true,
            } if first == last => Item::Values {
                first: self.min,
                last: self.max,
                step,
                range: true,
            },
            item => item,
        };
        let items = self.items.iter().map(widened).collect();
        Self {
            items,
            ..self.clone()
        }
    }
}

impl Meaning {
    /// Returns the same meaning, but with ranges such as `5-5` read as the whole field.
    pub(crate) fn widened(&self) -> Self {
        Self {
            second: self.second.widened(),
            minute: self.minute.widened(),
            hour: self.hour.widened(),
            day: self.day.widened(),
            month: self.month.widened(),
            weekday: self.weekday.widened(),
        }
    }

    /// Returns the same meaning, but with the workday nearest to a day that a month does not have read as the workday
    /// nearest to its last day.
    pub(crate) fn with_near_days_in_every_month(&self) -> Self {
        let mut same = self.clone();
        for item in &mut same.day.items {
            if let Item::NearestWorkday(day) = *item {
                *item = Item::NearestWorkdayInEveryMonth(day);
            }
        }
        same
    }

    pub(crate) fn read(expression: &str) -> Self {
        let expression = match expression {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            fields => fields,
        };
        let mut fields: Vec<&str> = expression.split(' ').collect();
        if fields.len() == 5 {
            fields.insert(0, "0");
        }
        Self {
            second: Field::read(fields[0], 0, 59, &[]),
            minute: Field::read(fields[1], 0, 59, &[]),
            hour: Field::read(fields[2], 0, 23, &[]),
            day: Field::read(fields[3], 1, 31, &[]),
            month: Field::read(fields[4], 1, 12, &MONTHS),
            weekday: Field::read(fields[5], 0, 7, &WEEKDAYS),
        }
    }

    /// Returns `true` if both day fields must match. Otherwise one match suffices.
    pub(crate) fn needs_both_days(&self) -> bool {
        let is_wildcard = |field: &Field| field.begins_with_star() || field.is_any();
        is_wildcard(&self.day) || is_wildcard(&self.weekday)
    }

    /// Returns `true` if the times follow clock changes (cron(8) calls such jobs wildcard jobs).
    pub(crate) fn follows_wall_clock(&self) -> bool {
        self.minute.begins_with_star() || self.hour.begins_with_star()
    }

    pub(crate) fn has_day(&self, date: Day) -> bool {
        let in_month = self.month.items.iter().any(|item| item.has(date.month));
        let day = || self.day.items.iter().any(|item| item.has_day(date));
        let weekday = || self.weekday.items.iter().any(|item| item.has_weekday(date));
        in_month
            && if self.needs_both_days() {
                day() && weekday()
            } else {
                day() || weekday()
            }
    }

    /// Returns the matching times of a day in order, in seconds since midnight.
    pub(crate) fn times(&self) -> Vec<i64> {
        let seconds: Vec<i64> = self.second.values().collect();
        let minutes: Vec<i64> = self.minute.values().collect();
        let of_hour = |hour: i64| {
            let (minutes, seconds) = (&minutes, &seconds);
            minutes.iter().flat_map(move |minute| {
                seconds
                    .iter()
                    .map(move |second| hour * 3600 + minute * 60 + second)
            })
        };
        self.hour.values().flat_map(of_hour).collect()
    }
}
