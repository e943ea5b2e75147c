//! One limit of a budget, and its text form.

use std::{fmt, str::FromStr};

use super::{InvalidMoney, Money};
use crate::{nearest::nearest, text_enum::text_enum};

/// The maximum number of tokens in a limit.
pub const MAX_LIMIT_TOKENS: u64 = 1_000_000_000_000_000;
/// The maximum number of turns in a limit.
pub const MAX_LIMIT_TURNS: u32 = 1_000_000_000;
/// The maximum number of minutes in a limit.
pub const MAX_LIMIT_MINUTES: u32 = 1_000_000_000;

/// The longest text that an error repeats, in characters.
const MAX_SHOWN_CHARS: usize = 80;

/// Units that people write, with the unit that they probably mean.
const SIMILAR_UNITS: [(&[&str], &str); 5] = [
    (
        &[
            "run", "runs", "attempt", "attempts", "fire", "fires", "time", "times",
        ],
        "turns",
    ),
    (&["tok", "toks", "tk"], "tokens"),
    (
        &[
            "min", "mins", "m", "h", "hour", "hours", "s", "sec", "second", "seconds",
        ],
        "minutes",
    ),
    (&["$", "dollar", "dollars"], "USD"),
    (&["€", "euro", "euros"], "EUR"),
];

text_enum! {
    /// The period of a limit.
    Period, "a period of a budget" {
        /// One run.
        Run = "run",
        /// A day, in UTC.
        Day = "day",
        /// A month, in UTC.
        Month = "month",
    }
}

/// The amount of a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Amount {
    /// A number of tokens.
    Tokens(u64),
    /// An amount of money.
    Cost(Money),
    /// A number of turns.
    Turns(u32),
    /// A number of minutes that turns take.
    Minutes(u32),
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |one: bool| if one { "" } else { "s" };
        match self {
            Self::Tokens(tokens) => write!(f, "{tokens} token{}", plural(*tokens == 1)),
            Self::Cost(cost) => cost.fmt(f),
            Self::Turns(turns) => write!(f, "{turns} turn{}", plural(*turns == 1)),
            Self::Minutes(minutes) => write!(f, "{minutes} minute{}", plural(*minutes == 1)),
        }
    }
}

/// A limit: an amount for a period. The text form is `100000 tokens/day`, `20 USD/month`, `24 turns/day` or
/// `90 minutes/day`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// The amount.
    pub amount: Amount,
    /// The period.
    pub period: Period,
}

impl Limit {
    /// Returns the currency of the limit if ISO 4217 has no such currency.
    pub fn unknown_currency(&self) -> Option<&str> {
        match &self.amount {
            Amount::Cost(cost) if !cost.has_known_currency() => Some(cost.currency()),
            _ => None,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.amount, self.period)
    }
}

/// The error for a text that is not a limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct InvalidLimit {
    given: String,
    /// The unit, if it is unknown.
    unknown_unit: Option<String>,
    /// The cause, if it is another one.
    cause: Option<String>,
}

impl InvalidLimit {
    pub(super) fn new(given: &str) -> Self {
        Self {
            given: given.chars().take(MAX_SHOWN_CHARS).collect(),
            unknown_unit: None,
            cause: None,
        }
    }

    fn because(given: &str, cause: impl Into<String>) -> Self {
        Self {
            cause: Some(cause.into()),
            ..Self::new(given)
        }
    }
}

impl fmt::Display for InvalidLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid limit `{}`: ", self.given.escape_debug())?;
        if let Some(unit) = &self.unknown_unit {
            write!(f, "unknown unit `{}`: ", unit.escape_debug())?;
        }
        if let Some(cause) = &self.cause {
            write!(f, "{}: ", cause.escape_debug())?;
        }
        f.write_str(
            "expected tokens or an amount in a currency of ISO 4217 for a run, a day or a month, or turns or minutes \
             for a day or a month, such as `100000 tokens/day`, `20 USD/month`, `24 turns/day` or `90 minutes/day`",
        )?;
        let unit = self.unknown_unit.as_deref();
        match unit.and_then(similar_unit) {
            Some(similar) => write!(f, "; did you mean `{similar}`?"),
            None => Ok(()),
        }
    }
}

/// Returns the unit of a budget that somebody probably meant: `tokens`, `turns`, `minutes` or a currency.
pub fn similar_unit(unit: &str) -> Option<&'static str> {
    let unit = unit.to_lowercase();
    let known = SIMILAR_UNITS
        .iter()
        .find(|(similar, _)| similar.contains(&&*unit));
    known
        .map(|(_, meant)| *meant)
        .or_else(|| nearest(&unit, ["tokens", "turns", "minutes"]))
}

impl FromStr for Limit {
    type Err = InvalidLimit;

    fn from_str(text: &str) -> Result<Self, InvalidLimit> {
        let invalid = |cause: String| InvalidLimit::because(text, cause);
        let (amount, period) = text
            .rsplit_once('/')
            .ok_or_else(|| invalid("it has no period".into()))?;
        let period = period.trim().to_lowercase();
        let period: Period = period.parse().map_err(|_| {
            let shown: String = period.chars().take(MAX_SHOWN_CHARS).collect();
            invalid(format!("unknown period `{shown}`"))
        })?;
        let (number, unit) = amount
            .trim()
            .split_once(' ')
            .ok_or_else(|| invalid("it has no space between a number and a unit".into()))?;
        let unit = unit.trim();
        let whole = |max: u64| {
            let parsed = number.parse::<u64>().ok();
            let in_range = parsed.filter(|it| (1..=max).contains(it));
            in_range.ok_or_else(|| invalid(format!("accepted are whole numbers from 1 to {max}")))
        };
        let whole_u32 = |max: u32| whole(max.into()).map(|it| u32::try_from(it).unwrap_or(max));
        let amount = match &*unit.to_lowercase() {
            "token" | "tokens" => Amount::Tokens(whole(MAX_LIMIT_TOKENS)?),
            "turn" | "turns" if period != Period::Run => Amount::Turns(whole_u32(MAX_LIMIT_TURNS)?),
            "minute" | "minutes" if period != Period::Run => {
                Amount::Minutes(whole_u32(MAX_LIMIT_MINUTES)?)
            }
            "turn" | "turns" | "minute" | "minutes" => {
                return Err(invalid("a run has no limit of turns or minutes".into()));
            }
            _ => {
                let unknown = || InvalidLimit {
                    unknown_unit: Some(unit.chars().take(MAX_SHOWN_CHARS).collect()),
                    ..InvalidLimit::new(text)
                };
                let cost = match Money::parse(number, unit).map(Money::with_upper_case_code) {
                    Ok(cost) if cost.has_known_currency() => {
                        Some(cost).filter(|cost| cost.micros() > 0)
                    }
                    Err(InvalidMoney::Amount(_)) => None,
                    Ok(_) | Err(InvalidMoney::Currency(_)) => return Err(unknown()),
                };
                let accepted = "accepted are decimal numbers above 0 and up to 1000000000 with at most six digits after \
                                the point";
                Amount::Cost(cost.ok_or_else(|| invalid(accepted.into()))?)
            }
        };
        Ok(Self { amount, period })
    }
}
