//! The examples of `docs/reference/clock-oracles.md`: one row for each rule, compared with the found differences.

use model::schedule::{Zone, format_instant};

use super::{Timestamp, cases::Case, oracle::Answer};

const PAGE: &str = include_str!("../../../../docs/reference/clock-oracles.md");

/// One row of the table of examples.
pub(crate) struct Example {
    rule: String,
    pub(crate) case: Case,
    /// The fires of Matins and of the oracle, as the page shows them.
    expected: [String; 2],
}

/// Returns the examples in the section of `oracle`. Each row has the name of the rule, the expression, the zone, the
/// instant and both answers.
pub(crate) fn examples(oracle: &str) -> Vec<Example> {
    let (_, section) = PAGE.split_once(&format!("\n## {oracle}\n")).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.contains("| `"));
    rows.map(example).collect()
}

fn example(row: &str) -> Example {
    let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
    let [rule, expression, zone, after, matins, oracle] = cells.try_into().unwrap();
    let [date, time, offset] = after.split(' ').collect::<Vec<_>>().try_into().unwrap();
    let instant: Timestamp = format!("{date}T{time}{offset}").parse().unwrap();
    let after = instant.as_microsecond() / 1_000_000;
    assert_eq!(
        format_instants(&[after], zone),
        format!("{date} {time} {offset}")
    );
    Example {
        rule: rule.to_owned(),
        case: Case {
            expression: expression.trim_matches('`').to_owned(),
            zone: zone.to_owned(),
            after,
            micros: 0,
        },
        expected: [matins.to_owned(), oracle.to_owned()],
    }
}

impl Example {
    /// Compares the row with the rules that explain the difference, and with both answers.
    pub(crate) fn assert_matches<'a>(
        &self,
        mut rules: impl Iterator<Item = &'a str>,
        matins: &[i64],
        answer: &Answer,
    ) {
        let zone = &self.case.zone;
        let found = [
            format_instants(matins, zone),
            format_instants(answer.as_ref().unwrap(), zone),
        ];
        // A row may show fewer fires than are compared.
        for (found, expected) in found.iter().zip(&self.expected) {
            assert!(
                found.starts_with(expected.as_str()),
                "{:?} gives {found}",
                self.case
            );
        }
        assert!(
            rules.any(|name| name == self.rule),
            "the rule {} does not explain the row",
            self.rule
        );
    }
}

fn format_instants(instants: &[i64], zone: &str) -> String {
    let zone = Zone::parse(zone).unwrap();
    let written = |at: &i64| {
        let at = Timestamp::from_microsecond(at * 1_000_000).unwrap();
        let whole = format_instant(at, &zone);
        let without_zone = whole.strip_suffix(&format!(" {zone}")).unwrap();
        without_zone.split_once(' ').unwrap().1.to_owned()
    };
    instants.iter().map(written).collect::<Vec<_>>().join(", ")
}
