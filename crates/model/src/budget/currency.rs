//! The currencies of limits: those of ISO 4217.

use iso_currency::Currency;

/// The codes of ISO 4217 that stand for no currency and for tests.
const NO_CURRENCIES: [&str; 2] = ["XXX", "XTS"];

/// Returns the code of a currency in upper case. Returns `None` if ISO 4217 has no such currency.
pub(super) fn currency_code(text: &str) -> Option<String> {
    let code = text.to_ascii_uppercase();
    let exists = Currency::from_code(&code).is_some() && !NO_CURRENCIES.contains(&&*code);
    exists.then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn currency_code_is_that_of_iso_4217_in_upper_case() {
        for (text, expected) in [
            ("USD", Some("USD")),
            ("eur", Some("EUR")),
            ("Czk", Some("CZK")),
            ("runs", None),
            ("tokns", None),
            ("credits", None),
            ("BTC", None),
            ("XXX", None),
            ("", None),
        ] {
            assert_eq!(currency_code(text).as_deref(), expected, "{text}");
        }
    }
}
