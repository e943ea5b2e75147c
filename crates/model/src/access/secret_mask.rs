//! A mask for the secret of a run in everything that its agent sends.
//!
//! An agent that reads the file of its own run may repeat the secret. The secret is worthless after the turn, but
//! transcripts, records, live text and memories are shown to people and are exported while the turn goes on.
//!
//! **Invariants:** a masked text has the same length, so that positions in texts stay. `Debug` does not show the secret.

use std::fmt;

use serde_json::Value;

use super::secret::RunSecret;

/// The secret of a run, and the text of the same length that takes its place.
#[derive(Clone)]
pub struct SecretMask {
    secret: String,
    mask: String,
}

impl SecretMask {
    /// Returns the mask for a secret.
    pub fn of(secret: &RunSecret) -> Self {
        let secret = secret.reveal().to_owned();
        let stars = secret.len().saturating_sub(RunSecret::PREFIX.len());
        let mask = format!("{}{}", RunSecret::PREFIX, "*".repeat(stars));
        Self { secret, mask }
    }

    /// Masks a whole text. A beginning of the secret at its end is masked, too, because a limit may have cut the text
    /// there, or the agent may still be writing it.
    pub fn text(&self, text: &mut String) {
        self.whole_secrets(text);
        let kept = self.partial_end(text);
        if kept > RunSecret::PREFIX.len() {
            text.truncate(text.len() - kept);
            text.push_str(&self.mask[..kept]);
        }
    }

    /// Masks each whole secret in a text.
    pub fn whole_secrets(&self, text: &mut String) {
        if self.is_in(text) {
            *text = text.replace(&self.secret, &self.mask);
        }
    }

    /// `true` if the text contains the whole secret.
    pub fn is_in(&self, text: &str) -> bool {
        text.contains(&self.secret)
    }

    /// Returns the length of the longest end of a text with which a secret can begin, in bytes: at most the length of a
    /// secret less one. A writer that appends to a text holds this end back until more follows.
    pub fn partial_end(&self, text: &str) -> usize {
        // The secret is ASCII, so each length is a character boundary of it.
        let longest = self.secret.len().saturating_sub(1).min(text.len());
        (1..=longest)
            .rev()
            .find(|length| {
                text.as_bytes()
                    .ends_with(&self.secret.as_bytes()[..*length])
            })
            .unwrap_or(0)
    }

    /// Masks the text, if there is one.
    pub fn optional(&self, text: &mut Option<String>) {
        if let Some(text) = text {
            self.text(text);
        }
    }

    /// Masks all texts of a JSON value, including the names of fields.
    pub fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => {
                fields.values_mut().for_each(|field| self.value(field));
                if fields.keys().any(|name| self.is_in(name)) {
                    let named = std::mem::take(fields).into_iter().map(|(mut name, field)| {
                        self.text(&mut name);
                        (name, field)
                    });
                    *fields = named.collect();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

impl fmt::Debug for SecretMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretMask(..)")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::time::Entropy;

    struct Sevens;

    impl Entropy for Sevens {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(7);
        }
    }

    #[test]
    fn secret_is_masked_in_texts_values_and_names_and_keeps_positions() {
        let secret = RunSecret::generate(&Sevens);
        let (mask, shown) = (SecretMask::of(&secret), secret.reveal());
        let mut text = format!("I read {shown} and {shown}.");
        let length = text.len();
        mask.text(&mut text);
        assert!(
            !text.contains(shown) && text.starts_with("I read mar_***"),
            "{text}"
        );
        assert_eq!(text.len(), length);
        let mut value = json!({"rawOutput": [{ "text": shown }, 1, null], shown: { shown: true }});
        mask.value(&mut value);
        assert!(!value.to_string().contains(shown), "{value}");
        assert!(!format!("{mask:?}").contains(shown));
    }

    #[test]
    fn secret_that_a_limit_has_cut_is_masked() {
        let secret = RunSecret::generate(&Sevens);
        let (mask, shown) = (SecretMask::of(&secret), secret.reveal());
        let mut cut = format!("é{}", &shown[..shown.len() - 1]);
        mask.text(&mut cut);
        assert_eq!(cut, format!("émar_{}", "*".repeat(shown.len() - 5)));
        // The prefix alone is no secret, and neither is a word that begins with the same letter.
        for harmless in ["mar_", "the algorithm", "mar", "", "é"] {
            let mut text = harmless.to_owned();
            mask.text(&mut text);
            assert_eq!(text, harmless);
        }
    }

    proptest! {
        #[test]
        fn partial_end_is_held_back_up_to_the_whole_secret(at in 0_usize..60, before in "[mar_é ]{0,9}") {
            let secret = RunSecret::generate(&Sevens);
            let (mask, shown) = (SecretMask::of(&secret), secret.reveal());
            let at = at.min(shown.len());
            let text = format!("{before}{}", &shown[..at]);
            let held = mask.partial_end(&text);
            prop_assert!(held < shown.len());
            prop_assert!(text.is_char_boundary(text.len() - held));
            prop_assert!(shown.starts_with(&text[text.len() - held..]));
            if at < shown.len() {
                prop_assert!(held >= at);
            }
        }
    }
}
