//! The fields of a cron expression: their values, and messages that explain why a field is invalid.

use super::error::{Error, shortened};

/// The forms that a field accepts besides numbers, ranges and steps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extras {
    None,
    DayOfMonth,
    DayOfWeek,
}

/// A field of a cron expression.
pub(super) struct Field {
    name: &'static str,
    min: u8,
    max: u8,
    /// The names of the values, from `min` on.
    names: &'static [&'static str],
    extras: Extras,
    accepted: &'static str,
}

/// The fields in their order. Expressions with five fields have no seconds.
pub(super) const FIELDS: [Field; 6] = [
    Field {
        name: "second",
        min: 0,
        max: 59,
        names: &[],
        extras: Extras::None,
        accepted: "0-59, `*`, lists such as 0,30, ranges such as 0-10, steps such as */15",
    },
    Field {
        name: "minute",
        min: 0,
        max: 59,
        names: &[],
        extras: Extras::None,
        accepted: "0-59, `*`, lists such as 0,30, ranges such as 0-10, steps such as */15",
    },
    Field {
        name: "hour",
        min: 0,
        max: 23,
        names: &[],
        extras: Extras::None,
        accepted: "0-23, `*`, lists such as 9,17, ranges such as 9-17, steps such as */2",
    },
    Field {
        name: "day-of-month",
        min: 1,
        max: 31,
        names: &[],
        extras: Extras::DayOfMonth,
        accepted: "1-31, `*`, lists such as 1,15, ranges such as 1-7, steps such as */2, \
                   L for the last day, 15W for the weekday nearest to the 15th, LW",
    },
    Field {
        name: "month",
        min: 1,
        max: 12,
        names: &[
            "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
        ],
        extras: Extras::None,
        accepted: "1-12 or JAN-DEC, `*`, lists such as 1,7, ranges such as 6-8, steps such as */3",
    },
    Field {
        name: "day-of-week",
        min: 0,
        max: 7,
        names: &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"],
        extras: Extras::DayOfWeek,
        accepted: "0-7 (0 and 7 are Sunday) or SUN-SAT, `*`, lists such as 1,3, ranges such as \
                   1-5, steps such as */2, 5L for the last Friday, 1#2 for the second Monday",
    },
];

impl Field {
    /// Returns the field with numbers instead of names, in the form that `croner` reads the same way.
    ///
    /// # Errors
    ///
    /// [`Error::Field`] with the problem and the accepted values.
    pub(super) fn canonical(&self, text: &str) -> Result<String, Error> {
        self.items(text).map_err(|problem| Error::Field {
            field: self.name,
            value: shortened(text),
            problem,
            accepted: self.accepted,
        })
    }

    fn items(&self, text: &str) -> Result<String, String> {
        if text == "*" || (text == "?" && self.extras != Extras::None) {
            return Ok("*".into());
        }
        let items: Vec<String> = text
            .split(',')
            .map(|item| self.item(item))
            .collect::<Result<_, _>>()?;
        let has = |wanted: &str| items.iter().any(|item| item == wanted);
        if self.extras == Extras::DayOfMonth && has("L") && has("LW") {
            return Err("L and LW cannot be in one list".into());
        }
        Ok(items.join(","))
    }

    fn item(&self, item: &str) -> Result<String, String> {
        if item.is_empty() {
            return Err("an item before or after a comma is missing".into());
        }
        if item == "*" {
            return Err("`*` cannot be in a list".into());
        }
        if let Some((of, step)) = item.split_once('/') {
            let step = self.step(step)?;
            return match of {
                "*" => Ok(format!("*/{step}")),
                _ if of.contains('-') => Ok(format!("{}/{step}", self.range(of)?)),
                _ => Err(format!(
                    "a step needs `*` or a range before the slash, such as {}-{}/{step}",
                    shortened(of),
                    self.max
                )),
            };
        }
        if item.contains('-') {
            return self.range(item);
        }
        match self.extras {
            Extras::DayOfMonth => self.day_of_month(item),
            Extras::DayOfWeek => self.day_of_week(item),
            Extras::None => self.value(item).map(|value| value.to_string()),
        }
    }

