//! Secrets of tokens, of sign-in links and of runs.
//!
//! A secret consists of a prefix, 43 characters that encode 256 random bits, and 6 characters of a checksum, like the
//! tokens of GitHub. Scanners recognize a leaked secret by its form alone, and the API tells a mistyped secret from a
//! wrong one without a database query
//! (<https://github.blog/engineering/behind-githubs-new-authentication-token-formats/>). Only letters and digits
//! follow the prefix, so that a double click selects the whole secret.
//!
//! **Invariant:** neither `Debug` nor an error shows a secret.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::time::Entropy;

const BASE62_DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// The number of random bytes of a secret.
const RANDOM_BYTES: usize = 32;
/// The number of digits that 256 bits need: 62^43 is a little more than 2^256.
const RANDOM_DIGITS: usize = 43;
/// The number of digits that 32 bits need.
const CHECKSUM_DIGITS: usize = 6;
/// The number of characters of the prefix, including its underscore.
const PREFIX_CHARS: usize = 4;
/// The number of characters of a whole secret.
const SECRET_CHARS: usize = PREFIX_CHARS + RANDOM_DIGITS + CHECKSUM_DIGITS;
/// The number of characters that lists show.
const DISPLAYED_CHARS: usize = 10;

/// The error for a text that is not a secret. The error does not contain the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSecret {
    /// The text does not have the form of the secret.
    #[error(
        "the text is not {what}: expected `{prefix}` and {} letters and digits",
        SECRET_CHARS - PREFIX_CHARS
    )]
    Form {
        /// The expected kind of secret, with its article.
        what: &'static str,
        /// The expected prefix.
        prefix: &'static str,
    },
    /// The checksum does not match the other characters.
    #[error("the text is not {what}: a character is wrong or missing")]
    Mistyped {
        /// The expected kind of secret, with its article.
        what: &'static str,
    },
}

macro_rules! secrets {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal, $what:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $name(String);

        impl $name {
            /// The prefix of the text.
            pub const PREFIX: &'static str = $prefix;

            /// Creates a secret from random bytes.
            pub fn generate(entropy: &dyn Entropy) -> Self {
                Self(generate($prefix, entropy))
            }

            /// Reads a secret. Success does not mean that the secret is valid: only the database knows that.
            ///
            /// # Errors
            ///
            /// Returns [`InvalidSecret`] if the form or the checksum is wrong.
            pub fn parse(text: &str) -> Result<Self, InvalidSecret> {
                check(text, $prefix, $what)?;
                Ok(Self(text.to_owned()))
            }

            /// Returns the text. The caller must show it only to the person who receives the secret.
            pub fn reveal(&self) -> &str {
                &self.0
            }

            /// Returns the first characters, by which a person recognizes the secret.
            pub fn display_prefix(&self) -> &str {
                self.0.get(..DISPLAYED_CHARS).unwrap_or_default()
            }

            /// Returns the SHA-256 of the text, which is all that the database stores. A slow password hash is not
            /// needed, because an attacker cannot try 2^256 values.
            pub fn hash(&self) -> [u8; 32] {
                Sha256::digest(self.0.as_bytes()).into()
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(..)"))
            }
        }
    )*};
}

secrets! {
    /// The secret of a token.
    TokenSecret = "mat_", "a token";
    /// The secret of a sign-in link, which signs a browser in once.
    LinkSecret = "mal_", "a sign-in code";
    /// The secret of a run, which only the process that takes its turn knows. The run has its hash while it is `running`.
    RunSecret = "mar_", "a run's secret";
}

fn generate(prefix: &str, entropy: &dyn Entropy) -> String {
    let mut random = [0; RANDOM_BYTES];
    entropy.fill(&mut random);
    let mut text = prefix.to_owned();
    text.push_str(&encode_base62(&random, RANDOM_DIGITS));
    // The checksum covers the prefix, so that a secret of one kind with the prefix of another is refused.
    let checksum = checksum(&text);
    text.push_str(&checksum);
    text
}

