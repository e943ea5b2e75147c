//! Amounts of money, with a precision of a millionth of a unit.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::currency::currency_code;

/// The number of millionths in a unit.
const MICROS_PER_UNIT: u64 = 1_000_000;
/// The maximum number of units in an amount.
const MAX_UNITS: u64 = 1_000_000_000;
/// The longest name of a currency, in bytes.
const MAX_CURRENCY_BYTES: usize = 16;

/// An amount of money in a currency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(try_from = "MoneyJson", into = "MoneyJson", deny_unknown_fields)]
pub struct Money {
    /// A decimal number with at most six digits after the point, such as `20` or `0.25`.
    #[cfg_attr(
        feature = "schema",
        schema(rename = "amount", value_type = String, pattern = r"^([0-9]{1,9}(\.[0-9]{1,6})?|10{9}(\.0{1,6})?)$")
    )]
    micros: u64,
    /// A code of ISO 4217 such as `USD`. Agents may report costs in other units.
    #[cfg_attr(feature = "schema", schema(pattern = "^[A-Za-z0-9]{1,16}$"))]
    currency: String,
}

/// The JSON form of [`Money`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MoneyJson {
    amount: String,
    currency: String,
}

/// The error for a text that is not an amount of money.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidMoney {
    /// The amount is not a decimal number within the limits.
    #[error(
        "invalid amount `{}`: expected a decimal number from 0 to 1000000000 with at most six digits after the \
         point",
        .0.escape_debug()
    )]
    Amount(String),
    /// The currency is not a name of letters and digits.
    #[error(
        "invalid currency `{}`: expected 1 to 16 letters or digits, such as USD",
        .0.escape_debug()
    )]
    Currency(String),
}

impl Money {
    /// Returns an amount of millionths of a currency's unit. A larger amount than the maximum is reduced to it.
    ///
    /// # Errors
    ///
    /// [`InvalidMoney::Currency`] if the currency is not 1 to 16 letters and digits.
    pub fn new(micros: u64, currency: &str) -> Result<Self, InvalidMoney> {
        let valid = (1..=MAX_CURRENCY_BYTES).contains(&currency.len())
            && currency.chars().all(|c| c.is_ascii_alphanumeric());
        if !valid {
            let given = currency.chars().take(40).collect();
            return Err(InvalidMoney::Currency(given));
        }
        Ok(Self {
            micros: micros.min(MAX_UNITS * MICROS_PER_UNIT),
            currency: currency.to_owned(),
        })
    }

    /// Reads an amount as a decimal number, and its currency.
    ///
    /// # Errors
    ///
    /// [`InvalidMoney`] if one of them is invalid.
    pub fn parse(amount: &str, currency: &str) -> Result<Self, InvalidMoney> {
        let micros = micros(amount)
            .ok_or_else(|| InvalidMoney::Amount(amount.chars().take(40).collect()))?;
        Self::new(micros, currency)
    }

    /// Returns the amount with the code of ISO 4217 in upper case, or unchanged if there is no such currency.
    #[must_use]
    pub fn with_upper_case_code(self) -> Self {
        match currency_code(&self.currency) {
            Some(currency) => Self { currency, ..self },
            None => self,
        }
    }

    /// Returns `true` if ISO 4217 has the currency. Agents may report other units, and earlier versions
    /// accepted limits in any unit.
    pub fn has_known_currency(&self) -> bool {
        currency_code(&self.currency).is_some()
    }

    /// Returns the amount that an agent reports, rounded to a millionth. Returns `None` if the amount or the currency
    /// is invalid.
    pub fn from_report(amount: f64, currency: &str) -> Option<Self> {
        #[expect(clippy::cast_precision_loss, reason = "the limit is far below 2^53")]
        let max = MAX_UNITS as f64;
        if !(0.0..=max).contains(&amount) {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the range is checked above"
        )]
        let micros = (amount * 1e6).round() as u64;
        Self::new(micros, currency).ok()
    }

    /// Returns the amount in millionths of the currency's unit.
    pub const fn micros(&self) -> u64 {
        self.micros
    }

    /// Returns the amount as a decimal number, such as `20` or `0.25`.
    pub fn amount(&self) -> String {
        format_decimal(self.micros)
    }

    /// Returns the currency, in the case in which it was given.
    pub fn currency(&self) -> &str {
        &self.currency
    }

    /// Returns `true` if the amount is in this currency. Ignores case, because agents write `USD` and `usd`.
    pub fn has_currency(&self, currency: &str) -> bool {
        self.currency.eq_ignore_ascii_case(currency)
    }
}

/// Returns the millionths of a decimal number. Returns `None` if the text is not one.
fn micros(text: &str) -> Option<u64> {
    let (units, part) = text.split_once('.').unwrap_or((text, "0"));
    // `parse` alone would accept a plus sign.
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    if !digits(units) || !digits(part) || part.len() > 6 {
        return None;
    }
    let units: u64 = units.parse().ok().filter(|units| *units <= MAX_UNITS)?;
    let part: u64 = format!("{part:0<6}").parse().ok()?;
    Some(units * MICROS_PER_UNIT + part).filter(|micros| *micros <= MAX_UNITS * MICROS_PER_UNIT)
}

impl TryFrom<MoneyJson> for Money {
    type Error = InvalidMoney;

    fn try_from(written: MoneyJson) -> Result<Self, InvalidMoney> {
        Self::parse(&written.amount, &written.currency)
    }
}

impl From<Money> for MoneyJson {
    fn from(money: Money) -> Self {
        Self {
            amount: format_decimal(money.micros),
            currency: money.currency,
        }
    }
}

/// Writes millionths as a decimal number.
fn format_decimal(micros: u64) -> String {
    let (units, part) = (micros / MICROS_PER_UNIT, micros % MICROS_PER_UNIT);
    if part == 0 {
        return units.to_string();
    }
    let text = format!("{units}.{part:06}");
    text.trim_end_matches('0').to_owned()
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", format_decimal(self.micros), self.currency)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn money_round_trips_through_json(micros in 0..=MAX_UNITS * MICROS_PER_UNIT) {
            let money = Money::new(micros, "USD").unwrap();
            let written = serde_json::to_string(&money).unwrap();
            prop_assert_eq!(serde_json::from_str::<Money>(&written).unwrap(), money);
        }
    }

    #[test]
    fn invalid_money_is_refused() {
        for amount in [
            "",
            "-1",
            "1e3",
            "1.",
            ".5",
            "1.0000001",
            "1000000000.1",
            "١",
        ] {
            assert!(Money::parse(amount, "USD").is_err(), "{amount}");
        }
        for currency in ["", "U$D", "seventeen letters", "abcdefghijklmnopq"] {
            assert!(Money::parse("1", currency).is_err(), "{currency}");
        }
        for amount in [-0.01, f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(Money::from_report(amount, "USD"), None, "{amount}");
        }
    }

    #[test]
    fn reported_cost_is_rounded_to_a_millionth() {
        for (amount, shown) in [
            (0.1 + 0.2, "0.3 USD"),
            (0.000_000_4, "0 USD"),
            (20.0, "20 USD"),
        ] {
            let money = Money::from_report(amount, "USD").unwrap();
            assert_eq!(money.to_string(), shown);
        }
        assert!(Money::from_report(1.0, "USD").unwrap().has_currency("usd"));
    }
}
