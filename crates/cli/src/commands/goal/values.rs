//! The argument that names a goal, and the values of options: budgets, ends of the time, and limits.

use std::{collections::BTreeMap, fmt, str::FromStr};

use api_types::GoalBudgetRequest;
use jiff::civil::{DateTime, Time};
use model::{
    Timestamp,
    budget::{InvalidMoney, Money, similar_unit},
    schedule::Period,
};

use crate::{
    commands::options::text_or_stdin,
    error::{CliError, Exit},
    output::{LocalTime, one_line},
};

/// The goal of a command.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct GoalArg {
    /// The goal: the ID of its session, a prefix of the ID, or its key
    #[arg(value_parser = parse_goal)]
    pub(in crate::commands) goal: String,
}

/// Parses the name of a goal, which is not empty.
fn parse_goal(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("a key or an ID is needed; `matins goal list` lists the goals".to_owned());
    }
    Ok(text.to_owned())
}

/// Returns the text of a goal or of a task: the given one, or the content of standard input if it is `-`. The line break at its
/// end is that of the program that wrote it, so it is no part of the text. `max_bytes` is the limit of the field.
pub(in crate::commands) fn text_argument(
    given: String,
    max_bytes: usize,
) -> Result<String, CliError> {
    let is_read = given == "-";
    let mut text = text_or_stdin(given, max_bytes)?;
    if is_read && text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}

/// A budget as people give it: `6 USD` or `200000 tokens`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BudgetArg {
    Cost(Money),
    Tokens(u64),
}

impl FromStr for BudgetArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = |hint: &str| {
            format!(
                "accepted are a cost in a currency of ISO 4217 such as `6 USD` and a number of tokens such as \
                 `200000 tokens`{hint}"
            )
        };
        if text.contains('/') {
            return Err(expected("; a goal has one budget, without a period"));
        }
        let (amount, unit) = text.trim().split_once(' ').ok_or_else(|| expected(""))?;
        let unit = unit.trim();
        if matches!(&*unit.to_lowercase(), "token" | "tokens") {
            return amount.parse().map(Self::Tokens).map_err(|_| expected(""));
        }
        let cost = Money::parse(amount, unit).map(Money::with_upper_case_code);
        match cost {
            Ok(cost) if cost.has_known_currency() => Ok(Self::Cost(cost)),
            Err(error @ InvalidMoney::Amount(_)) => Err(error.to_string()),
            Ok(_) | Err(InvalidMoney::Currency(_)) => Err(expected(&match similar_unit(unit) {
                Some("turns") => "; `--limit turns=NUMBER` limits the turns".to_owned(),
                Some("minutes") => "; `--until` limits the time".to_owned(),
                Some(similar) => format!("; did you mean `{similar}`?"),
                None => String::new(),
            })),
        }
    }
}

impl fmt::Display for BudgetArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cost(cost) => write!(f, "{} {}", cost.amount(), cost.currency()),
            Self::Tokens(tokens) => write!(f, "{tokens} tokens"),
        }
    }
}

/// Returns the budget of several options, each with a part.
///
/// # Errors
///
/// Returns an error if two options have the same part.
pub(super) fn budget(args: Vec<BudgetArg>) -> Result<Option<GoalBudgetRequest>, CliError> {
    let mut budget = GoalBudgetRequest::default();
    for arg in args {
        let text = arg.to_string();
        let is_repeated = match arg {
            BudgetArg::Cost(cost) => budget.cost.replace(cost.into()).is_some(),
            BudgetArg::Tokens(tokens) => budget.tokens.replace(tokens).is_some(),
        };
        if is_repeated {
            let accepted = "accepted are one cost and one number of tokens";
            let message =
                format!("invalid `--budget {text}`: it is the second one of its kind; {accepted}");
            return Err(CliError::message(Exit::Usage, message));
        }
    }
    Ok((budget != GoalBudgetRequest::default()).then_some(budget))
}

