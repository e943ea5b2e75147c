//! The times of day that match a cron expression.

use jiff::civil::Time;

/// Sets of hours, minutes and seconds as bits. A time matches if all three bits are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Times {
    hours: u64,
    minutes: u64,
    seconds: u64,
}

impl Times {
    /// Returns the times of three lists of values. Each value must be below 64, and no list may be empty.
    pub(super) fn new(hours: &[u16], minutes: &[u16], seconds: &[u16]) -> Self {
        let bits = |values: &[u16]| values.iter().fold(0, |bits, value| bits | 1 << value);
        Self {
            hours: bits(hours),
            minutes: bits(minutes),
            seconds: bits(seconds),
        }
    }

    /// Returns the first matching time of a day.
    pub(super) fn first(self) -> Option<Time> {
        self.first_from(Time::midnight())
    }

    /// Returns the first matching time of a day at or after `from`. Ignores fractions of a second.
    pub(super) fn first_from(self, from: Time) -> Option<Time> {
        let (hour, minute, second) = (from.hour(), from.minute(), from.second());
        if has(self.hours, hour) {
            if has(self.minutes, minute)
                && let Some(second) = next(self.seconds, second)
            {
                return Time::new(hour, minute, second, 0).ok();
            }
            if let Some(minute) = next(self.minutes, minute + 1) {
                return Time::new(hour, minute, next(self.seconds, 0)?, 0).ok();
            }
        }
        let hour = next(self.hours, hour + 1)?;
        Time::new(hour, next(self.minutes, 0)?, next(self.seconds, 0)?, 0).ok()
    }

    /// Returns the number of matching times in a day.
    pub(super) fn count_per_day(self) -> u64 {
        count(self.hours) * count(self.minutes) * count(self.seconds)
    }

    /// Returns the number of matching times of a day before `end`.
    pub(super) fn count_before(self, end: Time) -> u64 {
        let (seconds, minutes) = (count(self.seconds), count(self.minutes));
        let mut before = count(below(self.hours, end.hour())) * minutes * seconds;
        if has(self.hours, end.hour()) {
            before += count(below(self.minutes, end.minute())) * seconds;
            if has(self.minutes, end.minute()) {
                before += count(below(self.seconds, end.second()));
            }
        }
        before
    }
}

fn has(bits: u64, value: i8) -> bool {
    bits >> value & 1 == 1
}

fn count(bits: u64) -> u64 {
    u64::from(bits.count_ones())
}

/// Returns the bits below `value`.
fn below(bits: u64, value: i8) -> u64 {
    bits & ((1 << value) - 1)
}

/// Returns the lowest set bit at or above `value`.
fn next(bits: u64, value: i8) -> Option<i8> {
    let lowest = (bits & !((1 << value) - 1)).trailing_zeros();
    i8::try_from(lowest).ok().filter(|lowest| *lowest < 64)
}

#[cfg(test)]
mod tests {
    use jiff::civil::time;

    use super::*;

    #[test]
    fn cron_times_match_a_walk_through_the_day() {
        let times = Times::new(&[0, 9, 23], &[0, 15, 59], &[0, 30]);
        let (mut passed, mut last_found) = (0, None);
        for second in 0..86_400_i32 {
            let at = |unit: i32, size: i32| i8::try_from(second / unit % size).unwrap();
            let (h, m, s) = (at(3600, 24), at(60, 60), at(1, 60));
            let now = time(h, m, s, 0);
            let matches = [0, 9, 23].contains(&h) && [0, 15, 59].contains(&m) && s % 30 == 0;
            assert_eq!(times.count_before(now), passed, "{now}");
            assert_eq!(times.first_from(now) == Some(now), matches, "{now}");
            if matches {
                assert!(last_found.is_none_or(|found| found == now), "{now}");
                passed += 1;
            }
            last_found = times.first_from(now).filter(|_| !matches);
        }
        assert_eq!(passed, times.count_per_day());
        assert_eq!(times.first(), Some(time(0, 0, 0, 0)));
        assert_eq!(times.first_from(time(23, 59, 31, 0)), None);
    }
}
