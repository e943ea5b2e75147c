//! Signatures of [Standard Webhooks](https://www.standardwebhooks.com), version 1: HMAC-SHA256 over ID, timestamp and
//! body, separated by dots.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use model::{Timestamp, limits, signing_secret::SigningSecret};
use sha2::Sha256;
use subtle::{Choice, ConstantTimeEq as _};

use crate::VerifyError;

/// The header with the ID of the message, which is the same in every attempt.
pub const ID_HEADER: &str = "webhook-id";
/// The header with the instant of the attempt, in seconds since 1970.
pub const TIMESTAMP_HEADER: &str = "webhook-timestamp";
/// The header with the signatures.
pub const SIGNATURE_HEADER: &str = "webhook-signature";

/// The prefix of a signature of version 1.
const SIGNATURE_PREFIX: &str = "v1,";
/// The maximum number of signatures of one request.
const MAX_SIGNATURES: usize = 16;
/// The maximum number of digits of a timestamp: one more than the year 9999 needs.
const MAX_TIMESTAMP_DIGITS: usize = 12;

/// The identity of a webhook request with a valid signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedRequest {
    /// The ID of the message.
    pub id: String,
    /// The instant of this attempt, in seconds since 1970.
    pub timestamp: i64,
}

/// The headers of a webhook request, unchecked.
#[derive(Debug, Clone, Copy)]
pub struct SignatureHeaders<'a> {
    /// The ID of the message.
    pub id: &'a [u8],
    /// The timestamp.
    pub timestamp: &'a [u8],
    /// The signatures.
    pub signature: &'a [u8],
}

/// Returns the value of the header [`SIGNATURE_HEADER`] for a body and one secret.
///
/// `id` must not contain a dot. Otherwise the signature would also fit another split of ID, timestamp and body.
pub fn sign(secret: &SigningSecret, id: &str, timestamp: i64, body: &[u8]) -> String {
    let timestamp = timestamp.to_string();
    let mac = request_mac(secret, id.as_bytes(), timestamp.as_bytes(), body);
    format!("{SIGNATURE_PREFIX}{}", STANDARD.encode(mac))
}

/// Returns the value of the header [`SIGNATURE_HEADER`] with one signature for each secret. During a rotation a
/// receiver may know only one of them.
pub fn sign_with_all(secrets: &[&SigningSecret], id: &str, timestamp: i64, body: &[u8]) -> String {
    let signatures = secrets
        .iter()
        .map(|secret| sign(secret, id, timestamp, body));
    signatures.collect::<Vec<_>>().join(" ")
}

/// Checks the signatures of a request. One valid signature with any of the secrets is sufficient.
///
/// The function compares each signature with each secret in constant time and without an early end, so that the
/// duration reveals neither.
pub(crate) fn check(
    secrets: &[&SigningSecret],
    parts: SignatureHeaders<'_>,
    body: &[u8],
    now: Timestamp,
) -> Result<VerifiedRequest, VerifyError> {
    let id = parse_id(parts.id)?;
    let timestamp = parse_timestamp(parts.timestamp, now)?;
    let given = parse_signatures(parts.signature)?;
    // `|=` on a `Choice` has no branch, so that the duration does not reveal the matching pair.
    let mut is_valid = Choice::from(0);
    for secret in secrets {
        let expected = request_mac(secret, parts.id, parts.timestamp, body);
        for signature in &given {
            is_valid |= expected.ct_eq(signature);
        }
    }
    if is_valid.into() {
        Ok(VerifiedRequest {
            id: id.to_owned(),
            timestamp,
        })
    } else {
        Err(VerifyError::InvalidSignature)
    }
}

/// Returns the ID if it is valid. Refuses a dot, because with a dot the signature would also fit another split of ID,
/// timestamp and body.
fn parse_id(given: &[u8]) -> Result<&str, VerifyError> {
    let fits = (1..=limits::WEBHOOK_ID_BYTES).contains(&given.len())
        && given
            .iter()
            .all(|byte| byte.is_ascii_graphic() && *byte != b'.');
    let text = std::str::from_utf8(given).map_err(|_| VerifyError::InvalidId)?;
    fits.then_some(text).ok_or(VerifyError::InvalidId)
}

/// Returns the timestamp if it is valid and close enough to the present.
fn parse_timestamp(given: &[u8], now: Timestamp) -> Result<i64, VerifyError> {
    let digits =
        (1..=MAX_TIMESTAMP_DIGITS).contains(&given.len()) && given.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(given).map_err(|_| VerifyError::InvalidTimestamp)?;
    let seconds: i64 = match text.parse() {
        Ok(seconds) if digits => seconds,
        _ => return Err(VerifyError::InvalidTimestamp),
    };
    let now = now.as_microsecond().div_euclid(1_000_000);
    let tolerance = i64::try_from(limits::WEBHOOK_TOLERANCE.as_secs()).unwrap_or(i64::MAX);
    if seconds < now.saturating_sub(tolerance) {
        Err(VerifyError::TooOld)
    } else if seconds > now.saturating_add(tolerance) {
        Err(VerifyError::TooNew)
    } else {
        Ok(seconds)
    }
}

/// Returns the decoded signatures of version 1. Ignores signatures of other versions. Invalid base64 and wrong
/// lengths match no secret, so the request is refused unless another signature matches.
fn parse_signatures(given: &[u8]) -> Result<Vec<Vec<u8>>, VerifyError> {
    let text = std::str::from_utf8(given).map_err(|_| VerifyError::NoSignature)?;
    let encoded = text
        .split(' ')
        .filter_map(|signature| signature.strip_prefix(SIGNATURE_PREFIX));
    // One more than the limit is enough to detect an excess. The rest is not read.
    let encoded: Vec<&str> = encoded.take(MAX_SIGNATURES + 1).collect();
    match encoded.len() {
        0 => Err(VerifyError::NoSignature),
        n if n > MAX_SIGNATURES => Err(VerifyError::TooManySignatures),
        _ => Ok(encoded
            .into_iter()
            .filter_map(|signature| STANDARD.decode(signature).ok())
            .collect()),
    }
}

/// Returns the HMAC of a request.
fn request_mac(secret: &SigningSecret, id: &[u8], timestamp: &[u8], body: &[u8]) -> [u8; 32] {
    // The only error is a wrong key length, and HMAC accepts every length.
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
