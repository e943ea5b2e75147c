//! The verification of a received webhook request by its headers.

use http::HeaderMap;
use model::{Timestamp, signing_secret::SigningSecret};

use crate::{
    VerifyError,
    signature::{
        self, ID_HEADER, SIGNATURE_HEADER, SignatureHeaders, TIMESTAMP_HEADER, VerifiedRequest,
    },
};

/// Verifies a webhook request. One valid signature with any of the secrets is sufficient. `body` is the body byte for
/// byte. The caller must not interpret the body before this function succeeds.
///
/// The caller must also compare the ID with those of earlier requests, because a replayed request has a valid
/// signature.
pub fn verify(
    secrets: &[&SigningSecret],
    headers: &HeaderMap,
    body: &[u8],
    now: Timestamp,
) -> Result<VerifiedRequest, VerifyError> {
    let parts = SignatureHeaders {
        id: single_value(headers, ID_HEADER)?,
        timestamp: single_value(headers, TIMESTAMP_HEADER)?,
        signature: single_value(headers, SIGNATURE_HEADER)?,
    };
    signature::check(secrets, parts, body, now)
}

/// Returns the only value of a header.
fn single_value<'a>(headers: &'a HeaderMap, name: &'static str) -> Result<&'a [u8], VerifyError> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Err(VerifyError::MissingHeader(name)),
        (Some(_), Some(_)) => Err(VerifyError::RepeatedHeader(name)),
        (Some(value), None) => Ok(value.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;
    use crate::sign;

    const NOW: i64 = 1_614_265_330;

    fn headers(secret: &SigningSecret) -> HeaderMap {
        let signature = sign(secret, "msg_1", NOW, b"{}");
        let mut headers = HeaderMap::new();
        headers.insert(ID_HEADER, HeaderValue::from_static("msg_1"));
        headers.insert(TIMESTAMP_HEADER, HeaderValue::from(NOW));
        headers.insert(SIGNATURE_HEADER, HeaderValue::from_str(&signature).unwrap());
        headers
    }

    fn verify_headers(
        headers: &HeaderMap,
        secret: &SigningSecret,
    ) -> Result<VerifiedRequest, VerifyError> {
        let now = Timestamp::from_microsecond(NOW * 1_000_000).unwrap();
        verify(&[secret], headers, b"{}", now)
    }

    #[test]
    fn webhook_header_missing_or_repeated_is_refused() {
        let secret: SigningSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse().unwrap();
        assert_eq!(
            verify_headers(&headers(&secret), &secret).unwrap().id,
            "msg_1"
        );
        for name in [ID_HEADER, TIMESTAMP_HEADER, SIGNATURE_HEADER] {
            let mut none = headers(&secret);
            let value = none.remove(name).unwrap();
            assert_eq!(
                verify_headers(&none, &secret),
                Err(VerifyError::MissingHeader(name))
            );
            // A repetition with the same value is refused as well, because a proxy may use the other one.
            let mut two = headers(&secret);
            two.append(name, value);
            assert_eq!(
                verify_headers(&two, &secret),
                Err(VerifyError::RepeatedHeader(name))
            );
        }
    }

    #[test]
    fn webhook_header_with_invalid_text_is_refused() {
        let secret: SigningSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse().unwrap();
        for (name, refusal) in [
            (ID_HEADER, VerifyError::InvalidId),
            (TIMESTAMP_HEADER, VerifyError::InvalidTimestamp),
            (SIGNATURE_HEADER, VerifyError::NoSignature),
        ] {
            let mut odd = headers(&secret);
            odd.insert(name, HeaderValue::from_bytes(b"v1,\xff").unwrap());
            assert_eq!(verify_headers(&odd, &secret), Err(refusal));
        }
    }
}