    fn day_of_month(&self, item: &str) -> Result<String, String> {
        let upper = item.to_ascii_uppercase();
        match upper.strip_suffix('W') {
            _ if upper == "L" || upper == "LW" => Ok(upper),
            Some(day) => Ok(format!("{}W", self.value(day)?)),
            None => self.value(item).map(|day| day.to_string()),
        }
    }

    fn day_of_week(&self, item: &str) -> Result<String, String> {
        if let Some((day, nth)) = item.split_once('#') {
            let day = self.value(day)?;
            return match nth {
                "1" | "2" | "3" | "4" | "5" => Ok(format!("{day}#{nth}")),
                "L" | "l" => Ok(format!("{day}L")),
                _ => Err(format!("`{}` after # is not in 1-5", shortened(nth))),
            };
        }
        match item.strip_suffix(['L', 'l']) {
            Some(day) => Ok(format!("{}L", self.value(day)?)),
            None => self.value(item).map(|day| day.to_string()),
        }
    }

    /// Returns a range that goes upward. Sunday at its end becomes 7, so that `FRI-SUN` is valid.
    fn range(&self, text: &str) -> Result<String, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, ""));
        let (from, mut to) = (self.value(first)?, self.value(last)?);
        if self.extras == Extras::DayOfWeek && to == 0 && from > 0 {
            to = self.max;
        }
        if from > to {
            // A valid value that is long has leading zeros. Cut it, so that the advice stays readable.
            let (first, last) = (shortened(first), shortened(last));
            return Err(format!(
                "the range {first}-{last} goes downward; write {first}-{},{}-{last}",
                self.max, self.min
            ));
        }
        Ok(format!("{from}-{to}"))
    }

    fn step(&self, text: &str) -> Result<u8, String> {
        number(text)
            .filter(|step| (1..=self.max).contains(step))
            .ok_or_else(|| {
                let shown = shortened(text);
                format!(
                    "the step `{}` is not in 1-{}",
                    shown.escape_debug(),
                    self.max
                )
            })
    }

    fn value(&self, text: &str) -> Result<u8, String> {
        let named = |name: &&str| name.eq_ignore_ascii_case(text);
        let named = self.names.iter().position(named);
        named
            .and_then(|index| u8::try_from(index).ok())
            .map(|index| self.min + index)
            .or_else(|| number(text).filter(|value| (self.min..=self.max).contains(value)))
            .ok_or_else(|| {
                let shown = shortened(text);
                let (min, max) = (self.min, self.max);
                format!("`{}` is not in {min}-{max}", shown.escape_debug())
            })
    }
}