/// Returns the limits of several options.
///
/// # Errors
///
/// Returns an error if two options name the same limit.
pub(super) fn limits(args: Vec<(String, u32)>) -> Result<BTreeMap<String, u32>, CliError> {
    let mut limits = BTreeMap::new();
    for (name, value) in args {
        if let Some(first) = limits.get(&name) {
            let name = one_line(&name);
            let message = format!(
                "invalid `--limit {name}={value}`: `{name}` is {first} already; accepted is one number for each limit"
            );
            return Err(CliError::message(Exit::Usage, message));
        }
        limits.insert(name, value);
    }
    Ok(limits)
}

/// The end of a goal's time as people give it.
#[derive(Debug, Clone, Copy)]
pub(super) enum UntilArg {
    /// An instant with an offset.
    Instant(Timestamp),
    /// A date and time of the local clock.
    Local(DateTime),
    /// The next such time of the local clock.
    TimeOfDay(Time),
    /// A period from now on.
    After(Period),
}

impl UntilArg {
    /// Returns the instant.
    ///
    /// # Errors
    ///
    /// Returns an error if the instant is out of range.
    pub(super) fn resolve(self, now: Timestamp, zone: &LocalTime) -> Result<Timestamp, CliError> {
        let out_of_range = |given: &dyn fmt::Display| {
            let last = Timestamp::MAX;
            let message = format!(
                "invalid `--until {given}`: it is out of range; accepted are times from now to {last}"
            );
            CliError::message(Exit::Usage, message)
        };
        match self {
            Self::Instant(instant) => Ok(instant),
            Self::Local(local) => zone.instant(local).ok_or_else(|| out_of_range(&local)),
            Self::After(period) => Ok(now + period.duration()),
            Self::TimeOfDay(time) => {
                let today = zone.date(now);
                let at = |date: jiff::civil::Date| zone.instant(date.to_datetime(time));
                let first = at(today).filter(|first| *first > now);
                let tomorrow = today.tomorrow().ok();
                first
                    .or_else(|| at(tomorrow?))
                    .ok_or_else(|| out_of_range(&time))
            }
        }
    }
}

impl FromStr for UntilArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(instant) = text.parse() {
            return Ok(Self::Instant(instant));
        }
        let is_plain = |text: &str| {
            text.chars()
                .all(|char| char.is_ascii_digit() || "-T: .".contains(char))
        };
        if text.len() <= "07:00:00".len()
            && text.contains(':')
            && let Ok(time) = text.parse::<Time>()
        {
            return Ok(Self::TimeOfDay(time));
        }
        // The parser of jiff ignores an offset and a zone, which only an instant may have.
        if is_plain(text)
            && text.len() > "2026-11-19".len()
            && let Ok(local) = text.parse::<DateTime>()
        {
            return Ok(Self::Local(local));
        }
        let period: Result<Period, _> = text.parse();
        period.map(Self::After).map_err(|_| {
            "accepted are a time of day (07:00), a period from now on (8h), a local date and time \
             (2026-11-20T07:00), and an instant (2026-11-20T06:00:00Z)"
                .to_owned()
        })
    }
}

