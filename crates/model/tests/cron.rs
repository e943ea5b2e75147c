//! Tests of the meaning of cron expressions, case by case.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use model::{
    Timestamp,
    schedule::{Error, MAX_EXPRESSION_BYTES, Schedule, Spec},
};

fn parse(expression: &str, zone: &str) -> Result<Schedule, Error> {
    Schedule::parse(&Spec::Cron {
        expression: expression.into(),
        zone: zone.into(),
    })
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// Returns the next runs in UTC in the form `2026-12-01T09:00`, with seconds only if they are not zero.
fn fires(expression: &str, after: &str, n: usize) -> Vec<String> {
    let schedule = parse(expression, "UTC").unwrap();
    let fires = schedule.upcoming(at(after), n).into_iter();
    fires
        .map(|at| {
            let text = at.to_string();
            let text = text.trim_end_matches('Z');
            text.strip_suffix(":00").unwrap_or(text).to_owned()
        })
        .collect()
}

#[test]
fn invalid_cron_expression_is_refused_with_its_problem() {
    for (expression, expected) in [
        ("", "it has 0 fields"),
        ("   ", "it has 0 fields"),
        ("0 9 * *", "it has 4 fields"),
        ("0 0 9 * * * 2027", "it has 7 fields"),
        ("@reboot", "expected @yearly"),
        ("@daily x", "expected @yearly"),
        ("0 9 * * @daily", "day-of-week field `@daily`"),
        ("*/0 * * * *", "minute field `*/0`"),
        ("*/90 * * * *", "minute field `*/90`"),
        ("0,30, * * * *", "minute field `0,30,`"),
        ("60 0 9 * * *", "second field `60`"),
        ("0 24 * * *", "hour field `24`"),
        ("0 9 * * MONDAY", "day-of-week field `MONDAY`"),
    ] {
        let error = parse(expression, "UTC").unwrap_err().to_string();
        assert!(
            error.contains(expected) && error.contains("expected"),
            "{error}"
        );
    }
}

#[test]
fn cron_expression_length_is_limited() {
    let long = format!("{} * * * *", "0,".repeat(MAX_EXPRESSION_BYTES) + "0");
    let error = parse(&long, "UTC").unwrap_err().to_string();
    assert!(
        error.contains("expected at most 512") && error.len() < 300,
        "{error}"
    );
    let all: Vec<String> = (0..60).map(|minute| minute.to_string()).collect();
    assert!(parse(&format!("{} * * * *", all.join(",")), "UTC").is_ok());
}

#[test]
fn cron_expression_that_never_fires_is_refused() {
    for (expression, zone, expected) in [
        ("0 0 30 2 *", "UTC", "no date"),
        ("0 0 31 4,6,9,11 *", "UTC", "no date"),
        ("0 0 31W 2 *", "UTC", "no date"),
        ("0 0 */31 2 1#5", "UTC", "no date"),
        ("*/15 2 * 3 0#2", "America/New_York", "always skipped"),
        ("* 2 * 3 0L", "Europe/Prague", "always skipped"),
    ] {
        let error = parse(expression, zone).unwrap_err();
        assert!(matches!(error, Error::NeverFires { .. }), "{error:?}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn rare_cron_dates_are_found_far_in_the_future() {
    assert_eq!(
        fires("0 0 29 2 *", "2096-03-01T00:00:00Z", 2),
        ["2104-02-29T00:00", "2108-02-29T00:00"]
    );
    // A leap day on a Monday: `*/28` is days 1 and 29, and both day fields must match.
    assert_eq!(
        fires("0 0 */28 2 1#5", "2072-03-01T00:00:00Z", 3),
        ["2112-02-29T00:00", "2140-02-29T00:00", "2168-02-29T00:00"]
    );
    assert_eq!(
        fires("*/15 2 14 3 *", "2026-01-01T00:00:00Z", 1),
        ["2026-03-14T02:00"]
    );
}

#[test]
fn cron_expression_gives_expected_instants() {
    let cases: &[(&str, &[&str])] = &[
        ("0 9 1 * *", &["2026-12-01T09:00", "2027-01-01T09:00"]),
        (
            "0 9 L * *",
            &[
                "2026-11-30T09:00",
                "2026-12-31T09:00",
                "2027-01-31T09:00",
                "2027-02-28T09:00",
            ],
        ),
        (
            "0 9 LW * *",
            &["2026-11-30T09:00", "2026-12-31T09:00", "2027-01-29T09:00"],
        ),
        (
            "0 9 15W * *",
            &[
                "2026-12-15T09:00",
                "2027-01-15T09:00",
                "2027-02-15T09:00",
                "2027-03-15T09:00",
                "2027-04-15T09:00",
                "2027-05-14T09:00",
            ],
        ),
        (
            "0 9 1W * *",
            &[
                "2026-12-01T09:00",
                "2027-01-01T09:00",
                "2027-02-01T09:00",
                "2027-03-01T09:00",
                "2027-04-01T09:00",
                "2027-05-03T09:00",
            ],
        ),
        ("0 9 * * 5#3", &["2026-12-18T09:00", "2027-01-15T09:00"]),
        (
            "0 9 * * FRI#L",
            &["2026-11-27T09:00", "2026-12-25T09:00", "2027-01-29T09:00"],
        ),
        ("0 9 * * 1-5", &["2026-11-23T09:00", "2026-11-24T09:00"]),
        ("0 9 * * 0", &["2026-11-22T09:00"]),
        ("0 9 * * 7", &["2026-11-22T09:00"]),
        (
            "0 9 * * FRI-SUN",
            &["2026-11-22T09:00", "2026-11-27T09:00", "2026-11-28T09:00"],
        ),
        ("0 9 ? JAN MON", &["2027-01-04T09:00"]),
        (
            "*/20 * * * * *",
            &[
                "2026-11-21T12:00:20",
                "2026-11-21T12:00:40",
                "2026-11-21T12:01",
            ],
        ),
        ("30 15 10 * * *", &["2026-11-22T10:15:30"]),
        ("@yearly", &["2027-01-01T00:00"]),
        ("@Annually", &["2027-01-01T00:00"]),
        ("@monthly", &["2026-12-01T00:00"]),
        ("@weekly", &["2026-11-22T00:00"]),
        ("@daily", &["2026-11-22T00:00"]),
        ("@midnight", &["2026-11-22T00:00"]),
        (" @hourly ", &["2026-11-21T13:00"]),
    ];
    for (expression, expected) in cases {
        let found = fires(expression, "2026-11-21T12:00:00Z", expected.len());
        assert_eq!(found, *expected);
    }
}

#[test]
fn cron_day_fields_combine_as_in_vixie_cron() {
    let cases: &[(&str, &[&str])] = &[
        // If both day fields restrict, one match suffices.
        (
            "0 9 13 * 5",
            &[
                "2026-11-27T09:00",
                "2026-12-04T09:00",
                "2026-12-11T09:00",
                "2026-12-13T09:00",
            ],
        ),
        // If one day field begins with `*`, both must match: Fridays on odd days.
        (
            "0 9 */2 * 5",
            &["2026-11-27T09:00", "2026-12-11T09:00", "2026-12-25T09:00"],
        ),
        // Both must match: the 13th, if it is a Sunday, Tuesday, Thursday or Saturday.
        (
            "0 9 13 * */2",
            &[
                "2026-12-13T09:00",
                "2027-02-13T09:00",
                "2027-03-13T09:00",
                "2027-04-13T09:00",
            ],
        ),
    ];
    for (expression, expected) in cases {
        let found = fires(expression, "2026-11-21T12:00:00Z", expected.len());
        assert_eq!(found, *expected);
    }
}

#[test]
fn next_cron_instant_is_strictly_later() {
    for (after, next) in [
        ("2026-11-21T08:59:59.999999Z", "2026-11-21T09:00"),
        ("2026-11-21T09:00:00Z", "2026-11-22T09:00"),
        ("2026-11-21T09:00:00.000001Z", "2026-11-22T09:00"),
        ("1969-12-31T23:59:59.5Z", "1970-01-01T09:00"),
    ] {
        assert_eq!(fires("0 9 * * *", after, 1), [next], "{after}");
    }
}

#[test]
fn no_cron_instant_follows_the_last_one() {
    for zone in [
        "UTC",
        "America/New_York",
        "Pacific/Kiritimati",
        "Pacific/Pago_Pago",
    ] {
        let daily = parse("0 9 * * *", zone).unwrap();
        let last = daily
            .fires_after(at("9999-12-01T00:00:00Z"))
            .last()
            .unwrap();
        assert!(last > at("9999-12-28T00:00:00Z"), "{zone}: {last}");
        assert_eq!(daily.next_after(last), None, "{zone}");
        assert_eq!(daily.next_after(Timestamp::MAX), None, "{zone}");
        assert_eq!(daily.count(last, Timestamp::MAX), 0, "{zone}");
    }
}
