//! The cost of a search: the number of days, or of months that it skips as a whole, that the search visits. Only tests
//! count it.

use std::cell::Cell;

thread_local! {
    static DAYS: Cell<u64> = const { Cell::new(0) };
}

/// Counts one visited day or skipped month.
pub(super) fn count_day() {
    DAYS.set(DAYS.get() + 1);
}

/// Returns the result of `work`, and the number of days that it visited.
fn count_days<T>(work: impl FnOnce() -> T) -> (T, u64) {
    DAYS.set(0);
    let result = work();
    (result, DAYS.get())
}

mod tests {
    use proptest::{prelude::*, sample::select};

    use super::count_days;
    use crate::{
        schedule::{Error, Schedule, Spec, due_instants},
        time::Timestamp,
    };

    /// The maximum number of days that a search may visit for any expression: one cycle of the calendar.
    const MAX_SEARCHED_DAYS: u64 = 146_097;

    const ZONES: [&str; 6] = [
        "UTC",
        "America/New_York",
        "Antarctica/Troll",
        "Australia/Lord_Howe",
        "Pacific/Apia",
        "Pacific/Kiritimati",
    ];

    /// Expressions that fire as rarely or as often as possible.
    const EXTREME_EXPRESSIONS: [&str; 12] = [
        "0 0 30 2 *",
        "0 0 31 2,4,6,9,11 *",
        "0 0 31W 2 *",
        "0 0 29 2 */7",
        "0 0 */28 2 1#5",
        "59 59 23 */28 2 0#5",
        "0 0 1W 1 */6",
        "*/15 2 * 3 0#2",
        "0 2 */7 3 0#2",
        "0 3 */14 */3 0L",
        "* * * * * *",
        "0 0 1 1 *",
    ];

    fn read(expression: &str, zone: &str) -> Result<Schedule, Error> {
        Schedule::parse(&Spec::Cron {
            expression: expression.into(),
            zone: zone.into(),
        })
    }

    fn extreme_instants() -> [Timestamp; 5] {
        let earliest = Timestamp::from_jiff(jiff::Timestamp::MIN);
        let parse = |text: &str| text.parse().unwrap();
        [
            earliest,
            Timestamp::UNIX_EPOCH,
            parse("9599-12-31T00:00:00Z"),
            parse("9999-12-30T00:00:00Z"),
            Timestamp::MAX,
        ]
    }

    /// Parses an expression, and checks the order, the counts and the cost of its fires after `after`.
    fn check_bounded_search(expression: &str, zone: &str, after: Timestamp) {
        let (read, days) = count_days(|| read(expression, zone));
        assert!(
            days <= MAX_SEARCHED_DAYS,
            "{days} to read {expression:?} in {zone}"
        );
        let Ok(schedule) = read else { return };
        let (fires, days) = count_days(|| schedule.upcoming(after, 3));
        let context = format!("{expression:?} in {zone} after {after}");
        assert!(days <= MAX_SEARCHED_DAYS, "{days} for {context}");
        assert!(
            fires.first().is_none_or(|first| *first > after),
            "{context}"
        );
        assert!(
            fires.is_sorted_by(|earlier, later| earlier < later),
            "{context}"
        );
        for pair in fires.windows(2) {
            assert_eq!(schedule.count(pair[0], pair[1]), 1, "{context}");
        }
        // If fewer fires than requested are found, the calendar ends before the next one.
        if let (Some(last), true) = (fires.last(), fires.len() < 3) {
            assert!(last.as_microsecond() > 200_000_000_000_000_000, "{context}");
        }
    }

    #[test]
    fn search_for_rare_fires_takes_bounded_work() {
        for expression in EXTREME_EXPRESSIONS {
            for zone in ZONES {
                for after in extreme_instants() {
                    check_bounded_search(expression, zone, after);
                }
            }
        }
    }

    #[test]
    fn search_cost_counts_days_and_skipped_months() {
        let yearly = read("0 0 1 1 *", "UTC").unwrap();
        let (_, days) = count_days(|| yearly.next_after(Timestamp::UNIX_EPOCH));
        // The search visits the days of January, and skips the other months as a whole.
        assert!((31 + 11..100).contains(&days), "{days}");
        let (total, days) = count_days(|| yearly.count(Timestamp::UNIX_EPOCH, Timestamp::MAX));
        assert_eq!(total, 9999 - 1970);
        assert!(days < 8100 * 366, "{days}");
    }

    #[test]
    fn backlog_of_a_century_is_counted_in_few_passes() {
        let first = "1970-01-01T00:00:00Z".parse().unwrap();
        let now = "2070-01-01T00:00:00Z".parse().unwrap();
        for zone in ZONES {
            let schedule = read("* * * * * *", zone).unwrap();
            let (due, days) = count_days(|| due_instants(&schedule, first, now, 2));
            assert_eq!(due.instants.len(), 2);
            // Counting and the binary search take a few passes over the hundred years.
            assert!(days < 10 * 36_525, "{days} in {zone}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

        #[test]
        fn arbitrary_cron_expression_takes_bounded_work(
            expression in "([0-9*,/LW#?-]{1,5} ){4,5}[0-9*,/L#?A-Z-]{1,5}",
            zone in select(&ZONES[..]),
            after in select(extreme_instants().to_vec()),
        ) {
            check_bounded_search(&expression, zone, after);
        }

        #[test]
        fn well_formed_cron_expression_takes_bounded_work(
            minute in 0..60_u8, hour in 0..24_u8, day in 1..32_u8, month in 1..13_u8, weekday in 0..8_u8,
            form in select(&[
                "{m} {h} {d} {o} {w}", "{m} {h} */{d} {o} {w}", "*/{d} {h} {d} {o} */7",
                "{m} {h} {d}W */{o} {w}", "{m} {h} */{d} {o} {w}#5", "{m} * L */{o} {w}L",
            ][..]),
            zone in select(&ZONES[..]),
            after in select(extreme_instants().to_vec()),
        ) {
            let expression = form
                .replace("{m}", &minute.to_string())
                .replace("{h}", &hour.to_string())
                .replace("{d}", &day.to_string())
                .replace("{o}", &month.to_string())
                .replace("{w}", &weekday.to_string());
            prop_assert!(!matches!(
                read(&expression, zone),
                Err(Error::Field { .. } | Error::Expression { .. })
            ), "{expression}");
            check_bounded_search(&expression, zone, after);
        }

        #[test]
        fn cron_text_of_400_characters_is_refused_with_short_error(
            text in "[ -~]{400}", field in "[0-9]{400}", zone in "\\PC{400}",
        ) {
            for (expression, zone) in [
                (text.as_str(), "UTC"),
                (&format!("{field} * * * *"), "UTC"),
                ("0 0 * * *", zone.as_str()),
            ] {
                let (parsed, days) = count_days(|| read(expression, zone));
                prop_assert_eq!(days, 0);
                let error = parsed.unwrap_err().to_string();
                prop_assert!(error.len() < 2500, "{}", error);
            }
        }
    }
}