fn check(text: &str, prefix: &'static str, what: &'static str) -> Result<(), InvalidSecret> {
    let body = text.strip_prefix(prefix);
    let formed = text.len() == SECRET_CHARS
        && body.is_some_and(|body| body.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    // Check the form first, so that a secret of another kind is reported as such and not as mistyped.
    if !formed {
        return Err(InvalidSecret::Form { what, prefix });
    }
    match text.split_at_checked(SECRET_CHARS - CHECKSUM_DIGITS) {
        Some((rest, given)) if checksum(rest) == given => Ok(()),
        _ => Err(InvalidSecret::Mistyped { what }),
    }
}

fn checksum(text: &str) -> String {
    encode_base62(&crc32(text.as_bytes()).to_be_bytes(), CHECKSUM_DIGITS)
}

/// Encodes a big-endian number in base 62 with a fixed number of digits.
fn encode_base62(number: &[u8], digits: usize) -> String {
    let mut number = number.to_vec();
    let mut text = vec![BASE62_DIGITS[0]; digits];
    for digit in text.iter_mut().rev() {
        let mut rest = 0_usize;
        for byte in &mut number {
            let dividend = rest << 8 | usize::from(*byte);
            *byte = u8::try_from(dividend / BASE62_DIGITS.len()).unwrap_or(u8::MAX);
            rest = dividend % BASE62_DIGITS.len();
        }
        *digit = BASE62_DIGITS[rest];
    }
    text.into_iter().map(char::from).collect()
}

/// Returns the CRC-32 of ISO 3309 and zip.
fn crc32(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0xEDB8_8320;
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            let odd = crc & 1 == 1;
            crc = crc >> 1 ^ if odd { POLYNOMIAL } else { 0 };
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct Bytes([u8; RANDOM_BYTES]);

    impl Entropy for Bytes {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.copy_from_slice(&self.0);
        }
    }

    #[test]
    fn crc32_matches_catalogue_check_value() {
        // The check value of https://reveng.sourceforge.io/crc-catalogue/17plus.htm
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn lowest_and_highest_secret_fit_the_digits() {
        let least = TokenSecret::generate(&Bytes([0; RANDOM_BYTES]));
        assert!(
            least
                .reveal()
                .starts_with(&format!("mat_{}", "0".repeat(43)))
        );
        let greatest = TokenSecret::generate(&Bytes([u8::MAX; RANDOM_BYTES]));
        let digits: Vec<u32> = greatest.reveal()[PREFIX_CHARS..PREFIX_CHARS + RANDOM_DIGITS]
            .bytes()
            .map(|byte| {
                u32::try_from(BASE62_DIGITS.iter().position(|it| *it == byte).unwrap()).unwrap()
            })
            .collect();
        // Decode the digits: every byte must be 0xFF.
        let mut number = [0_u32; RANDOM_BYTES];
        for digit in digits {
            let mut carry = digit;
            for byte in number.iter_mut().rev() {
                carry += *byte * 62;
                *byte = carry & 0xFF;
                carry >>= 8;
            }
            assert_eq!(carry, 0, "more than 256 bits");
        }
        assert_eq!(number, [0xFF; RANDOM_BYTES]);
    }

    #[test]
    fn link_secret_is_refused_as_token() {
        let link = LinkSecret::generate(&Bytes([7; RANDOM_BYTES]));
        assert!(matches!(
            TokenSecret::parse(link.reveal()),
            Err(InvalidSecret::Form { .. })
        ));
        let swapped = link.reveal().replace("mal_", "mat_");
        assert!(matches!(
            TokenSecret::parse(&swapped),
            Err(InvalidSecret::Mistyped { .. })
        ));
    }

    proptest! {
        #[test]
        fn token_secret_parses_its_generated_text(random: [u8; RANDOM_BYTES]) {
            let secret = TokenSecret::generate(&Bytes(random));
            prop_assert_eq!(secret.reveal().len(), SECRET_CHARS);
            let read = TokenSecret::parse(secret.reveal()).unwrap();
            prop_assert_eq!(read.hash(), secret.hash());
            prop_assert_eq!(read.display_prefix(), &secret.reveal()[..10]);
        }

        #[test]
        fn token_secret_with_one_wrong_character_is_refused(random: [u8; RANDOM_BYTES], at in 0..SECRET_CHARS, with in "[ -~é]") {
            let secret = TokenSecret::generate(&Bytes(random));
            let mut text = secret.reveal().to_owned();
            text.replace_range(at..=at, &with);
            prop_assume!(text != secret.reveal());
            prop_assert!(TokenSecret::parse(&text).is_err());
        }

        #[test]
        fn arbitrary_text_is_refused_as_token_secret(text in "(mat_)?\\PC{0,60}") {
            // The error cannot contain the given text, because its type is `Copy`.
            prop_assert!(TokenSecret::parse(&text).is_err());
        }

        #[test]
        fn token_secret_is_hidden_in_debug(random: [u8; RANDOM_BYTES]) {
            let secret = TokenSecret::generate(&Bytes(random));
            let debug = format!("{secret:?}");
            prop_assert_eq!(debug, "TokenSecret(..)");
        }
    }
}
