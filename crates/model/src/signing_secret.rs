//! Secrets that sign webhooks, in the form of [Standard Webhooks](https://www.standardwebhooks.com).
//!
//! **Invariant:** only [`SigningSecret::reveal`] and [`SigningSecret::bytes`] disclose a secret. `Debug` and errors
//! never contain a secret.

use std::{fmt, str::FromStr};

use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::time::{Entropy, Timestamp};

/// The prefix of the text form.
const PREFIX: &str = "whsec_";
/// The accepted lengths of a secret, in bytes.
const ACCEPTED_BYTES: std::ops::RangeInclusive<usize> = 24..=64;
/// The length of a new secret, in bytes.
const GENERATED_BYTES: usize = 32;

/// A signing secret. The text form is `whsec_` and the bytes in base64.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningSecret(Vec<u8>);

/// The error for a text that is not a signing secret. The error does not contain the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid signing secret: expected `{PREFIX}` and the base64 of 24 to 64 bytes")]
pub struct InvalidSigningSecret;

impl SigningSecret {
    /// Creates a secret from random bytes.
    pub fn generate(entropy: &dyn Entropy) -> Self {
        let mut bytes = vec![0; GENERATED_BYTES];
        entropy.fill(&mut bytes);
        Self(bytes)
    }

    /// Returns the text form. The caller must pass it only to the owner of the secret and to the database.
    pub fn reveal(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(&self.0))
    }

    /// Returns the key of signatures.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl FromStr for SigningSecret {
    type Err = InvalidSigningSecret;

    fn from_str(text: &str) -> Result<Self, InvalidSigningSecret> {
        let encoded = text.strip_prefix(PREFIX).ok_or(InvalidSigningSecret)?;
        let bytes = STANDARD.decode(encoded).map_err(|_| InvalidSigningSecret)?;
        if ACCEPTED_BYTES.contains(&bytes.len()) {
            Ok(Self(bytes))
        } else {
            Err(InvalidSigningSecret)
        }
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningSecret(..)")
    }
}

/// The current signing secret, and during a rotation the previous one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningSecrets {
    /// The current secret.
    pub current: SigningSecret,
    /// The previous secret, and the instant until which it is still valid.
    pub previous: Option<(SigningSecret, Timestamp)>,
}

impl SigningSecrets {
    /// Returns the secrets that are valid at an instant, the current one first.
    pub fn valid_at(&self, now: Timestamp) -> Vec<&SigningSecret> {
        let previous = self.previous.as_ref().filter(|(_, until)| now < *until);
        std::iter::once(&self.current)
            .chain(previous.map(|(secret, _)| secret))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sevens;

    impl Entropy for Sevens {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(7);
        }
    }

    #[test]
    fn signing_secret_parses_its_text_and_is_hidden_in_debug() {
        let secret = SigningSecret::generate(&Sevens);
        assert_eq!(secret.bytes(), [7; 32]);
        assert_eq!(secret.reveal().parse(), Ok(secret.clone()));
        assert_eq!(format!("{secret:?}"), "SigningSecret(..)");
        let both = SigningSecrets {
            current: secret.clone(),
            previous: Some((secret, Timestamp::UNIX_EPOCH)),
        };
        let debug = "SigningSecrets { current: SigningSecret(..), \
                     previous: Some((SigningSecret(..), 1970-01-01T00:00:00Z)) }";
        assert_eq!(format!("{both:?}"), debug);
    }

    #[test]
    fn invalid_signing_secret_is_refused_without_its_text() {
        let of = |bytes: usize| format!("whsec_{}", STANDARD.encode(vec![1; bytes]));
        for text in [
            "",
            "whsec_",
            "whsec_!!!!",
            "sec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            &of(23),
            &of(65),
            &format!("{} ", of(32)),
        ] {
            let refused = text.parse::<SigningSecret>().unwrap_err().to_string();
            assert!(text.len() < 8 || !refused.contains(text), "{refused}");
        }
        for bytes in [24, 32, 64] {
            assert!(of(bytes).parse::<SigningSecret>().is_ok(), "{bytes}");
        }
    }

    #[test]
    fn previous_signing_secret_is_valid_until_its_instant() {
        let secret = |byte| SigningSecret(vec![byte; 32]);
        let until = Timestamp::from_microsecond(5).unwrap();
        let both = SigningSecrets {
            current: secret(1),
            previous: Some((secret(2), until)),
        };
        let before = Timestamp::from_microsecond(4).unwrap();
        assert_eq!(both.valid_at(before), [&secret(1), &secret(2)]);
        assert_eq!(both.valid_at(until), [&secret(1)]);
    }
}