/// Reads a number of digits only, because `parse` alone would accept a plus sign.
fn number(text: &str) -> Option<u8> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: usize = 1;
    const HOUR: usize = 2;
    const DAY_OF_MONTH: usize = 3;
    const MONTH: usize = 4;
    const DAY_OF_WEEK: usize = 5;

    #[test]
    fn invalid_cron_field_is_refused_with_accepted_values() {
        for (field, text, says) in [
            (MINUTE, "*/0", "the step `0` is not in 1-59"),
            (MINUTE, "*/90", "the step `90` is not in 1-59"),
            (MINUTE, "*/", "the step `` is not in 1-59"),
            (MINUTE, "1,", "an item before or after a comma is missing"),
            (MINUTE, ",1", "an item before or after a comma is missing"),
            (MINUTE, "1,*", "`*` cannot be in a list"),
            (MINUTE, "60", "`60` is not in 0-59"),
            (MINUTE, "+5", "`+5` is not in 0-59"),
            (MINUTE, "256", "`256` is not in 0-59"),
            (MINUTE, "-5", "`` is not in 0-59"),
            (MINUTE, "1-2-3", "`2-3` is not in 0-59"),
            (MINUTE, "5/15", "such as 5-59/15"),
            (MINUTE, "/15", "needs `*` or a range"),
            (MINUTE, "L", "`L` is not in 0-59"),
            (MINUTE, "?", "`?` is not in 0-59"),
            (MINUTE, "MON", "`MON` is not in 0-59"),
            (MINUTE, "٣", "`٣` is not in 0-59"),
            (HOUR, "22-2", "write 22-23,0-2"),
            (HOUR, "24", "`24` is not in 0-23"),
            (DAY_OF_MONTH, "0", "`0` is not in 1-31"),
            (DAY_OF_MONTH, "32W", "`32` is not in 1-31"),
            (DAY_OF_MONTH, "W", "`` is not in 1-31"),
            (DAY_OF_MONTH, "L-3", "`L` is not in 1-31"),
            (DAY_OF_MONTH, "L,LW", "L and LW"),
            (DAY_OF_MONTH, "1#2", "`1#2` is not in 1-31"),
            (MONTH, "0", "`0` is not in 1-12"),
            (MONTH, "JANUARY", "`JANUARY` is not in 1-12"),
            (DAY_OF_WEEK, "8", "`8` is not in 0-7"),
            (DAY_OF_WEEK, "1#0", "`0` after # is not in 1-5"),
            (DAY_OF_WEEK, "1#6", "`6` after # is not in 1-5"),
            (DAY_OF_WEEK, "1-5#2", "`5#2` is not in 0-7"),
            (DAY_OF_WEEK, "L", "`` is not in 0-7"),
            (DAY_OF_WEEK, "+5", "`+5` is not in 0-7"),
            (DAY_OF_WEEK, "SAT-MON", "write SAT-7,0-MON"),
        ] {
            let field = &FIELDS[field];
            let error = field.canonical(text).unwrap_err().to_string();
            let named = format!("invalid {} field `{text}`", field.name);
            assert!(error.starts_with(&named), "{error}");
            assert!(error.contains(says), "{error}");
            assert!(error.ends_with(field.accepted), "{error}");
        }
    }

    #[test]
    fn cron_field_error_has_bounded_length() {
        let long = "\u{10ffff}".repeat(100);
        let zeros = "0".repeat(400);
        for (field, text) in [
            (MINUTE, long.clone()),
            (MINUTE, format!("*/{long}")),
            (MINUTE, format!("{long}/2")),
            (MINUTE, format!("{zeros}9-{zeros}1")),
            (DAY_OF_WEEK, format!("1#{long}")),
        ] {
            let error = FIELDS[field].canonical(&text).unwrap_err().to_string();
            assert!(error.len() < 2500, "{} bytes: {error}", error.len());
        }
    }

    #[test]
    fn names_and_extras_are_canonicalized_to_numbers() {
        for (field, text, canonical) in [
            (MINUTE, "05", "5"),
            (MINUTE, "*/15,3,10-50/10", "*/15,3,10-50/10"),
            (DAY_OF_MONTH, "?", "*"),
            (DAY_OF_MONTH, "l,015w", "L,15W"),
            (DAY_OF_MONTH, "lw", "LW"),
            (MONTH, "jan-Mar,DEC", "1-3,12"),
            (DAY_OF_WEEK, "Mon-FRI,sun", "1-5,0"),
            (DAY_OF_WEEK, "fri-sun", "5-7"),
            (DAY_OF_WEEK, "sun-tue", "0-2"),
            (DAY_OF_WEEK, "sun-sun", "0-0"),
            (DAY_OF_WEEK, "5-7/2", "5-7/2"),
            (DAY_OF_WEEK, "fri#L,1#2,0l", "5L,1#2,0L"),
        ] {
            assert_eq!(FIELDS[field].canonical(text).as_deref(), Ok(canonical));
        }
    }
}
