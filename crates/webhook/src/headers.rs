//! The verification of a webhook request by its headers.

use http::HeaderMap;
use model::{Timestamp, secret::Secret};

use crate::{
    Refusal,
    signature::{self, ID, Parts, SIGNATURE, TIMESTAMP, Verified},
};

/// Verifies a webhook request. One valid signature with any of the secrets is sufficient. `body` is the body byte for
/// byte. The caller must not interpret the body before this function succeeds.
///
/// The caller must also compare the ID with those of earlier requests, because a replayed request has a valid
/// signature.
pub fn verify(
    secrets: &[&Secret],
    headers: &HeaderMap,
    body: &[u8],
    now: Timestamp,
) -> Result<Verified, Refusal> {
    let parts = Parts {
        id: one(headers, ID)?,
        timestamp: one(headers, TIMESTAMP)?,
        signature: one(headers, SIGNATURE)?,
    };
    signature::check(secrets, parts, body, now)
}

/// Returns the only value of a header.
fn one<'a>(headers: &'a HeaderMap, name: &'static str) -> Result<&'a [u8], Refusal> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Err(Refusal::Missing(name)),
        (Some(_), Some(_)) => Err(Refusal::Repeated(name)),
        (Some(value), None) => Ok(value.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;
    use crate::sign;

    const NOW: i64 = 1_614_265_330;

    fn headers(secret: &Secret) -> HeaderMap {
        let signature = sign(secret, "msg_1", NOW, b"{}");
        let mut headers = HeaderMap::new();
        headers.insert(ID, HeaderValue::from_static("msg_1"));
        headers.insert(TIMESTAMP, HeaderValue::from(NOW));
        headers.insert(SIGNATURE, HeaderValue::from_str(&signature).unwrap());
        headers
    }

    fn checked(headers: &HeaderMap, secret: &Secret) -> Result<Verified, Refusal> {
        let now = Timestamp::from_microsecond(NOW * 1_000_000).unwrap();
        verify(&[secret], headers, b"{}", now)
    }

    #[test]
    fn webhook_header_missing_or_repeated_is_refused() {
        let secret: Secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse().unwrap();
        assert_eq!(checked(&headers(&secret), &secret).unwrap().id, "msg_1");
        for name in [ID, TIMESTAMP, SIGNATURE] {
            let mut none = headers(&secret);
            let value = none.remove(name).unwrap();
            assert_eq!(checked(&none, &secret), Err(Refusal::Missing(name)));
            // Even one that says the same: a proxy may have read another one than we do.
            let mut two = headers(&secret);
            two.append(name, value);
            assert_eq!(checked(&two, &secret), Err(Refusal::Repeated(name)));
        }
    }

    #[test]
    fn webhook_header_with_invalid_text_is_refused() {
        let secret: Secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse().unwrap();
        for (name, refusal) in [
            (ID, Refusal::Id),
            (TIMESTAMP, Refusal::Timestamp),
            (SIGNATURE, Refusal::NoSignature),
        ] {
            let mut odd = headers(&secret);
            odd.insert(name, HeaderValue::from_bytes(b"v1,\xff").unwrap());
            assert_eq!(checked(&odd, &secret), Err(refusal));
        }
    }
}
