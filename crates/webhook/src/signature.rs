//! Signatures of [Standard Webhooks](https://www.standardwebhooks.com), version 1: HMAC-SHA256 over id,
//! instant and body, with dots between them.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use model::{Timestamp, limits, secret::Secret};
use sha2::Sha256;
use subtle::{Choice, ConstantTimeEq as _};

use crate::Refusal;

/// The header of the id, the same for every attempt.
pub const ID: &str = "webhook-id";
/// The header of the instant of the attempt, in seconds since 1970.
pub const TIMESTAMP: &str = "webhook-timestamp";
/// The header of the signatures.
pub const SIGNATURE: &str = "webhook-signature";

/// What a signature of this version begins with.
const VERSION: &str = "v1,";
/// How many signatures one webhook may bear.
const SIGNATURES: usize = 16;
/// How many digits an instant may have: those of the year 9999, and one to spare.
const TIMESTAMP_DIGITS: usize = 12;

/// What is told of a webhook that is genuine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Its id.
    pub id: String,
    /// When this attempt at it was made, in seconds since 1970.
    pub timestamp: i64,
}

/// The headers of a webhook as they came.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    /// Its id.
    pub id: &'a [u8],
    /// Its instant.
    pub timestamp: &'a [u8],
    /// Its signatures.
    pub signature: &'a [u8],
}

/// Signs a body: the value of the header [`SIGNATURE`].
///
/// The id must have no dot, or it could pass for another id and instant.
pub fn sign(secret: &Secret, id: &str, timestamp: i64, body: &[u8]) -> String {
    let timestamp = timestamp.to_string();
    let mac = mac(secret, id.as_bytes(), timestamp.as_bytes(), body);
    format!("{VERSION}{}", STANDARD.encode(mac))
}

/// Signs a body with each of several secrets, as long as receivers may know but one of them.
pub fn sign_with_all(secrets: &[&Secret], id: &str, timestamp: i64, body: &[u8]) -> String {
    let signatures = secrets.iter().map(|one| sign(one, id, timestamp, body));
    signatures.collect::<Vec<_>>().join(" ")
}

/// Checks a webhook against secrets, any of which may have signed it.
///
/// Every signature is compared with that of every secret, each in constant time, so that the time
/// taken tells nothing about either.
pub(crate) fn check(
    secrets: &[&Secret],
    parts: Parts<'_>,
    body: &[u8],
    now: Timestamp,
) -> Result<Verified, Refusal> {
    let id = id(parts.id)?;
    let timestamp = timestamp(parts.timestamp, now)?;
    let given = signatures(parts.signature)?;
    let mut right = Choice::from(0);
    for secret in secrets {
        let expected = mac(secret, parts.id, parts.timestamp, body);
        for signature in &given {
            right |= expected.ct_eq(signature);
        }
    }
    if right.into() {
        Ok(Verified {
            id: id.to_owned(),
            timestamp,
        })
    } else {
        Err(Refusal::Signature)
    }
}

/// The id, if it is one. A dot in it would let one text be signed that reads in two ways.
fn id(given: &[u8]) -> Result<&str, Refusal> {
    let fits = (1..=limits::WEBHOOK_ID_BYTES).contains(&given.len())
        && given
            .iter()
            .all(|byte| byte.is_ascii_graphic() && *byte != b'.');
    let text = std::str::from_utf8(given).map_err(|_| Refusal::Id)?;
    fits.then_some(text).ok_or(Refusal::Id)
}

/// The instant, if it is one that lies near the present.
fn timestamp(given: &[u8], now: Timestamp) -> Result<i64, Refusal> {
    let digits =
        (1..=TIMESTAMP_DIGITS).contains(&given.len()) && given.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(given).map_err(|_| Refusal::Timestamp)?;
    let seconds: i64 = match text.parse() {
        Ok(seconds) if digits => seconds,
        _ => return Err(Refusal::Timestamp),
    };
    let now = now.as_microsecond().div_euclid(1_000_000);
    let tolerance = i64::try_from(limits::WEBHOOK_TOLERANCE.as_secs()).unwrap_or(i64::MAX);
    if seconds < now.saturating_sub(tolerance) {
        Err(Refusal::TooOld)
    } else if seconds > now.saturating_add(tolerance) {
        Err(Refusal::TooNew)
    } else {
        Ok(seconds)
    }
}

/// The signatures of this version. Others may stand beside them; what is no base64 is wrong, and so is
/// what has another length.
fn signatures(given: &[u8]) -> Result<Vec<Vec<u8>>, Refusal> {
    let text = std::str::from_utf8(given).map_err(|_| Refusal::NoSignature)?;
    let known = text.split(' ').filter_map(|one| one.strip_prefix(VERSION));
    let known: Vec<&str> = known.take(SIGNATURES + 1).collect();
    match known.len() {
        0 => Err(Refusal::NoSignature),
        n if n > SIGNATURES => Err(Refusal::TooManySignatures),
        _ => Ok(known
            .into_iter()
            .filter_map(|one| STANDARD.decode(one).ok())
            .collect()),
    }
}

/// The signature itself.
fn mac(secret: &Secret, id: &[u8], timestamp: &[u8], body: &[u8]) -> [u8; 32] {
    // A key of any length is taken; there is no other error.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.bytes()) else {
        unreachable!("HMAC takes keys of every length");
    };
    for part in [id, b".", timestamp, b".", body] {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
#[path = "tests_signature.rs"]
mod tests;
