//! Tests that the examples in `docs/reference/clock-changes.md` match the code.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use model::schedule::{Schedule, Spec, format_instant};

const PAGE: &str = include_str!("../../../docs/reference/clock-changes.md");

/// Returns the cells of each row of the table of examples.
fn examples() -> impl Iterator<Item = [&'static str; 4]> {
    PAGE.split_once("## Examples")
        .unwrap()
        .1
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|row| {
            let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
            cells.try_into().unwrap()
        })
}

#[test]
fn clock_change_examples_in_docs_match_code() {
    let mut compared = 0;
    for [expression, zone, after, fires] in examples() {
        let spec = Spec::Cron {
            expression: expression.trim_matches('`').into(),
            zone: zone.into(),
        };
        let schedule = Schedule::parse(&spec).unwrap();
        let zone = spec.zone().unwrap();
        let shown = |instant| {
            let whole = format_instant(instant, &zone);
            let without_zone = whole.strip_suffix(&format!(" {zone}")).unwrap();
            without_zone.split_once(' ').unwrap().1.to_owned()
        };
        let [date, time, offset] = after.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let from = format!("{date}T{time}{offset}").parse().unwrap();
        assert_eq!(
            shown(from),
            after,
            "the zone has another offset at this instant"
        );
        let expected: Vec<&str> = fires.split(", ").collect();
        let found = schedule.upcoming(from, expected.len());
        let found: Vec<String> = found.into_iter().map(shown).collect();
        assert_eq!(found, expected, "{expression} in {zone} after {after}");
        compared += 1;
    }
    assert!(compared >= 19, "only {compared} rows were found");
}