/// Parses `NAME=NUMBER`.
pub(super) fn parse_limit(text: &str) -> Result<(String, u32), String> {
    let expected = || "expected NAME=NUMBER, such as turns=100".to_owned();
    let (name, value) = text.split_once('=').ok_or_else(expected)?;
    let value = value.parse().map_err(|_| expected())?;
    Ok((name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(text: &str, now: &str) -> String {
        let zone = LocalTime::of_zone("Europe/Prague");
        let until: UntilArg = text.parse().unwrap();
        until
            .resolve(now.parse().unwrap(), &zone)
            .unwrap()
            .to_string()
    }

    #[test]
    fn time_of_day_is_the_next_one() {
        assert_eq!(
            resolve("07:00", "2026-11-19T21:10:00Z"),
            "2026-11-20T06:00:00Z"
        );
        assert_eq!(
            resolve("07:00", "2026-11-20T05:59:00Z"),
            "2026-11-20T06:00:00Z"
        );
        assert_eq!(
            resolve("07:00", "2026-11-20T06:00:00Z"),
            "2026-11-21T06:00:00Z"
        );
    }

    #[test]
    fn period_date_and_instant_are_accepted() {
        let now = "2026-11-19T21:10:00Z";
        assert_eq!(resolve("8h", now), "2026-11-20T05:10:00Z");
        assert_eq!(resolve("2026-11-20T07:00", now), "2026-11-20T06:00:00Z");
        assert_eq!(resolve("2026-11-20T07:00:00Z", now), "2026-11-20T07:00:00Z");
        for text in ["", "tomorrow", "25:00", "7"] {
            let error = text.parse::<UntilArg>().unwrap_err();
            assert!(error.contains("a time of day (07:00)"), "{text}: {error}");
        }
    }

    #[test]
    fn budget_is_cost_or_tokens() {
        let cost = |text: &str| text.parse::<BudgetArg>();
        assert_eq!(
            cost("6 usd"),
            Ok(BudgetArg::Cost(Money::parse("6", "USD").unwrap()))
        );
        assert_eq!(cost("200000 TOKENS"), Ok(BudgetArg::Tokens(200_000)));
        for (text, expected) in [
            ("6", "such as `6 USD`"),
            ("", "such as `6 USD`"),
            ("six USD", "invalid amount `six`"),
            ("-1 tokens", "`200000 tokens`"),
            ("5000 tokns", "did you mean `tokens`?"),
            ("5 turns", "`--limit turns=NUMBER` limits the turns"),
            ("90 minutes", "`--until` limits the time"),
            ("20 XYZ", "a currency of ISO 4217"),
            ("20 USD/month", "without a period"),
        ] {
            let error = cost(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let both = vec![cost("6 USD").unwrap(), cost("9 tokens").unwrap()];
        let both = budget(both).unwrap().unwrap();
        assert_eq!(both.tokens, Some(9));
        assert!(both.cost.is_some());
        assert_eq!(budget(Vec::new()).unwrap(), None);
    }

    #[test]
    fn repeated_budget_and_limit_are_refused() {
        let arg = |text: &str| text.parse::<BudgetArg>().unwrap();
        for (first, second) in [("6 USD", "9 EUR"), ("1 tokens", "2 tokens")] {
            let error = budget(vec![arg(first), arg(second)]).unwrap_err();
            let message = error.full_message();
            let says = format!("invalid `--budget {second}`: it is the second one of its kind");
            assert!(message.contains(&says), "{message}");
        }
        let named = |name: &str, value| (name.to_owned(), value);
        let error = limits(vec![named("turns", 7), named("turns", 9)]).unwrap_err();
        let message = error.full_message();
        let says = "invalid `--limit turns=9`: `turns` is 7 already";
        assert!(message.contains(says), "{message}");
        let both = limits(vec![named("turns", 7), named("tasks", 9)]).unwrap();
        assert_eq!(both.len(), 2);
    }

    #[test]
    fn until_out_of_range_is_refused_with_its_value() {
        let zone = LocalTime::of_zone("America/New_York");
        let until: UntilArg = "9999-12-31T23:59".parse().unwrap();
        let error = until.resolve("2026-11-19T21:10:00Z".parse().unwrap(), &zone);
        let message = error.unwrap_err().full_message();
        assert!(
            message.contains("invalid `--until 9999-12-31T23:59:00`: it is out of range")
                && message.contains("accepted are times from now to 9999-12-30"),
            "{message}"
        );
    }

    #[test]
    fn limit_is_name_with_number() {
        assert_eq!(parse_limit("turns=7"), Ok(("turns".to_owned(), 7)));
        for text in ["turns", "turns=", "turns=-1", "turns=x"] {
            assert!(
                parse_limit(text).unwrap_err().contains("NAME=NUMBER"),
                "{text}"
            );
        }
    }
}
